"""Evaluation of a checkpoint over whole episodes."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import maybe_whole, whole
from gymnast.api.run import Overrides, Run, log_printed, read_checkpoint
from gymnast.errors import RunFailed

if TYPE_CHECKING:
    from gymnast.rollout.evaluate import Score


@dataclass(frozen=True, slots=True)
class TaskEvaluation:
    """The score of one task of a mix."""

    name: str
    episodes: int
    mean_return: float
    std_return: float
    min_return: float
    max_return: float
    mean_length: float
    solved: bool | None  # None if the task has no threshold


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The score of one checkpoint; of a mix over the same number of episodes of each task."""

    run: str
    checkpoint: str
    env_steps: int
    episodes: int
    mean_return: float
    std_return: float
    min_return: float
    max_return: float
    mean_length: float
    stochastic: bool
    seed: int
    solved: bool | None  # None if the env has no threshold
    returns: tuple[float, ...]
    tasks: tuple[TaskEvaluation, ...] = ()  # of a mix; `returns` are in the same order

    def to_json(self) -> dict[str, Any]:
        """What `gymnast eval --json` prints."""
        values = asdict(self)
        tasks = values.pop("tasks")
        last = {key: values.pop(key) for key in ("solved", "stochastic", "seed", "returns")}
        return values | last | ({"tasks": tasks} if tasks else {})


def evaluate(
    reference: str | Path | Run = "@last",
    *,
    episodes: int = 100,
    stochastic: bool | None = None,
    seed: int | None = None,
    n_envs: int | None = None,
    runs_dir: str | Path | None = None,
    overrides: Overrides = (),
    trust: bool = False,
) -> Evaluation:
    """Score a checkpoint (of a run: its best, else its last) on envs of its own.

    Without a seed it plays episodes of its own, the same each time: neither those of training nor those
    that training was evaluated on, which the best checkpoint was selected by. Actions are sampled or greedy
    as in the run's own evaluations (`eval.stochastic`) unless `stochastic` is given. Of a mix it plays
    `episodes` of each task, and the score is the mean over tasks. `overrides` change settings of the run's
    config; `trust` lets a run from elsewhere import the code that it names.
    """
    import numpy as np

    from gymnast.envs.contract import EnvFailure
    from gymnast.envs.spec import read_spec
    from gymnast.policies.device import limit_threads
    from gymnast.policies.load import load_policy as rebuild_policy
    from gymnast.rollout.evaluate import evaluate as score_policy
    from gymnast.training.evaluation_limit import limit_notice, with_episode_limit
    from gymnast.training.evaluator import build_evaluation_envs, held_out_seed, sampling_rng

    episodes, seed = whole("episodes", episodes, 1), maybe_whole("seed", seed)
    n_envs = maybe_whole("n_envs", n_envs, 1)
    arrays, checkpoint, config = read_checkpoint(reference, runs_dir, overrides=overrides, trust=trust)
    log_printed(checkpoint.run)
    spec = read_spec(config.env)
    if (notice := limit_notice(config, spec)) is not None:
        logging.getLogger("gymnast").warning("%s", notice)
    config = with_episode_limit(config, spec)
    seed = held_out_seed(config) if seed is None else seed
    stochastic = config.eval.stochastic if stochastic is None else stochastic
    n_envs = config.eval.n_envs if n_envs is None else n_envs
    envs = build_evaluation_envs(config, episodes=episodes, n_envs=n_envs, seed=seed)
    try:
        policy = rebuild_policy(config, envs.observation_space, envs.action_space, arrays)
        rng = sampling_rng(seed, checkpoint.env_steps) if stochastic else None
        with limit_threads(policy.network, envs.n_envs):
            score = score_policy(policy, envs, episodes, rng=rng)
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure
    finally:
        envs.close()
    return Evaluation(
        run=checkpoint.run.id,
        checkpoint=str(checkpoint.env_steps),
        env_steps=checkpoint.env_steps,
        episodes=len(score.returns),
        mean_return=score.mean,
        std_return=float(np.std(score.returns)),
        min_return=min(score.returns),
        max_return=max(score.returns),
        mean_length=float(np.mean(score.lengths)),
        stochastic=stochastic,
        seed=seed,
        solved=score.solves(spec),
        returns=score.returns,
        tasks=tuple(_of_task(name, own, spec.tasks[name]) for name, own in score.by_task().items()),
    )


def _of_task(name: str, score: Score, solved_at: float | None) -> TaskEvaluation:
    import numpy as np

    return TaskEvaluation(
        name=name,
        episodes=len(score.returns),
        mean_return=score.mean,
        std_return=float(np.std(score.returns)),
        min_return=min(score.returns),
        max_return=max(score.returns),
        mean_length=float(np.mean(score.lengths)),
        solved=None if solved_at is None else score.mean >= solved_at,
    )
