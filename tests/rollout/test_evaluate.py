"""Scoring a policy: every episode that was started counts, and nothing else."""

from __future__ import annotations

import heapq
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.envs.backends.in_process import InProcessEnvs
from gymnast.envs.build import build_envs, env_seeds
from gymnast.envs.settings import EnvConfig
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.evaluate import evaluate, evaluation_envs


class UnevenEpisodes(gym.Env[np.ndarray, int]):
    """Most episodes take 1 step, some take 60; each step has reward 1."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = 60 if self.np_random.random() < 0.4 else 1
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        return np.zeros(2, np.float32), 1.0, self.left == 0, False, {}


def uneven(n_envs: int) -> InProcessEnvs:
    return InProcessEnvs([UnevenEpisodes() for _ in range(n_envs)], env_seeds(7, n_envs))


def policy_for(envs: Any, **settings: Any) -> Policy:
    return build_policy(
        PolicyConfig(hidden=(8,), **settings), "numpy", envs.observation_space, envs.action_space, 0
    )


def lengths_in_order(n_envs: int, episodes: int) -> list[int]:
    """Lengths in starting order: the env that is done first starts the next episode."""
    envs = [UnevenEpisodes() for _ in range(n_envs)]
    lengths: list[int] = []
    done: list[tuple[int, int]] = []
    for index, (env, seed) in enumerate(zip(envs, env_seeds(7, n_envs), strict=True)):
        env.reset(seed=seed)
        lengths.append(env.left)
        heapq.heappush(done, (env.left, index))
    while len(lengths) < episodes:
        at, index = heapq.heappop(done)
        envs[index].reset()
        lengths.append(envs[index].left)
        heapq.heappush(done, (at + envs[index].left, index))
    return lengths[:episodes]


@pytest.mark.parametrize(("n_envs", "episodes"), [(1, 12), (3, 12), (8, 8), (5, 40)])
def test_counts_every_started_episode_in_the_order_they_began(n_envs: int, episodes: int) -> None:
    envs = uneven(n_envs)
    score = evaluate(policy_for(envs), envs, episodes)
    assert list(score.lengths) == lengths_in_order(n_envs, episodes)
    assert score.returns == tuple(map(float, score.lengths))
    assert score.mean == np.mean(lengths_in_order(n_envs, episodes))


def test_short_episodes_are_not_favoured() -> None:
    """The first N to finish would be nearly all short; N that were started are a fair sample."""
    envs = uneven(20)
    score = evaluate(policy_for(envs), envs, 20)
    long = sum(length == 60 for length in score.lengths)
    assert long / 20 == pytest.approx(0.4, abs=0.2)
    assert score.mean > 15


def test_same_weights_give_the_same_score_again() -> None:
    envs = uneven(3)
    policy = policy_for(envs)
    first = evaluate(policy, envs, 9)
    assert evaluate(policy, envs, 9).returns == first.returns
    other = build_envs(EnvConfig(id="CartPole-v1"), n_envs=4, seed=3, training=False)
    pole = policy_for(other)
    assert evaluate(pole, other, 9).returns == evaluate(pole, other, 9).returns


def test_sampling_takes_other_actions_and_repeats_with_its_generator() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1", backend="sync"), n_envs=2, seed=3, training=False)
    policy = policy_for(envs)
    sampled = [evaluate(policy, envs, 6, rng=np.random.default_rng(seed)).returns for seed in (1, 1, 2)]
    assert sampled[0] == sampled[1] != sampled[2]
    assert sampled[0] != evaluate(policy, envs, 6).returns


def test_statistics_stay_as_training_left_them() -> None:
    envs = build_envs(EnvConfig(id="Pendulum-v1", backend="sync"), n_envs=2, seed=3, training=False)
    policy = policy_for(envs, normalize_obs="running")
    policy.preprocessor.observe(envs.reset())
    before = policy.arrays()
    evaluate(policy, envs, 2)
    after = policy.arrays()
    assert before["obs_norm.count"] == 2
    assert all((after[name] == value).all() for name, value in before.items())


def test_progress_is_reported_and_the_row_has_the_score() -> None:
    envs = uneven(3)
    seen: list[tuple[int, int]] = []
    score = evaluate(policy_for(envs), envs, 7, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (7, 7)
    assert seen == sorted(seen)
    row = score.metrics()
    assert row["eval/episodes"] == 7
    assert row["eval/return/mean"] == np.mean(score.returns)
    assert row["eval/return/std"] == np.std(score.returns)
    assert (row["eval/return/min"], row["eval/return/max"]) == (min(score.returns), max(score.returns))
    assert row["eval/length/mean"] == np.mean(score.lengths)


@pytest.mark.parametrize(
    ("config", "episodes", "wanted"),
    [
        (EnvConfig(id="CartPole-v1"), 100, 100),  # native: each episode an env of its own
        (EnvConfig(id="CartPole-v1"), 5000, 256),
        (EnvConfig(id="CartPole-v1", backend="sync"), 100, 25),
        (EnvConfig(id="Acrobot-v1"), 2000, 32),
        (EnvConfig(id="Acrobot-v1"), 1, 1),
        # The wrapper is left out of evaluation, so the native class will do.
        (EnvConfig(id="CartPole-v1", wrappers=("cartpole-centring",)), 50, 50),
    ],
)
def test_number_of_envs_for_an_evaluation(config: EnvConfig, episodes: int, wanted: int) -> None:
    assert evaluation_envs(config, episodes) == wanted
