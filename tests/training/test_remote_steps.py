"""Training with actors that only step: the same bits as in one process, through losses and resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.training.run.keys import TerminalKeys
from training.compare_runs import difference, end_of

Train = Callable[..., api.Run]
Stopper = Callable[[int], TerminalKeys]
REMOTE = {"env__backend": "remote", "env__actors__count": 2}


def same_end(one: api.Run, other: api.Run) -> None:
    """Weights, optimiser, random states, normalisers: bit for bit; how envs were stepped is no part of it."""
    assert difference(end_of(one), end_of(other)) is None


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("CartPole-v1:ppo", {}),
    "groups": ("Acrobot-v1:ppo", {"env__groups": 2, "env__max_episode_steps": 30}),
    "ahead": (
        "Pendulum-v1:ppo",
        {"algo__collect_ahead": True, "policy__normalize_obs": "running", "env__max_episode_steps": 20},
    ),
    "masks": ("Taxi-v4:ppo-masked", {"env__max_episode_steps": 20}),
    "frames": ("CartPole-v1:ppo", {"policy__frame_stack": 3}),
}


@pytest.mark.parametrize("name", CASES)
def test_weights_are_those_of_sync(name: str, train: Train, tmp_path: Path) -> None:
    reference, changes = CASES[name]
    here = train(reference, tmp_path, **changes)
    there = train(reference, tmp_path, **changes, **REMOTE)
    same_end(here, there)
    rows = there.metrics()
    assert [row["env/restarts"] for row in rows] == [0] * 6
    assert rows[-1]["time/actors/connected"] == 2


def test_a_run_is_resumed_with_another_number_of_actors(
    train: Train, stop_after: Stopper, tmp_path: Path
) -> None:
    whole = train("CartPole-v1:ppo", tmp_path)
    part = train("CartPole-v1:ppo", tmp_path, requests=stop_after(3), **REMOTE)
    assert part.outcome.status == "interrupted"
    resumed = api.resume(part.id, overrides={"env.actors.count": 3}, runs_dir=tmp_path)
    assert resumed.outcome.status == "finished"
    assert resumed.metrics()[-1]["time/actors/connected"] == 3
    same_end(whole, resumed)
    assert "new episodes" not in resumed.folder.log_path.read_text()


def test_an_actor_killed_in_mid_rollout_costs_its_episodes_alone(train: Train, tmp_path: Path) -> None:
    """By a hook that kills it while the next rollout is under way."""
    killed: list[int] = []

    class Kill(api.Hook):
        def after_update(self, report: api.Report) -> tuple[()]:
            if report.updates == 2 and not killed:
                children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
                actors = [
                    pid for pid in children if "remote_actor" in Path(f"/proc/{pid}/cmdline").read_text()
                ]
                killed.append(int(actors[0]))
                threading.Timer(0.05, os.kill, (killed[0], signal.SIGKILL)).start()
            return ()

    changes = {"env.backend": "remote", "env.actors.count": 2, "env.restarts.backoff": 0, "env.n_envs": 4}
    changes |= {"algo.n_steps": 400, "algo.batch_size": "all", "eval.every": 0, "budget.env_steps": 9600}
    run = api.train("Acrobot-v1:ppo", overrides=changes, runs_dir=tmp_path, hooks=[Kill()])
    assert (run.outcome.status, run.outcome.env_steps) == ("finished", 9600)
    assert run.metrics()[-1]["env/restarts"] == 1
    log = run.folder.log_path.read_text()
    assert "was killed by SIGKILL; another actor takes its place (1 of 10 restarts)" in log


def gymnast(*words: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gymnast", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def test_cartpole_is_solved_by_actors_started_by_hand(tmp_path: Path, unused_port: int) -> None:
    token = tmp_path / "token"
    subprocess.run(
        [sys.executable, "-m", "gymnast", "actor", "--new-token", str(token)], check=True, capture_output=True
    )
    assert token.stat().st_mode & 0o077 == 0
    where = f"127.0.0.1:{unused_port}"
    actors = gymnast(
        *("actor", "--connect", where, "--token-file", str(token), "--processes", "2", "--envs", "8")
    )
    stranger = gymnast("actor", "--connect", where, env=os.environ | {"GYMNAST_ACTOR_TOKEN": "x" * 20})
    run = api.train(
        "CartPole-v1:ppo",
        overrides={
            "env.backend": "remote",
            "env.actors": {"count": 2, "start": "none", "listen": where, "token_file": str(token)},
            "env.n_envs": 16,
        },
        runs_dir=tmp_path / "runs",
    )
    assert run.outcome.solved
    said, complaint = actors.communicate(timeout=20)
    assert (actors.returncode, complaint) == (0, "")
    assert f"actor: connected to {where}; waiting for envs" in said
    assert "steps envs 0 to 7 of CartPole-v1" in said
    assert said.count(f"the learner at {where} needs no more steps") == 2
    said, complaint = stranger.communicate(timeout=20)
    assert (stranger.returncode, said) == (2, "")
    assert complaint == f"actor: refused by the learner at {where}: wrong token\n"
    log = run.folder.log_path.read_text()
    assert "waiting for 2 actors" in log or "refused an actor" in log


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "which learner?"),
        (("--connect", "here"), "'here' is not HOST:PORT"),
        (("--connect", "127.0.0.1:0"), "port 0"),
        (("--connect", "127.0.0.1:9"), "needs the token of the run"),
        (("--connect", "127.0.0.1:9", "--token-file", "/no/such"), "cannot be read"),
        (("--connect", "127.0.0.1:9", "--new-token", "x"), "--new-token only writes"),
        (("--connect", "127.0.0.1:9", "--processes", "0"), "processes"),
    ],
)
def test_wrong_words_get_one_message(words: tuple[str, ...], complaint: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "GYMNAST_ACTOR_TOKEN"}
    said, complained = (process := gymnast("actor", *words, env=environment)).communicate(timeout=30)
    assert (process.returncode, said) == (2, "")
    assert complaint in complained
    assert "Traceback" not in complained


def test_a_learner_that_is_not_there(unused_port: int) -> None:
    environment = os.environ | {"GYMNAST_ACTOR_TOKEN": "x" * 20}
    process = gymnast(*("actor", "--connect", f"127.0.0.1:{unused_port}", "--patience", "1"), env=environment)
    began = time.monotonic()
    _, complained = process.communicate(timeout=30)
    assert process.returncode == 2
    assert complained == f"actor: no learner answers at 127.0.0.1:{unused_port} (1 s)\n"
    assert time.monotonic() - began < 20
