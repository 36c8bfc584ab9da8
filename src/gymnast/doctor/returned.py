"""What is wrong with a single observation, reward, flag or info that an env returned, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

Problem = tuple[str, str]  # its kind, and what is wrong
_SLIGHTLY = 0.1  # of the range: some of Gymnasium's own envs leave theirs so far


def observation_problem(space: gym.Space[Any], obs: Any, where: str = "") -> Problem | None:
    """The first thing that makes an observation no element of its space; None if there is none."""
    named = f"observation{where}"
    if isinstance(space, gym.spaces.Dict):
        if not isinstance(obs, dict):
            return "structure", f"{named} is a {type(obs).__name__}; its space is a Dict"
        for key, part in space.spaces.items():
            if key not in obs:
                return "structure", f"{named} has no {key!r}, which its space has"
            if (problem := observation_problem(part, obs[key], f"{where}[{key!r}]")) is not None:
                return problem
        return None
    if isinstance(space, gym.spaces.Tuple):
        if not isinstance(obs, tuple | list) or len(obs) != len(space.spaces):
            return "structure", f"{named} is not a tuple of {len(space.spaces)} parts"
        for index, (part, value) in enumerate(zip(space.spaces, obs, strict=True)):
            if (problem := observation_problem(part, value, f"{where}[{index}]")) is not None:
                return problem
        return None
    if isinstance(space, gym.spaces.Box):
        return _box_problem(space, obs, named)
    try:
        fits = space.contains(obs)
    except Exception:
        fits = False
    return None if fits else ("bounds", f"{named} {_short(obs)} is not in {space}")


def _box_problem(space: gym.spaces.Box, obs: Any, named: str) -> Problem | None:
    if not isinstance(obs, np.ndarray | np.generic):
        return "structure", f"{named} is a {type(obs).__name__}; its space has NumPy arrays"
    if obs.shape != space.shape:
        return "structure", f"{named} has the shape {obs.shape}; its space has {space.shape}"
    array = np.asarray(obs)
    if array.dtype.kind not in "biuf":
        return "dtype", f"{named} has the dtype {array.dtype}; its space has {space.dtype}"
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        index = _place(~np.isfinite(array))
        return "NaN", f"{named}{index} is {array[~np.isfinite(array)].flat[0]}"
    outside = (array < space.low) | (array > space.high)
    if outside.any():
        low, high = (float(np.asarray(bound)[outside].flat[0]) for bound in (space.low, space.high))
        value = float(array[outside].flat[0])
        text = f"{named}{_place(outside)} is {value:g}; the space has [{low:g}, {high:g}]"
        beyond = max(low - value, value - high)
        return ("slightly" if beyond <= _SLIGHTLY * (high - low) else "bounds"), text
    if not np.can_cast(array.dtype, space.dtype):
        return "dtype", f"{named} is {array.dtype}; the space has {space.dtype}"
    return None


def _place(where: np.ndarray) -> str:
    if where.ndim == 0:
        return ""
    return str([int(axis[0]) for axis in np.nonzero(where)]).replace(" ", "")


def scalar_problems(reward: Any, terminated: Any, truncated: Any) -> Iterator[Problem]:
    """What is wrong with the rest of a step."""
    try:
        number = float(reward)
    except (TypeError, ValueError):
        yield "reward", f"the reward is {_short(reward)}, not a number"
    else:
        if not np.isfinite(number):
            yield "NaN", f"the reward is {number}"
        elif np.ndim(reward) > 0:
            yield "reward", f"the reward is an array of shape {np.shape(reward)}, not a number"
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(flag, bool | np.bool_):
            yield "flags", f"{name} is {_short(flag)}, not True or False"


def info_problem(info: Any) -> Problem | None:
    return None if isinstance(info, dict) else ("info", f"info is a {type(info).__name__}, not a dict")


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 40 else f"{text[:37]}…"
