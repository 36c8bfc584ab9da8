"""Policies and recordings whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.insight.subject import Subject, study
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.processes.threads import one_torch_thread
from gymnast.spaces.observation_form import plain_observation_space
from gymnast.traces.keep import record_trace

Make = Callable[..., tuple[Policy, Subject]]


class Pictures(gym.Env[Any, Any]):
    """Noise, or black but for a bright block; there is nothing to do."""

    action_space = gym.spaces.Discrete(3)
    metadata: dict[str, Any] = {}  # noqa: RUF012
    render_mode = None

    def __init__(self, shape: tuple[int, ...], length: int, bright: tuple[slice, slice] | None) -> None:
        self.observation_space = gym.spaces.Box(0, 255, shape, np.uint8)
        self.length, self.bright, self.t = length, bright, 0

    def _obs(self) -> np.ndarray:
        noise = self.np_random.integers(0, 256, self.observation_space.shape or ()).astype(np.uint8)
        if self.bright is None:
            return noise
        picture = np.zeros_like(noise)
        picture[(..., *self.bright)] = np.maximum(noise[(..., *self.bright)], 100)
        return picture

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self._obs(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return self._obs(), 1.0, self.t >= self.length, False, {}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small networks on a busy machine: two threads would mostly wait for each other."""
    with one_torch_thread():
        yield


@pytest.fixture(scope="session")
def make_subject() -> Make:
    """A new policy for an env, its weights changed as wanted, and a recording of it."""

    def make(
        env: gym.Env[Any, Any],
        change: Callable[[dict[str, np.ndarray]], None] | None = None,
        *,
        engine: str = "auto",
        episodes: int = 1,
        sampled: bool = True,
        critic: bool = True,
        **settings: Any,
    ) -> tuple[Policy, Subject]:
        config = PolicyConfig(**({"actor_gain": 1.0, "image": {"features": 32}} | settings))
        policy = build_policy(
            config, engine, plain_observation_space(env.observation_space), env.action_space, 3
        )
        if change is not None:
            arrays = policy.arrays()
            change(arrays)
            policy.load_arrays(arrays)
        rng = np.random.default_rng(5) if sampled else None
        scale = 1.0 if critic else None
        trace = record_trace(
            policy, env, seed=7, rng=rng, episodes=episodes, frames=False, max_steps=400, value_scale=scale
        )
        return policy, study(policy, trace)

    return make


@pytest.fixture(scope="session")
def pictures() -> Callable[..., Pictures]:
    """An env of pictures."""

    def make(
        shape: tuple[int, ...] = (4, 84, 84),
        length: int = 12,
        bright: tuple[slice, slice] | None = None,
    ) -> Pictures:
        return Pictures(shape, length, bright)

    return make


@pytest.fixture(scope="session")
def block_reader() -> Callable[[dict[str, np.ndarray]], None]:
    """Makes a Nature CNN read one block of 8 × 8 pixels, rows and columns 36 to 43, and nothing else.

    The last layer's unit (3, 3) sees the middle of its field alone: unit 4 of the second layer, which
    sees unit 9 of the first, which sees pixels 36 to 43.
    """

    def change(arrays: dict[str, np.ndarray]) -> None:
        for name in ("encoder.2.weight", "encoder.4.weight"):
            weight = arrays[name]
            middle = np.abs(weight[:, :, 1, 1])
            weight[...] = 0
            weight[:, :, 1, 1] = middle
        arrays["encoder.0.weight"][...] = np.abs(arrays["encoder.0.weight"])
        head = arrays["encoder.7.weight"].reshape(-1, 64, 7, 7)
        kept = np.abs(head[:, :, 3, 3])
        head[...] = 0
        head[:, :, 3, 3] = kept

    return change
