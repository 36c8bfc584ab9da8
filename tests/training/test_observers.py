"""Sinks and hooks of the user's own: passed to `api.train`, or named by import path in the config."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.cli.train import next_steps
from gymnast.errors import GymnastError, RunFailed
from gymnast.metrics import catalogue
from gymnast.metrics.sinks.sink import Sink
from gymnast.metrics.spec import MetricSpec
from gymnast.training.hooks import Adjust, Command, Hook, Stop
from gymnast.training.report import Report

SHORT: dict[str, Any] = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "algo.n_steps": 16,
    "algo.batch_size": "all",
    "algo.n_epochs": 2,
    "budget.env_steps": 384,
    "eval.every": 192,
    "eval.episodes": 2,
    "stop.eval_return": None,
}


class Watcher(Sink):
    """Keeps everything it is given."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.reports: list[Report] = []

    def started(self, header: Any) -> None:
        self.calls.append("started")

    def take(self, report: Report) -> None:
        self.calls.append("take")
        self.reports.append(report)

    def finished(self, outcome: Any) -> None:
        self.calls.append("finished")

    def close(self) -> None:
        self.calls.append("close")


class Broken(Sink):
    """Fails at its second report."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self, report: Report) -> None:
        self.taken += 1
        if self.taken == 2:
            raise ValueError("no room for step 128")


class Halving(Hook):
    """Halves the learning rate after every update, and stops after some."""

    METRICS = (MetricSpec("train/halvings", "Times that the test halved the learning rate."),)

    def __init__(self, stop_after: int = 100) -> None:
        self.stop_after = stop_after
        self.halvings = 0

    def after_update(self, report: Report) -> Sequence[Command]:
        self.halvings += 1
        if report.updates == self.stop_after:
            return [Stop("enough halvings")]
        return [Adjust("test", "lr", "as planned", factor=0.5**self.halvings)]

    def metrics(self) -> dict[str, float]:
        return {"train/halvings": self.halvings}

    def state(self) -> dict[str, int]:
        return {"halvings": self.halvings}

    def load_state(self, state: dict[str, int]) -> None:
        self.halvings = state["halvings"]


class Undeclared(Hook):
    def metrics(self) -> dict[str, float]:
        return {"train/made_up": 1.0}


def train(tmp_path: Path, **how: Any) -> api.Run:
    return api.train("CartPole-v1:ppo", overrides=SHORT | how.pop("changes", {}), runs_dir=tmp_path, **how)


def log_of(run: api.Run) -> str:
    return run.folder.log_path.read_text()


def test_a_sink_gets_one_report_per_update_and_is_closed(tmp_path: Path) -> None:
    watcher = Watcher()
    run = train(tmp_path, sinks=[watcher])
    assert watcher.calls == ["started", *["take"] * 6, "finished", "close"]
    assert [report.env_steps for report in watcher.reports] == [64, 128, 192, 256, 320, 384]
    rows = run.metrics()
    for report, row in zip(watcher.reports, rows, strict=True):
        assert {key: report.row[key] for key in row if row[key] is not None} == {
            key: value for key, value in row.items() if value is not None
        }
    assert [report.scored.result is not None for report in watcher.reports] == [False, False, True] * 2
    assert sum(len(report.episodes) for report in watcher.reports) == rows[-1]["time/episodes"]
    assert all(abs(sum(report.timing.shares().values()) - 1) < 1e-9 for report in watcher.reports)


def test_a_report_never_changes(tmp_path: Path) -> None:
    watcher = Watcher()
    train(tmp_path, sinks=[watcher], hooks=[Halving()])
    first = watcher.reports[0]
    assert first.row["time/env_steps"] == 64
    assert first.row["train/halvings"] == 1  # hooks add their metrics before sinks see the report
    with pytest.raises(TypeError):
        first.row["time/env_steps"] = 0  # type: ignore[index]
    with pytest.raises(AttributeError):
        first.env_steps = 0  # type: ignore[misc]


def test_a_sink_that_raises_is_reported_once_and_the_run_continues(tmp_path: Path) -> None:
    broken = Broken()
    run = train(tmp_path, sinks=[broken])
    assert run.outcome.env_steps == 384
    assert broken.taken == 2
    message = "sink Broken raised ValueError: no room for step 128; training continues without it"
    assert log_of(run).count(message) == 1


def test_a_hook_changes_hyperparameters_and_its_metric_is_recorded(tmp_path: Path) -> None:
    run = train(tmp_path, hooks=[Halving()], changes={"algo.lr": 0.001})
    rows = run.metrics()
    assert [row["train/halvings"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["opt/lr"] for row in rows] == [0.001 * 0.5**n for n in range(6)]


def test_a_hook_stops_the_run(tmp_path: Path) -> None:
    run = train(tmp_path, hooks=[Halving(stop_after=3)])
    assert run.outcome.env_steps == 192
    assert run.outcome.reason == "enough halvings"


class Raising(Hook):
    def after_update(self, report: Report) -> Sequence[Command]:
        if report.updates == 3:
            raise ZeroDivisionError("no entropy left")
        return []


class Typo(Hook):
    def after_update(self, report: Report) -> Sequence[Command]:
        return [Adjust("test", "lrr", "as planned", factor=0.5)]


class Thief(Hook):
    def metrics(self) -> dict[str, float]:
        return {"train/entropy": -1.0}


class Silent(Hook):
    def after_update(self, report: Report) -> Sequence[Command]:
        return None  # type: ignore[return-value]  # a user forgot it


@pytest.mark.parametrize(
    ("hook", "message", "saved_at"),
    [
        (Undeclared(), "hook 'Undeclared' failed: no metric 'train/made_up' in the catalogue", 64),
        (Raising(), r"hook 'Raising' failed: ZeroDivisionError: no entropy left .*test_observers.py", 192),
        (Typo(), r"hook 'Typo' failed: no hyperparameter 'lrr' to adjust \(did you mean 'lr'\?\)", 64),
        (Thief(), "hook 'Thief' failed: metric 'train/entropy' is already reported", 64),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Hook) else None,
)
def test_a_broken_hook_is_named_and_its_update_is_saved(
    tmp_path: Path, hook: Hook, message: str, saved_at: int
) -> None:
    with pytest.raises(RunFailed, match=message) as caught:
        train(tmp_path, hooks=[hook])
    assert caught.value.exit_code == 1
    resumed = api.resume(runs_dir=tmp_path)  # without the hook
    assert f"resumes from step {saved_at}" in log_of(resumed)
    assert resumed.outcome.env_steps == 384


def test_the_printed_resume_keeps_the_budget_of_a_run_that_a_hook_stopped(tmp_path: Path) -> None:
    stopped = next_steps(train(tmp_path, hooks=[Halving(stop_after=3)]), None)
    assert [line.split("--resume")[1].split()[1:] for line in stopped if "--resume" in line] == [[]]
    spent = next_steps(train(tmp_path), None)
    assert any(line.endswith("--max-env-steps 768") for line in spent)


def test_a_hook_that_returns_nothing_asks_for_nothing(tmp_path: Path) -> None:
    assert train(tmp_path, hooks=[Silent()]).outcome.env_steps == 384


def test_a_rule_may_watch_the_metric_of_another_hook(tmp_path: Path) -> None:
    class Steady(Halving):
        METRICS = (MetricSpec("train/steady", "Never changes.", better="higher"),)

        def after_update(self, report: Report) -> Sequence[Command]:
            return []

        def metrics(self) -> dict[str, float]:
            return {"train/steady": 1.0}

    catalogue.declare(Steady.METRICS)  # as importing it from a config would not: rules are checked first
    rule = {"metric": "train/steady", "patience": 2, "unit": "updates", "stop": True}
    run = train(tmp_path, hooks=[Steady()], changes={"interventions": [rule]})
    assert "train/steady has not improved" in run.outcome.reason


def test_metrics_of_a_missing_hook_stay_in_the_file(tmp_path: Path) -> None:
    """In a process that never declared them."""
    run = train(tmp_path, hooks=[Halving()])
    code = (
        "import sys; from gymnast import api\n"
        "run = api.resume('@last', max_env_steps=448, runs_dir=sys.argv[1])\n"
        "print([row.get('train/halvings') for row in run.metrics()])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[1, 2, 3, 4, 5, 6, None]", done.stderr
    assert run.metrics()[-1]["time/env_steps"] == 448


def test_a_resumed_hook_continues_and_a_missing_one_is_named(tmp_path: Path) -> None:
    constant = {"algo.lr": 0.001}
    run = train(tmp_path, hooks=[Halving()], changes=constant)
    again = api.resume(run, max_env_steps=512, hooks=[Halving()])
    rows = again.metrics()
    assert [row["train/halvings"] for row in rows] == list(range(1, 9))
    assert rows[-1]["opt/lr"] == 0.001 * 0.5**7
    without = api.resume(run, max_env_steps=576)
    assert "state of hook 'Halving', which this run does not use" in log_of(without)
    assert without.metrics()[-1]["opt/lr"] == 0.001  # its adjustments went with it


def test_a_hook_that_is_new_to_a_run_is_named(tmp_path: Path) -> None:
    run = train(tmp_path)
    again = api.resume(run, max_env_steps=448, hooks=[Halving()])
    assert "the checkpoint has no state of hook 'Halving': it starts from scratch" in log_of(again)


def test_two_hooks_with_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match="two hooks have the name 'Halving'"):
        train(tmp_path, hooks=[Halving(), Halving()])
    assert not list(tmp_path.iterdir())


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "my_observers.py").write_text(
        "from gymnast.metrics.sinks.sink import Sink\n"
        "from gymnast.training.hooks import Hook, Stop\n"
        "class Steps(Sink):\n"
        "    def __init__(self, path):\n"
        "        self.path = path\n"
        "    def take(self, report):\n"
        "        with open(self.path, 'a') as file: file.write(f'{report.env_steps}\\n')\n"
        "class StopAt(Hook):\n"
        "    def __init__(self, env_steps):\n"
        "        self.env_steps = env_steps\n"
        "    def after_update(self, report):\n"
        "        return [Stop('far enough')] if report.env_steps >= self.env_steps else []\n"
        "class Neither: pass\n"
    )
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("my_observers", None)
    return folder


def test_sinks_and_hooks_by_import_path(own_module: Path, tmp_path: Path) -> None:
    written = tmp_path / "steps.txt"
    changes = {
        "sinks": [{"name": "my_observers:Steps", "path": str(written)}],
        "hooks": [{"name": "my_observers:StopAt", "env_steps": 128}],
    }
    run = train(tmp_path / "runs", changes=changes)
    assert run.outcome.reason == "far enough"
    assert written.read_text().split() == ["64", "128"]
    resumed = api.resume(run)  # the run folder's config names them again
    assert resumed.outcome.env_steps == 192


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        (
            "sinks",
            [{"name": "metrics", "path": "x"}],
            "metrics has no argument 'path'; it takes no arguments",
        ),
        ("sinks", ["metricz"], r"sinks: no 'metricz' \(did you mean 'metrics'\?\)"),
        ("sinks", ["my_observers:Step"], r"no 'Step' \(did you mean 'Steps'\?\)"),
        ("sinks", ["my_observers:Neither"], "not a Sink class"),
        ("hooks", ["my_observers:StopAt"], "could not be built with no arguments: TypeError"),
        ("hooks", ["plateau"], "give a class of your own as package.module:Class"),
    ],
)
def test_wrong_observers_are_refused_before_a_folder_exists(
    own_module: Path, tmp_path: Path, section: str, value: list[str], message: str
) -> None:
    with pytest.raises(GymnastError, match=message):
        train(tmp_path / "runs", changes={section: value})
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())
