"""Sequences of a rollout: how they fall into runs, and the states that they begin with.

Broken on purpose, each of these made tests here fail: no reset in the collector; no reset between the
runs of a sequence; zeros, or states of the neighbouring env, in place of those a sequence starts from;
states dropped between rollouts; cut-off episodes valued from the state after the reset.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.batch import batch_of
from gymnast.config.load import load_config
from gymnast.envs.contract import Step, StepsWhenReceived
from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.buffer import Rollout
from gymnast.rollout.collector import Collector
from gymnast.rollout.sequences import MOST_FILLING, cut_into_runs, grouped, lay_out
from gymnast.training.update import _minibatches, to_engine

Script = tuple[int, bool]  # steps of an episode, and whether it is cut off at its end


class Scripted(StepsWhenReceived):
    """N envs whose episodes have the lengths of their scripts; observations are random, once for all."""

    backend, carries_state, masks, reward_parts = "sync", True, None, ()

    def __init__(self, scripts: list[list[Script]], seed: int = 0) -> None:
        self.scripts, self.n_envs, self.seeds = scripts, len(scripts), list(range(len(scripts)))
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (3,))
        self.action_space = gym.spaces.Discrete(3)
        self.rng = np.random.default_rng(seed)
        self.episode, self.at = [0] * self.n_envs, [0] * self.n_envs

    def _seen(self) -> np.ndarray:
        return self.rng.standard_normal((self.n_envs, 3)).astype(np.float32)

    def reset(self) -> np.ndarray:
        return self._seen()

    def step(self, actions: np.ndarray) -> Step:
        terminated, truncated = np.zeros((2, self.n_envs), bool)
        for n, script in enumerate(self.scripts):
            self.at[n] += 1
            length, cut = script[self.episode[n] % len(script)]
            if self.at[n] == length:
                terminated[n], truncated[n] = not cut, cut
                self.episode[n], self.at[n] = self.episode[n] + 1, 0
        done = terminated | truncated
        return Step(
            self._seen(), np.ones(self.n_envs), terminated, truncated, self._seen() if done.any() else None
        )

    def snapshot(self) -> dict[str, Any]:
        return {}

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        return None

    def close(self) -> None:
        pass


scripts = st.lists(
    st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=4), min_size=1, max_size=4
)


def make(kind: str, shared: bool = False) -> Policy:
    config = PolicyConfig(memory=kind, memory_size=4, hidden=(6,), shared=shared, actor_gain=1.0)
    space = gym.spaces.Box(-np.inf, np.inf, (3,))
    return build_policy(config, "auto", space, gym.spaces.Discrete(3), 1)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 7), st.integers(1, 12), st.data())
def test_runs_hold_every_sample_once_and_no_reset(n_sequences: int, length: int, data: st.DataObject) -> None:
    size = n_sequences * length
    begins = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size))).reshape(-1, length)
    seen: list[tuple[int, int]] = []
    cells = 0
    for group in grouped(*cut_into_runs(begins)):
        assert (np.diff(group.length) <= 0).all()
        places, sequence, step = lay_out(group, length)
        steps, runs = int(group.length[0]), len(group.length)
        cells += steps * runs
        assert (np.diff(places) > 0).all()
        assert places[-1] < steps * runs
        seen += list(zip(sequence.tolist(), step.tolist(), strict=True))
        for run in range(runs):  # a column of the rectangle: steps of one sequence, one after the other
            mine = places % runs == run
            assert len(set(sequence[mine])) == 1
            assert step[mine].tolist() == list(range(step[mine][0], step[mine][0] + group.length[run]))
            assert places[mine].tolist() == [run + k * runs for k in range(group.length[run])]
            assert not begins[sequence[mine][1:], step[mine][1:]].any()
            assert step[mine][0] == 0 or begins[sequence[mine][0], step[mine][0]]
    assert sorted(seen) == [(s, t) for s in range(n_sequences) for t in range(length)]
    assert cells <= MOST_FILLING * size


def replay(policy: Policy, rollouts: list[dict[str, Any]]) -> None:
    """Act again from the very beginning, step by step, with a state of its own; all must be the same."""
    n = rollouts[0]["actions"].shape[1]
    state: Any = policy.start(n, critic=True)
    network: Any = policy.network
    for rollout in rollouts:
        steps = rollout["rewards"].shape[0]
        for t in range(steps):
            if t % rollout["length"] == 0:
                assert (rollout["states"][t // rollout["length"]] == state.array()).all()
            assert_allclose(
                rollout["values"][t], policy.values(rollout["obs"][t], state), rtol=1e-4, atol=1e-5
            )
            outputs, log_std = network.act_from(rollout["obs"][t], state)
            known = policy.distribution.evaluate_actions(np, outputs, log_std, rollout["actions"][t])
            assert_allclose(rollout["log_probs"][t], known.log_prob, rtol=1e-4, atol=1e-5)
            for i, last in rollout["finals"][t]:  # the true last observation, from the state before the reset
                worth = policy.values(last[None], state.rows([i]))[0]
                assert rollout["bootstrap"][t, i] == pytest.approx(float(worth), rel=1e-4, abs=1e-5)
            state.reset(rollout["done"][t])
        assert_allclose(rollout["values"][-1], policy.values(rollout["obs"][-1], state), rtol=1e-4, atol=1e-5)


class Watching(Scripted):
    """Keeps the true last observations of episodes that were cut off."""

    def step(self, actions: np.ndarray) -> Step:
        step = super().step(actions)
        cut = np.flatnonzero(step.truncated)
        self.finals.append(
            [] if step.final_obs is None else [(int(i), step.final_obs[i].copy()) for i in cut]
        )
        return step

    finals: list[list[tuple[int, np.ndarray]]]


@settings(max_examples=25, deadline=None)
@given(
    scripts=scripts,
    kind=st.sampled_from(["lstm", "gru"]),
    shared=st.booleans(),
    length=st.sampled_from([None, 1, 2, 4]),
)
def test_rollouts_are_judged_by_the_states_that_acted(
    scripts: list[list[Script]], kind: str, shared: bool, length: int | None
) -> None:
    envs, policy = Watching(scripts), make(kind, shared)
    envs.finals = []
    collector = Collector(envs, policy, 8, length)
    rng, kept = np.random.default_rng(0), []
    for _ in range(3):  # states carry on from rollout to rollout
        envs.finals.clear()
        rollout = collector.collect(policy, rng).rollout
        arrays = {
            k: getattr(rollout, k).copy()
            for k in ("obs", "actions", "log_probs", "values", "rewards", "bootstrap")
        }
        assert rollout.sequences is not None
        kept.append(
            arrays
            | {
                "done": rollout.terminated | rollout.truncated,
                "finals": list(envs.finals),
                "states": rollout.sequences.states.numpy().copy(),
                "length": rollout.sequences.length,
            }
        )
        assert (arrays["bootstrap"] != 0).sum() == sum(map(len, envs.finals))
    replay(policy, kept)


@settings(max_examples=25, deadline=None)
@given(scripts=scripts, kind=st.sampled_from(["lstm", "gru"]), length=st.sampled_from([None, 2, 4]))
def test_the_first_ratio_is_1_in_every_minibatch(
    scripts: list[list[Script]], kind: str, length: int | None
) -> None:
    policy = make(kind)
    rollout, rng = second_rollout(scripts, policy, length), np.random.default_rng(0)
    rows = rollout.rewards * 0 + np.arange(rollout.rewards.size).reshape(rollout.rewards.shape)
    batch = to_engine(policy.network, batch_of(rollout, rows, rows))
    seen: list[int] = []
    for minibatch in _minibatches(policy.network, batch, 8, rng):
        assert len(minibatch) == 8
        outputs, log_std, values = policy.network.forward(minibatch.x)
        new = policy.distribution.evaluate_actions(policy.network.xp, outputs, log_std, minibatch.actions)
        assert_allclose(new.log_prob.numpy(), minibatch.log_probs.numpy(), rtol=1e-4, atol=1e-5)
        assert_allclose(values.numpy(), minibatch.values.numpy(), rtol=1e-4, atol=1e-5)
        seen += minibatch.advantages.numpy().astype(int).tolist()
    assert sorted(seen) == list(range(rollout.rewards.size))


def second_rollout(scripts: list[list[Script]], policy: Policy, length: int | None) -> Rollout:
    """Its first states are not empty: they come from the rollout before."""
    collector = Collector(Scripted(scripts), policy, 8, length)
    rng = np.random.default_rng(1)
    collector.collect(policy, rng)
    return collector.collect(policy, rng).rollout


def test_states_are_carried_and_not_only_zeros() -> None:
    policy = make("lstm")
    rollout = second_rollout([[(1000, False)], [(8, False)]], policy, 4)
    assert rollout.sequences is not None
    states = rollout.sequences.states.numpy()
    assert np.abs(states[:, :, 0]).min() > 0  # the long episode goes on
    assert (states[0, :, 1] == 0).all()  # the other ended with the rollout before
    assert np.abs(states[1, :, 1]).min() > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algo.sequence_length": 7}, r"algo\.sequence_length: 7 does not divide the 32 .* 4 or 8"),
        ({"algo.batch_size": 16}, r"algo\.batch_size: 16 samples are no whole sequences of 32 steps; .* 32"),
        ({"algo.batch_size": 100}, r"algo\.batch_size: 100 does not divide"),
    ],
)
def test_sizes_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    common = {"policy.memory": "lstm", "algo.n_steps": 32, "env.n_envs": 8}
    with pytest.raises(GymnastError, match=message):
        load_config("CartPole-v1:ppo", common | changes)
    load_config("CartPole-v1:ppo", common | {"algo.batch_size": 64, "algo.sequence_length": 8})
