"""`gymnast inspect` as a user starts and ends it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from gymnast import api


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect") / "runs"
    api.train("CartPole-v1:ppo", max_env_steps=1024, overrides={"eval.every": 0}, runs_dir=folder)
    return folder


def command(runs: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "gymnast", "inspect", *words, "--runs-dir", str(runs), "--no-browser"]


@contextmanager
def started(runs: Path, *words: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command, and what it has printed until it serves."""
    environment = {k: v for k, v in os.environ.items() if k != "SSH_CONNECTION"} | variables
    process = subprocess.Popen(
        command(runs, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if "Ctrl-C" in line:
                break
        yield process, lines
    finally:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_it_serves_until_ctrl_c_and_leaves_nothing(runs: Path) -> None:
    with started(runs, "@last", "--port", "0") as (process, lines):
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/\S*", lines[0])
        base, fragment = url.split("#")
        said = dict(part.split("=") for part in fragment.split("&"))
        assert said["run"] == api.list_runs(runs_dir=runs)[0].id
        assert not any("ssh" in line for line in lines)
        bearer = {"Authorization": f"Bearer {said['token']}"}
        with httpx2.Client(base_url=base, headers=bearer, timeout=60) as client:
            assert client.get("/").status_code == 200
            assert client.get("/api/session").json()["version"]  # starts the process that records
            assert client.get("/api/runs").json()["total"] == 1
        assert end(process) == (0, "")


def test_it_opens_with_the_checkpoint_that_is_named(runs: Path) -> None:
    run = api.list_runs(runs_dir=runs)[0].id
    with started(runs, f"{run[:5]}/@last", "--port", "0") as (process, lines):
        assert lines[0].endswith(f"&run={run}&checkpoint=1024")
        assert end(process)[0] == 0


def test_over_ssh_it_prints_how_to_reach_it(runs: Path) -> None:
    with started(runs, "--port", "0", SSH_CONNECTION="10.0.0.1 5000 10.0.0.2 22") as (process, lines):
        (port,) = re.findall(r"http://127\.0\.0\.1:(\d+)/", lines[0])
        assert re.search(rf"ssh -N -L {port}:127\.0\.0\.1:{port} (\S+@)?10\.0\.0\.2$", lines[1])
        assert end(process)[0] == 0


def test_another_host_with_a_password(runs: Path) -> None:
    words = ("--host", "0.0.0.0", "--password-env", "OURS", "--port", "0")
    with started(runs, *words, OURS="correct horse") as (process, lines):
        assert "token" not in lines[0]
        assert "correct horse" not in "\n".join(lines)
        assert any("unencrypted" in line for line in lines)
        (base,) = re.findall(r"http://\S+", lines[0])
        with httpx2.Client(base_url=base, timeout=60) as client:
            assert client.get("/api/runs").status_code == 401
            token = client.post("/api/login", json={"password": "correct horse"}).json()["token"]
            assert client.get("/api/runs", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert end(process)[0] == 0


def refused(runs: Path, *words: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    words_in_all = command(runs, *words)
    done = subprocess.run(
        words_in_all, check=False, capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.slow
def test_wrong_options_are_one_clear_message(runs: Path, tmp_path: Path) -> None:
    assert "password" in refused(runs, "--host", "0.0.0.0")
    assert "NOT_THERE" in refused(runs, "--password-env", "NOT_THERE")
    assert "at least 8" in refused(runs, "--password-env", "OURS", OURS="short")
    assert "no such address" in refused(
        runs, "--host", "no.such.host.invalid", "--password-env", "OURS", OURS="x" * 9
    )
    assert "did you mean" in refused(runs, "@lsat")
    assert "no run" in refused(runs, "zzzzzzzz")
    assert "the nearest is 1024" in refused(runs, "@last/1000")
    (tmp_path / "file").write_text("")
    assert "is a file" in refused(tmp_path / "file")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "in use" in refused(runs, "--port", str(taken.getsockname()[1]))


def test_without_its_packages_it_names_the_extra(runs: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from importlib import util; found = util.find_spec\n"
        "util.find_spec = lambda name, package=None: None if name == 'starlette' else found(name, package)\n"
        "from gymnast.cli.app import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", "--runs-dir", str(runs)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "pip install 'gymnast[inspect]'" in done.stderr


def test_a_run_named_by_its_path_is_opened_where_it_lies(runs: Path, tmp_path: Path) -> None:
    run = api.list_runs(runs_dir=runs)[0].id
    words = [sys.executable, "-m", "gymnast", "inspect", str(runs / run), "--no-browser", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert line.rstrip().endswith(f"&run={run}")
