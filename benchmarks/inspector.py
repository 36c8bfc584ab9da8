"""What the inspector costs: python benchmarks/inspector.py [--recordings 50] [--runs 500] [--no-browser]

Prints the time to list many runs, to record and fetch 1,000 steps of CartPole, memory over many recordings,
and what importing the server adds; in Chromium also when the page is there and how many frames a second it
draws. Everything goes through a real server on loopback.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil

import inspector_page
from gymnast import api
from gymnast.web.server import PageServer

AIMS = {
    "the page's first requests, 500 runs": "at most 2 s",
    "in Chromium, until 500 runs are listed": "at most 2 s",
    "1,000 steps of CartPole, until the page has them": "at most 3 s",
    "in Chromium, until 1,000 steps are recorded and shown": "at most 3 s",
    "in Chromium, frames a second, 60 steps a second": "60",
    "in Chromium, frames a second, 240 steps a second": "60",
    "import of the server over the rest": "at most 0.3 s",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--recordings", type=int, default=50)
    options.add_argument("--runs", type=int, default=500)
    options.add_argument("--browser", action=argparse.BooleanOptionalAction, default=True)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        run = api.train("CartPole-v1:ppo", runs_dir=runs)
        found: dict[str, Any] = {"load of the machine before": round(os.getloadavg()[0], 1)}
        found |= import_cost()
        found |= recordings(runs, run.id, chosen.recordings)
        in_browser = chosen.browser and inspector_page.chromium_path() is not None
        if in_browser:
            found |= in_chromium(runs, run.id)
        many_runs(runs, run.id, chosen.runs)
        found |= listing(runs)
        if in_browser:
            with serving(runs) as (server, _):
                opened = inspector_page.seconds_to_open(server.url)
            found[f"in Chromium, until {chosen.runs} runs are listed"] = shown(statistics.median(opened))
    if chosen.json:
        print(json.dumps(found))
        return
    for what, value in found.items():
        aim = f"   (aim: {AIMS[what]})" if what in AIMS else ""
        print(f"{what:<54} {value}{aim}")


@contextmanager
def serving(runs: Path) -> Iterator[tuple[PageServer, httpx2.Client]]:
    server = api.inspector_server(runs, port=0)
    thread = threading.Thread(target=server.serve)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    token = {"Authorization": f"Bearer {server.access.token}"}
    try:
        with httpx2.Client(base_url=server.address, headers=token, timeout=300) as client:
            yield server, client
    finally:
        server.stop()
        thread.join()


def import_cost() -> dict[str, Any]:
    """In processor time of fresh interpreters, the best of five: what recording imports, then the server."""
    rest = "import gymnast.api.training, gymnast.api.recordings, gymnast.recordings.record, gymnast.api.runs"
    rest += ", gymnast.api.inspection, gymnast.api.distributions, gymnast.api.report"
    server = "import gymnast.inspect.app, gymnast.web.server, uvicorn, websockets"
    seconds = {}
    for name, code in (("rest", rest), ("both", f"{rest}; {server}")):
        timed = f"import time; t = time.process_time(); {code}; print(time.process_time() - t)"
        times = [
            float(subprocess.run([sys.executable, "-c", timed], capture_output=True, check=True).stdout)
            for _ in range(5)
        ]
        seconds[name] = min(times)
    return {"import of the server over the rest": shown(seconds["both"] - seconds["rest"])}


def record(client: httpx2.Client, run: str, seed: int) -> tuple[dict[str, Any], int]:
    """A recording of 1,000 steps and the bytes that the page fetches."""
    wish = {"run": run, "seed": seed, "steps": 1000, "episodes": 100}
    job = client.post("/api/recordings", json=wish).json()
    while job["state"] in ("queued", "running"):
        time.sleep(0.02)
        job = client.get(f"/api/jobs/{job['job']}").json()
    assert job["state"] == "done", job
    return job, len(client.get(f"/api/recordings/{job['recording']}/data").content)


def recordings(runs: Path, run: str, count: int) -> dict[str, Any]:
    with serving(runs) as (_, client):
        client.get("/api/session")
        record(client, run, 0)  # starts the process, loads the policy once
        times, server, recorder, size = [], [], [], 0
        own = psutil.Process()
        (process,) = own.children()
        before = process.cpu_times()
        for seed in range(count):
            began = time.perf_counter()
            job, size = record(client, run, seed)
            times.append(time.perf_counter() - began)
            client.delete(f"/api/recordings/{job['recording']}")
            server.append(own.memory_info().rss / 1e6)
            recorder.append(process.memory_info().rss / 1e6)
        after = process.cpu_times()
    tenth = max(count // 10, 1)

    def course(values: list[float]) -> str:
        first, last = statistics.mean(values[tenth : 2 * tenth] or values), statistics.mean(values[-tenth:])
        return f"{first:.0f} MB after {2 * tenth}, {last:.0f} MB after {count}"

    return {
        "1,000 steps of CartPole, until the page has them": shown(statistics.median(times)),
        "processor time of the recording process, each": shown(
            (after.user + after.system - before.user - before.system) / count
        ),
        "the fastest of them": shown(min(times)),
        "bytes that the page fetches for them": f"{size / 1e6:.1f} MB",
        f"memory of the server over {count} recordings": course(server),
        f"memory of the recording process over {count}": course(recorder),
    }


def in_chromium(runs: Path, run: str) -> dict[str, Any]:
    with serving(runs) as (server, _):
        seen = inspector_page.recorded_and_played(server.url, run)
    found: dict[str, Any] = {
        "in Chromium, until 1,000 steps are recorded and shown": shown(
            statistics.median(seen.pop("recorded"))
        )
    }
    for speed, frames in seen.items():
        speed = speed.removeprefix("at ")
        found[f"in Chromium, frames a second, {speed}"] = round(frames["frames a second"], 1)
        found[f"the slowest of 100 frames, {speed}"] = f"{frames['the slowest of 100 frames, ms']:.0f} ms"
        found[f"rows drawn, {speed}"] = f"{frames['rows drawn']} of {frames['rows']}"
    return found


def many_runs(runs: Path, run: str, count: int) -> None:
    """Copies of one run under other ids."""
    for number in range(count - 1):
        shutil.copytree(
            runs / run, runs / f"a{number:07d}", ignore=shutil.ignore_patterns(".lock", "recordings")
        )
    (runs / "registry.json").unlink(missing_ok=True)  # so the first listing builds the index


def listing(runs: Path) -> dict[str, Any]:
    with serving(runs) as (_, client):
        times = []
        for _ in range(4):
            began = time.perf_counter()
            for path in ("/", "/web/api.js", "/web/theme.css", "/plotly.min.js", "/api/session"):
                assert client.get(path).status_code == 200
            total = client.get("/api/runs?limit=100").json()["total"]
            client.get("/api/recordings")
            times.append(time.perf_counter() - began)
        began = time.perf_counter()
        client.get("/api/runs?limit=100")
        alone = time.perf_counter() - began
    return {
        f"the page's first requests, {total} runs": shown(statistics.median(times[1:])),
        "the same without an index of the runs": shown(times[0]),
        f"/api/runs alone, {total} runs": shown(alone),
    }


def shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    main()
