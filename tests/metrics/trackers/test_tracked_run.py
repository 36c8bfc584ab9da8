"""One run with all trackers at once, resumed once: what they kept is what metrics.csv has."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wandb_file
from gymnast import api
from gymnast.api import Run

SETTINGS: dict[str, Any] = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "algo.n_steps": 16,
    "algo.batch_size": "all",
    "algo.n_epochs": 2,
    "algo.lr": 0.3,  # far too high: alerts are raised
    "eval.every": 320,
    "eval.episodes": 2,
    "stop.eval_return": None,
    "video": {"record": "every", "max_steps": 8, "episodes": 1},
    "env.kwargs": {"render_mode": "${RENDER_MODE_OF_TEST}"},
}
WANDB = {"name": "wandb", "mode": "offline", "project": "cartpole", "tags": ["small", "test"]}
TRACKIO = "trackio"
PATIENCE = 600.0  # seconds, of which a machine that is not busy needs a few
pytestmark = pytest.mark.timeout(2 * PATIENCE)
BESIDE = ("checkpoint/", "video/", "distribution/")  # what trackers get that is not in metrics.csv


@dataclass
class Tracked:
    run: Run
    first: Path  # W&B's file of the first part
    second: Path  # and of the resumed one
    ids: tuple[str, str]
    trackio: Path
    rows_before: int


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracked]:
    folder = tmp_path_factory.mktemp("tracked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKIO_DIR", str(folder / "trackio"))
        patch.setenv("WANDB_API_KEY", "")
        patch.setenv("RENDER_MODE_OF_TEST", "rgb_array")
        others = ["tensorboard", *(["trackio"] if _has_trackio() else [])]
        sinks = [
            sink | {"finish_seconds": PATIENCE} for sink in (WANDB, *({"name": each} for each in others))
        ]
        run = api.train(
            "CartPole-v1:ppo",
            overrides=SETTINGS | {"sinks": sinks},
            max_env_steps=640,
            runs_dir=folder / "runs",
            track=others,
        )
        first, known = wandb_file.wandb_file(run.folder.path), _kept(run)
        rows_before = len(run.metrics())
        run = api.resume(run, max_env_steps=960, runs_dir=folder / "runs")
        second = wandb_file.wandb_file(run.folder.path)
        ids = (known["wandb"]["id"], _kept(run)["wandb"]["id"])
        yield Tracked(run, first, second, ids, folder / "trackio", rows_before)


def _has_trackio() -> bool:
    from importlib.util import find_spec

    return find_spec(TRACKIO) is not None


def _kept(run: Run) -> dict[str, Any]:
    return dict(json.loads(run.folder.trackers_path.read_text()))


def test_wandb_file_holds_every_value_of_the_metrics_file(tracked: Tracked) -> None:
    rows = tracked.run.metrics()
    assert len(rows) == 15
    assert tracked.rows_before == 10
    logged = wandb_file.history(tracked.first) + wandb_file.history(tracked.second)
    logged = [{key: value for key, value in row.items() if not key.startswith(BESIDE)} for row in logged]
    logged = [row for row in logged if len(row) > 1]  # a video has only the x axis beside it
    assert len(logged) == len(rows)
    for found, row in zip(logged, rows, strict=True):
        assert set(found) == set(row)
        for key, value in row.items():
            same = wandb_file.number(found[key]) == value
            assert same or (math.isnan(value) and math.isnan(wandb_file.number(found[key]))), key


def test_wandb_run_has_the_name_config_tags_and_x_axis(tracked: Tracked) -> None:
    run_id = tracked.run.id
    assert tracked.ids == (run_id, run_id)
    found = list(wandb_file.records(tracked.first))
    run = next(record.run for record in found if record.HasField("run"))
    assert (run.run_id, run.display_name, run.project) == (run_id, f"ppo-{run_id}", "cartpole")
    assert sorted(run.tags) == ["small", "test"]
    config = wandb_file.items(run.config.update)
    assert config["env"]["id"] == "CartPole-v1"
    assert config["algo"]["n_steps"] == 16
    assert config["env"]["kwargs"] == {"render_mode": "${RENDER_MODE_OF_TEST}"}  # and not what it stands for
    metrics = [record.metric for record in found if record.HasField("metric")]
    assert [(one.glob_name, one.step_metric) for one in metrics if one.glob_name] == [("*", "time/vec_steps")]
    resumed = next(record.run for record in wandb_file.records(tracked.second) if record.HasField("run"))
    assert resumed.run_id == run_id


def test_wandb_run_has_videos_checkpoints_and_the_outcome(tracked: Tracked) -> None:
    rows = wandb_file.history(tracked.first)
    videos = [row["video/evaluation"] for row in rows if "video/evaluation" in row]
    assert [video["_type"] for video in videos] == ["video-file"] * 2
    files = [tracked.first.parent / "files" / video["path"] for video in videos]
    steps = sorted(tracked.run.folder.videos.glob("0*.mp4"))
    assert [file.read_bytes() for file in files] == [path.read_bytes() for path in steps[:2]]
    assert any("checkpoint/env_steps" in row for row in rows)
    found = list(wandb_file.records(tracked.first))
    summary = _summary(found)
    assert summary["solved"] is False
    assert summary["status"] == "finished"
    assert summary["env_steps"] == 640
    assert [record.exit.exit_code for record in found if record.HasField("exit")] == [0]


def _summary(records: list[Any]) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    for record in records:
        if record.HasField("summary"):
            summary |= wandb_file.items(record.summary.update)
    return summary


def _events(path: Path) -> Iterator[Any]:
    from tensorboardX.proto.event_pb2 import Event

    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield Event.FromString(data[at + 12 : at + 12 + length])
        at += length + 16


def test_tensorboard_events_hold_every_value_of_the_metrics_file(tracked: Tracked) -> None:
    files = sorted((tracked.run.folder.path / "tensorboard").iterdir(), key=lambda path: path.name)
    assert len(files) == 2
    found: dict[tuple[int, str], float] = {}
    for event in (event for path in files for event in _events(path)):
        for value in event.summary.value:
            if value.HasField("simple_value") and not value.tag.startswith(BESIDE):
                found[event.step, value.tag] = value.simple_value
    wanted = {
        (int(row["time/vec_steps"]), key): float(np.float32(value))
        for row in tracked.run.metrics()
        for key, value in row.items()
    }
    assert found.keys() == wanted.keys()
    assert all(found[at] == value or math.isnan(value) for at, value in wanted.items())


def test_trackio_database_holds_every_value_of_the_metrics_file(tracked: Tracked) -> None:
    pytest.importorskip(TRACKIO)
    (path,) = tracked.trackio.glob("gymnast.db")
    with sqlite3.connect(path) as database:
        kept = database.execute("select run_name, step, metrics from metrics order by id").fetchall()
    assert {name for name, _, _ in kept} == {f"ppo-{tracked.run.id}"}
    found: dict[int, dict[str, float]] = {}
    for _, step, text in kept:
        values = {key: value for key, value in json.loads(text).items() if not isinstance(value, dict)}
        values.pop("checkpoint/env_steps", None)
        found.setdefault(step, {}).update(values)
    rows = tracked.run.metrics()
    assert list(found) == [row["time/vec_steps"] for row in rows]
    for row in rows:
        assert found[int(row["time/vec_steps"])] == pytest.approx(row, rel=0, abs=0, nan_ok=True)


def test_trackers_get_each_alert_once_while_it_is_active(tracked: Tracked) -> None:
    kept = json.loads(tracked.run.folder.alerts_path.read_text())["alerts"]
    found = list(wandb_file.records(tracked.first))
    alerts = [record.alert for record in found if record.HasField("alert")]
    assert any("algo.lr is 0.3: try" in alert.text for alert in alerts)
    for alert in alerts:
        name, _, severity = alert.title.partition(" ")
        assert name in {alert["id"] for alert in kept}
        assert alert.level == {"(info)": "INFO", "(warning)": "WARN", "(critical)": "ERROR"}[severity]
    assert sum(_summary(found)["alerts"].values()) == len(alerts)


def test_trackers_show_how_actions_and_rewards_are_distributed(tracked: Tracked) -> None:
    first = wandb_file.history(tracked.first)[0]
    actions, rewards = first["distribution/action"], first["distribution/reward"]
    assert actions["_type"] == rewards["_type"] == "histogram"
    assert (actions["bins"], sum(actions["values"])) == ([-0.5, 0.5, 1.5], 4 * 16)
    assert rewards["bins"] == [0.5, 1.5]  # each is 1
    advantages = first["distribution/advantage"]
    assert (len(advantages["values"]), len(advantages["bins"])) == (32, 33)
    (path, _) = sorted((tracked.run.folder.path / "tensorboard").iterdir())
    found = [value for event in _events(path) for value in event.summary.value if value.HasField("histo")]
    assert [value.histo.num for value in found if value.tag == "distribution/action"][:1] == [64]


def test_tracked_run_lost_no_row(tracked: Tracked) -> None:
    assert [row["time/tracker_dropped"] for row in tracked.run.metrics()] == [0] * 15
