"""The rollout table of a checkpoint: one evaluation episode of its policy, step by step, as CSV.

It is the table that `gymnast.api.steps_table` makes of a trace. The episode is the first of those that
`gymnast eval` plays, which neither trained the policy nor chose its checkpoint, and actions are chosen as in
the run's evaluations: greedy, or sampled with `eval.stochastic`.
"""

from __future__ import annotations

import gc
import math
from pathlib import Path
from types import TracebackType

from gymnast.config.dump import dump_config
from gymnast.config.schema import Config
from gymnast.errors import GymnastError
from gymnast.runs.checkpoint import Checkpoint, best_checkpoint, list_checkpoints
from gymnast.runs.files import is_regular, sha256, write_atomic
from gymnast.runs.steps_tables import steps_path
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import load_run_config
from gymnast.traces.checkpoint import build_recorded_env, keep_trace_of, player_of
from gymnast.traces.env import RecordedEnv
from gymnast.traces.table import steps_table, to_csv
from gymnast.training.evaluator import held_out_seed

MOST_STEPS = 1000  # of an episode; where it is longer, the last row says that it was cut


class RolloutTables:
    """Writes tables of a run's checkpoints; it needs the run's lock. The env is built once per config."""

    def __init__(self, run: RunFolder, config: Config | None = None, *, trust: bool = False) -> None:
        """`config` is that of the process that trains the run, which knows it already."""
        self.run, self._trust = run, trust
        self._configs: dict[str, Config] = {}
        if config is not None:
            self._configs[sha256(dump_config(config).encode())] = config
        self._env: tuple[Config, RecordedEnv] | None = None

    def write(self, checkpoint: Checkpoint, *, seconds: float = math.inf) -> Path:
        """Play and write one; the episode is cut after so many seconds. Building its env takes as long as it
        takes, and may raise whatever the env raises."""
        config = self._config(checkpoint)
        env = self._env_of(config)
        seed = held_out_seed(config)
        player = player_of(env, config, checkpoint, stochastic=config.eval.stochastic, seed=seed)
        trace = keep_trace_of(checkpoint, env, player, config, max_steps=MOST_STEPS, seconds=seconds)
        path = steps_path(self.run, checkpoint.env_steps)
        write_atomic(path, to_csv(steps_table(trace)).encode(errors="replace"), durable=False)
        return path

    def _config(self, checkpoint: Checkpoint) -> Config:
        digest = checkpoint.sidecar().config
        if digest not in self._configs:
            path = checkpoint.config_path()
            self._configs[digest] = load_run_config(self.run, file=path, trust=self._trust)
        return self._configs[digest]

    def _env_of(self, config: Config) -> RecordedEnv:
        if self._env is None or self._env[0] is not config:
            self.close()
            self._env = config, build_recorded_env(config, held_out_seed(config), pictures=False)
        return self._env[1]

    def close(self) -> None:
        if self._env is not None:
            env, self._env = self._env[1], None
            env.close()
            del env
            gc.collect(1)  # ALE complains at the end of the process if a game of it is left in a cycle

    def __enter__(self) -> RolloutTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def without_table(run: RunFolder) -> list[Checkpoint]:
    """The checkpoints that have no table yet: the best first, then from the last to the first."""
    found = [c for c in reversed(list_checkpoints(run)) if not is_regular(steps_path(run, c.env_steps))]
    try:
        best = best_checkpoint(run)
    except GymnastError:  # a file that cannot be read
        best = None
    return sorted(found, key=lambda checkpoint: checkpoint != best)
