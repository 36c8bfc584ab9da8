"""Weights & Biases. Inside the tracker's own process only: importing it takes a second."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError
from gymnast.metrics.sinks.trackers.backend import Backend, Row, TrackedRun
from gymnast.metrics.sinks.trackers.histograms import Histogram
from gymnast.runs.files import make_folder

_LEVELS = {"info": "INFO", "warning": "WARN", "critical": "ERROR"}
_ALERT_SECONDS = 60  # between alerts of one id
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_INIT_SECONDS = 60.0
_OWN_SHARE = 0.8  # of the time to finish; the rest is for what comes after


class WandbBackend(Backend):
    """One run there for one run here, on a resume too. Files lie in the run folder, in `wandb/`."""

    def connect(self, run: TrackedRun) -> dict[str, Any]:
        os.environ.pop("WANDB_SERVICE", None)  # of another process, which may end before this one
        import wandb

        self._wandb: Any = wandb
        self._row_extras: dict[str, Any] = {}
        self._checkpoints = 0
        settings = self.settings
        make_folder(run.path / "wandb")
        known = str(run.known.get("id", ""))
        try:
            self._run = wandb.init(
                project=settings["project"] or os.environ.get("WANDB_PROJECT") or "gymnast",
                entity=settings["entity"],
                mode=settings["mode"],
                id=known if _ID.fullmatch(known) else run.id,
                name=run.title,
                resume="allow",
                tags=list(settings["tags"]) or None,
                config={**run.config, "run": {"id": run.id, "name": run.name}},
                job_type="train",
                dir=str(run.path),
                settings=wandb.Settings(
                    console="off",
                    silent=True,
                    symlink=False,
                    disable_code=True,
                    disable_git=True,
                    save_code=False,
                    x_save_requirements=False,
                    x_stats_pid=run.pid,
                    init_timeout=_INIT_SECONDS,
                    finish_timeout=max(1.0, _OWN_SHARE * settings["finish_seconds"]),
                    stop_fn=_stop_asked,
                ),
            )
        except wandb.errors.Error as error:
            if (problem := login_problem(error)) is None:
                raise
            raise GymnastError(f"{problem}, or use --track wandb=offline, which needs no account") from error
        self._run.define_metric(self.x_axis)
        self._run.define_metric("*", step_metric=self.x_axis)
        kept = {"id": self._run.id, "project": self._run.project, "entity": self._run.entity}
        if self._run.offline:  # it warns that there is no URL
            return {**kept, "mode": "offline"}
        return {**kept, "mode": "online", "url": self._run.url}

    def logged_before(self, key: str) -> tuple[int, float | None]:
        """Of a run that was there already: how many rows it has, and the last value of a metric."""
        if not self._run.resumed:
            return 0, None
        last = self._run.summary.get(key)
        return int(self._run.starting_step), float(last) if isinstance(last, (int, float)) else None

    def row(self, row: Row) -> None:
        self._run.log(row | self._row_extras if self._row_extras else row)
        self._row_extras = {}

    def distributions(self, histograms: Mapping[str, Histogram]) -> None:
        for key, one in histograms.items():
            self._row_extras[key] = self._wandb.Histogram(np_histogram=(one.counts, one.edges))

    def alert(self, alert: Mapping[str, str], row: Row) -> None:
        self._run.alert(
            title=f"{alert['id']} ({alert['severity']})",
            text=f"{alert['message']}\n{alert['advice']}",
            level=self._wandb.AlertLevel[_LEVELS[alert["severity"]]],
            wait_duration=_ALERT_SECONDS,
        )

    def video(self, path: Path, env_steps: int, row: Row) -> None:
        video = self._wandb.Video(str(path), format="mp4", caption=f"step {env_steps:,}")
        self._run.log({"video/evaluation": video, **self._at(row)})

    def checkpoint(self, env_steps: int, reason: str, row: Row) -> None:
        """Its step is part of the next row: a row of its own would have nothing else."""
        self._checkpoints += 1
        self._row_extras |= {"checkpoint/env_steps": env_steps, "checkpoint/count": self._checkpoints}
        self._run.summary["checkpoint/last"] = {"env_steps": env_steps, "reason": reason}

    def finish(self, exit_code: int, summary: Mapping[str, Any], seconds: float) -> None:
        self._run.summary.update(dict(summary))
        self._run.finish(exit_code=exit_code)

    def explain(self, error: BaseException) -> str:
        kind = type(error).__name__
        if kind == "HandleAbandonedError":  # from within: what wandb starts beside Python has panicked
            return "W&B's own process crashed"
        hint = "; --track wandb=offline needs no server" if kind == "CommError" else ""
        return f"{super().explain(error)}{hint}"

    def _at(self, row: Row) -> Row:
        return {self.x_axis: row[self.x_axis]} if self.x_axis in row else {}


def login_problem(error: Exception) -> str | None:
    """What is wrong with the login, and what to do; None if the error is about something else."""
    text = " ".join(str(error).split())
    if "No API key" in text:
        return "not logged in; run `wandb login`"
    if type(error).__name__ == "AuthenticationError":
        return f"the login was not accepted ({text}); run `wandb login`"
    return None


def _stop_asked() -> None:
    """The stop button of W&B's page would interrupt this process, and not the training."""
