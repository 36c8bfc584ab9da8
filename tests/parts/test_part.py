"""The four places where a part plugs into a learner, on either engine."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose

from gymnast.algorithms.algorithm import Hyper
from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPO, PPOConfig
from gymnast.optimizers.build import build_optimizer
from gymnast.optimizers.settings import SGDConfig
from gymnast.parts.part import Forward, Part, PartLoss
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.buffer import Rollout, allocate_rollout
from gymnast.rollout.transitions import Transitions, transitions_of
from gymnast.training.learner import PolicyGradient, load_by_name
from gymnast.training.update import update

ENGINES = pytest.mark.parametrize("engine", ["numpy", "torch"])
OBS, ACTIONS = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(3)


def make_policy(engine: str) -> Policy:
    return build_policy(PolicyConfig(hidden=(16,), actor_gain=1.0), engine, OBS, ACTIONS, 0)


def make_batch(policy: Policy, n: int = 32) -> Batch:
    rng = np.random.default_rng(0)
    x, actions = rng.normal(size=(n, 3)).astype(np.float32), rng.integers(0, 3, n)
    log_probs, values = policy.evaluate_actions(x, actions)
    return Batch(x, actions, log_probs, values, np.zeros(n, np.float32), values.copy())


class Shrink(Part):
    """Adds ½ mean(outputs²) + mean(values) + ½ mean(features²) to the objective."""

    name, adds_loss = "shrink", True

    def loss(self, xp: Any, forward: Forward, minibatch: Batch, hp: Hyper) -> PartLoss:
        n = len(minibatch)
        value = 0.5 * (forward.outputs**2).sum() / n + forward.values.sum() / n
        return PartLoss(
            d_outputs=forward.outputs / n,
            d_values=forward.values * 0 + 1.0 / n,
            d_features=forward.features / n,
            value=value + 0.5 * (forward.features**2).sum() / n,
            stats={"train/loss/entropy": value},
        )


@ENGINES
def test_a_parts_loss_moves_the_weights_along_its_gradient(engine: str) -> None:
    """With no advantage, no entropy bonus and a perfect critic, one SGD step is the part's gradient alone."""
    import torch

    policy, lr = make_policy(engine), 0.1
    before = policy.arrays()
    batch = make_batch(policy)
    algo = PPO(PPOConfig(normalize_advantage=False, n_epochs=1, max_grad_norm=0, lr=lr))
    optimizer = build_optimizer(policy.network, SGDConfig())
    hp = algo.hyperparameters(0, 1)
    stats = update(policy, optimizer, algo, batch, hp, len(batch), np.random.default_rng(0), [Shrink()])

    weights = {name: torch.tensor(array, requires_grad=True) for name, array in before.items()}
    x, n = torch.tensor(batch.x), len(batch)
    trunks = {
        name: torch.tanh(x @ weights[f"{name}.0.weight"].T + weights[f"{name}.0.bias"])
        for name in ("actor", "critic")
    }
    outputs = trunks["actor"] @ weights["action_head.weight"].T + weights["action_head.bias"]
    values = trunks["critic"] @ weights["value_head.weight"].T + weights["value_head.bias"]
    loss = 0.5 * (outputs**2).sum() / n + values.sum() / n + 0.5 * (trunks["actor"] ** 2).sum() / n
    loss.backward()
    for name, after in policy.arrays().items():
        gradient = weights[name].grad
        assert gradient is not None
        assert_allclose(after, before[name] - lr * gradient.numpy(), atol=2e-6, err_msg=name)
    assert stats.metrics["train/loss/total"] == pytest.approx(loss.item(), rel=1e-5)


class Doubling(Part):
    """Doubles rewards, then returns, and counts what it was asked."""

    name, needs_transitions = "doubling", True

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.steps: Transitions | None = None

    def rewards(self, rollout: Rollout, steps: Transitions | None, hp: Hyper) -> None:
        self.seen.append("rewards")
        self.steps = steps
        rollout.rewards *= 2

    def targets(self, batch: Batch, hp: Hyper) -> Batch:
        self.seen.append("targets")
        return batch

    def after_update(self, steps: Transitions | None, hp: Hyper, rng: np.random.Generator) -> None:
        self.seen.append("after_update")

    def metrics(self) -> dict[str, float]:
        self.seen.append("metrics")
        return {"train/value/mean": -1.0}


def make_rollout(policy: Policy) -> Rollout:
    rollout = allocate_rollout(4, 2, (3,), np.dtype(np.float32), (), np.int64)
    rng = np.random.default_rng(1)
    rollout.obs[...] = rng.normal(size=rollout.obs.shape)
    rollout.rewards[...] = 1.0
    rollout.terminated[1, 0] = rollout.truncated[2, 1] = True
    rollout.final_obs = [
        (1, np.array([0]), np.full((1, 3), 7.0, np.float32)),
        (2, np.array([1]), np.full((1, 3), 8.0, np.float32)),
    ]
    rollout.x = rollout.obs[:-1].reshape(-1, 3)
    log_probs, values = policy.evaluate_actions(rollout.obs.reshape(-1, 3), rollout.actions.reshape(-1))
    rollout.log_probs[...], rollout.values[...] = log_probs.reshape(4, 2), values.reshape(5, 2)
    return rollout


@ENGINES
def test_a_learner_calls_its_parts_in_order(engine: str) -> None:
    policy, part = make_policy(engine), Doubling()
    algo = PPO(PPOConfig(n_epochs=1))
    learner = PolicyGradient(algo, policy, build_optimizer(policy.network), (part,), 8)
    rollout = make_rollout(policy)
    learned = learner.learn(rollout, learner.hyperparameters(0, 1), np.random.default_rng(0))
    assert part.seen == ["rewards", "targets", "after_update", "metrics"]
    assert (rollout.rewards == 2).all()
    assert learned.metrics["train/value/mean"] == -1.0
    assert learner.counters() == {"time/epochs": 1}
    assert part.steps is not None
    assert (part.steps.rewards == 1).all(), "transitions have the env's own rewards"


def test_transitions_have_the_true_next_observation() -> None:
    rollout = make_rollout(make_policy("numpy"))
    steps = transitions_of(rollout)
    expected = rollout.obs[1:].copy()
    expected[1, 0], expected[2, 1] = 7.0, 8.0
    assert_allclose(steps.next_obs, expected)
    assert_allclose(steps.obs, rollout.obs[:-1])
    assert (steps.done == (rollout.terminated | rollout.truncated)).all()
    assert (rollout.obs[2, 0] != 7).all(), "the rollout itself keeps what to act on next"


def test_states_by_name_report_what_is_new_and_what_is_missing() -> None:
    class One(Part):
        name = "one"
        loaded: Any = None

        def load_state(self, state: dict[str, Any]) -> None:
            self.loaded = state

    class Two(One):
        name = "two"

    one, two = One(), Two()
    notices = load_by_name("part", (one, two), {"one": {"n": 3}, "three": {}})
    assert (one.loaded, two.loaded) == ({"n": 3}, None)
    assert notices == [
        "the checkpoint has no state of part 'two': it starts from scratch",
        "the checkpoint has state of part 'three', which this run does not use",
    ]
