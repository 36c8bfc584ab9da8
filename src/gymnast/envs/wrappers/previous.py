"""Wrappers that show the agent what it did and what it was paid for it."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import EnvWrapper, checked_count, is_vector
from gymnast.errors import GymnastError


class _Remembered(EnvWrapper):
    """The last k of something as part of the observation; zeros before the first.

    A vector of numbers is made longer; a Dict gets one more entry; anything else becomes the entry
    `observation` of a Dict.
    """

    wrapper: str
    entry: str

    def __init__(self, env: gym.Env[Any, Any], k: int, low: np.ndarray, high: np.ndarray) -> None:
        super().__init__(env)
        k = checked_count(self.wrapper, "k", k)
        zero = np.zeros(low.shape, np.float32)
        self._zeros = [zero] * k
        self._last: deque[np.ndarray] = deque(self._zeros, maxlen=k)
        # 0 means before the episode, so it is always a possible value.
        low, high = np.tile(np.minimum(low, 0), k), np.tile(np.maximum(high, 0), k)
        space = env.observation_space
        self._is_vector = is_vector(space)
        self._is_dict = isinstance(space, gym.spaces.Dict)
        added = gym.spaces.Box(low, high, dtype=np.float32)
        if is_vector(space):
            self.observation_space = gym.spaces.Box(
                np.concatenate([space.low, low]).astype(space.dtype),
                np.concatenate([space.high, high]).astype(space.dtype),
                dtype=space.dtype,
            )
        else:
            known = dict(space.spaces) if isinstance(space, gym.spaces.Dict) else {"observation": space}
            if self.entry in known:
                raise GymnastError(
                    f"wrapper '{self.wrapper}': the observation has an entry '{self.entry}' already"
                )
            self.observation_space = gym.spaces.Dict({**known, self.entry: added})

    def _joined(self, obs: Any) -> Any:
        seen = np.concatenate(self._last)
        if self._is_vector:
            return np.concatenate([obs, seen]).astype(self.observation_space.dtype, copy=False)
        return {**(obs if self._is_dict else {"observation": obs}), self.entry: seen}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._last.extend(self._zeros)
        return self._joined(obs), info

    def names(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        if not self._is_vector:
            return None
        what, width = self.entry.replace("_", " "), self._zeros[0].size
        count = width * len(self._zeros)
        return (*names, *((what,) if count == 1 else (f"{what} {index}" for index in range(count))))

    def get_state(self) -> dict[str, Any]:
        return {"last": list(self._last)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._last = deque(state["last"], maxlen=len(self._zeros))


class PreviousAction(_Remembered):
    """Show the last k actions beside the observation: one-hot where they are choices, else their values.

    A vector observation is made longer, a Dict gets the entry `previous_action`, anything else becomes
    a Dict of `observation` and `previous_action`. Zeros mean actions before the episode's first.

    k: how many, oldest first.
    """

    wrapper, entry = "previous-action", "previous_action"

    def __init__(self, env: gym.Env[Any, Any], k: int = 1) -> None:
        try:
            flat = gym.spaces.utils.flatten_space(env.action_space)
        except NotImplementedError:
            flat = None
        if not isinstance(flat, gym.spaces.Box):
            raise GymnastError(f"wrapper 'previous-action' cannot show actions of {env.action_space}")
        super().__init__(env, k, flat.low.astype(np.float32), flat.high.astype(np.float32))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        flat = gym.spaces.utils.flatten(self.env.action_space, action)
        self._last.append(np.asarray(flat, np.float32))
        return self._joined(obs), reward, terminated, truncated, info


class PreviousReward(_Remembered):
    """Show the last k rewards beside the observation, as this wrapper gets them.

    A vector observation is made longer, a Dict gets the entry `previous_reward`, anything else becomes
    a Dict of `observation` and `previous_reward`. Zeros mean rewards before the episode's first.

    k: how many, oldest first.
    """

    wrapper, entry = "previous-reward", "previous_reward"

    def __init__(self, env: gym.Env[Any, Any], k: int = 1) -> None:
        super().__init__(env, k, np.full(1, -np.inf, np.float32), np.full(1, np.inf, np.float32))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._last.append(np.array([reward], np.float32))
        return self._joined(obs), reward, terminated, truncated, info
