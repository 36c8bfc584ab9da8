"""Metrics of every update: actions, entropy, ratios, targets and episodes, against plain calculations."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.algorithms.batch import Batch
from gymnast.policies.build import build_policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.source import Episode
from gymnast.spaces.masks import masked
from gymnast.training.state import TrainState
from gymnast.training.target_metrics import ActionMetrics, largest_target, target_metrics

OBS = gym.spaces.Box(-1, 1, (3,), np.float32)
B = 64


def batch_of(actions: np.ndarray, masks: np.ndarray | None = None, **arrays: Any) -> Batch:
    zeros = np.zeros(len(actions), np.float32)
    given: dict[str, Any] = dict.fromkeys(("log_probs", "values", "advantages", "returns"), zeros)
    return Batch(x=zeros, actions=actions, masks=masks, **(given | arrays))


@pytest.mark.parametrize(
    "space",
    [gym.spaces.Discrete(5), gym.spaces.MultiDiscrete([2, 3]), gym.spaces.MultiBinary(3)],
    ids=["one", "several", "bits"],
)
@given(seed=st.integers(0, 10**6), some=st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_fraction_of_the_entropy_is_that_of_allowed_choices(
    space: gym.Space[Any], seed: int, some: bool
) -> None:
    policy = build_policy(PolicyConfig(), "numpy", OBS, space, seed=seed)
    rng = np.random.default_rng(seed)
    outputs = rng.standard_normal((policy.layout.n_outputs, B)).astype(np.float32)
    masks = None
    if some:
        masks = rng.random((B, policy.layout.n_outputs)) < 0.7
        masks[:, :: 2 if isinstance(space, gym.spaces.MultiBinary) else 1][:, 0] = True
        masks[:, [0, 2, 4] if policy.layout.n_outputs >= 5 else 0] = True
        outputs = masked(np, outputs, masks)
    actions = np.zeros((B, *policy.distribution.action_shape), np.int64)
    entropy = float(policy.distribution.evaluate_actions(np, outputs, None, actions).entropy.mean())
    found = ActionMetrics(policy).of(batch_of(actions, masks), entropy)
    expected = policy.distribution.uniformity(outputs, masks)
    assert found.get("train/entropy_fraction") == pytest.approx(expected, rel=1e-4)


def test_the_most_frequent_action_and_clipped_ones_are_counted() -> None:
    discrete = ActionMetrics(build_policy(PolicyConfig(), "numpy", OBS, gym.spaces.Discrete(9), seed=0))
    assert discrete.of(batch_of(np.array([3, 3, 3, 8])), None) == {"train/action/top_share": 0.75}
    box = gym.spaces.Box(np.array([-1, -np.inf], np.float32), np.array([1, np.inf], np.float32))
    actions = np.array([[0.5, 1e9], [1.5, 0], [-3, 0], [1, 0]], np.float32)
    gaussian = ActionMetrics(build_policy(PolicyConfig(), "numpy", OBS, box, seed=0))
    assert gaussian.of(batch_of(actions), 1.0) == {"train/action/clipped": 2 / 8}
    mixed = gym.spaces.Dict({"go": gym.spaces.Discrete(3), "how": gym.spaces.Box(-1, 1, (2,), np.float32)})
    flat = np.array([[2, 5, 0], [0, 0, 0]], np.float32)
    found = ActionMetrics(build_policy(PolicyConfig(), "numpy", OBS, mixed, seed=0)).of(batch_of(flat), 1.0)
    assert found == {"train/action/clipped": 1 / 4}  # entropies of numbers have no maximum
    bounded = gym.spaces.Box(-1, 1, (2,), np.float32)
    squashed = ActionMetrics(build_policy(PolicyConfig(gaussian="squashed"), "numpy", OBS, bounded, seed=0))
    assert squashed.of(batch_of(actions), 1.0) == {}


def test_targets_are_described_where_they_count() -> None:
    returns = np.array([-3.0, 1.0, 2.0, 100.0], np.float32)
    values = np.array([1.0, 3.0, 5.0, 0.0], np.float32)
    weights = np.array([1, 1, 1, 0], np.float32)
    batch = batch_of(np.zeros(4, np.int64), returns=returns, values=values, weights=weights)
    found = target_metrics(batch, critic=True)
    assert found["train/target/mean"] == 0.0
    assert found["train/target/std"] == pytest.approx(float(np.std([-3, 1, 2])))
    assert found["train/target/negative"] == pytest.approx(1 / 3)
    assert found["train/value/std"] == pytest.approx(float(np.std([1, 3, 5])))
    assert largest_target(batch) == {"train/target/abs_max": 3.0}
    assert not any("target" in key for key in target_metrics(batch, critic=False))


def test_how_episodes_ended_is_kept_by_a_checkpoint_and_older_ones_load() -> None:
    state = TrainState()
    state.recent.extend([Episode(1.0, 1.0, 4, truncated=True), *[Episode(1.0, 1.0, 8)] * 3])
    metrics = state.metrics()
    assert metrics["env/truncated_share"] == 0.25
    assert metrics["train/length/std"] == pytest.approx(float(np.std([4, 8, 8, 8])))
    saved = state.to_json()
    again = TrainState()
    again.load_json(saved)
    assert again.metrics() == metrics
    saved["recent"] = [row[:5] for row in saved["recent"]]  # as they were before
    again.load_json(saved)
    assert again.metrics()["env/truncated_share"] == 0.0


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    overrides = {
        "env.n_envs": 4,
        "env.backend": "sync",
        "env.max_episode_steps": 30,
        "algo.n_steps": 64,
        "algo.batch_size": 0.5,
        "algo.entropy_coef": 0.01,
        "algo.value_coef": 0.25,
        "eval.every": 0,
    }
    run = api.train(
        "Pendulum-v1:ppo", overrides=overrides, max_env_steps=768, runs_dir=tmp_path_factory.mktemp("rows")
    )
    return run.metrics()


def test_a_run_reports_losses_times_their_coefficients(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["train/loss/value_scaled"] == pytest.approx(0.25 * row["train/loss/value"])
        assert row["train/loss/entropy_scaled"] == pytest.approx(0.01 * row["train/loss/entropy"])


def test_ratios_of_an_update_start_at_1(rows: list[dict[str, Any]]) -> None:
    assert max(row["train/ratio/start"] for row in rows) < 1e-5
    assert max(row["train/ratio/max"] for row in rows) > 1.001


def test_episodes_that_a_limit_ends_all_together_are_seen(rows: list[dict[str, Any]]) -> None:
    assert rows[-1]["env/truncated_share"] == 1.0
    assert rows[-1]["train/length/std"] == 0.0
    assert rows[-1]["env/resets_together"] == 0.5  # all four at once, twice per rollout
    assert rows[-1]["env/reward/nonzero"] == 1.0
