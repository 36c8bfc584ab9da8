"""Runs that are trained on rented machines: start, list, follow, stop and bring them back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.archiving import ArrivedRun
from gymnast.api.arguments import Folders, folders, maybe_positive, maybe_seconds, maybe_whole
from gymnast.api.run import Overrides
from gymnast.api.training import with_budget
from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.remote.index import RemoteRun
    from gymnast.remote.state import RemoteState

_STOP_SECONDS = 60.0
_PASS_ON_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """A remote run, as it was started here and as it is there."""

    run: RemoteRun
    state: RemoteState
    status: str  # starting, running, done, failed, stopped, limit, interrupted; lost if nobody works on it
    dollars: float  # about, so far

    def to_json(self) -> dict[str, Any]:
        """What `gymnast remote list --json` prints."""
        state = self.state
        return self.run.to_json() | {
            "call": state.call or self.run.call,
            "status": self.status,
            "reason": state.reason,
            "attempts": state.attempts,
            "seconds": state.seconds,
            "dollars": self.dollars,
            "env_steps": state.env_steps,
            "fps": state.fps,
            "best_score": state.score,
        }


def train_on_modal(
    reference: str | Path,
    *,
    overrides: Overrides = (),
    max_env_steps: int | str | None = None,
    wall_time: float | str | None = None,
    run_id: str | None = None,
    continued: bool = False,
    max_duration: float | str | None = None,
    max_cost: float | None = None,
    cores: float | None = None,
    memory: int | None = None,
    gpu: str | None = None,
    attempt: float | str | None = None,
    runs_dir: str | Path | None = None,
    track: Sequence[str] = (),
    config_dirs: Folders = (),
    notify: Callable[[str], None] = lambda text: None,
) -> RemoteRun:
    """Start a run on Modal and return: it trains on by itself, whatever happens to this process.

    Here it is a note in the runs folder until `pull_remote` brings it. After `max_duration` (seconds of all
    machines together) or `max_cost` (dollars, about) it is saved and stopped. `cores` and `memory` (MiB)
    are chosen from the config if they are not given; `gpu` is one such as "L4". `attempt` is the
    longest time on one machine. `notify` receives the estimate before anything is started.
    """
    from gymnast.config.load import ResolvedConfig, load_config
    from gymnast.metrics.sinks.trackers.settings import with_trackers
    from gymnast.remote import modal_client
    from gymnast.remote.launch import Wishes, launch, make_plan
    from gymnast.remote.spec import LONGEST_ATTEMPT
    from gymnast.runs.store import runs_root

    if continued and run_id is None:
        raise GymnastError("to continue a run it must have an id: give run_id as well")
    changes = with_budget(overrides, max_env_steps, wall_time)
    resolved = load_config(str(reference), changes, config_dirs=folders(config_dirs))
    if track:
        sinks = with_trackers(resolved.config.sinks, (track,) if isinstance(track, str) else tuple(track))
        config = resolved.config.model_copy(update={"sinks": sinks})
        resolved = ResolvedConfig(config, resolved.name, resolved.variant)
    wishes = Wishes(
        maybe_seconds("max_duration", max_duration),
        maybe_positive("max_cost", max_cost),
        maybe_positive("cores", cores),
        maybe_whole("memory", memory, 1),
        gpu,
        maybe_seconds("attempt", attempt) or LONGEST_ATTEMPT,
    )
    root = runs_root(runs_dir)
    modal_client.connect()  # before what takes a while
    plan = make_plan(resolved, root, run_id, continued, wishes)
    for line in plan.lines():
        notify(line)
    return launch(plan, root, continued, notify)


def list_remote(*, runs_dir: str | Path | None = None) -> list[RemoteEntry]:
    """The remote runs that were started from this runs folder, as they are now, the newest first."""
    from gymnast.remote import modal_client
    from gymnast.remote.index import remote_runs
    from gymnast.runs.store import runs_root

    runs = remote_runs(runs_root(runs_dir))
    if runs:
        modal_client.connect()
    return [_entry(run) for run in runs]


def remote_run(reference: str = "@last", *, runs_dir: str | Path | None = None) -> RemoteEntry:
    """One of them."""
    from gymnast.remote import modal_client
    from gymnast.remote.index import find_remote
    from gymnast.runs.store import runs_root

    run = find_remote(runs_root(runs_dir), reference)
    modal_client.connect()
    return _entry(run)


def remote_logs(
    reference: str = "@last", *, follow: bool = False, runs_dir: str | Path | None = None
) -> Iterator[str]:
    """What a remote run prints; with `follow` until it ends, through every machine that it moves to."""
    from gymnast.remote import modal_client

    entry = remote_run(reference, runs_dir=runs_dir)
    call = entry.run.call if follow and not entry.state.call else entry.state.call or entry.run.call
    while True:
        yield from modal_client.log_lines(call, follow)
        following = _next_call(entry.run, call) if follow else None
        if following is None:
            return
        call = following


def stop_remote(
    reference: str = "@last", *, wait: bool = True, runs_dir: str | Path | None = None
) -> RemoteEntry:
    """Let a remote run save and end; `train_on_modal(…, continued=True)` continues it."""
    from gymnast.remote import modal_client

    entry = remote_run(reference, runs_dir=runs_dir)
    if entry.status not in ("starting", "running", "interrupted", "again"):
        raise GymnastError(f"run {entry.run.id} is not being trained on Modal: it is {entry.status}")
    end, cancelled = time.monotonic() + _STOP_SECONDS, ""
    while True:
        if (call := entry.state.call or entry.run.call) != cancelled:  # it may move to a new one meanwhile
            modal_client.cancel(call)
            cancelled = call
        if not wait:
            return entry
        entry = _entry(entry.run)
        if entry.state.is_over() or entry.status in ("stopped", "lost"):
            return entry
        if time.monotonic() > end:  # it had no time to write down that it ended
            return _entry(entry.run, silent=True)
        time.sleep(0.5)


def pull_remote(
    reference: str = "@last", *, force: bool = False, runs_dir: str | Path | None = None
) -> ArrivedRun:
    """Bring a remote run, as it is at its last checkpoint, among the runs here; it may train on there."""
    from gymnast.api.archiving import arrived
    from gymnast.remote import modal_client
    from gymnast.remote.index import find_remote
    from gymnast.remote.pull import pull_run
    from gymnast.runs.store import runs_root

    root = runs_root(runs_dir)
    run = find_remote(root, reference)
    modal_client.connect()
    folder = pull_run(run.id, root, run.volume, force=force)
    return arrived(folder, f"modal:{run.volume}/{run.id}")


def _next_call(run: RemoteRun, call: str) -> str | None:
    """The call that took over when this one was out of time, if one did; that is known a moment later."""
    end = time.monotonic() + _PASS_ON_SECONDS
    while (state := _entry(run).state).state == "again" and state.call == call and time.monotonic() < end:
        time.sleep(0.5)
    return None if state.call in ("", call) else state.call


def _entry(run: RemoteRun, *, silent: bool = False) -> RemoteEntry:
    """A run as it is there; `silent` asks Modal even if its machine wrote something a moment ago."""
    from gymnast.remote import modal_client
    from gymnast.remote.state import state_from, state_name

    values = modal_client.read_volume_json(state_name(run.id))
    state = state_from(run.id, values)
    status = state.state if values is not None else "starting"
    if status in ("starting", "running", "interrupted", "again") and (silent or not state.is_alive()):
        ended = modal_client.call_status(state.call or run.call) if state.call or run.call else None
        if ended not in (None, "pending", "success"):
            status = "stopped" if ended == "terminated" else "lost"
        elif ended == "success" and status == "running":
            status = "lost"
    return RemoteEntry(run, state, status, run.dollars_per_hour * state.seconds / 3600)
