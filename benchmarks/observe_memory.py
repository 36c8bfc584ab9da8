"""Whether what observes a run stays as small as it is, however long the run is.

`python benchmarks/observe_memory.py [--updates 1000000]`: trains for a moment, then hands that run's reports,
with counters that go on, to the monitor of alerts, the live table, metrics.csv and a tracker's queue, as a
run does. Prints the memory of this process on the way.
"""

from __future__ import annotations

import argparse
import gc
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from gymnast import api
from gymnast.config.dump import flat_data, plain_data
from gymnast.metrics.alerts.monitor import Monitor, facts_of
from gymnast.metrics.sinks.console import RunHeader
from gymnast.metrics.sinks.live import LiveConsole
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.metrics.sinks.sink import Sink
from gymnast.metrics.sinks.trackers.rows import BoundedQueue, RowPacker
from gymnast.runs.trust import load_run_config
from gymnast.terminal.painter import Painter
from gymnast.training.report import Report

ENV_STEPS = 160  # of one update
SENT = 200  # rows at a time, as a tracker's thread takes them from its queue
WRITTEN = 50_000  # rows, after which metrics.csv begins again: a million would fill a small disk


class Kept(Sink):
    """The reports of a run."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def take(self, report: Report) -> None:
        self.reports.append(report)


def resident() -> int:
    """Bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def watch(updates: int, looks: int, memory: Callable[[], int]) -> Iterator[tuple[int, int]]:
    """Yield (updates so far, memory) `looks` times."""
    with tempfile.TemporaryDirectory(prefix="gymnast-memory-") as folder:
        kept = Kept()
        run = api.train(
            "CartPole-v1:a2c-zoo", max_env_steps=40 * ENV_STEPS, runs_dir=Path(folder, "runs"), sinks=[kept]
        )
        settings = flat_data(plain_data(load_run_config(run.folder)))
        monitor = Monitor(facts_of(settings))
        live = LiveConsole(Painter(Nowhere(), size=(100, 40)))
        live.started(header(run, updates))
        recorder = Recorder(Path(folder, "metrics.csv"))
        queue, packer = BoundedQueue(), RowPacker()
        for update in range(1, updates + 1):
            report = kept.reports[update % len(kept.reports)]
            row = dict(report.row) | {
                "time/updates": update,
                "time/env_steps": ENV_STEPS * update,
                "time/progress": update / updates,
                "time/seconds": update / 1000,
            }
            alerts = monitor.take(row)
            report = replace(report, row=row, updates=update, env_steps=ENV_STEPS * update, alerts=alerts)
            live.take(report)
            recorder.take(report)
            queue.put(row)
            if update % SENT == 0:
                for _ in packer.packed(queue.take()):
                    pass
            if update % WRITTEN == 0:
                recorder.close()
                recorder.path.unlink()
                recorder = Recorder(recorder.path)
            if update % (updates // looks) == 0:
                gc.collect()
                yield update, memory()
        recorder.close()


class Nowhere(io.StringIO):
    """A terminal that forgets what is written to it."""

    def write(self, text: str) -> int:
        return len(text)


def header(run: api.Run, updates: int) -> RunHeader:
    return RunHeader(
        run_id=run.id,
        path=str(run.path),
        name="CartPole-v1:a2c-zoo",
        env_id="CartPole-v1",
        algo="a2c",
        engine="numpy",
        backend="native",
        n_envs=8,
        parameters=1,
        budget=f"{ENV_STEPS * updates} env steps",
        budget_env_steps=ENV_STEPS * updates,
        solved_at=475.0,
        notices=(),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--updates", type=int, default=1_000_000)
    parser.add_argument("--looks", type=int, default=20)
    options = parser.parse_args()
    began = time.monotonic()
    for update, size in watch(options.updates, options.looks, resident):
        print(f"{update:12,} updates  {size / 2**20:7.1f} MiB  {time.monotonic() - began:6.0f} s", flush=True)


if __name__ == "__main__":
    main()
