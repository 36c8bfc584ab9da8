"""W&B online, against a server on loopback: a good one, and those that hang, refuse or answer rubbish."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.api import Run
from wandb_server import wandb_server

SETTINGS: dict[str, Any] = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "algo.n_steps": 16,
    "algo.batch_size": "all",
    "algo.n_epochs": 2,
    "eval.every": 0,
    "stop.eval_return": None,
}
PATIENCE = 600.0  # seconds, of which a machine that is not busy needs a few
pytestmark = pytest.mark.timeout(2 * PATIENCE)
BY_THE_CLOCK = ("time/", "alert/")


@pytest.fixture
def _logged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    monkeypatch.setenv("WANDB_PROJECT", "gymnast")


def _train(folder: Path, finish_seconds: float | None = None, **options: Any) -> Run:
    sinks = [] if finish_seconds is None else [{"name": "wandb", "finish_seconds": finish_seconds}]
    changes = SETTINGS | {"sinks": sinks}
    return api.train("CartPole-v1:ppo", overrides=changes, max_env_steps=640, runs_dir=folder, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("_logged_in")
def test_wandb_server_receives_every_row_and_a_resume_appends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        run = _train(tmp_path, finish_seconds=PATIENCE)
        run = api.resume(run, max_env_steps=896, runs_dir=tmp_path)
    assert "warning" not in run.folder.log_path.read_text()
    rows = run.metrics()
    assert len(rows) == len(server.history) == 14
    for line, row in enumerate(rows):
        found = {key: server.history[line][key] for key in row}
        assert {key: float(value) for key, value in found.items()} == pytest.approx(row, rel=0, nan_ok=True)
    assert list(server.runs) == [run.id]
    sent = server.runs[run.id]
    assert (sent["displayName"], sent["project"]) == (f"ppo-{run.id}", "gymnast")
    assert server.exit_codes == [0, 0]
    assert json.loads(server.uploads["wandb-summary.json"])["status"] == "finished"
    kept = json.loads(run.folder.trackers_path.read_text())["wandb"]
    assert kept["url"] == f"{server.url}/tester/gymnast/runs/{run.id}"


@pytest.fixture(scope="module")
def untracked(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _train(tmp_path_factory.mktemp("untracked"))


@pytest.mark.usefixtures("_logged_in")
@pytest.mark.parametrize(
    "manner",
    ["hangs", *(pytest.param(one, marks=pytest.mark.slow) for one in ("rubbish", "empty", "refuses"))],
)
def test_bad_wandb_server_neither_changes_nor_delays_training(
    manner: Any, tmp_path: Path, untracked: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wandb_server("good" if manner == "refuses" else manner) as server:
        monkeypatch.setenv("WANDB_BASE_URL", _closed_port() if manner == "refuses" else server.url)
        began = time.monotonic()
        run = _train(tmp_path, finish_seconds=3.0)
        took = time.monotonic() - began
    assert run.outcome.status == "finished"
    assert took < 120.0  # the server never answers; a busy machine needs seconds for the training alone
    log = run.folder.log_path.read_text()
    assert sum("wandb" in line for line in log.splitlines()) == 1, log
    kept = [{k: v for k, v in row.items() if not k.startswith(BY_THE_CLOCK)} for row in run.metrics()]
    wanted = [{k: v for k, v in row.items() if not k.startswith(BY_THE_CLOCK)} for row in untracked.metrics()]
    assert kept == wanted
    policies = [api.load_policy(one).arrays() for one in (run.folder.path, untracked.folder.path)]
    assert all(np.array_equal(policies[0][name], policies[1][name]) for name in policies[1])


def test_wandb_without_login_is_one_warning_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_MODE", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    run = _train(tmp_path / "runs", finish_seconds=PATIENCE)
    assert run.outcome.status == "finished"
    (line,) = [line for line in run.folder.log_path.read_text().splitlines() if "wandb" in line]
    assert line.endswith(
        "wandb: not logged in; run `wandb login`, or use --track wandb=offline, which needs no account; "
        "training continues without it"
    )


def _closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"
