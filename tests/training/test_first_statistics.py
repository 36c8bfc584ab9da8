"""Running statistics of observations begin with the first rollout, before it is learned from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gymnast.config.load import load_config
from gymnast.policies.frame_stack import FrameHistory, StackedRows
from gymnast.rollout.buffer import Rollout
from gymnast.training.session import Session, build_session

STEPS, ENVS = 12, 4
COMMON: dict[str, Any] = {
    "env.n_envs": ENVS,
    "env.backend": "sync",
    "env.max_episode_steps": 5,  # truncated within a rollout, and again and again
    "policy.normalize_obs": "running",
    "algo.n_steps": STEPS,
    "algo.lr": 0,  # so that ratios show what the rollout was computed with
    "eval.every": 0,
}
PPO = {"algo.batch_size": "all", "algo.n_epochs": 1}
LSTM = {"policy.memory": "lstm", "policy.memory_size": 6, "algo.sequence_length": 4}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "numpy": ("Pendulum-v1:ppo", PPO),
    "torch": ("Pendulum-v1:ppo", {**PPO, "engine": "torch"}),
    "a2c": ("Pendulum-v1", {"algo.name": "a2c"}),
    "reinforce": ("Pendulum-v1", {"algo.name": "reinforce"}),
    "frames": ("Pendulum-v1:ppo", {**PPO, "policy.frame_stack": 3}),
    "memory": ("Pendulum-v1:ppo", {**PPO, **LSTM}),
    "gru of both": ("Pendulum-v1:ppo", {**PPO, **LSTM, "policy.memory": "gru", "policy.shared": True}),
    "memory and frames": ("Pendulum-v1:ppo", {**PPO, **LSTM, "policy.frame_stack": 2}),
    "groups": ("Pendulum-v1:ppo", {**PPO, "env.groups": 2}),
    "ahead": ("Pendulum-v1:ppo", {**PPO, "algo.collect_ahead": True}),
    "pixels and numbers": (
        "observation_envs:Cue",
        {**PPO, "env.kwargs": {"kind": "image_dict"}},
    ),
}


@contextmanager
def session_of(name: str) -> Iterator[Session]:
    reference, changes = CASES[name]
    session = build_session(load_config(reference, {**COMMON, **changes}).config)
    try:
        yield session
    finally:
        session.close()


def collect(session: Session) -> Rollout:
    return session.source.collect(session.learner.policy, session.rng).rollout


def counts(session: Session) -> set[float]:
    buffers = session.learner.policy.preprocessor.buffers()
    return {float(value[0]) for name, value in buffers.items() if name.endswith("count")}


@pytest.mark.parametrize("name", CASES)
def test_first_rollout_is_learned_from_under_its_own_statistics(name: str) -> None:
    with session_of(name) as session:
        learner, rollout = session.learner, collect(session)
        assert counts(session) == {STEPS * ENVS}
        if not isinstance(rollout.x, StackedRows):
            x = rollout.x if rollout.x.dtype.names is None else rollout.x["v"]
            assert_allclose(x.mean(0), 0, atol=1e-4)
            assert_allclose(x.std(0)[x.std(0) > 0], 1, atol=1e-3)
        # Log-probabilities are of the same inputs: nothing has moved before the first step.
        metrics = learner.learn(rollout, learner.hyperparameters(0, 1000), session.rng).metrics
        assert metrics["train/ratio/max"] == pytest.approx(1, abs=1e-4)
        assert metrics["train/kl"] == pytest.approx(0, abs=1e-6)
        assert counts(session) == {STEPS * ENVS}  # counted once
        second = collect(session)
        assert counts(session) == {STEPS * ENVS}  # later ones are counted once they are learned from
        learner.learn(second, learner.hyperparameters(0, 1000), session.rng)
        assert counts(session) == {2 * STEPS * ENVS}


@pytest.mark.parametrize("name", ["numpy", "torch", "frames", "memory", "gru of both", "memory and frames"])
def test_values_and_memory_are_those_of_the_normalised_inputs(name: str) -> None:
    with session_of(name) as session:
        policy = session.learner.policy
        rollout = collect(session)
        state = policy.start(ENVS, critic=True)
        noise = np.zeros((1, ENVS), np.float32)
        for t in range(STEPS + 1):
            assert_allclose(rollout.values[t], policy.values(rollout.obs[t], state), atol=1e-5)
            if t == STEPS:
                break
            seen = state.push(rollout.obs[t]) if isinstance(state, FrameHistory) else rollout.obs[t]
            policy.act(seen, noise, None, state)
            done = rollout.terminated[t] | rollout.truncated[t]
            cut = np.flatnonzero(rollout.truncated[t])
            assert (rollout.bootstrap[t, cut] != 0).all()
            state.reset(done)
        if policy.recurrent is not None:
            memory: Any = state.memory if isinstance(state, FrameHistory) else state
            assert_allclose(session.source.state()["memory"], memory.array(), atol=1e-5)


def test_run_that_is_stopped_before_its_first_update_ends_the_same() -> None:
    """From a checkpoint without statistics, which are then taken from the first rollout as usual."""
    reference, changes = CASES["memory"]
    config = load_config(reference, {**COMMON, **changes, "algo.lr": 1e-3}).config
    weights = []
    for stopped in (False, True):
        session = build_session(config)
        if stopped:
            policy, state = session.learner.policy.arrays(), session.training_state()
            session.close()
            session = build_session(config)
            session.restore(policy, state, fresh_optimizer=False)
        rollout = collect(session)
        session.learner.learn(rollout, session.learner.hyperparameters(0, 1000), session.rng)
        weights.append(session.learner.policy.arrays())
        session.close()
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])
