"""The collector on a scripted env whose every reward, flag and observation is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.returns import gae
from gymnast.envs.contract import Envs, Step
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.collector import Collector, Episode

Ending = tuple[int, str]  # steps of an episode, and how it ends


@dataclass
class ScriptedEnvs:
    """N envs that play their scripts in a circle; an observation is (env, episode, step)."""

    scripts: list[list[Ending]]
    bonus: float = 0.0  # a wrapper's share of every reward
    carries_state: bool = True
    episode: list[int] = field(init=False)
    at: list[int] = field(init=False)
    taken: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n_envs = len(self.scripts)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (3,))
        self.action_space: gym.Space[Any] = gym.spaces.Discrete(2, start=10)
        self.seeds = list(range(self.n_envs))
        self.masks: np.ndarray | None = None
        self.reward_parts = ("bonus",) if self.bonus else ()
        self.episode, self.at = [0] * self.n_envs, [0] * self.n_envs

    def observe(self) -> np.ndarray:
        rows = [(n, self.episode[n], self.at[n]) for n in range(self.n_envs)]
        return np.array(rows, np.float32) / 10

    def reset(self) -> np.ndarray:
        self.episode, self.at = [0] * self.n_envs, [0] * self.n_envs
        return self.observe()

    def step(self, actions: np.ndarray) -> Step:
        self.taken.append(np.array(actions))
        rewards = np.zeros(self.n_envs)
        terminated, truncated = np.zeros((2, self.n_envs), bool)
        for n, script in enumerate(self.scripts):
            self.at[n] += 1
            rewards[n] = own_reward(n, self.episode[n], self.at[n]) + self.bonus
            length, how = script[self.episode[n] % len(script)]
            if self.at[n] == length:
                terminated[n], truncated[n] = how in ("terminated", "both"), how in ("truncated", "both")
        final = self.observe()
        done = terminated | truncated
        for n in np.flatnonzero(done):
            self.episode[n] += 1
            self.at[n] = 0
        parts = {"bonus": np.full(self.n_envs, self.bonus)} if self.bonus else {}
        return Step(self.observe(), rewards, terminated, truncated, final if done.any() else None, parts)

    def snapshot(self) -> dict[str, Any]:
        return {"episode": list(self.episode), "at": list(self.at)}

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        if not self.carries_state:
            return self.reset()
        self.episode, self.at = list(snapshot["episode"]), list(snapshot["at"])
        return None

    def close(self) -> None:
        pass


def own_reward(env: int, episode: int, step: int) -> float:
    return float(100 * env + 10 * episode + step)


def make(
    scripts: list[list[Ending]], n_steps: int, engine: str = "numpy", **envs: Any
) -> tuple[ScriptedEnvs, Policy, Collector]:
    scripted = ScriptedEnvs(scripts, **envs)
    checked: Envs = scripted  # it keeps the contract
    policy = build_policy(
        PolicyConfig(hidden=(8,), actor_gain=1.0), engine, checked.observation_space, checked.action_space, 0
    )
    return scripted, policy, Collector(checked, policy, n_steps)


SCRIPTS = st.lists(
    st.lists(
        st.tuples(st.integers(1, 7), st.sampled_from(["terminated", "truncated", "both"])),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40)
@given(scripts=SCRIPTS, n_steps=st.integers(1, 9), rollouts=st.integers(1, 3))
def test_everything_in_a_rollout_is_as_played(
    scripts: list[list[Ending]], n_steps: int, rollouts: int
) -> None:
    _, policy, collector = make(scripts, n_steps)
    rng = np.random.default_rng(0)
    played = [(0, 0)] * len(scripts)  # episode and step of each env
    expected: list[Episode] = []
    collected: list[Episode] = []
    for _ in range(rollouts):
        rollout, episodes = collector.collect(policy, rng)
        collected += episodes
        cut = np.zeros((n_steps, len(scripts)), bool)
        for t in range(n_steps):
            for n, script in enumerate(scripts):
                episode, step = played[n]
                assert_allclose(rollout.obs[t, n], np.array([n, episode, step]) / 10, rtol=1e-6)
                step += 1
                length, how = script[episode % len(script)]
                ends = step == length
                assert rollout.rewards[t, n] == own_reward(n, episode, step)
                assert rollout.terminated[t, n] == (ends and how != "truncated")
                assert rollout.truncated[t, n] == (ends and how != "terminated")
                if ends and how == "truncated":
                    cut[t, n] = True
                    last = np.array([[n, episode, step]], np.float32) / 10
                    assert rollout.bootstrap[t, n] == pytest.approx(float(policy.values(last)[0]), rel=1e-4)
                if ends:
                    total = sum(own_reward(n, episode, k) for k in range(1, length + 1))
                    expected.append(Episode(total, total, length))
                played[n] = (episode + 1, 0) if ends else (episode, step)
        assert not rollout.bootstrap[~cut].any()
        for n, (episode, step) in enumerate(played):
            assert_allclose(rollout.obs[-1, n], np.array([n, episode, step]) / 10, rtol=1e-6)
    assert collected == expected


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_log_probs_and_values_are_those_of_the_policy_that_acted(engine: str) -> None:
    envs, policy, collector = make([[(3, "truncated")], [(5, "terminated")]], 8, engine)
    rollout, _ = collector.collect(policy, np.random.default_rng(3))
    flat = rollout.obs.reshape(-1, 3)
    assert_allclose(rollout.values.reshape(-1), policy.values(flat), rtol=1e-4, atol=1e-6)
    assert_allclose(rollout.x, policy.encoder.encode(flat[:-2]), rtol=1e-6)
    log_probs, _ = policy.evaluate(flat[:-2], rollout.actions.reshape(-1))
    assert_allclose(rollout.log_probs.reshape(-1), log_probs, rtol=1e-4, atol=1e-6)
    assert (np.stack(envs.taken) == rollout.actions + 10).all()  # the env gets its own numbering
    again_noise = policy.distribution.noise(np.random.default_rng(3), 8, 2)
    for t in range(8):
        assert (policy.act(rollout.obs[t], again_noise[t]) == rollout.actions[t]).all()


def test_the_trace_never_crosses_an_episode() -> None:
    """What happens in the next episode must not reach an advantage of the one before."""
    _, policy, collector = make([[(4, "truncated"), (9, "terminated")]], 8)
    rollout, _ = collector.collect(policy, np.random.default_rng(0))

    def advantages() -> np.ndarray:
        return gae(
            rollout.rewards,
            rollout.values,
            rollout.terminated,
            rollout.truncated,
            rollout.bootstrap,
            0.99,
            0.95,
        )

    before = advantages()
    rollout.rewards[4:] += 1000.0
    rollout.values[4:] -= 500.0
    after = advantages()
    assert (before[:4] == after[:4]).all()
    assert (before[4:] != after[4:]).all()


def test_bootstrap_uses_the_true_last_observation_not_the_next_first_one() -> None:
    _, policy, collector = make([[(4, "truncated")]], 6)
    rollout, _ = collector.collect(policy, np.random.default_rng(0))
    true_last = policy.values(np.array([[0.0, 0.0, 0.4]], np.float32))[0]
    assert rollout.bootstrap[3, 0] == pytest.approx(true_last, rel=1e-4)
    assert rollout.values[4, 0] != pytest.approx(true_last, rel=1e-3)


def test_shares_of_wrappers_are_told_from_the_envs_own_rewards() -> None:
    _, policy, collector = make([[(2, "terminated")], [(3, "terminated")]], 6, bonus=0.5)
    _, episodes = collector.collect(policy, np.random.default_rng(0))
    first = episodes[0]
    assert (first.total, first.plain, first.length) == (1 + 2 + 1.0, 1 + 2, 2)
    assert all(e.total - e.plain == pytest.approx(0.5 * e.length) for e in episodes)
    assert collector.part_sums == {"bonus": pytest.approx(6 * 2 * 0.5)}
    collector.collect(policy, np.random.default_rng(0))
    assert collector.part_sums == {"bonus": pytest.approx(6 * 2 * 0.5)}  # of one rollout, not of all


def test_progress_is_told_after_every_step() -> None:
    _, policy, collector = make([[(5, "terminated")]], 4)
    told: list[tuple[int, int]] = []
    collector.collect(policy, np.random.default_rng(0), lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_memory_is_allocated_once() -> None:
    _, policy, collector = make([[(3, "truncated")]], 5)
    rng = np.random.default_rng(0)
    first, _ = collector.collect(policy, rng)
    kept = first.obs, first.rewards, first.values
    second, _ = collector.collect(policy, rng)
    assert second is first
    assert all(a is b for a, b in zip(kept, (second.obs, second.rewards, second.values), strict=True))


@settings(max_examples=15)
@given(scripts=SCRIPTS, n_steps=st.integers(1, 5), before=st.integers(0, 3))
def test_a_stored_collector_goes_on_bit_for_bit(
    scripts: list[list[Ending]], n_steps: int, before: int
) -> None:
    _, policy, collector = make(scripts, n_steps, bonus=0.25)
    rng = np.random.default_rng(1)
    for _ in range(before):
        collector.collect(policy, rng)
    state = collector.state()
    later = np.random.default_rng(9)
    expected, expected_episodes = collector.collect(policy, later)

    _, _, resumed = make(scripts, n_steps, bonus=0.25)
    assert resumed.load_state(state)
    rollout, episodes = resumed.collect(policy, np.random.default_rng(9))
    for name in ("obs", "actions", "rewards", "terminated", "truncated", "log_probs", "values", "bootstrap"):
        assert getattr(rollout, name).tobytes() == getattr(expected, name).tobytes(), name
    assert episodes == expected_episodes


def test_envs_that_cannot_be_carried_start_fresh_episodes() -> None:
    _, policy, collector = make([[(5, "terminated")]], 3)
    collector.collect(policy, np.random.default_rng(0))
    _, _, resumed = make([[(5, "terminated")]], 3, carries_state=False)
    assert not resumed.load_state(collector.state())
    assert (resumed.rollout.obs[-1] == 0).all()
    _, episodes = resumed.collect(policy, np.random.default_rng(0))
    assert episodes == []
    _, episodes = resumed.collect(policy, np.random.default_rng(0))
    assert [e.length for e in episodes] == [5]
