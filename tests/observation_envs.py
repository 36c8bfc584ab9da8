"""Tiny tasks whose answer is in the observation, one for every kind of observation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

IMAGE = gym.spaces.Box(0, 255, (12, 12, 3), np.uint8)
NUMBERS = gym.spaces.Box(-1, 1, (2,), np.float32)
SPACES: dict[str, gym.Space[Any]] = {
    "vector": NUMBERS,
    "image": IMAGE,
    "image_chw": gym.spaces.Box(0, 255, (3, 12, 12), np.uint8),
    "discrete": gym.spaces.Discrete(4, start=3),
    "multidiscrete": gym.spaces.MultiDiscrete([2, 2], start=[1, 0]),
    "multibinary": gym.spaces.MultiBinary(2),
    "numbers_dict": gym.spaces.Dict({"v": NUMBERS, "nested": gym.spaces.Dict({"d": gym.spaces.Discrete(2)})}),
    "image_dict": gym.spaces.Dict({"image": IMAGE, "v": NUMBERS}),
    "tuple": gym.spaces.Tuple([NUMBERS, gym.spaces.Discrete(2, start=5)]),
}


class Cue(gym.Env):
    """The right action is one of four each step; half of the answer is in each half of the observation."""

    def __init__(self, kind: str = "vector", length: int = 4) -> None:
        self.kind, self.length = kind, length
        self.observation_space = SPACES[kind]
        self.action_space = gym.spaces.Discrete(4)
        self.cue = self.t = 0

    def _obs(self) -> Any:
        high, low = divmod(self.cue, 2)
        numbers = np.array([low * 2 - 1, 0.3], np.float32)
        image = np.zeros((12, 12, 3), np.uint8)
        if self.kind == "image_dict":
            image[6 * high : 6 * high + 6] = 255
        else:
            image[6 * high : 6 * high + 6, 6 * low : 6 * low + 6, 1] = 255
        return {
            "vector": np.array([high * 2 - 1, low * 2 - 1], np.float32),
            "image": image,
            "image_chw": image.transpose(2, 0, 1),
            "discrete": self.cue + 3,
            "multidiscrete": np.array([high + 1, low]),
            "multibinary": np.array([high, low], np.int8),
            "numbers_dict": {"v": numbers, "nested": {"d": high}},
            "image_dict": {"image": image, "v": numbers},
            "tuple": (numbers, high + 5),
        }[self.kind]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.cue = 0, int(self.np_random.integers(4))
        return self._obs(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == self.cue)
        self.t, self.cue = self.t + 1, int(self.np_random.integers(4))
        return self._obs(), reward, self.t >= self.length, False, {}

    def get_state(self) -> dict[str, Any]:
        return {"t": self.t, "cue": self.cue}

    def set_state(self, state: dict[str, Any]) -> None:
        self.t, self.cue = int(state["t"]), int(state["cue"])


class Delayed(gym.Env):
    """The answer is shown in the first step and asked for in step `lag`: this takes stacked frames.

    Episodes are truncated, so the values of their true last observations matter too.
    """

    def __init__(self, lag: int = 2, image: bool = False) -> None:
        self.lag, self.image = lag, image
        self.action_space = gym.spaces.Discrete(2)
        if image:
            self.observation_space: gym.Space[Any] = gym.spaces.Box(0, 255, (6, 6), np.uint8)
        else:
            self.observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.cue = self.t = 0

    def _obs(self) -> np.ndarray:
        shown = (self.cue * 2 - 1) * (self.t == 0)
        if self.image:
            return np.full((6, 6), 128 + 127 * shown, np.uint8)
        return np.array([shown], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.cue = 0, int(self.np_random.integers(2))
        return self._obs(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == self.cue) if self.t == self.lag else 0.0
        self.t += 1
        return self._obs(), reward, False, self.t > self.lag, {}

    def get_state(self) -> dict[str, Any]:
        return {"t": self.t, "cue": self.cue}

    def set_state(self, state: dict[str, Any]) -> None:
        self.t, self.cue = int(state["t"]), int(state["cue"])
