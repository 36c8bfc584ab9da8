"""Which trackers a run gets: from its config and from `--track`; what is wrong is found before it starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast import api
from gymnast.api import autotuning
from gymnast.cli.app import main
from gymnast.config.plugins import PluginConfig
from gymnast.errors import GymnastError
from gymnast.metrics.sinks.table import prepare_sinks
from gymnast.metrics.sinks.trackers.rows import Event, RowPacker, RowReader
from gymnast.metrics.sinks.trackers.settings import with_trackers
from gymnast.training.run import launch

WRONG_SINKS: dict[str, tuple[dict[str, Any], str]] = {
    "misspelt": ({"name": "wnadb"}, "sinks: no 'wnadb' (did you mean 'wandb'"),
    "dead": ({"name": "neptune"}, "sinks: Neptune's service was shut down in March 2026: use trackio"),
    "unkept": ({"name": "aim"}, "sinks: Aim has had no release since May 2025"),
    "mode": ({"name": "wandb", "mode": "ofline"}, "sinks: wandb: mode: 'ofline' is not online or offline"),
    "argument": ({"name": "wandb", "projekt": "x"}, "no argument 'projekt' (did you mean 'project'"),
    "axis": ({"name": "tensorboard", "x_axis": "steps"}, "x_axis: 'steps' is not vec_steps, env_steps"),
    "seconds": ({"name": "trackio", "finish_seconds": -1}, "finish_seconds: input should be greater than or"),
}


@pytest.mark.parametrize("what", WRONG_SINKS)
def test_wrong_tracker_is_refused_before_there_is_a_run(what: str, tmp_path: Path) -> None:
    sink, said = WRONG_SINKS[what]
    with pytest.raises(GymnastError) as raised:
        api.train("CartPole-v1:ppo", overrides={"sinks": [sink]}, runs_dir=tmp_path / "runs")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("track", "said"),
    [
        ("tensorbord", "--track: no tracker 'tensorbord' (did you mean 'tensorboard'"),
        ("neptune", "--track: Neptune's service was shut down"),
        ("wandb=of", "--track wandb=of: wandb has no mode 'of'; it takes wandb=online or wandb=offline"),
        ("trackio=offline", "--track trackio=offline: trackio has no mode 'offline'; it takes none"),
    ],
)
def test_wrong_track_option_is_one_line(
    track: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["train", "CartPole-v1:ppo", "--track", track, "--runs-dir", str(tmp_path / "runs")])
    assert left.value.code == 2
    assert said in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "runs").exists()


def test_tracker_that_is_not_installed_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(GymnastError) as raised:
        api.train("CartPole-v1:ppo", track=["wandb"], runs_dir=tmp_path / "runs")
    assert str(raised.value) == "sinks: wandb needs the extra 'wandb': pip install 'gymnast[wandb]'"
    assert not (tmp_path / "runs").exists()


def test_track_adds_to_the_config_and_keeps_its_settings() -> None:
    known = PluginConfig.model_validate({"name": "wandb", "project": "mine"})
    found = with_trackers((known,), ["tensorboard", "wandb=offline"])
    assert [(sink.name, sink.arguments) for sink in found] == [
        ("wandb", {"project": "mine", "mode": "offline"}),
        ("tensorboard", {}),
    ]


_KEYS = st.sampled_from(["a/b", "c", "d/e/f", "g"])
_VALUES = st.one_of(
    st.none(),
    st.floats(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(width=32).map(np.float32),
    st.integers(0, 99).map(np.int64),
)


_ROWS = st.dictionaries(_KEYS, _VALUES).map(lambda row: {"time/updates": 1, **row})  # counters: in every row


@given(st.lists(st.one_of(st.integers(0, 9), _ROWS)))
def test_rows_arrive_as_they_were_sent(entries: list[int | dict[str, Any]]) -> None:
    sent = [Event({"checkpoint": entry}) if isinstance(entry, int) else entry for entry in entries]
    reader, arrived = RowReader(), []
    for message, attached in RowPacker().packed(sent):
        if "layout" in message:
            reader.add_layout(message)
        elif "rows" in message:
            arrived += list(reader.rows(message["rows"], attached))
        else:
            arrived.append(message["checkpoint"])
    wanted = [
        entry if isinstance(entry, int) else {key: value for key, value in entry.items() if value is not None}
        for entry in entries
    ]
    assert len(arrived) == len(wanted)
    for found, entry in zip(arrived, wanted, strict=True):
        if isinstance(entry, int):
            assert found == entry
        else:
            assert list(found) == list(entry)
            np.testing.assert_array_equal(list(found.values()), [float(value) for value in entry.values()])


def test_a_run_from_elsewhere_says_where_its_metrics_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "prepare_sinks", lambda sinks: prepare_sinks(()))  # no tracker is started
    settings = {"algo.n_steps": 8, "algo.batch_size": 64, "env.n_envs": 8, "stop.eval_return": None}
    folder = api.train("CartPole-v1:ppo", overrides=settings, max_env_steps=256, runs_dir=tmp_path).folder
    sinks = r'sinks: [{name: wandb, entity: eve, project: "a\x1bb"}]'
    folder.config_path.write_text(folder.config_path.read_text().replace("sinks: []", sinks))
    folder.mark_path.unlink()

    def said(**options: Any) -> str:
        before = len(folder.log_path.read_text())
        steps = folder.info()["budget_env_steps"] + 64
        api.resume(folder.path, max_env_steps=steps, **options)
        return folder.log_path.read_text()[before:]

    place = r"wandb (entity 'eve', project 'a\x1bb') with your login; sinks=[] leaves that out"
    assert f"run {folder.id} was made elsewhere, and its config sends metrics to {place}" in said()
    assert "elsewhere" not in said()  # from then on it is made here
    folder.mark_path.unlink()
    assert "elsewhere" not in said(overrides={"sinks": []})


def test_a_tune_of_a_run_from_elsewhere_says_where_its_metrics_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = api.train("CartPole-v1:ppo", max_env_steps=256, runs_dir=tmp_path).folder
    sinks = "sinks: [{name: wandb, entity: eve}]"
    folder.config_path.write_text(folder.config_path.read_text().replace("sinks: []", sinks))
    folder.mark_path.unlink()
    monkeypatch.setattr(autotuning, "_driven", lambda *arguments: None)  # nothing is trained

    api.autotune(folder.path, max_env_steps=5000, overrides={"sinks": []}, runs_dir=tmp_path)
    assert "elsewhere" not in caplog.text
    api.autotune(folder.path, max_env_steps=5000, runs_dir=tmp_path)
    assert (
        f"run {folder.id} was made elsewhere, and its config sends metrics to wandb (entity 'eve')"
        in caplog.text
    )
