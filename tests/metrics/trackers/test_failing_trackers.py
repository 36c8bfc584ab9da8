"""Libraries that raise, hang, print or die: the run continues, warned once, and ends in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import wandb_file
from gymnast import api
from gymnast.api import Command, Hook, Report, Run
from gymnast.errors import RunFailed

TINY: dict[str, Any] = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "algo.n_steps": 16,
    "algo.batch_size": "all",
    "algo.n_epochs": 1,
    "eval.every": 0,
    "stop.eval_return": None,
    "observe": {"alerts": False, "distributions": False},  # the stand-ins below know rows alone
}
PATIENCE = 600.0  # seconds, of which a machine that is not busy needs one or two
pytestmark = pytest.mark.timeout(2 * PATIENCE)

# Each is a whole trackio, as far as it gets.
_WORKING = """
import pathlib
def init(**settings): pass
def log(row, step): pathlib.Path({file!r}).open("a").write(f"{step}\\n")
def finish(): pass
"""
BAD_LIBRARIES = {
    "raises as it is imported": ("raise OSError('no such device')", "trackio: OSError: no such device"),
    "leaves as it is imported": ("import sys; sys.exit('bye')", "trackio: SystemExit: bye"),
    "dies as it is imported": (
        "import os, sys; print('out of memory', file=sys.stderr); os.abort()",
        "trackio: its process was killed by SIGABRT: out of memory",
    ),
    "raises in every row": (
        _WORKING + "def log(row, step): raise ValueError('a bad row')",
        "trackio: ValueError: a bad row; some of this run is missing there",
    ),
    "raises at the end": (_WORKING + "def finish(): raise KeyError('run')", "trackio: KeyError: 'run'"),
    "prints much": (_WORKING + "import sys\nfor i in range(20_000): print('x' * 50, file=sys.stderr)", ""),
}


def _train(folder: Path, library: str, patch: pytest.MonkeyPatch, seconds: float = PATIENCE) -> Run:
    """A run that is tracked by a library which stands in for trackio."""
    (folder / "library").mkdir()
    (folder / "library" / "trackio.py").write_text(library.replace("{file!r}", repr(str(folder / "steps"))))
    patch.syspath_prepend(folder / "library")
    changes = TINY | {"sinks": [{"name": "trackio", "finish_seconds": seconds}]}
    return api.train("CartPole-v1:ppo", overrides=changes, max_env_steps=1280, runs_dir=folder / "runs")


@pytest.mark.parametrize("what", BAD_LIBRARIES)
def test_library_that_fails_is_reported_and_left(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, said = BAD_LIBRARIES[what]
    run = _train(tmp_path, library, monkeypatch)
    assert run.outcome.status == "finished"
    assert len(run.metrics()) == 20
    log = run.folder.log_path.read_text()
    assert said in log
    assert log.count("trackio") == (1 if said else 0), log


@pytest.mark.parametrize(
    "where", ["import time; time.sleep(600)", "def init(**settings): import time; time.sleep(600)"]
)
def test_library_that_hangs_is_left_in_time(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()
    run = _train(tmp_path, where, monkeypatch, seconds=1.0)
    assert run.outcome.status == "finished"
    assert time.monotonic() - began < 300.0  # the library takes 600 s
    assert "trackio was not ready 1 s after the end, and was left" in run.folder.log_path.read_text()


def test_library_that_hangs_is_left_where_its_process_notices_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine: by the time the run looks, the tracker's process has given up by itself."""
    from gymnast.metrics.sinks.trackers.tracker import Tracker

    deliver = Tracker.deliver

    def later(tracker: Tracker, note: Any) -> None:
        time.sleep(1.0)
        deliver(tracker, note)

    monkeypatch.setattr(Tracker, "deliver", later)
    library = "def init(**settings): import time; time.sleep(600)"
    run = _train(tmp_path, library, monkeypatch, seconds=0.3)
    log = run.folder.log_path.read_text()
    assert "trackio was not ready 0.3 s after the end, and was left" in log
    assert "its process ended" not in log


def test_slow_library_gets_the_newest_rows_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that does not read: what its socket and the queue cannot hold is dropped, oldest first."""
    from gymnast.metrics.sinks.trackers import rows

    monkeypatch.setattr(rows, "CAPACITY", 5)
    monkeypatch.setattr("gymnast.metrics.sinks.trackers.tracker.SEND_SECONDS", 600.0)
    run = _train(tmp_path, _WORKING, monkeypatch)
    dropped = [row["time/tracker_dropped"] for row in run.metrics()]
    assert dropped == [0] * 6 + list(range(1, 15))
    steps = [int(line) for line in (tmp_path / "steps").read_text().split()]
    assert steps == [row["time/vec_steps"] for row in run.metrics()][-4:] + steps[-1:]


def _gymnast(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gymnast", "train", "CartPole-v1:ppo", "stop.eval_return=null", *words],
        env=os.environ | {"GYMNAST_RUNS_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _wait_for_tracker(root: Path) -> None:
    """Until a run in there is tracked."""
    deadline = time.monotonic() + PATIENCE
    while not list(root.glob("*/trackers.json")):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _run_folder(root: Path) -> Path:
    return next(path for path in root.iterdir() if (path / "run.json").exists())


@pytest.mark.slow
def test_interrupted_run_finishes_its_tracker(tmp_path: Path) -> None:
    process = _gymnast(tmp_path, "--max-env-steps", "100M", "--track", "wandb=offline")
    assert process.stdout is not None
    _wait_for_tracker(tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, output
    found = list(wandb_file.records(wandb_file.wandb_file(_run_folder(tmp_path))))
    assert [record.exit.exit_code for record in found if record.HasField("exit")] == [255]
    rows = len((_run_folder(tmp_path) / "metrics.csv").read_text().splitlines()) - 1
    logged = wandb_file.history(wandb_file.wandb_file(_run_folder(tmp_path)))
    assert len(logged) == rows - int(logged[-1]["time/tracker_dropped"])


class _Breaks(Hook):
    def after_update(self, report: Report) -> tuple[Command, ...]:
        if report.updates == 3:
            raise RuntimeError("no more")
        return ()


def test_failed_run_finishes_its_tracker_as_failed(tmp_path: Path) -> None:
    sinks = [{"name": "wandb", "mode": "offline", "finish_seconds": PATIENCE, "x_axis": "env_steps"}]
    with pytest.raises(RunFailed, match="no more"):
        api.train(
            "CartPole-v1:ppo",
            overrides=TINY | {"sinks": sinks},
            max_env_steps=640,
            runs_dir=tmp_path,
            hooks=[_Breaks()],
        )
    found = list(wandb_file.records(wandb_file.wandb_file(_run_folder(tmp_path))))
    assert [record.exit.exit_code for record in found if record.HasField("exit")] == [1]
    axes = {record.metric.step_metric for record in found if record.HasField("metric")}
    assert axes == {"", "time/env_steps"}


def test_tracker_follows_no_link_out_of_the_run_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = api.train("CartPole-v1:ppo", overrides=TINY, max_env_steps=128, runs_dir=tmp_path / "runs")
    (tmp_path / "elsewhere").mkdir()
    (run.folder.path / "tensorboard").symlink_to(tmp_path / "elsewhere")
    run = api.resume(run, max_env_steps=256, track=["tensorboard"])
    assert run.outcome.status == "finished"
    assert "tensorboard is a link" in run.folder.log_path.read_text()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.slow
def test_killed_run_leaves_a_finished_tracker_file(tmp_path: Path) -> None:
    process = _gymnast(tmp_path, "--max-env-steps", "100M", "--track", "wandb=offline", "-q")
    _wait_for_tracker(tmp_path)
    process.kill()
    process.wait()
    exits: list[int] = []
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not exits:
        time.sleep(0.3)
        found = list(wandb_file.records(wandb_file.wandb_file(_run_folder(tmp_path))))
        exits = [record.exit.exit_code for record in found if record.HasField("exit")]
    assert exits == [255]
