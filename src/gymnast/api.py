"""Everything the command line does, from Python.

>>> from gymnast import api
>>> run = api.train("CartPole-v1:ppo", overrides={"seed": 3})
>>> api.evaluate(f"{run.id}/@best", episodes=100).mean_return
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.errors import GymnastError, RunFailed

if TYPE_CHECKING:
    import numpy as np

    from gymnast.config.schema import Config
    from gymnast.envs.mix.task_policy import TaskPolicy
    from gymnast.metrics.sinks.console import Console
    from gymnast.policies.policy import Policy
    from gymnast.rollout.evaluate import Score
    from gymnast.runs.checkpoint import Checkpoint
    from gymnast.runs.store import RunFolder
    from gymnast.training.requests import Requests
    from gymnast.training.run.outcome import Outcome
    from gymnast.video.write import RecordedVideo

Overrides = Mapping[str, Any] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Run:
    """A trained run: its folder and how it ended."""

    folder: RunFolder
    outcome: Outcome

    @property
    def id(self) -> str:
        return self.folder.id

    @property
    def path(self) -> Path:
        return self.folder.path

    def metrics(self) -> list[dict[str, Any]]:
        """One row an update, as metrics.csv has them."""
        from gymnast.metrics.csv_file import read_metrics

        return read_metrics(self.folder.metrics_path)


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
    solved: bool | None  # None where the task has no threshold


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The score of one checkpoint over whole episodes; of a mix over as many of each task."""

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
    solved: bool | None  # None where the env has no threshold
    returns: tuple[float, ...]
    tasks: tuple[TaskEvaluation, ...] = ()  # of a mix; `returns` stand in the same order


@dataclass(frozen=True, slots=True)
class Video:
    """A video of one checkpoint, or of several from the first to the last."""

    path: Path
    run: str
    checkpoints: tuple[int, ...]  # env steps of who plays, in the order of the video; 0: before training
    returns: tuple[float, ...]  # of the episodes, in their order
    lengths: tuple[int, ...]
    cut: bool  # whether the step limit broke an episode off
    width: int
    height: int
    fps: float
    frames: int
    seconds: float


def train(
    reference: str,
    *,
    overrides: Overrides = (),
    max_env_steps: int | None = None,
    wall_time: float | None = None,
    init_from: str | None = None,
    runs_dir: str | Path | None = None,
    console: Console | None = None,
    requests: Requests | None = None,
) -> Run:
    """Train what `reference` names (a preset, a file, or any registered env) as a new run."""
    from gymnast.config.load import load_config
    from gymnast.runs.store import runs_root
    from gymnast.training.run.launch import start_run

    resolved = load_config(reference, _with_budget(overrides, max_env_steps, wall_time))
    root = runs_root(runs_dir)
    start = _read_checkpoint(init_from, root)[:2] if init_from is not None else None
    return Run(*start_run(resolved, root, start, console, requests))


def resume(
    run: str | Run = "@last",
    *,
    overrides: Overrides = (),
    fresh_optimizer: bool = False,
    max_env_steps: int | None = None,
    wall_time: float | None = None,
    runs_dir: str | Path | None = None,
    console: Console | None = None,
    requests: Requests | None = None,
) -> Run:
    """Go on with a run from its last checkpoint: exactly, or under changed settings."""
    from gymnast.runs.references import find_run
    from gymnast.runs.store import runs_root
    from gymnast.training.run.launch import continue_run

    folder = run.folder if isinstance(run, Run) else find_run(runs_root(runs_dir), run)
    changes = _with_budget(overrides, max_env_steps, wall_time)
    return Run(folder, continue_run(folder, changes, fresh_optimizer, console, requests))


def evaluate(
    reference: str | Run = "@last",
    *,
    episodes: int = 100,
    stochastic: bool = False,
    seed: int | None = None,
    n_envs: int | None = None,
    runs_dir: str | Path | None = None,
) -> Evaluation:
    """Score a checkpoint (of a run: its best, else its last) on envs of its own.

    Without a seed it plays the episodes that training was scored on. Of a mix it plays `episodes` of
    each task, and the score is the mean over tasks.
    """
    import numpy as np

    from gymnast.envs.contract import EnvFailure
    from gymnast.envs.spec import read_spec
    from gymnast.policies.device import limit_threads
    from gymnast.policies.load import load_policy as rebuild_policy
    from gymnast.rollout.evaluate import evaluate as score_policy
    from gymnast.runs.store import runs_root
    from gymnast.training.evaluator import build_evaluation_envs, evaluation_seed, sampling_rng

    if episodes < 1:
        raise GymnastError(f"episodes must be at least 1, got {episodes}")
    arrays, checkpoint, config = _read_checkpoint(reference, runs_root(runs_dir))
    seed = evaluation_seed(config) if seed is None else seed
    n_envs = config.eval.n_envs if n_envs is None else n_envs
    envs = build_evaluation_envs(config, episodes=episodes, n_envs=n_envs, seed=seed)
    try:
        policy = rebuild_policy(config, envs.observation_space, envs.action_space, arrays)
        rng = sampling_rng(seed, checkpoint.env_steps) if stochastic else None
        with limit_threads(policy.layout, envs.n_envs):
            score = score_policy(policy, envs, episodes, rng=rng)
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure
    finally:
        envs.close()
    spec = read_spec(config.env)
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


def record_video(
    reference: str | Run = "@last",
    *,
    episodes: int = 1,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    fps: float | None = None,
    max_steps: int = 5000,
    out: str | Path | None = None,
    runs_dir: str | Path | None = None,
) -> Video:
    """Record a video of a checkpoint (of a run: its best, else its last); into its folder by default.

    Without a seed it plays the first episodes that training was scored on. `task` is one of `env.mix`; the
    first if not given.
    """
    from gymnast.runs.store import runs_root
    from gymnast.video.record import record_checkpoint

    for name, value in (("episodes", episodes), ("max_steps", max_steps)):
        if value < 1:
            raise GymnastError(f"{name} must be at least 1, got {value}")
    checkpoint = _find_checkpoint(reference, runs_root(runs_dir))
    video = record_checkpoint(
        checkpoint,
        episodes=episodes,
        max_steps=max_steps,
        stochastic=stochastic,
        seed=seed,
        task=task,
        fps=fps,
        out=None if out is None else Path(out),
    )
    return _video(video, checkpoint.run.id, (checkpoint.env_steps,))


def progress_video(
    run: str | Run = "@last",
    *,
    checkpoints: int = 5,
    seconds: float = 8.0,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    fps: float | None = None,
    out: str | Path | None = None,
    runs_dir: str | Path | None = None,
) -> Video:
    """One video of how a run learnt: several of its checkpoints, each for at most `seconds`, beside the curve
    of its returns."""
    from gymnast.runs.references import find_run
    from gymnast.runs.store import runs_root
    from gymnast.video.progress import record_progress

    if checkpoints < 1:
        raise GymnastError(f"checkpoints must be at least 1, got {checkpoints}")
    folder = run.folder if isinstance(run, Run) else find_run(runs_root(runs_dir), run)
    video, chosen = record_progress(
        folder,
        checkpoints=checkpoints,
        seconds=seconds,
        stochastic=stochastic,
        seed=seed,
        task=task,
        fps=fps,
        out=None if out is None else Path(out),
    )
    return _video(video, folder.id, chosen)


def load_policy(run: str | Run = "@last", *, runs_dir: str | Path | None = None) -> Policy:
    """The policy of a checkpoint; `policy.predict(obs)` gives the actions for observations [N, …].

    One with a memory wants `state = policy.start(N)`, `predict(obs, state=state)` and `state.reset(done)`;
    one without takes the same calls. Of a mix it is the policy of all tasks: `load_task_policy` gives
    that of one.
    """
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.envs.single import make_env
    from gymnast.policies.load import load_policy as rebuild_policy
    from gymnast.runs.store import runs_root

    arrays, _, config = _read_checkpoint(run, runs_root(runs_dir))
    if config.env.mix is not None:
        return rebuild_policy(config, *policy_spaces(config.env, training=False), arrays)
    env = make_env(config.env, training=False)
    try:
        return rebuild_policy(config, env.observation_space, env.action_space, arrays)
    finally:
        env.close()


def load_task_policy(
    run: str | Run = "@last", *, task: str, runs_dir: str | Path | None = None
) -> TaskPolicy:
    """The policy of a mix (`env.mix`) for one of its tasks: that task's own observations in, its own
    actions out, whatever the policy of all tasks is told and chooses from."""
    from gymnast.envs.mix.build import mix_form
    from gymnast.envs.mix.task_policy import TaskPolicy
    from gymnast.policies.load import load_policy as rebuild_policy
    from gymnast.runs.store import runs_root

    arrays, checkpoint, config = _read_checkpoint(run, runs_root(runs_dir))
    if config.env.mix is None:
        raise GymnastError(f"run {checkpoint.run.id} has no tasks (env.mix); use load_policy")
    form = mix_form(config.env, training=False)
    policy = rebuild_policy(config, form.observation_space, form.action_space, arrays)
    return TaskPolicy(policy, form, task)


def _with_budget(
    overrides: Overrides, max_env_steps: int | None, wall_time: float | None
) -> list[Any] | dict[str, Any]:
    """The two budget options are overrides like any other; env steps replace vectorised ones."""
    changes: dict[str, Any] = {}
    if max_env_steps is not None:
        changes |= {"budget.env_steps": max_env_steps, "budget.vec_steps": None}
    if wall_time is not None:
        changes["budget.wall_time"] = wall_time
    if isinstance(overrides, Mapping):
        return {**overrides, **changes}
    return [*overrides, *(f"{key}={'null' if value is None else value}" for key, value in changes.items())]


def _read_checkpoint(reference: str | Run, root: Path) -> tuple[dict[str, np.ndarray], Checkpoint, Config]:
    """Weights, where they lie, and the config of the run they belong to."""
    from gymnast.config.load import load_config
    from gymnast.runs.checkpoint import load_policy_arrays

    checkpoint = _find_checkpoint(reference, root)
    arrays, _ = load_policy_arrays(checkpoint)
    return arrays, checkpoint, load_config(str(checkpoint.run.config_path)).config


def _find_checkpoint(reference: str | Run, root: Path) -> Checkpoint:
    from gymnast.runs.checkpoint import resolve
    from gymnast.runs.references import find_checkpoint

    return resolve(reference.folder) if isinstance(reference, Run) else find_checkpoint(root, reference)


def _video(video: RecordedVideo, run_id: str, checkpoints: tuple[int, ...]) -> Video:
    return Video(
        path=video.path,
        run=run_id,
        checkpoints=checkpoints,
        returns=tuple(video.played.returns),
        lengths=tuple(video.played.lengths),
        cut=video.played.cut,
        width=video.width,
        height=video.height,
        fps=video.fps,
        frames=video.frames,
        seconds=video.seconds,
    )
