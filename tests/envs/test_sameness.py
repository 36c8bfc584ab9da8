"""Copies of an env that give the same experience are told of, once, and others are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.envs.build import build_envs
from gymnast.envs.measure import sameness
from gymnast.envs.measure.sameness import copies_agree, warn_of_same_copies
from gymnast.envs.settings import EnvConfig


@pytest.mark.parametrize(
    ("env_id", "more", "agree"),
    [
        ("CartPole-v1", {}, False),  # starts differ
        ("FrozenLake-v1", {}, False),  # one start, but it is slippery
        ("FrozenLake-v1", {"kwargs": {"is_slippery": False}}, True),
        ("FrozenLake-v1", {"kwargs": {"is_slippery": False}, "wrappers": ("sticky-actions",)}, False),
        ("CliffWalking-v1", {}, True),
        ("gymnast/TMaze-v0", {}, False),  # the sign is drawn again in every episode
        ("sample_envs:SeedIsIgnored", {}, True),
    ],
)
@pytest.mark.parametrize("backend", ["sync", "workers"])
def test_seeds_that_make_no_difference_are_found(
    env_id: str, more: dict[str, Any], agree: bool, backend: str
) -> None:
    envs = build_envs(EnvConfig(id=env_id, workers=2, **more), n_envs=4, seed=0, backend=backend)
    try:
        assert copies_agree(envs) is agree
    finally:
        envs.close()


def test_masks_are_obeyed() -> None:
    config = EnvConfig(id="Taxi-v4", action_masks=True)
    assert copies_agree(build_envs(config, n_envs=4, seed=0, backend="sync")) is False


def test_it_is_measured_once_and_only_where_the_first_observations_agree(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    measured: list[str] = []
    real = sameness._measure
    monkeypatch.setattr(
        sameness, "_measure", lambda config, *rest: measured.append(config.id) or real(config, *rest)
    )
    config = EnvConfig(id="CliffWalking-v1", n_envs=4)
    assert not warn_of_same_copies(config, "sync", 0, np.array([1, 2, 1, 1]))
    assert measured == []
    for _ in range(2):
        assert warn_of_same_copies(config, "sync", 0, np.array([1, 1, 1, 1]))
    assert measured == ["CliffWalking-v1"]
    assert len(caplog.messages) == 2
    assert "copies of CliffWalking-v1 with different seeds" in caplog.messages[0]
    assert not warn_of_same_copies(config.model_copy(update={"n_envs": 1}), "sync", 0)


def test_an_env_that_fails_is_for_training_to_report(caplog: pytest.LogCaptureFixture) -> None:
    config = EnvConfig(id="sample_envs:Failing", kwargs={"how": "die"}, n_envs=4, workers=2)
    assert not warn_of_same_copies(config, "workers", 0)
    assert caplog.messages == []


def test_an_env_too_slow_to_judge_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sameness, "_SECONDS", 0.0)
    envs = build_envs(EnvConfig(id="CliffWalking-v1"), n_envs=2, seed=0, backend="sync")
    assert copies_agree(envs) is None


@pytest.mark.parametrize(("env_id", "said"), [("CliffWalking-v1", True), ("CartPole-v1", False)])
def test_a_run_warns_when_it_starts(env_id: str, said: bool, tmp_path: Path) -> None:
    changes = {"env.n_envs": 4, "algo.n_steps": 16, "algo.batch_size": "all", "eval.every": 0}
    run = api.train(f"{env_id}:ppo", overrides=changes, max_env_steps=64, runs_dir=tmp_path)
    assert ("parallel envs give the same experience" in run.folder.log_path.read_text()) is said
