"""A real server process over stdin and stdout: from a reference to a solved run, and what outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from gymnast import api
from mcp import Client
from mcp_clients import NEVER_SOLVED, answer, environment, server_process

pytestmark = pytest.mark.timeout(300)  # a busy machine


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    return answer(await client.call_tool(tool, arguments))


async def followed(client: Client, started: dict[str, Any], seconds: float = 90) -> dict[str, Any]:
    until = time.monotonic() + seconds
    now = await ask(client, "watch_run", run=started["run"], wait_seconds=10)
    while now["state"] in ("starting", "running") and time.monotonic() < until:
        now = await ask(client, "watch_run", run=now["run"], wait_seconds=10, since_step=now["env_steps"])
    return now


def test_an_assistant_trains_evaluates_and_compares(tmp_path: Path) -> None:
    async def session() -> None:
        async with Client(server_process(tmp_path)) as client:
            assert "start_training" in (client.instructions or "")
            started = await ask(client, "start_training", reference="CartPole-v1:ppo")
            assert started["state"] in ("starting", "running")
            other = await ask(
                client,
                "start_training",
                reference="CartPole-v1:ppo",
                overrides=NEVER_SOLVED,
                max_env_steps="20M",
                wall_time="3m",
                seed=1,
            )
            solved = await followed(client, started)
            assert solved["state"] == "solved"
            assert solved["best_score"] >= solved["solved_at"] == 475
            run = solved["run"]
            diagnosed = await ask(client, "diagnose_run", run=run)
            assert "solved" in diagnosed["outcome"]
            score = await ask(client, "evaluate", run=run, episodes=20, wait_seconds=45)
            assert score["result"]["mean_return"] > 400
            second = (await ask(client, "watch_run", run=other["run"], wait_seconds=1))["run"]
            stopped = await ask(client, "stop_training", run=second)
            assert stopped["state"] == "interrupted"
            compared = await ask(client, "compare_runs", runs=[run, second])
            assert [one["id"] for one in compared["runs"]] == [run, second]
            assert compared["settings"]["seed"] == [0, 1]

    anyio.run(session)


@pytest.mark.slow
def test_a_training_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    runs: list[str] = []
    states: list[str] = []

    async def session() -> None:
        async with Client(server_process(tmp_path)) as client:
            started = await ask(
                client,
                "start_training",
                reference="CartPole-v1:ppo",
                overrides=NEVER_SOLVED,
                max_env_steps=200_000,
            )
            wait = 45 if started["state"] == "starting" else 0
            now = await ask(client, "watch_run", run=started["run"], wait_seconds=wait)
            runs.append(now["run"])
            servers = [
                child for child in psutil.Process().children() if {"gymnast", "mcp"} <= set(child.cmdline())
            ]
            assert len(servers) == 1
            os.kill(servers[0].pid, signal.SIGKILL)
            while servers[0].is_running() and servers[0].status() != psutil.STATUS_ZOMBIE:
                await anyio.sleep(0.05)
            states.append(api.run_state(api.find_run(now["run"], runs_dir=tmp_path)).state)

    with suppress(ExceptionGroup):  # the client may notice that its server is gone
        anyio.run(session)
    (run,) = runs
    assert states == ["running"]
    until = time.monotonic() + 90
    while api.run_state(api.find_run(run, runs_dir=tmp_path)).state == "running" and time.monotonic() < until:
        time.sleep(0.3)
    entry = api.run_state(api.find_run(run, runs_dir=tmp_path))
    assert (entry.reason, entry.env_steps >= 200_000) == ("the step budget is spent", True)

    async def later() -> dict[str, Any]:
        async with Client(server_process(tmp_path)) as client:
            return await ask(client, "watch_run", run=run)

    assert anyio.run(later)["state"] in ("finished", "solved")


@pytest.mark.slow
def test_two_clients_at_once(tmp_path: Path) -> None:
    """Two servers of one folder: each sees and stops what the other started."""

    async def session() -> None:
        async with Client(server_process(tmp_path)) as one, Client(server_process(tmp_path)) as other:
            order = {"reference": "CartPole-v1:ppo", "overrides": NEVER_SOLVED, "max_env_steps": "20M"}
            runs: list[str] = []

            async def start(client: Client, seed: int) -> None:
                started = await ask(client, "start_training", **order, wall_time="3m", seed=seed)
                wait = 45 if started["state"] == "starting" else 0
                runs.append((await ask(client, "watch_run", run=started["run"], wait_seconds=wait))["run"])

            async with anyio.create_task_group() as both:
                both.start_soon(start, one, 1)
                both.start_soon(start, other, 2)
            for client in (one, other):
                listed = await ask(client, "list_runs", state="running")
                assert {run["id"] for run in listed["runs"]} == set(runs)
            assert (await ask(other, "stop_training", run=runs[0]))["state"] == "interrupted"
            assert (await ask(one, "stop_training", run=runs[1]))["state"] == "interrupted"

    anyio.run(session)


def test_nothing_but_the_protocol_is_written_to_stdout(tmp_path: Path) -> None:
    """The handshake and one call by hand, as old clients speak: every line is JSON."""
    lines = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                     "clientInfo": {"name": "test", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "get_config",
                                                     "arguments": {"reference": "CartPole-v1:ppo"}}},
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gymnast", "mcp", "--runs-dir", str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    answers = []
    try:
        for line in lines:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **line}) + "\n")
            process.stdin.flush()
            if "id" in line:
                answers.append(json.loads(process.stdout.readline()))
    finally:
        process.stdin.close()
        assert process.wait(60) == 0
    assert [one["id"] for one in answers] == [1, 2]
    assert answers[0]["result"]["serverInfo"]["name"] == "gymnast"
    assert "CartPole-v1" in answers[1]["result"]["content"][0]["text"]
    assert process.stdout.read() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--port", "8000"], "--port is for --http"), (["--max-running", "0"], "--max-running")],
)
def test_wrong_options(options: list[str], message: str) -> None:
    words = [sys.executable, "-P", "-m", "gymnast", "mcp", *options]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=110, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_without_the_extra() -> None:
    code = "import sys; sys.modules['mcp'] = None; from gymnast.cli.app import main; main(['mcp', '--http'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 2
    assert "pip install 'gymnast[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_client_that_gives_up_waiting_can_ask_again(tmp_path: Path) -> None:
    """Its time-out cancels the wait, and nothing else."""

    async def session() -> None:
        async with Client(server_process(tmp_path)) as client:
            quiet = {**NEVER_SOLVED, "eval.every": 10_000_000}  # nothing changes meanwhile
            order = {"reference": "CartPole-v1:ppo", "overrides": quiet, "max_env_steps": "20M"}
            started = await ask(client, "start_training", **order, wall_time="2m")
            wait = 45 if started["state"] == "starting" else 0
            run = (await ask(client, "watch_run", run=started["run"], wait_seconds=wait))["run"]
            with anyio.move_on_after(0.3) as waiting:
                await client.call_tool("watch_run", {"run": run, "wait_seconds": 45})
            assert waiting.cancelled_caught
            with anyio.fail_after(40):  # less than what the wait would still have taken
                assert (await ask(client, "list_runs"))["runs"][0]["state"] == "running"
            assert (await ask(client, "stop_training", run=run))["state"] == "interrupted"

    anyio.run(session)
