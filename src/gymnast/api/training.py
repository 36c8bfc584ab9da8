"""Training: start a run, or resume one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import Folders, folders, maybe_seconds, maybe_whole, plain_overrides
from gymnast.api.run import Overrides, Run, folder_of, read_weights
from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.config.load import ResolvedConfig
    from gymnast.metrics.sinks.console import Console
    from gymnast.metrics.sinks.sink import Sink
    from gymnast.training.hooks import Hook
    from gymnast.training.requests import Requests
    from gymnast.training.run.observers import Observers


def train(
    reference: str | Path,
    *,
    overrides: Overrides = (),
    max_env_steps: int | str | None = None,
    wall_time: float | str | None = None,
    init_from: str | Path | Run | None = None,
    runs_dir: str | Path | None = None,
    console: Console | None = None,
    requests: Requests | None = None,
    sinks: Sequence[Sink] = (),
    hooks: Sequence[Hook] = (),
    track: Sequence[str] = (),
    config_dirs: Folders = (),
    run_id: str | None = None,
    continued: bool = False,
    max_duration: float | str | None = None,
) -> Run:
    """Train what `reference` names (a preset, a file, or any registered env) as a new run.

    `console` shows progress, `requests` may ask for something while it trains, `sinks` get a report per
    update, and `hooks` may change hyperparameters or stop the run. `track` names trackers: wandb,
    wandb=offline, trackio, tensorboard. `config_dirs` are searched for configs before the folders that always
    are. `run_id` is the id of the new run, which is drawn if none is given.

    With `continued` a run that has this id already is brought to its end instead, from wherever it is; one
    that is over is returned as it ended. After `max_duration` of this call the run is saved and interrupted.
    """
    if continued and run_id is None:
        raise GymnastError("to continue a run it must have an id: give run_id as well")
    early = _names_a_module(str(reference))
    requests = _limited(requests, max_duration, console)
    observers = _observers(console, requests, sinks, hooks, track)
    if early:
        observers.console.note(f"setting up {reference} …")

    from gymnast.config.load import load_config
    from gymnast.runs.store import runs_root
    from gymnast.training.run.launch import start_run

    changes = with_budget(overrides, max_env_steps, wall_time)
    resolved = load_config(str(reference), changes, config_dirs=folders(config_dirs))
    if continued and run_id is not None:
        return _start_or_continue(resolved, run_id, init_from, runs_dir, observers)
    start = read_weights(init_from, runs_dir) if init_from is not None else None
    if not early:  # before what may take a while: torch, many envs
        observers.console.note(f"setting up {reference} …")
    return Run(*start_run(resolved, runs_root(runs_dir), start, observers, run_id))


def resume(
    run: str | Path | Run = "@last",
    *,
    overrides: Overrides = (),
    fresh_optimizer: bool = False,
    max_env_steps: int | str | None = None,
    wall_time: float | str | None = None,
    runs_dir: str | Path | None = None,
    console: Console | None = None,
    requests: Requests | None = None,
    sinks: Sequence[Sink] = (),
    hooks: Sequence[Hook] = (),
    track: Sequence[str] = (),
    trust: bool = False,
    max_duration: float | str | None = None,
) -> Run:
    """Resume a run from its last checkpoint: exactly, or with changed settings.

    `trust` lets a run from elsewhere import the code that it names, from now on without asking. After
    `max_duration` of this call the run is saved and interrupted.
    """
    folder = folder_of(run, runs_dir)
    requests = _limited(requests, max_duration, console)
    observers = _observers(console, requests, sinks, hooks, track)
    observers.console.note(f"setting up run {folder.id} …")

    from gymnast.training.run.launch import continue_run

    changes = with_budget(overrides, max_env_steps, wall_time)
    return Run(folder, continue_run(folder, changes, fresh_optimizer, observers, trust=trust))


def _start_or_continue(
    resolved: ResolvedConfig,
    run_id: str,
    init_from: str | Path | Run | None,
    runs_dir: str | Path | None,
    observers: Observers,
) -> Run:
    from gymnast.runs.store import runs_root
    from gymnast.training.run.start_or_continue import start_or_continue

    def weights() -> Any:  # asked for by a new run alone: what it started from may be gone later
        return read_weights(init_from, runs_dir) if init_from is not None else None

    observers.console.note(f"setting up run {run_id} …")
    return Run(*start_or_continue(resolved, runs_root(runs_dir), run_id, weights, observers))


def _limited(
    requests: Requests | None, max_duration: float | str | None, console: Console | None
) -> Requests | None:
    """The requests, and one to stop once this call has lasted so long."""
    seconds = maybe_seconds("max_duration", max_duration)
    if seconds is None:
        return requests
    from gymnast.metrics.sinks.console import QuietConsole
    from gymnast.training.requests import AnyOf
    from gymnast.training.run.time_limit import TimeLimit

    limit = TimeLimit(seconds, (console or QuietConsole()).note)
    return AnyOf(limit) if requests is None else AnyOf(requests, limit)


def _names_a_module(reference: str) -> bool:
    """Whether an env of someone else's is imported and built already to find its settings."""
    return ":" in reference and reference.partition(":")[0].replace(".", "").isidentifier()


def _observers(
    console: Console | None,
    requests: Requests | None,
    sinks: Sequence[Sink],
    hooks: Sequence[Hook],
    track: Sequence[str],
) -> Observers:
    from gymnast.metrics.sinks.console import QuietConsole
    from gymnast.training.requests import AnyOf
    from gymnast.training.run.observers import Observers

    wanted = (track,) if isinstance(track, str) else tuple(track)
    return Observers(console or QuietConsole(), requests or AnyOf(), tuple(sinks), tuple(hooks), wanted)


def captured_output() -> AbstractContextManager[None]:
    """Inside it, what envs print goes to the run's log, or to standard error at the end if there is none.

    It redirects the descriptors 1 and 2 of the whole process; consoles still write where they did.
    """
    from gymnast.processes.output import captured
    from gymnast.terminal.text import echo

    return captured(partial(echo, err=True))


def place_settings(where: str) -> list[str]:
    """The overrides that `gymnast train --on WHERE` stands for: local:4, ray, ray://HOST:PORT or none."""
    from gymnast.cluster.where import settings_of

    return [f"{key}={'null' if value is None else value}" for key, value in settings_of(where).items()]


def parse_count(text: str) -> int:
    """'300k', '2M' or '1e6' as a number; ValueError if it is not a count."""
    from gymnast.config import values

    return values.parse_count(text)


def parse_duration(text: str) -> float:
    """'90s', '10m' or '2h' in seconds; ValueError if it is not a duration."""
    from gymnast.config import values

    return values.parse_duration(text)


def with_budget(
    overrides: Overrides, max_env_steps: int | str | None, wall_time: float | str | None
) -> list[Any] | dict[str, Any]:
    """The two budget options are overrides like any other; env steps replace vectorised ones."""
    changes: dict[str, Any] = {}
    if (steps := maybe_whole("max_env_steps", max_env_steps)) is not None:
        changes |= {"budget.env_steps": steps, "budget.vec_steps": None}
    if (seconds := maybe_seconds("wall_time", wall_time)) is not None:
        changes["budget.wall_time"] = seconds
    given = plain_overrides(overrides)
    if isinstance(given, dict):
        return {**given, **changes}
    return [*given, *(f"{key}={'null' if value is None else value}" for key, value in changes.items())]
