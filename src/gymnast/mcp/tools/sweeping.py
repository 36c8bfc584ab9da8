"""Tools that search settings: many runs, the best of them compared with the preset on seeds of their own."""

from __future__ import annotations

import math
import shlex
import time
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import anyio.to_thread
from pydantic import Field

from gymnast import api
from gymnast.errors import GymnastError, cut
from gymnast.mcp.serving import Serving
from gymnast.mcp.tool import READS, WRITES, tool
from gymnast.mcp.tools.configs import Overrides
from gymnast.mcp.tools.training import Steps, as_texts
from gymnast.mcp.tools.watching import Wait, error_of
from gymnast.redact import redact

_WAIT_SECONDS = 1.2  # for the sweep to have an id, or for its order to be refused
_LOOK_SECONDS = 0.3
_MOST_SETTINGS = 30
_JOB = "job-"

Sweep = Annotated[str, Field(description="what start_sweep returned, the id of a sweep, or @last")]


@dataclass
class StartedSweep:
    sweep: str  # watch_sweep and stop_training take it; a job's id until the sweep has one
    command: str
    next: str


@dataclass
class WatchedSweep:
    sweep: str
    state: str  # starting, running, finished, interrupted, failed
    stage: str
    changed: str
    trials: dict[str, int]
    seconds: float
    seconds_left: float | None
    env_steps: int
    objective: str
    best: dict[str, Any]  # the trial that leads, or won: value, settings, run
    preset: float | None  # the same of the preset's own settings
    verdict: str
    next: str


class SweepTools:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    @tool(WRITES)
    def start_sweep(
        self,
        reference: str = "",
        overrides: Overrides = None,
        trials: Annotated[int, Field(ge=2, le=500)] = 16,
        max_env_steps: Steps = None,
        objective: str = "",
        resume: Annotated[str, Field(description="instead: a sweep that was stopped")] = "",
    ) -> StartedSweep:
        """Search the settings of a reference in the background: each trial is a run, the best are tested
        against the preset on further seeds. `overrides`: settings that all trials share; max_env_steps: of
        one run. Takes as long as dozens of runs; follow it with watch_sweep."""
        serving, until = self._serving, time.monotonic() + _WAIT_SECONDS
        if bool(reference) == bool(resume):
            raise GymnastError("give a reference, or a sweep to resume: one of the two")
        serving.refuse_crowd()
        order: dict[str, Any] = {"most_workers": serving.most_running}
        words = ["sweep"]
        if resume:
            order |= {"resume": api.find_sweep(resume, runs_dir=serving.runs_dir).id}
            words += ["resume", order["resume"]]
        else:
            name = api.check_reference(reference, config_dirs=serving.config_dirs, trust=serving.trust)
            texts = as_texts(api.check_settings(overrides, trust=serving.trust))
            texts += [] if max_env_steps is None else [f"budget.env_steps={max_env_steps}"]
            api.check_loads(name, texts, config_dirs=serving.config_dirs, trust=serving.trust)
            order |= {"what": name, "overrides": texts, "trials": trials, "objective": objective or None}
            order |= {"config_dirs": [str(folder) for folder in serving.config_dirs]}
            words += [name, *texts, "--trials", str(trials)]
            words += ["--objective", objective] if objective else []
        job = api.start_job("sweep", reference or resume, order, runs_dir=serving.runs_dir)
        while not (sweep := self._sweep_of(job.id)) and time.monotonic() < until:
            time.sleep(0.05)
        return StartedSweep(sweep or job.id, shlex.join(["gymnast", *words]), _NEXT)

    @tool(READS)
    async def watch_sweep(self, sweep: Sweep = "@last", wait_seconds: Wait = 20) -> WatchedSweep:
        """How a sweep is doing: trials, what leads, at the end the verdict on whether it beats the preset.
        Waits at most wait_seconds for a better trial, the next stage or the end."""
        until = time.monotonic() + wait_seconds
        found = await anyio.to_thread.run_sync(self._found, sweep)
        before, why = found, _ended(found)
        while not why and time.monotonic() < until:
            await anyio.sleep(min(_LOOK_SECONDS, max(0.0, until - time.monotonic())))
            found = await anyio.to_thread.run_sync(self._found, sweep)
            why = _news(before, found)
        return _shown(sweep, found, why)

    def _found(self, sweep: str) -> api.Sweep | None:
        """None while it is being set up."""
        if sweep.startswith(_JOB):
            if not (named := self._sweep_of(sweep)):
                return None
            sweep = named
        return api.find_sweep(sweep, runs_dir=self._serving.runs_dir)

    def _sweep_of(self, job: str) -> str:
        """The id of a job's sweep; empty before it has one. Raises what its order was refused with."""
        if sweep := api.job_sweep(job, runs_dir=self._serving.runs_dir):
            return sweep
        now = api.read_job(job, runs_dir=self._serving.runs_dir)
        if now.kind != "sweep":
            raise GymnastError(f"{job} is not a sweep: watch_job follows it")
        if now.state in ("failed", "stopped"):
            raise GymnastError(error_of(now) or f"the sweep {job} was stopped before it began")
        return ""


def _ended(found: api.Sweep | None) -> str:
    return "" if found is None or found.driven else f"the sweep is {_state(found)}"


def _news(before: api.Sweep | None, now: api.Sweep | None) -> str:
    if now is None:
        return ""
    if before is None:
        return "the sweep has begun"
    if before.state.stage != now.state.stage:
        return f"it is at the stage {now.state.stage}"
    was, best = before.state.best(), now.state.best()
    if best is not None and (was is None or (was.number, was.value) != (best.number, best.value)):
        return "a better trial"
    return _ended(now)


def _state(sweep: api.Sweep) -> str:
    return str(sweep.to_json()["status"])


def _shown(name: str, sweep: api.Sweep | None, why: str) -> WatchedSweep:
    if sweep is None:
        return WatchedSweep(name, "starting", "", "", {}, 0, None, 0, "", {}, None, "", _NEXT)
    values, best = sweep.to_json(), sweep.state.best()
    base = values["baseline"]
    leader: dict[str, Any] = {}
    if best is not None:
        settings = dict(list(best.settings.items())[:_MOST_SETTINGS])
        runs = [run.run_id for run in best.runs][:1]
        leader = {"trial": best.number, "value": _finite(best.value), "settings": settings, "runs": runs}
    done = values["status"] == "finished"
    after = f"start_training with these settings, or the user: gymnast sweep apply {sweep.id}"
    again = f"start_sweep(resume={sweep.id!r}) continues it"
    return WatchedSweep(
        sweep=sweep.id,
        state=values["status"],
        stage=values["stage"],
        changed=why,
        trials=values["trials"],
        seconds=round(values["seconds"], 1),
        seconds_left=_finite(values["seconds_left"]),
        env_steps=values["env_steps"],
        objective=str(values["objective"].get("name", "")),
        best=leader,
        preset=None if base is None else _finite(base["value"]),
        verdict=cut(redact(str(values["verdict"].get("text", ""))), 300),
        next=after if done else _NEXT if sweep.driven else again,
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


_NEXT = "call watch_sweep with this sweep until its state is neither starting nor running"
