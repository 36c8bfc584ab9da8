"""TensorBoard event files in the run folder, written by tensorboardX: no torch, no TensorFlow."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from gymnast.metrics.sinks.trackers.backend import Backend, Row, TrackedRun
from gymnast.metrics.sinks.trackers.histograms import Histogram
from gymnast.runs.files import make_folder

FOLDER = "tensorboard"


class TensorboardBackend(Backend):
    """One event per row, with all its scalars: an event per scalar takes ten times as long."""

    def connect(self, run: TrackedRun) -> dict[str, Any]:
        # tensorboardX imports torch where there is one, which takes seconds, and needs it for nothing here.
        sys.modules.setdefault("torch", None)  # type: ignore[arg-type]
        import tensorboardX
        from tensorboardX.proto.summary_pb2 import Summary

        self._library, self._summary = tensorboardX, Summary
        self._run = run
        self._folder = run.path / FOLDER
        self._writer: Any = None
        self._histograms: Mapping[str, Histogram] = {}
        make_folder(self._folder)
        return {"folder": FOLDER}

    def row(self, row: Row) -> None:
        writer = self._opened(row)
        value = self._summary.Value
        values = [value(tag=key, simple_value=number) for key, number in row.items()]
        writer.file_writer.add_summary(self._summary(value=values), self._step(row), time.time())
        for key, one in self._histograms.items():
            middles = [(low + high) / 2 for low, high in pairwise(one.edges)]
            weighed = list(zip(one.counts, middles, strict=True))
            writer.add_histogram_raw(
                key,
                min=one.edges[0],
                max=one.edges[-1],
                num=sum(one.counts),
                sum=sum(count * middle for count, middle in weighed),
                sum_squares=sum(count * middle**2 for count, middle in weighed),
                bucket_limits=one.edges[1:],
                bucket_counts=one.counts,
                global_step=self._step(row),
            )
        self._histograms = {}

    def distributions(self, histograms: Mapping[str, Histogram]) -> None:
        self._histograms = histograms

    def alert(self, alert: Mapping[str, str], row: Row) -> None:
        text = f"**{alert['severity']}**: {alert['message']}\n\n{alert['advice']}"
        self._opened(row).add_text(f"alert/{alert['id']}", text, self._step(row))

    def checkpoint(self, env_steps: int, reason: str, row: Row) -> None:
        self._opened(row).add_scalar("checkpoint/env_steps", env_steps, self._step(row))

    def video(self, path: Path, env_steps: int, row: Row) -> None:
        self._opened(row).add_text("video", f"step {env_steps:,}: `{path}`", self._step(row))

    def finish(self, exit_code: int, summary: Mapping[str, Any], seconds: float) -> None:
        if self._writer is not None:
            self._writer.add_text("summary", _as_text(summary), 0)
            self._writer.close()

    def _opened(self, row: Row) -> Any:
        """The writer. What a resumed run is about to repeat is hidden, from its first row on."""
        if self._writer is None:
            purge = self._step(row) if self._run.env_steps else None
            self._writer = self._library.SummaryWriter(str(self._folder), purge_step=purge, flush_secs=5)
            self._writer.add_text("config", _as_text(self._run.config), self._step(row))
        return self._writer

    def _step(self, row: Row) -> int:
        return int(row.get(self.x_axis, 0))


def _as_text(data: Mapping[str, Any]) -> str:
    lines = json.dumps(data, indent=2, default=str).splitlines()
    return "\n".join(f"    {line}" for line in lines)  # Markdown: as it is
