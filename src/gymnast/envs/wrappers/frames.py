"""Wrappers that change for how many frames of the env an action is held."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.states import layers_of, random_state, set_random_state
from gymnast.envs.wrappers.base import EnvWrapper, checked_count, checked_number
from gymnast.errors import GymnastError


class FrameSkip(EnvWrapper):
    """Hold each action for several frames; their rewards are added up, and an episode's end stops it.

    skip: frames an action is held for.
    max_of: show the brightest value of each pixel over the last so many frames, for consoles that draw
        some things in every second frame only.
    """

    def __init__(self, env: gym.Env[Any, Any], skip: int = 4, max_of: int = 1) -> None:
        super().__init__(env)
        self.skip = checked_count("frame-skip", "skip", skip)
        self.max_of = checked_count("frame-skip", "max_of", max_of)
        if fps := env.metadata.get("render_fps"):
            self.metadata = {**env.metadata, "render_fps": fps / self.skip}  # of our steps
        self._lives = any(getattr(layer, "reports_life_lost", False) for layer in layers_of(env))
        if self.max_of > 1 and not isinstance(env.observation_space, gym.spaces.Box):
            raise GymnastError(
                f"wrapper 'frame-skip': max_of is for Box observations, not {env.observation_space}"
            )

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        total, parts, life_lost = 0.0, dict[str, float](), False
        shown: deque[Any] = deque(maxlen=self.max_of)
        for _ in range(self.skip):
            obs, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            for name, share in info.get("reward_parts", {}).items():
                parts[name] = parts.get(name, 0.0) + share
            life_lost = life_lost or (self._lives and info.get("life_lost", False))
            if self.max_of > 1:
                shown.append(np.array(obs))  # an env may draw its next frame into the same array
            if terminated or truncated:
                break
        if len(shown) > 1:
            obs = np.maximum.reduce(list(shown))
        if parts:
            info = {**info, "reward_parts": parts}
        if life_lost:
            info = {**info, "life_lost": True}
        return obs, total, terminated, truncated, info


class _Random(EnvWrapper):
    """A generator of its own for each env, from the seed of its first reset, kept across a resume."""

    training_only = True
    stream: int  # sets the numbers apart from others that are drawn from the same seed

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._random = np.random.default_rng()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._random = np.random.default_rng([seed, self.stream])
        return self.env.reset(seed=seed, options=options)

    def get_state(self) -> dict[str, Any]:
        return {"random": random_state(self._random)}

    def set_state(self, state: dict[str, Any]) -> None:
        set_random_state(self._random, state["random"])


class RandomFrameSkip(_Random):
    """Draw at every step for how many frames the `frame-skip` inside holds the action.

    Evaluation leaves this out and keeps the fixed number of `frame-skip`, which must come before it.

    low, high: least and most frames, each number as likely as any other.
    """

    stream = 0xF5C1B

    def __init__(self, env: gym.Env[Any, Any], low: int = 2, high: int = 5) -> None:
        super().__init__(env)
        self.low = checked_count("random-frame-skip", "low", low)
        self.high = checked_count("random-frame-skip", "high", high, least=self.low)
        layer: Any = env
        while not isinstance(layer, FrameSkip):
            if not isinstance(layer, gym.Wrapper):
                raise GymnastError(
                    "wrapper 'random-frame-skip' varies the number of a 'frame-skip', which must stand before"
                    " it: wrappers: [{name: frame-skip, skip: 4}, {name: random-frame-skip, low: 2, high: 5}]"
                )
            layer = layer.env
        self._varied = layer

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._varied.skip = int(self._random.integers(self.low, self.high + 1))
        return self.env.step(action)


class StickyActions(_Random):
    """Now and then do the action before once more instead of the one that is asked for.

    The stochasticity that Machado et al. (2018) advise for Atari. Before a `frame-skip` it is drawn for
    every frame, after it for every step of the agent. The first action of an episode is always done.

    probability: of repeating the action before.
    """

    stream = 0x571C6

    def __init__(self, env: gym.Env[Any, Any], probability: float = 0.25) -> None:
        super().__init__(env)
        self.probability = checked_number("sticky-actions", "probability", probability, least=0.0, most=1.0)
        self._done: Any = None  # the action that was done last; None at an episode's start

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._done = None
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        sticks = self._random.random() < self.probability  # drawn always, so that the numbers stay in step
        if self._done is None or not sticks:
            # A caller may write its next action into the same array.
            self._done = action.copy() if isinstance(action, np.ndarray) else action
        return self.env.step(self._done)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "done": self._done}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._done = state["done"]
