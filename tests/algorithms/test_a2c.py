"""A2C's derivatives against autograd of its loss, on both engines, and its targets against n-step returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.algorithms.a2c import A2C, A2CConfig
from gymnast.algorithms.batch import Batch
from gymnast.optimizers.build import build_optimizer
from gymnast.optimizers.settings import RMSPropConfig
from gymnast.policies.policy import Policy
from gymnast.training.update import update

torch.set_num_threads(1)
ENGINES = pytest.mark.parametrize("engine", ["numpy", "torch"])


def reference(policy: Policy, batch: Batch, config: Any, hp: Any) -> dict[str, torch.Tensor]:
    """The loss of the paper by autograd, in float64, written with nothing of ours but the parameters."""
    p = {name: torch.from_numpy(value).double().requires_grad_() for name, value in policy.arrays().items()}
    x = torch.from_numpy(batch.x).double()
    tops = {
        name: torch.tanh(x @ p[f"{name}.0.weight"].T + p[f"{name}.0.bias"]) for name in ("actor", "critic")
    }
    logits = tops["actor"] @ p["action_head.weight"].T + p["action_head.bias"]
    values = (tops["critic"] @ p["value_head.weight"].T + p["value_head.bias"])[:, 0]
    pi = torch.distributions.Categorical(logits=logits)
    w = torch.ones(len(x)) if batch.weights is None else torch.from_numpy(batch.weights)
    w = w.double() / w.sum()
    advantages, returns = (torch.from_numpy(a).double() for a in (batch.advantages, batch.returns))
    error = values - returns
    if config.value_loss == "huber":
        loss = 2 * torch.nn.functional.huber_loss(values, returns, reduction="none", delta=config.huber_delta)
    else:
        loss = error**2
    total = -(w * advantages * pi.log_prob(torch.from_numpy(batch.actions))).sum()
    total = total + hp.value_coef * (w * loss).sum() - hp.entropy_coef * (w * pi.entropy()).sum()
    total.backward()
    return {name: value.grad for name, value in p.items()} | {"total": total.detach()}


@ENGINES
@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["squared", "huber"]),
    entropy_coef=st.sampled_from([0.0, 0.05]),
    weighted=st.booleans(),
)
def test_the_gradient_is_that_of_the_papers_loss(
    make_policy: Any, make_batch: Any, engine: str, seed: int, kind: Any, entropy_coef: float, weighted: bool
) -> None:
    policy = make_policy(engine, seed)
    batch = make_batch(policy, 24, seed, weighted)
    algo = A2C(A2CConfig(value_loss=kind, huber_delta=0.7, entropy_coef=entropy_coef))
    hp = algo.hyperparameters(0, 1)
    network, distribution = policy.network, policy.distribution
    ready = batch.map(network.to_engine)
    outputs, log_std, values = network.forward(ready.x)
    new = distribution.evaluate_actions(network.xp, outputs, log_std, ready.actions)
    loss = algo.loss(network.xp, new, values, ready, hp)
    network.backward(*distribution.backward(network.xp, new, loss.d_log_prob, loss.d_entropy), loss.d_values)

    expected = reference(policy, batch, algo.config, hp)
    found = np.asarray(network.gradients)
    at = 0
    for name, shape in policy.layout.shapes().items():
        size = int(np.prod(shape))
        assert_allclose(
            found[at : at + size].reshape(shape), expected[name].numpy(), rtol=2e-3, atol=2e-5, err_msg=name
        )
        at += size
    assert float(loss.stats["train/loss/total"]) == pytest.approx(
        float(expected["total"]), rel=1e-4, abs=1e-5
    )


@settings(max_examples=20)
@given(t=st.integers(1, 12), seed=st.integers(0, 1000))
def test_by_default_targets_are_returns_over_the_rest_of_the_rollout(
    make_rollout: Any, t: int, seed: int
) -> None:
    rollout = make_rollout(t, 3, seed)
    algo = A2C(A2CConfig(gamma=0.9))
    batch = algo.targets(rollout, algo.hyperparameters(0, 1))
    expected = np.zeros((t, 3))
    for env in range(3):
        after = float(rollout.values[-1, env])
        for step in reversed(range(t)):
            if rollout.terminated[step, env]:
                after = 0.0
            elif rollout.truncated[step, env]:
                after = float(rollout.bootstrap[step, env])
            after = float(rollout.rewards[step, env]) + 0.9 * after
            expected[step, env] = after
    assert_allclose(batch.returns.reshape(t, 3), expected, rtol=1e-4, atol=1e-5)
    assert_allclose(batch.advantages, batch.returns - batch.values, rtol=1e-4, atol=1e-5)
    assert batch.weights is None


@ENGINES
def test_an_update_is_one_step_and_reports_how_far_it_moved_the_policy(
    make_policy: Any, make_batch: Any, engine: str
) -> None:
    policy = make_policy(engine)
    batch = make_batch(policy, 64, 1)
    algo = A2C(A2CConfig(lr=1e-2))
    hp = algo.hyperparameters(0, 1)
    optimizer = build_optimizer(policy.network, algo.config.optimizer)
    stats = update(policy, optimizer, algo, batch, hp, 64, np.random.default_rng(0))
    assert optimizer.state()["steps"] == stats.epochs == 1
    log_probs, _ = policy.evaluate_actions(batch.x, batch.actions)
    ratio = np.exp(log_probs - batch.log_probs)
    assert stats.metrics["train/ratio/max"] == pytest.approx(float(ratio.max()), rel=1e-4)
    assert stats.metrics["train/kl"] == pytest.approx(float((ratio - 1 - np.log(ratio)).mean()), rel=1e-2)
    assert stats.metrics["train/kl"] > 0
    good = batch.advantages > 0
    assert (ratio[good] - 1).mean() > (ratio[~good] - 1).mean()


def test_the_optimiser_of_the_paper_is_the_default() -> None:
    config = A2CConfig()
    assert isinstance(config.optimizer, RMSPropConfig)
    assert isinstance(A2CConfig(optimizer={"eps": 1e-3}).optimizer, RMSPropConfig)  # type: ignore[arg-type]
    assert A2CConfig(optimizer="adam").optimizer.name == "adam"  # type: ignore[arg-type]
    assert config.minibatch_size(80) == 80
