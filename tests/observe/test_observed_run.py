"""Real runs: which updates are observed, what their numbers are, and that observing changes nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.observe.cadence import FIRST
from gymnast.observe.network import norms, parts_of
from gymnast.runs.checkpoint import list_checkpoints, load_checkpoint
from training.compare_runs import difference, end_of, rows_of

UPDATES, STEPS = 20, 2048
PPO: dict[str, Any] = {
    "env.n_envs": 4,
    "algo.n_steps": STEPS // 4,
    "algo.batch_size": "all",
    "algo.n_epochs": 1,
    "algo.max_grad_norm": 0.1,
    "algo.lr": 1e-3,  # and no schedule, which a resume with a larger budget would stretch
    "eval.every": 0,
    "checkpoint.seconds": 0,
}
OFF = {"observe.network": False, "observe.distributions": False}


def trained(folder: Path, updates: int = UPDATES, **changes: Any) -> api.Run:
    return api.train(
        "CartPole-v1:ppo", overrides=PPO | changes, max_env_steps=updates * STEPS, runs_dir=folder
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    return trained(tmp_path_factory.mktemp("observed"))


def observed(run: api.Run) -> list[int]:
    return [row["time/updates"] for row in run.metrics() if "net/rank/actor" in row]


def test_the_first_updates_are_observed_and_then_every_few(run: api.Run) -> None:
    expected = [*range(1, FIRST + 1), 20]
    assert observed(run) == expected
    assert api.read_distributions(run).updates.tolist() == expected
    assert all("env/diversity" in row for row in run.metrics() if row["time/updates"] in expected)


def test_gradients_by_part_make_up_the_norm_before_clipping(run: api.Run) -> None:
    for row in run.metrics():
        if "opt/grad_norm/actor" in row:  # one minibatch per update: its last is its only one
            parts = [row[key] for key in row if key.startswith("opt/grad_norm/")]
            assert math.sqrt(sum(part**2 for part in parts)) == pytest.approx(row["opt/grad_norm"], rel=1e-4)
    assert max(row["opt/grad_norm"] for row in run.metrics()) > PPO["algo.max_grad_norm"]


def test_weights_and_steps_are_those_of_the_checkpoints(tmp_path: Path) -> None:
    run = trained(tmp_path, 2, **{"checkpoint.every": STEPS})
    before, after = (load_checkpoint(each)[0] for each in list_checkpoints(run.folder)[-2:])
    policy = api.load_policy(run)
    parts = parts_of(policy.layout)
    flat = [
        np.concatenate([arrays[name].ravel() for name in policy.layout.shapes()])
        for arrays in (before, after)
    ]
    row = run.metrics()[-1]
    moved, sizes = norms(flat[1] - flat[0], parts), norms(flat[1], parts)
    for part in ("actor", "critic"):
        assert row[f"net/weight_norm/{part}"] == pytest.approx(sizes[part], rel=1e-5)
        larger = max(sizes[part], norms(flat[0], parts)[part])
        assert row[f"net/step_ratio/{part}"] == pytest.approx(moved[part] / larger, rel=1e-3)


def test_distributions_are_of_the_same_data_as_the_metrics(run: api.Run) -> None:
    found = api.read_distributions(run)
    rows = {row["time/updates"]: row for row in run.metrics()}
    counts = found.arrays["action/count"]
    assert (counts.sum(1) == STEPS).all()
    assert found.labels["action/count"] == ("left", "right")
    assert found.arrays["action/probability"].sum(1) == pytest.approx(1.0, abs=1e-5)
    for index, update in enumerate(found.updates.tolist()):
        row = rows[update]
        assert found.env_steps[index] == row["time/env_steps"]
        assert counts[index].max() / STEPS == row["train/action/top_share"]
        assert found.arrays["target"][index, -1] == pytest.approx(row["train/target/abs_max"])
        assert found.arrays["reward"][index, 0] == row["env/reward/min"]
        assert found.arrays["obs/max"].shape == (len(found), 4)
        low, high = found.arrays["value"][index, [0, -1]]
        assert low <= row["train/value/mean"] <= high
    pictures = api.distribution_pictures(run)
    assert {"action/count", "reward", "value", "obs"} <= pictures.keys()
    assert all(picture.dtype == np.uint8 and picture.std() > 0 for picture in pictures.values())


def test_without_observation_the_same_is_learned_and_nothing_is_written(run: api.Run, tmp_path: Path) -> None:
    plain = trained(tmp_path, **OFF)
    assert not plain.folder.distributions_path.exists()
    assert observed(plain) == []
    assert len(api.read_distributions(plain)) == 0
    assert api.distribution_pictures(plain) == {}
    assert difference(end_of(plain)["policy"], end_of(run)["policy"]) is None
    for seen, unseen in zip(rows_of(run), rows_of(plain), strict=True):
        common = {key: value for key, value in seen.items() if key in unseen}
        assert common == unseen  # every metric of an update is there without observation too


def test_one_kind_of_observation_leaves_out_the_other(tmp_path: Path) -> None:
    network = trained(tmp_path, 1, **{"observe.distributions": False})
    assert "net/dead/critic" in network.metrics()[0]
    assert "env/diversity" not in network.metrics()[0]
    assert not network.folder.distributions_path.exists()
    data = trained(tmp_path, 1, **{"observe.network": False})
    assert "net/dead/critic" not in data.metrics()[0]
    assert "env/diversity" in data.metrics()[0]
    assert len(api.read_distributions(data)) == 1


def test_a_resumed_run_observes_the_same_and_drops_what_came_after_its_checkpoint(
    run: api.Run, tmp_path: Path
) -> None:
    part = trained(tmp_path, 4)
    whole = run.folder.distributions_path.read_bytes()
    part.folder.distributions_path.write_bytes(whole[:-5])  # as if it had been killed in a later update
    again = api.resume(part, max_env_steps=UPDATES * STEPS)
    assert again.folder.distributions_path.read_bytes() == whole
    assert difference(_learned(again), _learned(run)) is None


def _learned(run: api.Run) -> list[dict[str, Any]]:
    """Its rows, without what depends on the budget."""
    return [
        {key: value for key, value in row.items() if not key.startswith(("time/", "alert/"))}
        for row in rows_of(run)
    ]
