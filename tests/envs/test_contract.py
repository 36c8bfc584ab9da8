"""One contract, held by every backend: what a plain loop over single envs would have seen, and no more.

The reference of `sync`, `workers`, `remote` and native MiniGrid is just such a loop with the same seeds and
actions.
`native` and `envpool` else draw their starts from one generator, so there the reference takes over each
episode's first observation and simulates on from it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

from gymnast.envs.build import build_envs, env_seeds, make_env
from gymnast.envs.contract import Envs
from gymnast.envs.settings import EnvConfig

N = 5
needs_minigrid = pytest.mark.skipif(
    importlib.util.find_spec("minigrid") is None, reason="the extra 'minigrid' is not installed"
)
needs_envpool = pytest.mark.skipif(
    importlib.util.find_spec("envpool") is None, reason="the extra 'envpool' is not installed"
)

# Short limits, so that a few dozen steps see both ways for an episode to end.
CONFIGS = {
    "cartpole": EnvConfig(id="CartPole-v1", max_episode_steps=25, workers=2),
    "lunarlander": EnvConfig(id="LunarLander-v3", max_episode_steps=60, workers=2),
    "lander-continuous": EnvConfig(id="LunarLanderContinuous-v3", max_episode_steps=40, workers=2),
    "frozenlake": EnvConfig(id="FrozenLake-v1", max_episode_steps=6, workers=2),
    "pendulum": EnvConfig(id="Pendulum-v1", max_episode_steps=20, workers=2),
    "countdown": EnvConfig(id="sample_envs:Countdown", workers=2),
    "from-five": EnvConfig(id="sample_envs:FromFive", workers=3),
    "disabled": EnvConfig(id="sample_envs:sample/Disabled-v0"),
    "same-step": EnvConfig(id="sample_envs:sample/SameStep-v0"),
    "shaped": EnvConfig(
        id="MountainCar-v0",
        max_episode_steps=12,
        workers=2,
        wrappers=("mountaincar-shaping", "count-bonus", {"name": "reward-scale", "scale": 2.0}),
    ),
    "minigrid": EnvConfig(
        id="MiniGrid-Empty-Random-5x5-v0",
        max_episode_steps=15,
        workers=2,
        wrappers=({"name": "minigrid-planes", "direction": False},),
    ),
}
IN_WORKERS = ("cartpole", "lunarlander", "frozenlake", "countdown", "from-five", "shaped")
CASES = [
    *[("sync", name) for name in CONFIGS if name != "minigrid"],
    *[(backend, name) for backend in ("workers", "remote") for name in IN_WORKERS],
    ("native", "cartpole"),
    ("native", "disabled"),
    ("native", "same-step"),
    *[pytest.param("envpool", name, marks=needs_envpool) for name in ("cartpole", "frozenlake", "pendulum")],
    *[
        pytest.param(name, "minigrid", marks=needs_minigrid)
        for name in ("sync", "workers", "native", "remote")
    ],
]


class SingleEnvs:
    """The reference: single envs, reset with the same seeds, stepped by a plain loop."""

    def __init__(self, config: EnvConfig, seeds: list[int]) -> None:
        self.envs = [make_env(config) for _ in seeds]
        self.first_action = getattr(self.envs[0].action_space, "start", 0)
        self.first_obs = getattr(self.envs[0].observation_space, "start", 0)
        self.seeds = seeds

    def reset(self) -> list[Any]:
        return [env.reset(seed=s)[0] - self.first_obs for env, s in zip(self.envs, self.seeds, strict=True)]

    def step(self, index: int, action: Any, before: Any) -> tuple[Any, ...]:
        """Observation, reward, flags, shares of the reward, and the next episode's first observation."""
        if np.ndim(action) == 0:
            action = int(action) + self.first_action
        else:
            action = action.astype(self.envs[index].action_space.dtype)
        obs, reward, terminated, truncated, info = self.envs[index].step(action)
        first = self.envs[index].reset()[0] - self.first_obs if terminated or truncated else None
        return obs - self.first_obs, reward, terminated, truncated, info.get("reward_parts", {}), first


class CartPoleFrom:
    """CartPole simulated on from an observation; None where the reference cannot know."""

    def __init__(self, config: EnvConfig) -> None:
        self.env = gym.make("CartPole-v1").unwrapped
        self.limit = config.max_episode_steps
        self.lengths = [0] * N

    def step(self, index: int, action: Any, before: Any) -> tuple[Any, ...]:
        self.env.reset()
        self.env.state = np.asarray(before, np.float64)
        obs, reward, terminated, _, _ = self.env.step(int(action))
        self.lengths[index] += 1
        truncated = self.lengths[index] >= self.limit
        if terminated or truncated:
            self.lengths[index] = 0
        return obs, reward, terminated, truncated, {}, None


class PendulumFrom(CartPoleFrom):
    def __init__(self, config: EnvConfig) -> None:
        super().__init__(config)
        self.env = gym.make("Pendulum-v1").unwrapped

    def step(self, index: int, action: Any, before: Any) -> tuple[Any, ...]:
        self.env.reset()
        self.env.state = np.array([np.arctan2(before[1], before[0]), before[2]], np.float64)
        obs, reward, _, _, _ = self.env.step(action)
        self.lengths[index] += 1
        truncated = self.lengths[index] >= self.limit
        if truncated:
            self.lengths[index] = 0
        return obs, reward, False, truncated, {}, None


class FrozenLakeFrom(CartPoleFrom):
    """Which cells can follow is known, which does is chance."""

    def __init__(self, config: EnvConfig) -> None:
        super().__init__(config)
        self.env = gym.make("FrozenLake-v1").unwrapped

    def step(self, index: int, action: Any, before: Any, after: Any = None) -> tuple[Any, ...]:
        outcomes = {s: (r, t) for _, s, r, t in self.env.P[int(before)][int(action)]}
        assert int(after) in outcomes
        reward, terminated = outcomes[int(after)]
        self.lengths[index] += 1
        truncated = self.lengths[index] >= self.limit
        if terminated or truncated:
            self.lengths[index] = 0
        return after, reward, terminated, truncated, {}, None


def reference_for(backend: str, name: str, seeds: list[int]) -> Any:
    if backend == "envpool" or (backend, name) == ("native", "cartpole"):
        kinds = {"cartpole": CartPoleFrom, "pendulum": PendulumFrom, "frozenlake": FrozenLakeFrom}
        return kinds[name](CONFIGS[name])
    return SingleEnvs(CONFIGS[name], seeds)


def random_actions(envs: Envs, steps: int) -> Iterator[np.ndarray]:
    random = np.random.default_rng(7)
    for _ in range(steps):
        if isinstance(envs.action_space, gym.spaces.Discrete):
            yield random.integers(0, envs.action_space.n, size=envs.n_envs)
        else:
            yield random.uniform(-1, 1, size=(envs.n_envs, *envs.action_space.shape)).astype(np.float32)


@pytest.mark.parametrize(("backend", "name"), CASES)
def test_every_step_is_a_transition_of_every_env(backend: str, name: str) -> None:
    envs = build_envs(CONFIGS[name], n_envs=N, seed=3, backend=backend)
    try:
        assert envs.backend == backend
        reference = reference_for(backend, name, envs.seeds)
        exact = isinstance(reference, SingleEnvs)
        obs = envs.reset()
        space = envs.observation_space
        wanted_dtype = np.int64 if isinstance(space, gym.spaces.Discrete) else space.dtype
        assert obs.dtype == wanted_dtype
        assert obs.shape == (N, *(space.shape or ()))
        if exact:
            np.testing.assert_array_equal(obs, np.array(reference.reset()).astype(obs.dtype))
        episodes: list[tuple[int, float]] = []  # lengths and returns as a consumer would count them
        expected: list[tuple[int, float]] = []
        running = np.zeros((N, 4))
        for actions in random_actions(envs, 130):
            before = obs.copy()
            step = envs.step(actions)
            assert step.rewards.dtype == np.float64
            assert step.terminated.dtype == step.truncated.dtype == np.bool_
            assert set(step.reward_parts) == set(envs.reward_parts)
            done = step.terminated | step.truncated
            assert (step.final_obs is not None) == done.any()
            for index in range(N):
                saw = step.final_obs[index] if done[index] else step.obs[index]
                after = {"after": saw} if isinstance(reference, FrozenLakeFrom) else {}
                want = reference.step(index, actions[index], before[index], **after)
                true_obs, reward, terminated, truncated, parts, first = want
                if backend == "envpool":  # it says one of the two
                    terminated = terminated and not truncated
                assert (step.terminated[index], step.truncated[index]) == (terminated, truncated)
                if exact:
                    np.testing.assert_array_equal(saw, np.asarray(true_obs).astype(obs.dtype))
                    assert step.rewards[index] == reward
                    for part in envs.reward_parts:
                        assert step.reward_parts[part][index] == parts[part]
                else:
                    np.testing.assert_allclose(saw, true_obs, atol=2e-5)
                    assert step.rewards[index] == pytest.approx(reward, abs=2e-4)
                if first is not None:
                    np.testing.assert_array_equal(step.obs[index], np.asarray(first).astype(obs.dtype))
                elif done[index] and isinstance(reference, CartPoleFrom) and name == "cartpole":
                    assert np.abs(step.obs[index]).max() <= 0.05
                running[index] += (1, step.rewards[index], 1, reward)
                if done[index]:
                    episodes.append((int(running[index, 0]), running[index, 1]))
                    expected.append((int(running[index, 2]), running[index, 3]))
                    running[index] = 0
            obs = step.obs
        assert len(episodes) > N
        assert [length for length, _ in episodes] == [length for length, _ in expected]
        np.testing.assert_allclose([r for _, r in episodes], [r for _, r in expected], atol=1e-2)
    finally:
        envs.close()


@pytest.mark.parametrize("n_envs", [1, 7, 300])
@pytest.mark.parametrize("sutton_barto_reward", [False, True])
def test_native_cartpole_equals_gymnasiums_bit_for_bit(n_envs: int, sutton_barto_reward: bool) -> None:
    config = EnvConfig(
        id="CartPole-v1", kwargs={"sutton_barto_reward": sutton_barto_reward}, max_episode_steps=30
    )
    envs = build_envs(config, n_envs=n_envs, seed=5, backend="native")
    theirs = CartPoleVectorEnv(n_envs, max_episode_steps=30, sutton_barto_reward=sutton_barto_reward)
    theirs.reset(seed=0)
    envs.reset()
    finished = 0
    for actions in random_actions(envs, 90):
        saved = envs.snapshot()
        theirs.state, theirs.steps = saved["state"].copy(), saved["steps"].copy()
        theirs.prev_done[:] = False
        obs, rewards, terminated, truncated, _ = theirs.step(actions)
        step = envs.step(actions)
        done = terminated | truncated
        np.testing.assert_array_equal(step.terminated, terminated)
        np.testing.assert_array_equal(step.truncated, truncated)
        np.testing.assert_array_equal(step.rewards, rewards)
        np.testing.assert_array_equal(step.obs[~done], obs[~done])
        if done.any():
            np.testing.assert_array_equal(step.final_obs[done], obs[done])
            assert np.abs(step.obs[done]).max() <= 0.05
        finished += int(done.sum())
    assert finished >= n_envs


@pytest.mark.parametrize("backend", ["sync", "workers", "native", "remote"])
def test_the_step_before_is_left_whole(backend: str) -> None:
    envs = build_envs(CONFIGS["cartpole"], n_envs=4, seed=0, backend=backend)
    try:
        first = envs.reset()
        kept = first.copy()
        step = envs.step(np.zeros(4, np.int64))
        np.testing.assert_array_equal(first, kept)
        kept = step.obs.copy()
        assert (envs.step(np.ones(4, np.int64)).obs != kept).any()
        np.testing.assert_array_equal(step.obs, kept)
    finally:
        envs.close()


@pytest.mark.parametrize(
    "backend", ["sync", "workers", "native", "remote", pytest.param("envpool", marks=needs_envpool)]
)
def test_sending_and_receiving_apart_is_stepping(backend: str) -> None:
    together = build_envs(CONFIGS["cartpole"], n_envs=4, seed=0, backend=backend)
    apart = build_envs(CONFIGS["cartpole"], n_envs=4, seed=0, backend=backend)
    try:
        np.testing.assert_array_equal(together.reset(), apart.reset())
        finished = 0
        for actions in random_actions(together, 60):
            stepped = together.step(actions)
            assert apart.send(actions) is None
            received = apart.receive()
            np.testing.assert_array_equal(stepped.obs, received.obs)
            np.testing.assert_array_equal(stepped.terminated, received.terminated)
            np.testing.assert_array_equal(stepped.truncated, received.truncated)
            finished += int((stepped.terminated | stepped.truncated).sum())
        assert finished
        with pytest.raises(RuntimeError, match="without send"):
            apart.receive()
        apart.send(actions)
        with pytest.raises(RuntimeError, match="without receive"):
            apart.send(actions)
    finally:
        together.close()
        apart.close()


@pytest.mark.parametrize("backend", ["sync", "workers", "native", "remote"])
def test_reset_starts_again_from_the_seeds(backend: str) -> None:
    envs = build_envs(CONFIGS["cartpole"], n_envs=4, seed=1, backend=backend)
    other = build_envs(CONFIGS["cartpole"], n_envs=4, seed=2, backend=backend)
    try:
        first = envs.reset().copy()
        assert len(np.unique(first, axis=0)) == 4
        for actions in random_actions(envs, 30):
            envs.step(actions)
        np.testing.assert_array_equal(envs.reset(), first)
        assert not np.array_equal(other.reset(), first)
    finally:
        envs.close()
        other.close()


def test_the_number_of_workers_changes_nothing() -> None:
    seen = []
    for workers in (1, 3):
        config = CONFIGS["frozenlake"].model_copy(update={"workers": workers})
        envs = build_envs(config, n_envs=4, seed=1, backend="workers")
        assert len(set(envs.process_ids)) == workers
        envs.reset()
        seen.append([envs.step(actions).obs.copy() for actions in random_actions(envs, 30)])
        envs.close()
    np.testing.assert_array_equal(*seen)


def test_seeds_differ_and_do_not_depend_on_how_many_are_asked_for() -> None:
    seeds = env_seeds(0, 4096)
    assert len(set(seeds)) == 4096
    assert env_seeds(0, 8) == seeds[:8]
    assert not set(seeds) & set(env_seeds(1, 8))
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_evaluation_leaves_out_what_is_for_training() -> None:
    config = EnvConfig(id="CartPole-v1", wrappers=("cartpole-centring", {"name": "time-limit", "steps": 4}))
    training = build_envs(config, n_envs=2, seed=0, backend="sync")
    assert training.reward_parts == ("cartpole-centring",)
    evaluation = build_envs(config, n_envs=2, seed=0, training=False, backend="sync")
    assert evaluation.reward_parts == ()
    evaluation.reset()
    for at in range(4):
        step = evaluation.step(np.array([at % 2, at % 2]))
        assert step.rewards.tolist() == [1.0, 1.0]
    assert step.truncated.all()


def test_there_is_one_worker_for_each_core() -> None:
    envs = build_envs(
        CONFIGS["cartpole"].model_copy(update={"workers": None}), n_envs=64, seed=0, backend="workers"
    )
    try:
        assert len(envs.process_ids) == len(os.sched_getaffinity(0))
    finally:
        envs.close()
