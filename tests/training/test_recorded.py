"""On a GPU, steps of learning and acting are recorded once and replayed: the results must be the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from gymnast import api
from gymnast.algorithms.batch import Batch
from gymnast.algorithms.ppo import PPO, PPOConfig
from gymnast.optimizers.build import build_optimizer
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.training.update import UpdateStats, update

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to record on")

PIXELS = gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
NUMBERS = gym.spaces.Box(-1, 1, (6,))
SPACES = pytest.mark.parametrize(
    ("seen", "settings", "precision"),
    [
        pytest.param(PIXELS, {"hidden": (), "encoder": "nature"}, "f32", id="pixels"),
        pytest.param(PIXELS, {"hidden": (), "encoder": "nature"}, "bf16", id="pixels in bf16"),
        pytest.param(NUMBERS, {"hidden": (32,)}, "f32", id="numbers"),
    ],
)
SAMPLES = 96


def make_policy(seen: gym.spaces.Box, settings: dict[str, Any], precision: str) -> Policy:
    config = PolicyConfig.model_validate(settings)
    return build_policy(config, "torch", seen, gym.spaces.Discrete(3), 0, "cuda", precision)


def observations(seen: gym.spaces.Box) -> np.ndarray:
    seen.seed(1)
    return np.stack([seen.sample() for _ in range(SAMPLES)])


def updated(policy: Policy, obs: np.ndarray, *, records: bool, batch_size: int) -> tuple[UpdateStats, Any]:
    policy.network.records = records
    rng = np.random.default_rng(2)
    actions = rng.integers(0, 3, SAMPLES)
    log_probs, values = policy.evaluate_actions(obs, actions)
    advantages = (actions == 1).astype(np.float32)
    batch = Batch(obs, actions, log_probs, values, advantages, np.full(SAMPLES, 3.0, np.float32))
    algo = PPO(PPOConfig(n_epochs=3))
    optimizer = build_optimizer(policy.network)
    found = update(policy, optimizer, algo, batch, algo.hyperparameters(0, 1), batch_size, rng)
    return found, policy.network.parameters.detach().cpu().numpy().copy()


@SPACES
@pytest.mark.parametrize("batch_size", [32, 40, SAMPLES])  # 40: the last minibatch of an epoch is smaller
def test_recorded_update_equals_the_plain_one(
    seen: gym.spaces.Box, settings: dict[str, Any], precision: str, batch_size: int
) -> None:
    obs = observations(seen)
    start = make_policy(seen, settings, precision).network.parameters.detach().cpu().numpy().copy()
    found = [
        updated(make_policy(seen, settings, precision), obs, records=records, batch_size=batch_size)
        for records in (False, True)
    ]
    (plain, plain_weights), (recorded, recorded_weights) = found
    moved = np.abs(plain_weights - start).max()
    assert moved > 1e-4
    # A GPU adds up in an order of its own, and Adam's first steps are as long for a small gradient as for
    # a large one.
    tolerance = 0.1 if precision == "bf16" else 0.01
    apart = np.abs(plain_weights - recorded_weights)
    assert np.mean(apart) < tolerance * np.abs(plain_weights - start).mean()
    assert recorded.metrics.keys() == plain.metrics.keys()
    for name, value in plain.metrics.items():
        assert recorded.metrics[name] == pytest.approx(value, rel=tolerance, abs=tolerance * 0.1), name


@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_recorded_acting_equals_plain_acting(precision: str) -> None:
    policy = make_policy(PIXELS, {"hidden": (), "encoder": "nature"}, precision)
    pixels = torch.from_numpy(observations(PIXELS)).to("cuda")
    noise = np.random.default_rng(3).random((3, SAMPLES))
    for _ in range(2):
        found = []
        for policy.network.records in (True, False):
            found.append(policy.act_and_evaluate(pixels, noise))
        (_, recorded, recorded_values), (_, plain, plain_values) = found
        np.testing.assert_allclose(recorded_values, plain_values, rtol=1e-2, atol=1e-3)
        np.testing.assert_allclose(recorded, plain, rtol=1e-2, atol=1e-3)
        policy.network.parameters *= 1.5  # a replay has to use the current weights


def test_one_thread_may_record_acting_while_another_records_learning() -> None:
    settings = {"hidden": (), "encoder": "nature"}
    obs = observations(PIXELS)
    pixels = torch.from_numpy(obs).to("cuda")
    noise = np.zeros((3, SAMPLES))

    def act() -> list[np.ndarray]:
        found = []
        for _ in range(12):
            policy: Any = make_policy(PIXELS, settings, "f32")  # a new one has nothing recorded
            found.append(policy.network.beside(policy.act_and_evaluate, pixels, noise)[2])
        return found

    with ThreadPoolExecutor(1) as thread:
        acting = thread.submit(act)
        learner = make_policy(PIXELS, settings, "f32")
        for _ in range(12):
            found, _ = updated(learner, obs, records=True, batch_size=32)
            assert np.isfinite(found.metrics["train/loss/total"])
        values = acting.result()
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], rtol=1e-2, atol=1e-3)


def test_a_policy_that_stacks_frames_learns_on_a_gpu(tmp_path: Path) -> None:
    on_gpu = {"engine": "torch", "device": "cuda", "policy.frame_stack": 2, "eval.every": 0}
    run = api.train("CartPole-v1:ppo", overrides=on_gpu, max_env_steps=8_000, runs_dir=tmp_path)
    assert run.outcome.env_steps >= 8_000
