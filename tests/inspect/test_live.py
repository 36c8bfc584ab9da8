"""A run that trains while it is looked at: followed, and told what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from gymnast import api
from gymnast.api import DetachedRun
from gymnast.web.server import PageServer
from pages import client_of, serving, socket_of, wait_until

SETTINGS = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "policy.hidden": [8],
    "algo.batch_size": "all",
    "eval.every": 0,
    "eval.episodes": 2,
    "stop.eval_return": None,
    "budget.env_steps": 100_000_000,
}


@pytest.fixture
def training(tmp_path: Path) -> Iterator[DetachedRun]:
    run = api.start_detached("CartPole-v1:ppo", overrides=SETTINGS, runs_dir=tmp_path / "runs")
    yield run
    if api.run_state(api.find_run(run.id, runs_dir=tmp_path / "runs")).status == "running":
        api.stop_run(run.id, runs_dir=tmp_path / "runs")


@pytest.fixture
def live(training: DetachedRun) -> Iterator[PageServer]:
    with serving(api.inspector_server(training.path.parent, port=0)) as server:
        yield server


@pytest.mark.timeout(300)
def test_a_live_run_is_followed_and_controlled(training: DetachedRun, live: PageServer) -> None:
    with client_of(live) as client, socket_of(live, "/api/live") as opened:
        (entry,) = client.get("/api/runs").json()["runs"]
        assert (entry["id"], entry["live"], entry["status"]) == (training.id, True, "running")
        opened.send(json.dumps({"watch": [training.id]}))
        first = json.loads(opened.recv(timeout=60))
        assert first["live"]
        second = json.loads(opened.recv(timeout=60))
        assert second["next"] != first["next"]
        rows = client.get(f"/api/runs/{training.id}/metrics", params={"since": first["next"]}).json()
        assert rows["reset"] is (first["next"] == "0")
        assert len(rows["columns"]["time/env_steps"]) > 0

        assert ask(client, training, "checkpoint")["status"] == "running"
        assert client.get(f"/api/runs/{training.id}").json()["checkpoints"]
        scored = client.post(f"/api/runs/{training.id}/control", json={"action": "evaluate"}).json()
        evaluations = api.show_run(training.path).evals
        assert scored["score"] == evaluations[-1].score
        assert ask(client, training, "pause")["status"] == "paused"
        wait_until(lambda: json.loads(opened.recv(timeout=60)).get("status") == "paused")
        assert client.post(f"/api/runs/{training.id}/control", json={"action": "evaluate"}).json() == {
            "run": client.get("/api/runs").json()["runs"][0] | {"total_steps": None},
            "waited": False,
            "score": None,
        }
        assert ask(client, training, "resume")["status"] == "running"
        ended = ask(client, training, "stop")
        assert ended["status"] == "interrupted"
        assert not ended["live"]
        wait_until(lambda: json.loads(opened.recv(timeout=60)).get("live") is False)
        other = api.start_detached("CartPole-v1:ppo", overrides=SETTINGS, runs_dir=training.path.parent)
        wait_until(lambda: json.loads(opened.recv(timeout=60)) == {"runs": "changed"})
        api.stop_run(other.path)


def ask(client: httpx2.Client, training: DetachedRun, action: str) -> dict[str, object]:
    answer = client.post(f"/api/runs/{training.id}/control", json={"action": action})
    assert answer.status_code == 200, answer.text
    said: dict[str, object] = answer.json()["run"]
    return said
