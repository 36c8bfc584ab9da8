"""Films of a run's checkpoints: who plays, where the file goes, and which one is the best."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np

from gymnast.algorithms.table import build_algorithm
from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.envs.contract import EnvFailure
from gymnast.errors import GymnastError, RunFailed
from gymnast.parts.reward_scale import scale_in
from gymnast.policies.device import limit_threads
from gymnast.policies.load import load_policy
from gymnast.runs.checkpoint import Checkpoint, best_checkpoint, load_policy_arrays
from gymnast.runs.files import write_failed
from gymnast.runs.store import RunFolder
from gymnast.training.evaluator import evaluation_seed, sampling_rng
from gymnast.video.film import Film, make_film
from gymnast.video.mp4 import require_video
from gymnast.video.play import Player, Stage


def record_checkpoint(
    checkpoint: Checkpoint,
    *,
    episodes: int,
    max_steps: int,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    fps: float | None = None,
    out: Path | None = None,
) -> Film:
    """Film a checkpoint. Without `out` the film goes to the run's folder, and if the checkpoint is the best
    of its run, `best.mp4` leads to it."""
    require_video("gymnast video")
    config = load_config(str(checkpoint.run.config_path)).config
    usual = stochastic == config.eval.stochastic
    apart = (
        task,
        None if seed is None else f"seed{seed}",
        None if usual else "stochastic" if stochastic else "greedy",
    )
    path = out or film_path(checkpoint.run, checkpoint.env_steps, *filter(None, apart))
    stage = build_stage(config, seed, task)
    try:
        player = player_of(stage, config, checkpoint, stochastic=stochastic, seed=seed)
        film = film_player(stage, player, path, episodes=episodes, max_steps=max_steps, fps=fps)
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure
    finally:
        stage.close()
    if out is None and not any(apart) and checkpoint == best_checkpoint(checkpoint.run):
        link_best(checkpoint.run, path)
    return film


def build_stage(config: Config, seed: int | None, task: str | None = None) -> Stage:
    """The env to film. Without a seed it plays the first episodes that training was scored on."""
    return Stage(config, evaluation_seed(config) if seed is None else seed, task)


def player_of(
    stage: Stage, config: Config, checkpoint: Checkpoint | None, *, stochastic: bool, seed: int | None
) -> Player:
    """The policy of a checkpoint; with None, as it was before training."""
    arrays, scale, env_steps = None, 1.0, 0
    if checkpoint is not None:
        arrays, sidecar = load_policy_arrays(checkpoint)
        scale = scale_in(sidecar.metrics, stage.task)
        env_steps = checkpoint.env_steps
    policy = load_policy(config, stage.envs.observation_space, stage.envs.action_space, arrays)
    learnt = checkpoint is not None and build_algorithm(config.algo).uses_critic
    rng: np.random.Generator | None = None
    if stochastic:
        rng = sampling_rng(evaluation_seed(config) if seed is None else seed, env_steps)
    return Player(policy, rng, scale if learnt else None)


def film_player(
    stage: Stage, player: Player, path: Path, *, episodes: int, max_steps: int, fps: float | None
) -> Film:
    """Let a player play on a stage, and film it."""
    shots = stage.play(player, episodes, max_steps)
    with limit_threads(player.policy.layout, 1):
        return make_film(path, shots, fps or stage.fps, episodes)


def link_best(run: RunFolder, path: Path) -> None:
    """Let `best.mp4` lead to a film in the same folder: a relative link, or a copy where there are none."""
    link = run.best_video_path
    unfinished = link.with_name(f".{link.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        try:
            unfinished.symlink_to(path.name)
        except (OSError, NotImplementedError):  # Windows without the privilege, some network folders
            shutil.copyfile(path, unfinished)
        unfinished.replace(link)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise GymnastError(str(write_failed(link, error))) from error


def film_path(run: RunFolder, env_steps: int, *apart: str) -> Path:
    """Where a film goes: named as checkpoints are, and by what sets it apart from an evaluation."""
    name = "-".join([f"{env_steps:012d}", *(re.sub(r"[^\w.]+", "_", word) for word in apart)])
    return run.videos / f"{name}.mp4"
