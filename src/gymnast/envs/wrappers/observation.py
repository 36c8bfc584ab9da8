"""Wrappers that change what the agent sees."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import EnvWrapper, ObservationChange, checked_count
from gymnast.errors import GymnastError, did_you_mean


class HideComponents(ObservationChange):
    """Leave components out of a vector observation: CartPole without its velocities needs a memory.

    components: which to leave out, by index or by name.
    observation_names: the names, in order; those of the config's env.spec if unset.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        components: Sequence[int | str],
        observation_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1:
            raise GymnastError(f"wrapper 'hide-components' is for a vector of numbers, not {space}")
        if isinstance(components, int | str):
            components = [components]
        names = list(observation_names or ())
        hidden = {_index(component, names, space.shape[0]) for component in components}
        self._kept = [index for index in range(space.shape[0]) if index not in hidden]
        if not self._kept or not hidden:
            which = "every component" if hidden else "nothing"
            raise GymnastError(f"wrapper 'hide-components': {which} would be left out")
        self.observation_space = gym.spaces.Box(
            space.low[self._kept], space.high[self._kept], dtype=space.dtype
        )

    def observation(self, observation: np.ndarray) -> Any:
        return observation[self._kept]

    def names(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        return tuple(names[index] for index in self._kept)


def _index(component: Any, names: list[str], size: int) -> int:
    if isinstance(component, int) and not isinstance(component, bool):
        if -size <= component < size:
            return component % size
        raise GymnastError(
            f"wrapper 'hide-components': there is no component {component}; they are 0 to {size - 1}"
        )
    if len(names) != size:
        raise GymnastError(
            f"wrapper 'hide-components': the {size} components have no names here, so {component!r} cannot be"
            " found; give indices, or env.spec.observation_names"
        )
    if component not in names:
        hint = did_you_mean(str(component), names)
        raise GymnastError(
            f"wrapper 'hide-components': no component is called {component!r}{hint};"
            f" there are {', '.join(names)}"
        )
    return names.index(component)


class FrameStack(EnvWrapper):
    """Show the last k observations at once; the first of an episode stands in for those before it.

    Vectors are joined end to end, oldest first; images and other arrays get a leading axis k, and a
    Discrete becomes a MultiDiscrete. The parts of a Dict or Tuple are stacked each by itself.

    k: how many observations.
    """

    def __init__(self, env: gym.Env[Any, Any], k: int = 4) -> None:
        super().__init__(env)
        self.k = checked_count("frame-stack", "k", k, least=2)
        self.observation_space = _stacked_space(env.observation_space, self.k)
        self._frames: deque[Any] = deque(maxlen=self.k)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._frames.extend([_copied(obs)] * self.k)
        return self._seen(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._frames.append(_copied(obs))  # an env may write its next observation into the same array
        return self._seen(), reward, terminated, truncated, info

    def _seen(self) -> Any:
        return _stacked(self.env.observation_space, list(self._frames))

    def get_state(self) -> dict[str, Any]:
        return {"frames": list(self._frames)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._frames = deque(state["frames"], maxlen=self.k)


def _copied(obs: Any) -> Any:
    if isinstance(obs, dict):
        return {key: _copied(value) for key, value in obs.items()}
    if isinstance(obs, tuple):
        return tuple(_copied(value) for value in obs)
    return np.array(obs)


def _stacked_space(space: gym.Space[Any], k: int) -> gym.Space[Any]:
    match space:
        case gym.spaces.Dict():
            return gym.spaces.Dict({key: _stacked_space(part, k) for key, part in space.spaces.items()})
        case gym.spaces.Tuple():
            return gym.spaces.Tuple([_stacked_space(part, k) for part in space.spaces])
        case gym.spaces.Box():
            join = np.concatenate if len(space.shape) == 1 else np.stack
            low, high = join([space.low] * k), join([space.high] * k)
            return gym.spaces.Box(low, high, dtype=space.dtype)
        case gym.spaces.Discrete():
            return gym.spaces.MultiDiscrete([space.n] * k, start=[space.start] * k)
        case gym.spaces.MultiDiscrete():
            return gym.spaces.MultiDiscrete(np.stack([space.nvec] * k), start=np.stack([space.start] * k))
        case gym.spaces.MultiBinary():
            return gym.spaces.MultiBinary((k, *space.shape))
    raise GymnastError(f"wrapper 'frame-stack' cannot stack observations of {space}")


def _stacked(space: gym.Space[Any], frames: list[Any]) -> Any:
    if isinstance(space, gym.spaces.Dict):
        return {key: _stacked(part, [frame[key] for frame in frames]) for key, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_stacked(part, [frame[i] for frame in frames]) for i, part in enumerate(space.spaces))
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1:
        return np.concatenate(frames)
    return np.stack(frames)
