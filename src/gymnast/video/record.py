"""Videos of a run's checkpoints: who plays, where the file is, and which one is the best."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

from gymnast.config.overrides import Overrides
from gymnast.envs.contract import EnvFailure
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies.device import limit_threads
from gymnast.runs.checkpoint import Checkpoint, best_checkpoint
from gymnast.runs.files import MOST_ARRAYS, open_new, open_read, refuse_link, remove, write_failed
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import load_run_config
from gymnast.traces.checkpoint import build_recorded_env, player_of
from gymnast.traces.env import RecordedEnv
from gymnast.traces.recorder import Player, iter_steps
from gymnast.video.mp4 import require_video
from gymnast.video.write import RecordedVideo, write_video


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
    overrides: Overrides = (),
    trust: bool = False,
) -> RecordedVideo:
    """A video of a checkpoint. Without `out` it goes to the run's folder, and if the checkpoint is the best
    of its run, `best.mp4` links to it."""
    require_video("gymnast video")
    config = load_run_config(checkpoint.run, overrides, file=checkpoint.config_path(), trust=trust)
    usual = stochastic == config.eval.stochastic
    apart = (
        task,
        None if seed is None else f"seed{seed}",
        None if usual else "stochastic" if stochastic else "greedy",
    )
    path = out or video_path(checkpoint.run, checkpoint.env_steps, *filter(None, apart))
    env = build_recorded_env(config, seed, task)
    try:
        player = player_of(env, config, checkpoint, stochastic=stochastic, seed=seed)
        video = record_player(env, player, path, episodes=episodes, max_steps=max_steps, fps=fps)
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure
    finally:
        env.close()
    if out is None and not any(apart) and checkpoint == best_checkpoint(checkpoint.run):
        link_best(checkpoint.run, path)
    return video


def record_player(
    env: RecordedEnv, player: Player, path: Path, *, episodes: int, max_steps: int, fps: float | None
) -> RecordedVideo:
    """A video of a player, encoded while it plays."""
    steps = iter_steps(env, player, episodes=episodes, max_steps=max_steps)
    with limit_threads(player.policy.network, 1):
        return write_video(path, steps, fps or env.fps, episodes)


def link_best(run: RunFolder, path: Path) -> None:
    """Make `best.mp4` a relative link to a video in the same folder; a copy where links cannot be made."""
    link = run.best_video_path
    unfinished = link.with_name(f".{link.name}.part")
    try:
        remove(unfinished)
        try:
            unfinished.symlink_to(path.name)
        except (OSError, NotImplementedError):  # Windows without the privilege, some network folders
            with open_read(path, MOST_ARRAYS) as video, open_new(unfinished) as copied:
                shutil.copyfileobj(video, copied)
        unfinished.replace(link)
    except OSError as error:
        with suppress(GymnastError):
            remove(unfinished)
        raise GymnastError(str(write_failed(link, error))) from error


def video_path(run: RunFolder, env_steps: int, *apart: str) -> Path:
    """Where a video goes: named as checkpoints are, and by what sets it apart from an evaluation."""
    refuse_link(run.videos)
    name = "-".join([f"{env_steps:012d}", *(re.sub(r"[^\w.]+", "_", word) for word in apart)])
    return run.videos / f"{name}.mp4"
