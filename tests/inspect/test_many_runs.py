"""A folder with 500 runs, and recordings one after another."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest

from gymnast import api
from pages import client_of, serving, wait_until


def test_500_runs_are_listed_at_once(runs: Path, run: str, tmp_path: Path) -> None:
    many = tmp_path / "runs"
    for number in range(500):
        folder = many / f"a{number:07d}"
        folder.mkdir(parents=True)
        for name in ("run.json", "status.json", "config.yaml"):
            shutil.copy(runs / run / name, folder / name)
    with serving(api.inspector_server(many, port=0)) as server, client_of(server) as client:
        assert client.get("/api/runs").json()["total"] == 500  # builds the index
        began = time.process_time()
        answer = client.get("/api/runs?limit=100").json()
        spent = time.process_time() - began  # of this process, in which the server runs
        assert len(answer["runs"]) == 100
        assert spent < 1.0
        assert client.get("/api/runs?q=a0000499").json()["total"] == 1
        assert client.get("/api/runs/a0000250").json()["run"]["id"] == "a0000250"


@contextmanager
def served_by_a_process(runs: Path) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """`gymnast inspect` as a user starts it, whose memory is the server's alone."""
    words = ["inspect", "--no-browser", "--port", "0", "--runs-dir", str(runs)]
    process = subprocess.Popen([sys.executable, "-m", "gymnast", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\S*token=([\w-]+)", process.stdout.readline())
        assert found is not None
        headers = {"Authorization": f"Bearer {found[2]}"}
        with httpx2.Client(base_url=found[1], headers=headers, timeout=60) as client:
            yield process, client
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_memory_is_flat_over_50_recordings(runs: Path, run: str) -> None:
    with served_by_a_process(runs) as (process, client):
        own, after = psutil.Process(process.pid), {}
        for number in range(51):
            job = client.post(
                "/api/recordings", json={"run": run, "seed": number, "steps": 60, "episodes": 50}
            )
            path = f"/api/jobs/{job.json()['job']}"
            wait_until(lambda path=path: client.get(path).json()["state"] not in ("queued", "running"))
            name = client.get(path).json()["recording"]
            assert client.get(f"/api/recordings/{name}/data").status_code == 200
            assert client.get(f"/api/recordings/{name}/steps.csv").status_code == 200
            client.delete(f"/api/recordings/{name}")
            if number in (10, 50):
                after[number] = [p.memory_info().rss / 1e6 for p in (own, *own.children())]
    assert len(after[10]) == len(after[50]) == 2, "the server and its recorder"
    for first, last in zip(after[10], after[50], strict=True):
        assert last < first + 25, after


def test_the_server_adds_little_to_the_start(repository: Path) -> None:
    """In processor time, so that a busy machine does not count."""
    rest = (
        "import gymnast.api.training, gymnast.recordings.record, gymnast.api.inspection, gymnast.api.report"
    )
    server = "import gymnast.api.inspector, gymnast.inspect.app, gymnast.web.server, uvicorn, websockets"
    code = f"import time; {rest}; t = time.process_time(); {server}; print(time.process_time() - t)"
    code += "; import sys; assert not {'torch', 'captum', 'plotly', 'matplotlib'} & sys.modules.keys()"
    spent = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(spent) < 0.3
