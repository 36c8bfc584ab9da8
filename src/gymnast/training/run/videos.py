"""Videos that a run makes of itself: with every evaluation, or of its best checkpoint at the end.

A video that fails never stops a run: it is logged, and training continues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gymnast.config.schema import Config
from gymnast.errors import GymnastError
from gymnast.policies.policy import Policy
from gymnast.runs.references import resolve
from gymnast.runs.store import RunFolder
from gymnast.training.evaluator import Result, evaluation_seed, sampling_rng
from gymnast.training.run.outcome import Outcome
from gymnast.video.mp4 import require_video

logger = logging.getLogger("gymnast")


def check_videos(config: Config) -> None:
    """Raise MissingExtra, before anything is started, if videos are wanted that cannot be made."""
    if config.video.record != "never":
        require_video(f"video.record: {config.video.record}")


class RunVideos:
    """Records what the `video` section asks for."""

    def __init__(
        self, run: RunFolder, config: Config, written: Callable[[Path, int], None] | None = None
    ) -> None:
        self.run, self.config, self.settings = run, config, config.video
        self._written = written or (lambda path, env_steps: None)

    def after_evaluation(self, policy: Policy, result: Result, best: bool, value_scale: float | None) -> None:
        """Record the weights that have just been evaluated; `value_scale` as `Player` has it."""
        if self.settings.record != "every":
            return
        from gymnast.traces.checkpoint import build_recorded_env
        from gymnast.traces.recorder import Player
        from gymnast.video.record import link_best, record_player, video_path

        config, settings = self.config, self.settings
        with self._warning_on_failure(f"the evaluation at step {result.env_steps:,}"):
            path = video_path(self.run, result.env_steps)
            env = build_recorded_env(config, None)
            try:
                seed = evaluation_seed(config)
                rng = sampling_rng(seed, result.env_steps) if config.eval.stochastic else None
                record_player(
                    env,
                    Player(policy, rng, value_scale),
                    path,
                    episodes=settings.episodes,
                    max_steps=settings.max_steps,
                    fps=settings.fps,
                )
            finally:
                env.close()
            if best:
                link_best(self.run, path)
            self._written(path, result.env_steps)

    def at_end(self, outcome: Outcome, note: Callable[[str], None]) -> None:
        """Record the best checkpoint of a run that reached its end; one that was stopped is left alone."""
        if self.settings.record != "best" or outcome.status not in ("solved", "finished"):
            return
        from gymnast.video.record import record_checkpoint

        settings = self.settings
        with self._warning_on_failure("the best checkpoint"):
            video = record_checkpoint(
                resolve(self.run),
                episodes=settings.episodes,
                max_steps=settings.max_steps,
                stochastic=self.config.eval.stochastic,
                fps=settings.fps,
                trust=True,  # this very process trained with the config
            )
            note(f"video: {_shown(video.path)}")
            self._written(video.path, outcome.env_steps)

    @contextmanager
    def _warning_on_failure(self, what: str) -> Iterator[None]:
        try:
            yield
        except GymnastError as error:
            logger.warning("there is no video of %s: %s", what, error)
        except Exception as error:  # an env that draws may fail in any way
            logger.warning("there is no video of %s: %s: %s", what, type(error).__name__, error)


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
