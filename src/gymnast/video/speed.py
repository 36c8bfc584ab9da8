"""How many steps of an env make up a second of the game."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

DEFAULT_FPS = 30.0
_CONSOLE_FPS = 60.0  # Atari and the consoles that stable-retro emulates


def steps_per_second(env: gym.Env[Any, Any]) -> float:
    """The game's frames a second, divided by the frames that one step takes."""
    frames, skip = _frames_per_second(env), 1.0
    layer: gym.Env[Any, Any] = env
    while True:
        skip *= _frames_per_step(layer)
        if not isinstance(layer, gym.Wrapper):
            return max(1.0, frames / skip)
        layer = layer.env


def _frames_per_second(env: gym.Env[Any, Any]) -> float:
    if type(env.unwrapped).__module__.startswith("ale_py"):
        return _CONSOLE_FPS  # its metadata speak of 30, whatever it skips
    for key in ("render_fps", "video.frames_per_second"):
        if env.metadata.get(key):
            return float(env.metadata[key])
    return DEFAULT_FPS


def _frames_per_step(layer: gym.Env[Any, Any]) -> float:
    """Of this layer alone. MuJoCo's frame rate has its frame skip in it already."""
    if type(layer).__module__.startswith("gymnasium.envs"):
        return 1.0
    own = vars(layer)
    for name in ("frame_skip", "frameskip", "_frameskip", "skip"):
        skip = own.get(name)
        if isinstance(skip, (tuple, list)) and len(skip) == 2:  # drawn anew for every step
            return max(1.0, (skip[0] + skip[1] - 1) / 2)
        if isinstance(skip, int | float) and not isinstance(skip, bool):
            return max(1.0, float(skip))
    return 1.0
