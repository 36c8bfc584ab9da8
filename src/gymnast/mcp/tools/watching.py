"""Tools that wait for what happens next: of a run, of a job."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import anyio.to_thread
from pydantic import Field

from gymnast import api
from gymnast.errors import GymnastError, cut
from gymnast.mcp.serving import START, Serving
from gymnast.mcp.starts import Starts
from gymnast.mcp.tool import READS, tool
from gymnast.redact import redact
from gymnast.runs.store import RunFolder

Wait = Annotated[float, Field(ge=0, le=45)]
_LOOK_SECONDS = 0.4


@dataclass
class NewAlert:
    id: str
    severity: str
    message: str
    advice: str


@dataclass
class Watched:
    run: str
    state: str  # starting, running, paused, solved, finished, interrupted, failed
    reason: str
    changed: str  # why this answer came
    env_steps: int
    progress: float | None
    seconds: float
    eta_seconds: float | None
    best_score: float | None
    last_score: float | None
    solved_at: float | None
    metrics: dict[str, float]
    alerts: list[NewAlert]  # first seen since since_step; critical ones as long as they are seen
    log: list[str]


@dataclass
class WatchedJob:
    job: str
    kind: str
    run: str
    state: str  # working, done, failed, stopped
    result: dict[str, Any] | None
    error: str
    output: str


class WatchingTools:
    def __init__(self, serving: Serving, starts: Starts) -> None:
        self._serving, self._starts = serving, starts

    @tool(READS)
    async def watch_run(
        self, run: str, wait_seconds: Wait = 20, since_step: Annotated[int, Field(ge=0)] = 0
    ) -> Watched:
        """How a run is doing: state, progress, scores, key metrics, new alerts, last log lines. Waits until
        something changes (it ends, a better score, an alert), at most wait_seconds. Pass the env_steps of the
        last answer as since_step to hear only of what is new or critical."""
        until = time.monotonic() + wait_seconds
        if not run.startswith(START):
            folder = await anyio.to_thread.run_sync(self._serving.run, run)
            run = folder.id
        if run.startswith(START) or self._starts.awaits(run):
            found = await anyio.to_thread.run_sync(self._starts.run_of, run)
            while found is None and time.monotonic() < until:
                await anyio.sleep(_LOOK_SECONDS)
                found = await anyio.to_thread.run_sync(self._starts.run_of, run)
            if found is None:
                return Watched(run, "starting", "", "", 0, None, 0, None, None, None, None, {}, [], [])
            folder = await anyio.to_thread.run_sync(self._serving.run, found)
            return await anyio.to_thread.run_sync(_answer, folder, since_step, "the training has begun")
        before = await anyio.to_thread.run_sync(_look, folder)
        why = before.news_since(since_step)
        while not why and time.monotonic() < until:
            await anyio.sleep(min(_LOOK_SECONDS, max(0.0, until - time.monotonic())))
            now = await anyio.to_thread.run_sync(_look, folder)
            why = now.news_after(before)
        return await anyio.to_thread.run_sync(_answer, folder, since_step, why)

    @tool(READS)
    async def watch_job(self, job: str, wait_seconds: Wait = 20) -> WatchedJob:
        """How a job (evaluate, record_video, …) stands, and its result once it is done. Waits at most
        wait_seconds for it to end."""
        return shown_job(await wait_for_job(self._serving, job, wait_seconds))


async def wait_for_job(serving: Serving, job: str, seconds: float) -> api.Job:
    """The job once it has ended, or as it stands after this time."""
    until = time.monotonic() + seconds
    while True:
        now = await anyio.to_thread.run_sync(lambda: api.read_job(job, runs_dir=serving.runs_dir))
        if now.state != "working" or time.monotonic() >= until:
            return now
        await anyio.sleep(min(_LOOK_SECONDS / 2, max(0.0, until - time.monotonic())))


def shown_job(job: api.Job) -> WatchedJob:
    result = dict(job.result) if job.result else None
    if result and len(result.get("returns") or ()) > 20:
        result["returns"] = [*result["returns"][:20], "…"]
    output = "" if job.crashed else job.output
    return WatchedJob(job.id, job.kind, job.run, job.state, result, error_of(job), output)


def error_of(job: api.Job) -> str:
    """What the job failed with; of an error inside no more than that there was one."""
    if job.crashed:
        return (
            f"the job {job.id} ({job.kind}) failed by an error inside; the user finds more in its output.log"
        )
    return cut(job.error or "", 2000)


@dataclass(frozen=True, slots=True)
class _Look:
    """What a change is noticed by."""

    entry: api.RunEntry
    alerts: tuple[api.Alert, ...]

    def news_since(self, step: int) -> str:
        if self.entry.state != "running":
            return f"the run is {self.entry.state}"
        return "new alerts" if step and any(alert.first_step > step for alert in self.alerts) else ""

    def news_after(self, before: _Look) -> str:
        if self.entry.state != before.entry.state:
            return f"the run is {self.entry.state}"
        if {alert.id for alert in self.alerts} - {alert.id for alert in before.alerts}:
            return "new alerts"
        best, was = self.entry.best_score, before.entry.best_score
        return "a better score" if best is not None and (was is None or best > was) else ""


def _look(folder: RunFolder) -> _Look:
    return _Look(api.run_state(folder), tuple(api.current_alerts(folder)))


def _answer(folder: RunFolder, since_step: int, why: str) -> Watched:
    look, row = _look(folder), api.last_metrics(folder)
    entry = look.entry
    progress, seconds = _number(row.get("time/progress")), _number(row.get("time/seconds")) or entry.seconds
    left = None
    if entry.state == "running" and progress and 0 < progress < 1:
        left = round(seconds * (1 - progress) / progress, 1)
    settings: dict[str, Any] = {}
    with suppress(GymnastError):  # a config that cannot be read keeps nobody from watching
        settings = api.run_settings(folder)
    return Watched(
        run=folder.id,
        state=entry.state,
        reason=redact(entry.reason or ""),
        changed=why,
        env_steps=int(max(entry.env_steps, _number(row.get("time/env_steps")) or 0)),
        progress=None if progress is None else round(progress, 4),
        seconds=round(seconds, 1),
        eta_seconds=left,
        best_score=entry.best_score,
        last_score=entry.last_score,
        solved_at=_number(settings.get("env.spec.solved_at")),
        metrics={key: float(f"{row[key]:.6g}") for key in _SHOWN if math.isfinite(row.get(key, math.nan))},
        alerts=[
            NewAlert(alert.id, alert.severity, cut(alert.message, 200), cut(alert.advice, 300))
            for alert in look.alerts
            if (alert.last_step if alert.severity == "critical" else alert.first_step) >= since_step
        ][:10],
        log=list(api.read_log(folder, lines=5).lines),
    )


def _number(value: Any) -> float | None:
    """A number of a config, which may have been edited."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


_SHOWN = (
    "train/return/mean",
    "train/length/mean",
    "eval/return/mean",
    "train/kl",
    "train/entropy",
    "train/clip_fraction",
    "train/explained_variance",
    "train/loss/value",
    "opt/lr",
    "time/fps",
    "time/episodes",
)
