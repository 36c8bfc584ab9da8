"""Recording a checkpoint to look at it: `traces.recorder` plays, pictures are encoded meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.config.overrides import Overrides
from gymnast.envs.contract import EnvFailure
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies.device import limit_threads
from gymnast.recordings.pictures import PictureEncoder
from gymnast.recordings.recording import Bounds
from gymnast.runs.checkpoint import Checkpoint
from gymnast.runs.files import MOST_CONFIG, read_bytes, sha256
from gymnast.runs.trust import load_run_config
from gymnast.traces.checkpoint import build_recorded_env, discounts, player_of
from gymnast.traces.env import RecordedEnv
from gymnast.traces.keep import TraceKeeper, describe
from gymnast.traces.recorder import iter_steps
from gymnast.traces.step import TraceStep
from gymnast.traces.trace import Trace, column_name

MOST_STEPS = 100_000
_TOLD_EVERY = 16  # steps between two words on the progress
_MOST_COMPONENTS = 64  # of an observation whose bounds are kept

Progress = Callable[[int], bool]  # gets the steps taken; False: stop recording


class Cancelled(GymnastError):
    """Nobody wants the recording any more."""

    exit_code = 1


class Played:
    """What was played, not yet on disk."""

    def __init__(self, trace: Trace, pictures: tuple[bytes, ...], mime: str, env: RecordedEnv) -> None:
        self.trace, self.pictures, self.mime = trace, pictures, mime
        self.rendered = env.camera.renders
        self.bounds = bounds_of(env)


def play_checkpoint(
    checkpoint: Checkpoint,
    *,
    episodes: int = 1,
    max_steps: int = 1000,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    frames: bool = True,
    overrides: Overrides = (),
    trust: bool = False,
    progress: Progress = lambda steps: True,
) -> Played:
    """Record episodes as `traces.checkpoint` does, with pictures for a browser. `progress` may end it."""
    config_path = checkpoint.config_path()
    config = load_run_config(checkpoint.run, overrides, file=config_path, trust=trust)
    env = build_recorded_env(config, seed, task, pictures=frames)
    try:
        player = player_of(env, config, checkpoint, stochastic=stochastic, seed=seed)
        keeper = TraceKeeper()
        with PictureEncoder() as encoder, limit_threads(player.policy.network, 1):
            if not progress(0):
                raise Cancelled("the recording was cancelled")
            steps = iter_steps(env, player, episodes=episodes, max_steps=max_steps)
            for _ in keeper.keep(_without_pictures(steps, encoder, progress)):
                pass
            pictures = encoder.finish()
        trace = keeper.trace(
            **describe(env, player),
            **discounts(config, checkpoint.env_steps),
            run=checkpoint.run.id,
            checkpoint=checkpoint.env_steps,
            config_sha256=sha256(read_bytes(config_path, MOST_CONFIG)),
        )
        # Where the trace was cut for its size, the row it ends on was the last that was seen.
        return Played(trace, pictures[: len(trace)], encoder.mime, env)
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure
    finally:
        env.close()


def _without_pictures(
    steps: Iterator[TraceStep], encoder: PictureEncoder, progress: Progress
) -> Iterator[TraceStep]:
    for taken, step in enumerate(steps):
        if step.picture is not None:
            encoder.add(step.picture)
        if taken % _TOLD_EVERY == 0 and not progress(taken):
            raise Cancelled("the recording was cancelled")
        yield replace(step, picture=None)


def bounds_of(env: RecordedEnv) -> dict[str, Bounds]:
    """The limits that the env's spaces give, of columns with few components."""
    spaces = {column_name("obs", leaf.name): leaf.space for leaf in env.camera.leaves}
    spaces["action"] = env.camera.action_space
    found = {name: _bounds(space) for name, space in spaces.items()}
    return {name: bounds for name, bounds in found.items() if bounds is not None}


def _bounds(space: gym.Space[Any]) -> Bounds | None:
    if isinstance(space, gym.spaces.Discrete):
        return Bounds((float(space.start),), (float(space.start + space.n - 1),))
    if isinstance(space, gym.spaces.Box) and space.low.size <= _MOST_COMPONENTS:
        return Bounds(_limits(space.low), _limits(space.high))
    if isinstance(space, gym.spaces.MultiDiscrete) and space.nvec.size <= _MOST_COMPONENTS:
        first = np.asarray(space.start, np.float64)
        return Bounds(_limits(first), _limits(first + space.nvec - 1))
    return None


def _limits(values: np.ndarray) -> tuple[float | None, ...]:
    """CartPole's speeds are bound by the largest float32: that is no limit."""
    return tuple(None if not abs(value) < 1e30 else float(value) for value in values.ravel().tolist())
