"""What every wrapper of ours has: a flag, named shares of the reward, and a state."""

from __future__ import annotations

from typing import Any, ClassVar, TypeGuard

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError, did_you_mean


class EnvWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """Base of our wrappers. Arguments of `__init__` after `env` are what a config may set."""

    training_only: ClassVar[bool] = False  # left out of evaluation
    gives_masks: ClassVar[bool] = False  # works by info["action_mask"] alone
    # Of the class, or of an object where its arguments decide:
    reward_parts: tuple[str, ...] = ()  # names this wrapper reports under info["reward_parts"]
    episode_values: tuple[str, ...] = ()  # names it gives values of in the info of an episode's last step
    action_labels: tuple[str, ...] | None = None  # of the Discrete actions that it makes of the env's own

    def get_state(self) -> dict[str, Any]:
        """What `set_state` needs to continue exactly here: JSON values, arrays, bytes, tuples of them."""
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""

    def names(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        """Names of the observation's components behind this wrapper, from those before it; None: unknown."""
        return names if self.observation_space == self.env.observation_space else None


class ObservationChange(EnvWrapper, gym.ObservationWrapper[Any, Any, Any]):
    """Base of wrappers that make another observation of each: their `observation`."""


def is_vector(space: gym.Space[Any]) -> TypeGuard[gym.spaces.Box]:
    """Whether this is a row of numbers that need not be whole."""
    return (
        isinstance(space, gym.spaces.Box)
        and len(space.shape) == 1
        and np.issubdtype(space.dtype, np.floating)
    )


def with_part(info: dict[str, Any], name: str, value: float) -> dict[str, Any]:
    """`info` with one more share of the reward. A new dict: an env may hand out the same one each step."""
    parts = dict(info.get("reward_parts", ()))
    parts[name] = parts.get(name, 0.0) + value
    return {**info, "reward_parts": parts}


def info_number(wrapper: str, name: str, info: dict[str, Any]) -> float:
    """A number in the env's `info`, or a GymnastError that lists what is there."""
    if name not in info:
        raise GymnastError(
            f"wrapper '{wrapper}': the env's info has no '{name}'{did_you_mean(name, info)};"
            f" it has {', '.join(sorted(info)) or 'nothing'}"
        )
    try:
        return float(info[name])
    except (TypeError, ValueError):
        raise GymnastError(f"wrapper '{wrapper}': info['{name}'] is not a number: {info[name]!r}") from None


def checked_number(
    wrapper: str, argument: str, value: Any, least: float = float("-inf"), most: float = float("inf")
) -> float:
    """`value` as float, or a GymnastError that names wrapper, argument and range."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        bounds = f" from {least:g} to {most:g}" if least > float("-inf") or most < float("inf") else ""
        raise GymnastError(f"wrapper '{wrapper}': {argument} must be a number{bounds}, not {value!r}")
    return float(value)


def checked_flag(wrapper: str, argument: str, value: Any) -> bool:
    """`value` as it is if it is true or false, or a GymnastError."""
    if not isinstance(value, bool):
        raise GymnastError(f"wrapper '{wrapper}': {argument} must be true or false, not {value!r}")
    return value


def checked_count(wrapper: str, argument: str, value: Any, least: int = 1) -> int:
    """`value` as int (1e3 counts as 1000), or a GymnastError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < least:
        raise GymnastError(
            f"wrapper '{wrapper}': {argument} must be a whole number of at least {least}, not {value!r}"
        )
    return int(value)
