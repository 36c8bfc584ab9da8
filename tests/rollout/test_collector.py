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
from gymnast.envs.backends.groups import GroupedEnvs, group_sizes
from gymnast.envs.contract import EnvFailure, Envs, Step, StepsWhenReceived
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.ahead import AheadCollector
from gymnast.rollout.collector import Collector, Episode

Ending = tuple[int, str]  # steps of an episode, and how it ends


@dataclass
class ScriptedEnvs(StepsWhenReceived):
    """N envs that play their scripts in a circle; an observation is (env, episode, step)."""

    scripts: list[list[Ending]]
    bonus: float = 0.0  # a wrapper's part of every reward
    carries_state: bool = True
    first: int = 0  # the number of the first env
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
        self.episode_values: tuple[str, ...] = ()
        self.backend = "sync"
        self.episode, self.at = [0] * self.n_envs, [0] * self.n_envs

    def observe(self) -> np.ndarray:
        rows = [(self.first + n, self.episode[n], self.at[n]) for n in range(self.n_envs)]
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
            rewards[n] = own_reward(self.first + n, self.episode[n], self.at[n]) + self.bonus
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


def in_groups(scripts: list[list[Ending]], groups: int) -> GroupedEnvs:
    parts, at = [], 0
    for size in group_sizes(len(scripts), groups):
        parts.append(ScriptedEnvs(scripts[at : at + size], first=at))
        at += size
    return GroupedEnvs(parts)


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
@given(scripts=SCRIPTS, n_steps=st.integers(1, 9), rollouts=st.integers(1, 3), groups=st.integers(1, 3))
def test_rollout_holds_exactly_what_was_played(
    scripts: list[list[Ending]], n_steps: int, rollouts: int, groups: int
) -> None:
    _, policy, collector = make(scripts, n_steps)
    if groups > 1:
        collector = Collector(in_groups(scripts, min(groups, len(scripts))), policy, n_steps)
    rng = np.random.default_rng(0)
    played = [(0, 0)] * len(scripts)  # episode and step of each env
    expected: list[Episode] = []
    collected: list[Episode] = []
    for _ in range(rollouts):
        found = collector.collect(policy, rng)
        rollout = found.rollout
        collected += found.episodes
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
                    expected.append(Episode(total, total, length, truncated=how == "truncated"))
                played[n] = (episode + 1, 0) if ends else (episode, step)
        assert not rollout.bootstrap[~cut].any()
        for n, (episode, step) in enumerate(played):
            assert_allclose(rollout.obs[-1, n], np.array([n, episode, step]) / 10, rtol=1e-6)
    assert collected == expected


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_log_probs_and_values_are_those_of_the_policy_that_acted(engine: str) -> None:
    envs, policy, collector = make([[(3, "truncated")], [(5, "terminated")]], 8, engine)
    rollout = collector.collect(policy, np.random.default_rng(3)).rollout
    flat = rollout.obs.reshape(-1, 3)
    assert_allclose(rollout.values.reshape(-1), policy.values(flat), rtol=1e-4, atol=1e-6)
    assert_allclose(rollout.x, policy.preprocessor.apply(flat[:-2]), rtol=1e-6)
    log_probs, _ = policy.evaluate_actions(flat[:-2], rollout.actions.reshape(-1))
    assert_allclose(rollout.log_probs.reshape(-1), log_probs, rtol=1e-4, atol=1e-6)
    assert (np.stack(envs.taken) == rollout.actions + 10).all()  # the env gets its own numbering
    again_noise = policy.distribution.noise(np.random.default_rng(3), 8, 2)
    for t in range(8):
        assert (policy.act(rollout.obs[t], again_noise[t]) == rollout.actions[t]).all()


def test_trace_never_crosses_an_episode() -> None:
    """What happens in the next episode must not reach an advantage of the one before."""
    _, policy, collector = make([[(4, "truncated"), (9, "terminated")]], 8)
    rollout = collector.collect(policy, np.random.default_rng(0)).rollout

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
    rollout = collector.collect(policy, np.random.default_rng(0)).rollout
    true_last = policy.values(np.array([[0.0, 0.0, 0.4]], np.float32))[0]
    assert rollout.bootstrap[3, 0] == pytest.approx(true_last, rel=1e-4)
    assert rollout.values[4, 0] != pytest.approx(true_last, rel=1e-3)


def test_parts_of_wrappers_are_separated_from_the_envs_own_rewards() -> None:
    _, policy, collector = make([[(2, "terminated")], [(3, "terminated")]], 6, bonus=0.5)
    episodes = collector.collect(policy, np.random.default_rng(0)).episodes
    first = episodes[0]
    assert (first.total, first.plain, first.length) == (1 + 2 + 1.0, 1 + 2, 2)
    assert all(e.total - e.plain == pytest.approx(0.5 * e.length) for e in episodes)
    assert collector.rollout.part_sums == {"bonus": pytest.approx(6 * 2 * 0.5)}
    collector.collect(policy, np.random.default_rng(0))
    assert collector.rollout.part_sums == {"bonus": pytest.approx(6 * 2 * 0.5)}  # of one rollout, not of all


def test_progress_is_reported_after_every_step() -> None:
    _, policy, collector = make([[(5, "terminated")]], 4)
    reported: list[tuple[int, int]] = []
    collector.collect(policy, np.random.default_rng(0), lambda done, of: reported.append((done, of)))
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_memory_is_allocated_once() -> None:
    _, policy, collector = make([[(3, "truncated")]], 5)
    rng = np.random.default_rng(0)
    first = collector.collect(policy, rng).rollout
    kept = first.obs, first.rewards, first.values
    second = collector.collect(policy, rng).rollout
    assert second is first
    assert all(a is b for a, b in zip(kept, (second.obs, second.rewards, second.values), strict=True))


@settings(max_examples=15)
@given(scripts=SCRIPTS, n_steps=st.integers(1, 5), before=st.integers(0, 3))
def test_restored_collector_continues_bit_for_bit(
    scripts: list[list[Ending]], n_steps: int, before: int
) -> None:
    _, policy, collector = make(scripts, n_steps, bonus=0.25)
    rng = np.random.default_rng(1)
    for _ in range(before):
        collector.collect(policy, rng)
    state = collector.state()
    later = np.random.default_rng(9)
    collected = collector.collect(policy, later)
    expected, expected_episodes = collected.rollout, collected.episodes

    _, _, resumed = make(scripts, n_steps, bonus=0.25)
    assert resumed.load_state(policy, state) is None
    collected = resumed.collect(policy, np.random.default_rng(9))
    rollout, episodes = collected.rollout, collected.episodes
    for name in ("obs", "actions", "rewards", "terminated", "truncated", "log_probs", "values", "bootstrap"):
        assert getattr(rollout, name).tobytes() == getattr(expected, name).tobytes(), name
    assert episodes == expected_episodes


def test_envs_that_cannot_be_restored_start_new_episodes() -> None:
    _, policy, collector = make([[(5, "terminated")]], 3)
    collector.collect(policy, np.random.default_rng(0))
    _, _, resumed = make([[(5, "terminated")]], 3, carries_state=False)
    assert "new episodes start" in str(resumed.load_state(policy, collector.state()))
    assert (resumed.rollout.obs[-1] == 0).all()
    episodes = resumed.collect(policy, np.random.default_rng(0)).episodes
    assert episodes == []
    episodes = resumed.collect(policy, np.random.default_rng(0)).episodes
    assert [e.length for e in episodes] == [5]


def test_groups_collect_what_one_group_collects() -> None:
    scripts: list[list[Ending]] = [[(3, "truncated")], [(5, "terminated"), (2, "both")], [(4, "terminated")]]
    _, policy, together = make(scripts, 8)
    apart = Collector(in_groups(scripts, 2), policy, 8)
    for seed in range(2):
        collected = together.collect(policy, np.random.default_rng(seed))
        one, one_episodes = collected.rollout, collected.episodes
        collected = apart.collect(policy, np.random.default_rng(seed))
        other, other_episodes = collected.rollout, collected.episodes
        for name in ("obs", "actions", "rewards", "terminated", "truncated", "values", "bootstrap"):
            assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-5, atol=1e-6, err_msg=name)
        assert one_episodes == other_episodes


def test_groups_step_as_one() -> None:
    scripts: list[list[Ending]] = [[(3, "truncated")], [(2, "terminated")], [(9, "terminated")]]
    together, grouped = ScriptedEnvs(scripts, bonus=0.5), in_groups(scripts, 2)
    assert_allclose(grouped.reset(), together.reset())
    for _ in range(4):
        one, other = together.step(np.full(3, 10)), grouped.step(np.full(3, 10))
        assert_allclose(other.obs, one.obs)
        assert (other.terminated == one.terminated).all()
        assert (one.final_obs is None) == (other.final_obs is None)
        if one.final_obs is not None and other.final_obs is not None:
            over = one.terminated | one.truncated
            assert_allclose(other.final_obs[over], one.final_obs[over])
    saved = grouped.snapshot()
    grouped.step(np.full(3, 10))
    assert grouped.restore(saved) is None
    assert grouped.snapshot() == saved


def test_failure_names_the_env_among_all_groups() -> None:
    grouped = in_groups([[(3, "truncated")], [(2, "terminated")]], 2)

    def fail() -> Step:
        raise EnvFailure(0, 7, "raised ValueError")

    grouped._parts[1].receive = fail  # type: ignore[method-assign]
    grouped.send(np.full(2, 10))
    with pytest.raises(EnvFailure, match="env 1 "):
        grouped.receive()


def test_image_rollouts_hold_values_of_the_policy_that_acted() -> None:
    """Log-probabilities and values of an image policy are taken while it acts: they must be the same."""
    space = gym.spaces.Box(0, 255, (12, 12, 3), np.uint8)

    class Pictures(ScriptedEnvs):
        def observe(self) -> np.ndarray:
            seen = super().observe()
            return np.stack(
                [
                    np.random.default_rng(np.rint(row * 10).astype(int)).integers(
                        0, 256, space.shape, np.uint8
                    )
                    for row in seen
                ]
            )

    for frame_stack in (1, 3):
        envs = Pictures([[(3, "truncated")], [(5, "terminated")]])
        envs.observation_space = space
        config = PolicyConfig(hidden=(8,), encoder="small", actor_gain=1.0, frame_stack=frame_stack)
        policy = build_policy(config, "torch", space, envs.action_space, 0)
        collector = Collector(envs, policy, 7)
        for seed in range(2):
            rollout = collector.collect(policy, np.random.default_rng(seed)).rollout
            log_probs, values = policy.evaluate_actions(rollout.x, rollout.actions.reshape(-1))
            assert_allclose(rollout.log_probs.reshape(-1), log_probs, rtol=1e-4, atol=1e-5)
            assert_allclose(rollout.values[:-1].reshape(-1), values, rtol=1e-4, atol=1e-5)
            assert np.ptp(values) > 0
            cut = rollout.truncated & ~rollout.terminated
            assert (rollout.bootstrap != 0).sum() == cut.sum() > 0


def test_rollout_ahead_is_of_the_policy_before_the_update() -> None:
    scripts: list[list[Ending]] = [[(3, "truncated")], [(5, "terminated")]]
    _, policy, plain = make(scripts, 6)
    other = ScriptedEnvs(scripts)
    acting = build_policy(policy.layout.config, "numpy", other.observation_space, other.action_space, 5)
    ahead = AheadCollector(Collector(other, policy, 6, n_rollouts=2), acting)
    rng, same = np.random.default_rng(4), np.random.default_rng(4)
    old = policy.arrays()
    try:
        for _ in range(3):
            collected = ahead.collect(policy, rng)
            rollout, episodes = collected.rollout, collected.episodes
            # The first two are of the untrained policy; then each is one update behind.
            policy_now = policy.arrays()
            policy.load_arrays(old)
            collected = plain.collect(policy, same)
            expected, expected_episodes = collected.rollout, collected.episodes
            policy.load_arrays(policy_now)
            for name in ("obs", "actions", "rewards", "log_probs", "values", "bootstrap"):
                assert getattr(rollout, name).tobytes() == getattr(expected, name).tobytes(), name
            assert episodes == expected_episodes
            old = policy_now  # the weights that the pending rollout is collected with
            kept = rollout.actions.copy()
            policy.load_arrays({name: value + 0.01 for name, value in policy_now.items()})  # an update
            assert ahead._pending is not None
            assert ahead._pending.exception() is None  # waits for it
            assert (rollout.actions == kept).all()  # which is kept elsewhere
    finally:
        ahead.close()


def test_failure_in_a_rollout_ahead_is_raised_when_it_is_asked_for() -> None:
    _, policy, _ = make([[(3, "truncated")]], 4)
    envs = ScriptedEnvs([[(3, "truncated")]])
    acting = build_policy(policy.layout.config, "numpy", envs.observation_space, envs.action_space, 5)
    ahead = AheadCollector(Collector(envs, policy, 4, n_rollouts=2), acting)

    receive = envs.receive

    def fail_later() -> Step:
        if len(envs.taken) == 6:
            raise EnvFailure(0, 7, "raised ValueError")
        return receive()

    envs.receive = fail_later  # type: ignore[method-assign]
    ahead.collect(policy, np.random.default_rng(0))
    assert ahead.state()["envs"] == {
        "episode": [1],
        "at": [1],
    }  # after four steps, before the failing rollout
    with pytest.raises(EnvFailure, match="raised ValueError"):
        ahead.collect(policy, np.random.default_rng(0))
    ahead.close()


class GamesOfTwoLives(ScriptedEnvs):
    """Every other end is a lost life, after which the game continues."""

    training = True  # otherwise a lost life is not reported

    def step(self, actions: np.ndarray) -> Step:
        step = super().step(actions)
        done = step.terminated | step.truncated
        lost = done & (np.array(self.episode) % 2 == 1)
        if not self.training:
            step.terminated &= ~lost
            step.final_obs = step.final_obs if (done & ~lost).any() else None
        elif lost.any():
            assert step.final_obs is not None
            step.final_obs[lost] = step.obs[lost]
            step.life_lost = lost
        return step


class WholeGames(GamesOfTwoLives):
    """The same games in evaluation."""

    training = False


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [{}, {"frame_stack": 3}, {"memory": "gru", "memory_size": 8}, {"memory": "lstm", "frame_stack": 2}],
    ids=["plain", "frames", "gru", "lstm of frames"],
)
def test_policy_sees_and_remembers_across_a_lost_life_what_it_would_in_evaluation(
    settings: dict[str, Any], groups: int
) -> None:
    if "memory" in settings and groups > 1:
        pytest.skip("recurrent policies act for one group")
    scripts: list[list[Ending]] = [[(3, "terminated")], [(2, "terminated"), (5, "terminated")]]
    config = PolicyConfig(hidden=(8,), actor_gain=1.0, **settings)
    engine = "torch" if "memory" in settings else "numpy"
    training: Envs = GamesOfTwoLives(scripts)
    if groups == 2:
        training = GroupedEnvs([GamesOfTwoLives(scripts[:1]), GamesOfTwoLives(scripts[1:], first=1)])
    whole = WholeGames(scripts)
    policy = build_policy(config, engine, whole.observation_space, whole.action_space, 0)
    collectors = [Collector(envs, policy, 4) for envs in (training, whole)]
    random = [np.random.default_rng(3) for _ in collectors]
    episodes: list[list[Episode]] = [[], []]
    lives = 0
    for _ in range(10):  # ends fall before, on and after the edges of rollouts
        rollouts = []
        for index, collector in enumerate(collectors):
            collected = collector.collect(policy, random[index])
            episodes[index] += collected.episodes
            rollouts.append(collected.rollout)
        by_life, by_game = rollouts
        for name in ("obs", "actions", "log_probs", "values", "episode_ends"):
            np.testing.assert_array_equal(getattr(by_life, name), getattr(by_game, name))
        if "frame_stack" in settings:
            np.testing.assert_array_equal(by_life.x.stacked(), by_game.x.stacked())
        if by_life.sequences is not None and by_game.sequences is not None:
            np.testing.assert_array_equal(by_life.sequences.begins, by_game.sequences.begins)
            assert (by_life.sequences.states == by_game.sequences.states).all()
        # Learning expects nothing beyond a lost life, and says so for the value and the trace.
        np.testing.assert_array_equal(by_life.terminated, by_game.terminated | by_life.life_lost)
        lives += int(by_life.life_lost.sum())
    assert lives > 10
    assert episodes[0] == episodes[1]
    assert len(episodes[0]) > 8
    assert {episode.length for episode in episodes[0]} == {6, 7}
