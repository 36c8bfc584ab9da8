"""Tools that start, resume and stop trainings."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.mcp.serving import START, Serving
from gymnast.mcp.starts import Starts
from gymnast.mcp.tool import ENDS, WRITES, tool
from gymnast.mcp.tools.configs import Overrides

Steps = Annotated[int | str | None, Field(description="total env steps: 300000 or '300k'")]
WallTime = Annotated[float | str | None, Field(description="seconds, or '10m'")]
RunName = Annotated[str, Field(description="id, the beginning of one, @last or @best")]


@dataclass
class Started:
    run: str  # watch_run takes it; `start-…` until the run exists
    state: str
    command: str  # the same on a command line
    next: str


@dataclass
class Stopped:
    id: str
    state: str
    reason: str
    env_steps: int | None
    best_score: float | None


class TrainingTools:
    def __init__(self, serving: Serving, starts: Starts) -> None:
        self._serving, self._starts = serving, starts

    @tool(WRITES)
    def start_training(
        self,
        reference: str = "",
        like_run: str = "",
        overrides: Overrides = None,
        seed: Annotated[int | None, Field(ge=0)] = None,
        max_env_steps: Steps = None,
        wall_time: WallTime = None,
        init_from: str = "",
        on: Annotated[str, Field(description="where to collect: 'local:2' (actors here) or 'ray'")] = "",
    ) -> Started:
        """Start a training in the background and return at once; follow it with watch_run. Name a reference
        (CartPole-v1:ppo), or an earlier run with `like_run` to train its settings again with changes.
        `init_from`: RUN or RUN/CHECKPOINT whose weights to begin with."""
        serving, called = self._serving, time.monotonic()
        if bool(reference) == bool(like_run):
            raise GymnastError("give a reference or like_run: one of the two")
        texts = as_texts(api.check_settings(overrides, trust=serving.trust))
        texts += [] if seed is None else [f"seed={seed}"]
        texts += _place(on, serving.trust) if on else []
        if like_run:
            like = serving.run(like_run)
            api.check_changes(like, texts, trust=serving.trust, trains=True)
            again = api.repeated(like, texts, trust=serving.trust)
            reference, texts = again.reference, list(again.overrides)
        else:
            api.check_reference(reference, config_dirs=serving.config_dirs, trust=serving.trust)
            api.check_loads(reference, texts, config_dirs=serving.config_dirs, trust=serving.trust)
        start = api.outside_checkpoint(init_from, runs_dir=serving.runs_dir) if init_from else None
        return self._begin(
            called,
            [reference, *texts],
            {"--max-env-steps": max_env_steps, "--wall-time": wall_time, "--init-from": start},
            {
                "reference": reference,
                "overrides": texts,
                "max_env_steps": max_env_steps,
                "wall_time": wall_time,
                "init_from": start,
                "config_dirs": serving.config_dirs,
            },
        )

    @tool(WRITES)
    def resume_training(
        self,
        run: RunName,
        overrides: Overrides = None,
        max_env_steps: Steps = None,
        wall_time: WallTime = None,
    ) -> Started:
        """Resume a run that has ended from its last checkpoint, with changed settings or a larger total
        budget if given; or let a paused run continue. Returns at once."""
        serving, called = self._serving, time.monotonic()
        folder = serving.run(run)
        state = api.run_state(folder)
        if state.state == "paused":
            if overrides or max_env_steps or wall_time:
                raise GymnastError(f"run {folder.id} is paused: stop it first to change its settings")
            api.resume_paused_run(folder, wait=False)
            return Started(folder.id, "running", f"gymnast runs resume {folder.id}", _NEXT)
        if state.state == "running":
            raise GymnastError(f"run {folder.id} is being trained already: follow it with watch_run")
        texts = as_texts(api.check_settings(overrides, trust=serving.trust))
        api.check_changes(folder, texts, trust=serving.trust, trains=True)
        return self._begin(
            called,
            ["--resume", folder.id, *texts],
            {"--max-env-steps": max_env_steps, "--wall-time": wall_time},
            {
                "resume": folder.id,
                "overrides": texts,
                "max_env_steps": max_env_steps,
                "wall_time": wall_time,
                "trust": serving.trust,
            },
        )

    @tool(ENDS)
    def stop_training(
        self,
        run: Annotated[str, Field(description="a run, or the id of a sweep or job")],
        pause: bool = False,
    ) -> Stopped:
        """Have a run finish its update, save a checkpoint and end; it can be resumed later. `pause` makes it
        wait instead. A sweep is stopped in the same way; a job (job-…) just ends."""
        serving = self._serving
        if sweep := _sweep_named(serving, run):
            return _stopped_sweep(serving, sweep)
        if run.startswith("job-"):
            job = api.stop_job(run, runs_dir=serving.runs_dir)
            return Stopped(job.id, job.state, "", None, None)
        started = self._starts.run_of(run) if run.startswith(START) else None
        folder = serving.run(started or run)
        if self._starts.awaits(folder.id):
            raise GymnastError(f"run {folder.id} is being resumed: watch_run says when it trains")
        try:
            entry = api.pause_run(folder, timeout=30) if pause else api.stop_run(folder, timeout=30)
        except api.NotAnswered as late:
            return Stopped(folder.id, "stopping", str(late), None, None)
        return Stopped(entry.id, entry.state, entry.reason or "", entry.env_steps, entry.best_score)

    def _begin(
        self, called: float, words: list[str], options: dict[str, Any], order: dict[str, Any]
    ) -> Started:
        given = [text for name, value in options.items() if value is not None for text in (name, str(value))]
        command = ["gymnast", "train", *words, *given]
        started = self._starts.begin(
            {**order, "runs_dir": self._serving.runs_dir, "command": command}, called
        )
        return Started(*started, shlex.join(command), _NEXT)


def _place(on: str, trust: bool) -> list[str]:
    """The settings for where experience is collected. A machine elsewhere, or money, is the user's word."""
    if on == "modal":
        raise GymnastError("Modal costs money: have the user run `gymnast train … --on modal` themselves")
    if "://" in on and not trust:
        raise GymnastError(
            f"on={on!r} is refused here: it would send the env to another machine; whoever started this"
            " server can allow it with --trust"
        )
    return api.place_settings(on)


def _sweep_named(serving: Serving, name: str) -> str:
    """The id of the sweep that a sweep's or a job's id names; empty if it names none."""
    if name.startswith("job-"):
        return api.job_sweep(name, runs_dir=serving.runs_dir)
    return name if name in [one.id for one in api.list_sweeps(runs_dir=serving.runs_dir)] else ""


def _stopped_sweep(serving: Serving, sweep: str) -> Stopped:
    found = api.stop_sweep(sweep, runs_dir=serving.runs_dir)
    until = time.monotonic() + _SWEEP_SECONDS
    while found.driven and time.monotonic() < until:
        time.sleep(0.2)
        found = api.find_sweep(sweep, runs_dir=serving.runs_dir)
    values = found.to_json()
    state = "stopping" if found.driven else values["status"]
    return Stopped(sweep, state, values["reason"] or "", values["env_steps"], None)


_SWEEP_SECONDS = 30.0  # for its runs to save
_NEXT = "call watch_run with this run until its state is neither starting nor running"


def as_texts(overrides: dict[str, Any] | list[str]) -> list[str]:
    """'key=value', the value as YAML: what a command line has."""
    import json

    if isinstance(overrides, list):
        return overrides
    return [f"{key}={json.dumps(value)}" for key, value in overrides.items()]
