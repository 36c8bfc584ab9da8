"""Trackio: a dashboard on this machine (`trackio show`), without an account."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnast.metrics.sinks.trackers.backend import Backend, Row, TrackedRun
from gymnast.metrics.sinks.trackers.histograms import Histogram

_LEVELS = {"info": "INFO", "warning": "WARN", "critical": "ERROR"}


class TrackioBackend(Backend):
    """Rows go to Trackio's own database, by default in `~/.cache/huggingface/trackio`."""

    def connect(self, run: TrackedRun) -> dict[str, Any]:
        import trackio

        self._trackio: Any = trackio
        self._histograms: dict[str, Any] = {}
        project = self.settings["project"]
        self._run = trackio.init(
            project=project,
            name=run.title,
            config={**run.config, "run": {"id": run.id, "name": run.name}},
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return {"project": project, "name": run.title}

    def row(self, row: Row) -> None:
        self._trackio.log(row | self._histograms, step=int(row.get(self.x_axis, 0)))
        self._histograms = {}

    def distributions(self, histograms: Mapping[str, Histogram]) -> None:
        for key, one in histograms.items():
            self._histograms[key] = self._trackio.Histogram(np_histogram=(one.counts, one.edges))

    def alert(self, alert: Mapping[str, str], row: Row) -> None:
        level = self._trackio.AlertLevel[_LEVELS[alert["severity"]]]
        self._trackio.alert(alert["id"], f"{alert['message']}\n{alert['advice']}", level=level)

    def video(self, path: Path, env_steps: int, row: Row) -> None:
        video = self._trackio.Video(str(path), caption=f"step {env_steps:,}")
        self._trackio.log({"video/evaluation": video}, step=int(row.get(self.x_axis, 0)))

    def checkpoint(self, env_steps: int, reason: str, row: Row) -> None:
        self._trackio.log({"checkpoint/env_steps": env_steps}, step=int(row.get(self.x_axis, 0)))

    def finish(self, exit_code: int, summary: Mapping[str, Any], seconds: float) -> None:
        self._trackio.finish()
