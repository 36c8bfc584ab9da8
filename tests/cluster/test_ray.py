"""Training on a Ray cluster of several nodes, which all run on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gymnast
from cluster.ray_nodes import SMALL, nodes
from cluster.short_runs import assert_same, train
from gymnast import api
from gymnast.errors import GymnastError, MissingExtra
from gymnast.metrics.sinks.sink import Sink
from gymnast.rollout import remote_crew
from gymnast.training.hooks import Command, Hook, Stop
from gymnast.training.requests import Request
from training.conftest import PressAt

pytest.importorskip("ray")
# One cluster at a time: two would share the cores and the memory.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes: one core at the head, two at the other."""
    with nodes([1, 2]) as started:
        yield started


@pytest.fixture
def on(cluster: Any) -> dict[str, Any]:
    return {"cluster__on": "ray", "cluster__address": cluster.address}


def test_two_nodes_give_the_bits_of_one_process(on: dict[str, Any], tmp_path: Path) -> None:
    there = train("pendulum", tmp_path, **on)
    assert there.metrics()[-1]["time/actors/connected"] == 3
    assert_same(train("pendulum", tmp_path), there)


def test_actors_that_only_step_give_the_same_bits(on: dict[str, Any], tmp_path: Path) -> None:
    there = train("pendulum", tmp_path, cluster__mode="steps", **on)
    assert there.metrics()[-1]["time/actors/connected"] == 3
    assert_same(train("pendulum", tmp_path), there)


def test_resumes_on_another_number_of_actors(on: dict[str, Any], tmp_path: Path) -> None:
    whole = train("taxi-masked-frames", tmp_path, cluster__actors=3, cluster__lag=1, **on)
    stop = PressAt({2: Request.STOP})
    run = train("taxi-masked-frames", tmp_path, stop, cluster__actors=3, cluster__lag=1, **on)
    run = api.resume(run.id, runs_dir=tmp_path, overrides={"cluster.actors": 2})
    assert run.metrics()[-1]["time/actors/connected"] == 2
    assert_same(whole, run)


def test_cartpole_is_solved(cluster: Any, tmp_path: Path) -> None:
    settings = {"cluster.on": "ray", "cluster.address": cluster.address, "env.backend": "sync"}
    run = api.train("CartPole-v1:ppo", overrides=settings, runs_dir=tmp_path)
    assert run.outcome.status == "solved"
    assert run.metrics()[-1]["time/actors/connected"] == 3


@pytest.mark.parametrize("lag", [2, 4])
def test_vtrace_learns_from_old_data(cluster: Any, lag: int, tmp_path: Path) -> None:
    settings = {
        "cluster.on": "ray",
        "cluster.address": cluster.address,
        "cluster.lag": lag,
        "algo.advantage": "vtrace",
        "env.backend": "sync",
    }
    run = api.train("CartPole-v1:ppo", overrides=settings, max_env_steps=200_000, runs_dir=tmp_path)
    assert run.metrics()[-1]["train/policy_lag/max"] == lag
    assert run.outcome.best_score is not None
    assert run.outcome.best_score > 400


def test_a_task_of_pictures_is_solved(on: dict[str, Any], tmp_path: Path) -> None:
    """Through the convolutions of torch, to the threshold; chance scores 1."""
    pytest.importorskip("torch")
    settings = {
        "env.n_envs": 8,
        "env.kwargs": {"kind": "image"},
        "env.spec.solved_at": 3.8,
        "algo.n_steps": 32,
        "algo.n_epochs": 4,
        "algo.lr": 0.004,
        "policy.hidden": [32],
        "policy.encoder": "small",
        "policy.image.features": 32,
        "eval.every": 1024,
        "eval.episodes": 50,
    }
    settings |= {key.replace("__", "."): value for key, value in on.items()}
    run = api.train("observation_envs:Cue", overrides=settings, max_env_steps=16_384, runs_dir=tmp_path)
    assert run.metrics()[0]["train/return/mean"] < 2
    assert run.metrics()[-1]["time/actors/connected"] == 3
    assert run.outcome.status == "solved"
    assert api.evaluate(run, episodes=50).mean_return > 3.6


class At(Sink):
    """Does something after a given update."""

    def __init__(self, update: int, work: Any) -> None:
        self.update, self.work, self.updates = update, work, 0

    def take(self, report: Any) -> None:
        self.updates += 1
        if self.updates == self.update:
            self.work()


class UntilConnected(Hook):
    """Ends the run once so many actors are connected."""

    name = "until-connected"

    def __init__(self, actors: int) -> None:
        self.actors, self.had_another_number = actors, False

    def after_update(self, report: Any) -> list[Command]:
        connected = report.row["time/actors/connected"] == self.actors
        self.had_another_number |= not connected
        return [Stop("as many as wanted")] if connected and self.had_another_number else []


def waiting(cluster: Any, tmp_path: Path, sink: Sink, actors: int, **changes: Any) -> api.Run:
    """A run whose rollouts take 0.3 s, until it has another number of actors, which is this one."""
    settings = {
        "env.n_envs": 6,
        "env.kwargs": {"seconds": 0.005},
        "env.restarts.backoff": 0.01,
        "algo.n_steps": 30,
        "algo.batch_size": "all",
        "algo.n_epochs": 1,
        "budget.env_steps": 500 * 6 * 30,
        "eval.every": 0,
        "cluster.on": "ray",
        "cluster.address": cluster.address,
        **changes,
    }
    hooks = [UntilConnected(actors)]
    return api.train("actor_envs:Waiting", overrides=settings, runs_dir=tmp_path, sinks=[sink], hooks=hooks)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("rollouts", "are lost: ActorDiedError"),
        ("steps", "are lost: the actor .*; another actor takes its place"),
    ],
)
def test_a_killed_actor_is_replaced(mode: str, message: str, on: dict[str, Any], tmp_path: Path) -> None:
    settings = {
        "cluster.mode": mode,
        "env.n_envs": 6,
        "env.kwargs": {"claim": str(tmp_path / "claim"), "at": 40},
        "env.restarts.backoff": 0.01,
        "algo.n_steps": 16,
        "budget.env_steps": 6 * 16 * 6,
        "eval.every": 0,
    }
    settings |= {key.replace("__", "."): value for key, value in on.items()}
    run = api.train("actor_envs:Troubled", overrides=settings, runs_dir=tmp_path)
    assert run.outcome.status == "finished"
    assert run.metrics()[-1]["env/restarts"] == 1
    assert run.metrics()[-1]["time/actors/connected"] == 3
    assert re.search(message, run.folder.log_path.read_text())


@pytest.mark.parametrize("lag", [0, 1])
def test_a_node_is_removed_and_its_rows_are_taken_over(cluster: Any, lag: int, tmp_path: Path) -> None:
    third = cluster.add_node(num_cpus=1, **SMALL)
    cluster.wait_for_nodes()
    removing = threading.Timer(0.1, cluster.remove_node, (third,), {"allow_graceful": False})
    sink = At(2, removing.start)  # in the middle of the third rollout, which takes 0.3 s
    run = waiting(cluster, tmp_path, sink, 3, **{"cluster.lag": lag})
    removing.join()
    rows = run.metrics()
    assert run.outcome.status == "finished"
    assert [row["time/actors/connected"] for row in (rows[0], rows[-1])] == [4, 3]
    assert rows[-1]["env/restarts"] >= 1
    assert "lost: Actor" in run.folder.log_path.read_text()


@pytest.mark.parametrize("lag", [0, 1])
def test_a_node_that_joins_later_is_used(
    cluster: Any, lag: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_crew, "_ROOM_SECONDS", 0.2)
    added: list[Any] = []

    def join() -> None:
        added.append(cluster.add_node(num_cpus=2, **SMALL))
        cluster.wait_for_nodes()

    try:
        run = waiting(cluster, tmp_path, At(2, join), 5, **{"cluster.lag": lag})
    finally:
        cluster.remove_node(added[0])
    rows = run.metrics()
    assert [row["time/actors/connected"] for row in (rows[0], rows[-1])] == [3, 5]
    assert "env/restarts" not in rows[-1] or not rows[-1]["env/restarts"]


def test_an_actor_of_another_version_is_refused(cluster: Any, tmp_path: Path) -> None:
    source = Path(gymnast.__file__).parent
    shutil.copytree(source, tmp_path / "other" / "gymnast", ignore=shutil.ignore_patterns("__pycache__"))
    init = tmp_path / "other" / "gymnast" / "__init__.py"
    init.write_text(init.read_text().replace(gymnast.__version__, "0.0.7"))
    path = os.pathsep.join([str(tmp_path / "other"), os.environ["PYTHONPATH"]])
    other = cluster.add_node(num_cpus=1, resources={"other": 1}, env_vars={"PYTHONPATH": path}, **SMALL)
    cluster.wait_for_nodes()
    settings = {
        "cluster.on": "ray",
        "cluster.address": cluster.address,
        "cluster.resources": {"other": 0.5},
    }
    try:
        with pytest.raises(GymnastError, match=r"another version: gymnast 0\.0\.7 there") as caught:
            api.train("CartPole-v1:ppo", overrides=settings, runs_dir=tmp_path / "runs")
    finally:
        cluster.remove_node(other)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("token", "message"),
    [("d" * 64, "its token"), ("", "needs a token")],
    ids=["wrong token", "no token"],
)
def test_without_the_token_nothing_starts(cluster: Any, token: str, message: str, tmp_path: Path) -> None:
    words = ["train", "CartPole-v1:ppo", "--on", f"ray://{cluster.address}"]
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", *words, "--runs-dir", str(tmp_path / "runs")],
        env={**os.environ, "RAY_AUTH_TOKEN": token, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_ray_is_named_if_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymnast.cluster.ray_session.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'gymnast\[ray\]'"):
        api.train("CartPole-v1:ppo", overrides={"cluster.on": "ray"}, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
