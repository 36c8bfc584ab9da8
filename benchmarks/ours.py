"""Gymnast's side of each comparison: the command line as a user calls it, timed from outside."""

from __future__ import annotations

import csv
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import Finished, gymnast, run, script


@dataclass(frozen=True)
class Trained:
    """A training that has ended: the process, and the folder it left."""

    process: Finished
    folder: Path
    report: dict[str, Any]  # what `gymnast train --json` printed

    @property
    def sps(self) -> float:
        """Env steps per second of training, without start-up: what `model.learn` is for SB3."""
        return float(self.report["env_steps"]) / float(self.report["seconds"])

    def columns(self, *names: str) -> list[tuple[float, ...]]:
        """These columns of the run's metrics, row by row."""
        with (self.folder / "metrics.csv").open(newline="") as file:
            return [tuple(float(row[name]) for name in names) for row in csv.DictReader(file)]


class MemoryWatch:
    """Samples a process's resident memory until the process is gone."""

    def __init__(self, every: float) -> None:
        self.every = every
        self.mib: list[float] = []

    def __call__(self, pid: int) -> None:
        threading.Thread(target=self._sample, args=(pid,), daemon=True).start()

    def _sample(self, pid: int) -> None:
        import psutil

        try:
            process = psutil.Process(pid)
            while process.status() != psutil.STATUS_ZOMBIE:
                self.mib.append(process.memory_info().rss / 2**20)
                time.sleep(self.every)
        except psutil.NoSuchProcess:
            return


@contextmanager
def train(ref: str, *overrides: str, watch: MemoryWatch | None = None) -> Iterator[Trained]:
    """Train in a process of its own and a runs folder of its own, which is removed afterwards."""
    runs = Path(tempfile.mkdtemp(prefix="gymnast-bench-"))
    try:
        process = run(gymnast("train", ref, *overrides, "--json", "--runs-dir", runs), watch)
        report = process.json()
        yield Trained(process, Path(report["path"]), report)
    finally:
        shutil.rmtree(runs, ignore_errors=True)


def verified_score(trained: Trained, env_id: str, episodes: int = 100) -> float:
    """The greedy mean return of the best checkpoint in plain Gymnasium envs with seeds of their own."""
    found = run(script("verify.py", trained.folder, env_id, episodes)).json()
    return float(found["mean_return"])
