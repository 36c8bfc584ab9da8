"""Reward normalisation against all discounted returns ever seen, computed at once."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gymnast.parts.reward_scale import RewardScale, TaskRewardScale, scale_in
from gymnast.rollout.buffer import Rollout, allocate_rollout

T, N, GAMMA = 12, 3, 0.9


def random_rollout(seed: int, scale: float = 5.0) -> Rollout:
    draw = np.random.default_rng(seed)
    rollout = allocate_rollout(T, N, (1,), np.dtype(np.float32), (), np.int64)
    rollout.rewards[:] = draw.normal(1.0, scale, (T, N))
    ends = draw.random((T, N))
    rollout.terminated[:], rollout.truncated[:] = ends < 0.1, ends > 0.9
    return rollout


def discounted_returns(rollouts: list[Rollout]) -> np.ndarray:
    """Each env's running return, which restarts with each episode and not with each rollout."""
    running, seen = np.zeros(N), []
    for rollout in rollouts:
        for t in range(T):
            running = running * GAMMA + rollout.rewards[t].astype(np.float64)
            seen.append(running.copy())
            running[rollout.terminated[t] | rollout.truncated[t]] = 0.0
    return np.array(seen)


def test_rewards_are_divided_by_the_std_of_all_returns_so_far() -> None:
    scale = RewardScale(N, clip=None)
    seen: list[Rollout] = []
    for seed in range(6):
        rollout = random_rollout(seed)
        seen.append(random_rollout(seed))
        divisor = scale.apply(rollout, GAMMA)
        assert divisor == pytest.approx(discounted_returns(seen).std(), rel=1e-3)
        assert rollout.rewards == pytest.approx(seen[-1].rewards / divisor, rel=1e-5)


def test_large_rewards_are_clipped() -> None:
    scale = RewardScale(N, clip=0.5)
    rollout = random_rollout(0)
    scale.apply(rollout, GAMMA)
    assert np.abs(rollout.rewards).max() == np.float32(0.5)


def test_constant_zero_reward_stays_zero() -> None:
    scale = RewardScale(N, clip=10.0)
    for _ in range(50):
        rollout = random_rollout(0)
        rollout.rewards[:] = 0
        scale.apply(rollout, GAMMA)
        assert (rollout.rewards == 0).all()


def test_state_is_restored_exactly_also_with_another_number_of_envs() -> None:
    one, two = RewardScale(N, clip=None), RewardScale(N, clip=None)
    one.apply(random_rollout(1), GAMMA)
    two.load_state(one.state())
    a, b = random_rollout(2), random_rollout(2)
    assert one.apply(a, GAMMA) == two.apply(b, GAMMA)
    assert (a.rewards == b.rewards).all()
    wider = RewardScale(N + 2, clip=None)
    wider.load_state(one.state())
    assert (wider.mean, wider.var, wider.count) == (one.mean, one.var, one.count)
    numbers = {key: value for key, value in one.state().items() if key != "returns"}
    assert json.loads(json.dumps(numbers)) == numbers


def test_each_task_of_a_mix_is_scaled_by_itself() -> None:
    """As if each task were trained alone, whatever the rewards of the others."""
    rng = np.random.default_rng(0)
    task_of = np.array([0, 1, 0, 1, 1])
    scale = TaskRewardScale(("small", "large"), task_of, clip=None)
    alone = [RewardScale(2, clip=None), RewardScale(3, clip=None)]
    for _ in range(3):
        rewards = rng.normal(size=(T, 5)) * np.where(task_of == 1, 1000.0, 0.01)
        done = rng.random((T, 5)) < 0.2
        mixed = allocate_rollout(T, 5, (1,), np.dtype(np.float32), (), np.int64)
        mixed.rewards[...], mixed.terminated[...] = rewards, done
        mixed.truncated[...] = False
        divisor = scale.apply(mixed, 0.9)
        divisors = []
        for task, own in enumerate(alone):
            single = rewards[:, task_of == task].astype(np.float32)
            divisors.append(own.scale(single, done[:, task_of == task], 0.9))
            assert np.array_equal(mixed.rewards[:, task_of == task], single)
        assert divisor == np.mean(divisors)
        assert scale.metrics() == dict(
            zip(("task/small/reward_scale", "task/large/reward_scale"), divisors, strict=True)
        )
    assert divisors[1] > 1000 * divisors[0]
    row = scale.metrics() | {"env/reward_scale": divisor}
    assert [scale_in(row, task) for task in ("small", "large", None)] == [*divisors, divisor]
    assert scale_in({}, None) == 1.0
    again = TaskRewardScale(("large", "new"), np.array([0, 0, 0, 1]), clip=None)
    again.load_state(scale.state())
    assert again.state()["large"]["var"] == scale.state()["large"]["var"]
