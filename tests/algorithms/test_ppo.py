"""PPO's derivatives against autograd of the loss written a second time, with torch.distributions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from torch import distributions

from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPO, PPOConfig, PPOHyper
from gymnast.policies.build import build_policy
from gymnast.policies.distributions import LOG_STD_RANGE, Evaluated
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.buffer import allocate_rollout

torch.set_num_threads(1)  # as the engine does: a second thread only costs on products of this size

OBS = gym.spaces.Box(-1.0, 1.0, (4,))
BOX = gym.spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([3.0, 0.5], np.float32))
HEADS: tuple[tuple[gym.Space[Any], dict[str, Any]], ...] = (
    (gym.spaces.Discrete(3), {}),
    (BOX, {}),
    (BOX, {"gaussian": "squashed"}),
    (BOX, {"state_dependent_std": True}),
    (BOX, {"gaussian": "squashed", "state_dependent_std": True}),
)


def perturbed_policy(engine: str, actions: gym.Space[Any], config: dict[str, Any], seed: int) -> Policy:
    policy = build_policy(PolicyConfig(hidden=(6, 5), **config), engine, OBS, actions, seed)
    rng = np.random.default_rng(seed)
    policy.load_arrays(
        {
            name: (value + rng.normal(0, 0.3, value.shape)).astype(np.float32)
            for name, value in policy.arrays().items()
        }
    )
    return policy


def random_batch(policy: Policy, n: int, seed: int, clip: float) -> Batch:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    actions = policy.act(x, policy.distribution.noise(rng, 1, n)[0])
    log_probs, values = policy.evaluate_actions(x, actions)
    # Ratios and values on either side of the clip range, none on its edge, where the loss has a kink.
    old_log_probs = log_probs + rng.choice([-1, -0.2, 0.2, 1], n) * rng.uniform(0.3, 0.5, n)
    old_values = values + rng.choice([-1, 0, 1], n) * rng.uniform(1.5, 3, n) * clip
    targets, advantages = rng.normal(size=(2, n)).astype(np.float32)
    return Batch(
        x,
        actions,
        old_log_probs.astype(np.float32),
        old_values.astype(np.float32),
        advantages,
        values + targets,
    )


def reference_gradients(policy: Policy, batch: Batch, hp: PPOHyper) -> dict[str, torch.Tensor]:
    """The paper's loss, with nothing of ours in it but the parameters; in float64."""
    p = {name: torch.from_numpy(value).double().requires_grad_() for name, value in policy.arrays().items()}
    x = torch.from_numpy(batch.x).double()

    def trunk(name: str) -> torch.Tensor:
        h = x
        for layer in range(2):
            h = torch.tanh(h @ p[f"{name}.{layer}.weight"].T + p[f"{name}.{layer}.bias"])
        return h

    shared = policy.layout.config.shared
    actor, critic = trunk("trunk" if shared else "actor"), trunk("trunk" if shared else "critic")
    outputs = actor @ p["action_head.weight"].T + p["action_head.bias"]
    values = (critic @ p["value_head.weight"].T + p["value_head.bias"])[:, 0]
    actions = torch.from_numpy(np.ascontiguousarray(batch.actions))
    if policy.layout.continuous:
        if policy.layout.config.state_dependent_std:
            log_std = (actor @ p["log_std_head.weight"].T + p["log_std_head.bias"]).clamp(*LOG_STD_RANGE)
        else:
            log_std = p["log_std"].expand(outputs.shape)
        base = distributions.Independent(distributions.Normal(outputs, log_std.exp()), 1)
        entropy = base.entropy()
        if policy.layout.config.gaussian == "squashed":
            # Written out, since inverting a saturated tanh gives infinity.
            reach = torch.from_numpy((BOX.high - BOX.low) / 2).double()
            volume = distributions.TanhTransform().log_abs_det_jacobian(actions.double(), None)
            log_prob = base.log_prob(actions.double()) - (volume + reach.log()).sum(-1)
        else:
            log_prob = base.log_prob(actions.double())
    else:
        categorical = distributions.Categorical(logits=outputs)
        log_prob, entropy = categorical.log_prob(actions), categorical.entropy()

    old_log_prob, old_values, returns, advantages = (
        torch.from_numpy(v).double() for v in (batch.log_probs, batch.values, batch.returns, batch.advantages)
    )
    ratio = (log_prob - old_log_prob).exp()
    clipped = ratio.clamp(1 - hp.clip_range, 1 + hp.clip_range)
    policy_loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
    value_loss = (values - returns) ** 2
    if hp.value_clip_range is not None:
        near = old_values + (values - old_values).clamp(-hp.value_clip_range, hp.value_clip_range)
        value_loss = torch.maximum(value_loss, (near - returns) ** 2)
    loss = policy_loss + hp.value_coef * value_loss.mean() - hp.entropy_coef * entropy.mean()
    loss.backward()
    return {name: value.grad for name, value in p.items()} | {"loss": loss.detach()}


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@settings(max_examples=25)
@given(
    head=st.sampled_from(HEADS),
    shared=st.booleans(),
    value_clip=st.sampled_from([None, 0.2]),
    entropy_coef=st.sampled_from([0.0, 0.05]),
    seed=st.integers(0, 10_000),
)
def test_the_gradient_is_that_of_the_papers_loss(
    engine: str, head: Any, shared: bool, value_clip: float | None, entropy_coef: float, seed: int
) -> None:
    actions, config = head
    policy = perturbed_policy(engine, actions, config | {"shared": shared}, seed)
    batch = random_batch(policy, 24, seed, 0.2)
    algo = PPO(PPOConfig(value_clip_range=value_clip, entropy_coef=entropy_coef))
    hp = algo.hyperparameters(0, 1)
    network, distribution = policy.network, policy.distribution
    xp, move = network.xp, network.to_engine
    ready = batch.map(lambda array: move(np.ascontiguousarray(array)))
    outputs, log_std, values = network.forward(ready.x)
    new = distribution.evaluate_actions(xp, outputs, log_std, ready.actions)
    loss = algo.loss(xp, new, values, ready, hp)
    network.backward(*distribution.backward(xp, new, loss.d_log_prob, loss.d_entropy), loss.d_values)

    expected = reference_gradients(policy, batch, hp)
    assert float(loss.stats["train/loss/total"]) == pytest.approx(
        float(expected.pop("loss")), rel=1e-3, abs=1e-4
    )
    flat = torch.cat([gradient.flatten() for gradient in expected.values()])
    assert_allclose(np.asarray(network.gradients), flat, rtol=2e-3, atol=2e-4)


def derivatives(log_ratio: np.ndarray, advantages: np.ndarray, **settings: Any) -> np.ndarray:
    algo = PPO(PPOConfig(**settings))
    n = len(advantages)
    zeros = np.zeros(n, np.float32)
    batch = Batch(zeros, zeros, zeros, zeros, advantages.astype(np.float32), zeros)
    new = Evaluated(log_ratio.astype(np.float32), zeros, ())
    return algo.loss(np, new, zeros, batch, algo.hyperparameters(0, 1)).d_log_prob


@given(advantages=st.lists(st.floats(-5, 5), min_size=1, max_size=20).map(np.array))
def test_the_gradient_at_ratio_one_is_the_plain_policy_gradient(advantages: np.ndarray) -> None:
    ours = derivatives(np.zeros(len(advantages)), advantages, clip_range=0.1)
    assert_allclose(ours, -advantages.astype(np.float32) / len(advantages), rtol=1e-6)


def test_the_gradient_vanishes_exactly_where_the_clip_is_active() -> None:
    ratio = np.array([1.3, 1.3, 0.7, 0.7, 1.1, 0.9])
    advantages = np.array([2.0, -2.0, 2.0, -2.0, 2.0, -2.0])
    ours = derivatives(np.log(ratio), advantages, clip_range=0.2)
    flat = [True, False, False, True, False, False]
    assert ((ours == 0) == flat).all()
    assert_allclose(ours, np.where(flat, 0, -ratio * advantages / 6), rtol=1e-5)


def value_derivatives(
    values: np.ndarray, old: np.ndarray, returns: np.ndarray, clip: float | None
) -> np.ndarray:
    algo = PPO(PPOConfig(value_clip_range=clip, value_coef=0.5))
    zeros = np.zeros_like(values)
    batch = Batch(zeros, zeros, zeros, old, zeros, returns)
    return algo.loss(np, Evaluated(zeros, zeros, ()), values, batch, algo.hyperparameters(0, 1)).d_values


def test_value_clipping_stops_the_gradient_where_the_clipped_value_is_worse() -> None:
    old = np.zeros(4, np.float32)
    values = np.array([1.0, 1.0, 0.1, -1.0], np.float32)
    returns = np.array([2.0, -2.0, 2.0, -2.0], np.float32)  # towards, away, within, towards
    ours = value_derivatives(values, old, returns, 0.25)
    assert_allclose(ours, [0, 3.0 / 4, -1.9 / 4, 0], rtol=1e-6)
    assert_allclose(value_derivatives(values, old, returns, None), (values - returns) / 4, rtol=1e-6)


def test_a_value_within_its_range_always_has_its_gradient() -> None:
    rng = np.random.default_rng(0)
    old, values, returns = (rng.normal(0, scale, 5000).astype(np.float32) for scale in (0.02, 0.02, 1.0))
    within = np.abs(values - old) < 0.19
    assert (value_derivatives(values, old, returns, 0.2)[within] != 0).all()


def test_advantages_of_a_minibatch_are_normalised() -> None:
    rng = np.random.default_rng(0)
    zeros = np.zeros(50, np.float32)
    batch = Batch(zeros, zeros, zeros, zeros, rng.normal(5, 3, 50).astype(np.float32), zeros)
    ready = PPO(PPOConfig()).prepare(np, batch).advantages
    assert ready.mean() == pytest.approx(0, abs=1e-5)
    assert ready.std() == pytest.approx(1, abs=1e-4)
    assert (PPO(PPOConfig(normalize_advantage=False)).prepare(np, batch).advantages == batch.advantages).all()
    one = batch.rows(slice(0, 1))
    assert PPO(PPOConfig()).prepare(np, one).advantages == one.advantages  # one sample has no spread


def test_kl_and_clip_fraction_match_their_definitions() -> None:
    log_ratio = np.array([0.0, 0.5, -0.5, 0.1], np.float32)
    algo = PPO(PPOConfig(clip_range=0.2))
    zeros = np.zeros(4, np.float32)
    loss = algo.loss(
        np, Evaluated(log_ratio, zeros, ()), zeros, Batch(*[zeros] * 6), algo.hyperparameters(0, 1)
    )
    assert float(loss.kl) == pytest.approx(float((np.exp(log_ratio) - 1 - log_ratio).mean()), rel=1e-5)
    assert float(loss.stats["train/clip_fraction"]) == pytest.approx(0.5)
    assert float(loss.largest_ratio) == pytest.approx(np.exp(0.5), rel=1e-5)


def test_targets_are_flat_in_time_then_envs() -> None:
    steps, envs = 3, 2
    rollout = allocate_rollout(steps, envs, (4,), np.dtype(np.float32), (), np.int64)
    rng = np.random.default_rng(0)
    rollout.rewards[:] = rng.normal(size=(steps, envs))
    rollout.values[:] = rng.normal(size=(steps + 1, envs))
    rollout.actions[:] = np.arange(6).reshape(steps, envs)
    rollout.x = np.arange(24, dtype=np.float32).reshape(6, 4)
    algo = PPO(PPOConfig(gamma=0.9, gae_lambda=0.0))
    batch = algo.targets(rollout, algo.hyperparameters(0, 1))
    assert len(batch) == 6
    assert batch.actions.tolist() == list(range(6))
    delta = rollout.rewards + 0.9 * rollout.values[1:] - rollout.values[:-1]
    assert_allclose(batch.advantages, delta.reshape(-1), rtol=1e-4, atol=1e-6)
    assert_allclose(batch.returns, (delta + rollout.values[:-1]).reshape(-1), rtol=1e-4, atol=1e-6)


def test_schedules_reach_every_setting() -> None:
    algo = PPO(
        PPOConfig(
            lr={"kind": "linear", "start": 1e-3, "end": 0.0},
            clip_range={"kind": "linear", "start": 0.2, "end": 0.1},
            n_epochs={"kind": "linear", "start": 10, "end": 1},
        )
    )
    first, middle = algo.hyperparameters(0, 100), algo.hyperparameters(50, 100)
    assert (first.lr, first.clip_range, first.n_epochs) == (1e-3, 0.2, 10)
    assert middle.lr == pytest.approx(5e-4)
    assert middle.clip_range == pytest.approx(0.15)
    assert isinstance(middle.n_epochs, int)
