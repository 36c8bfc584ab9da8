"""Starting and continuing a sweep: the folder, its lock, signals, the executor, and the report at the end."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError
from gymnast.runs.store import now
from gymnast.sweeps.default_space import own_values
from gymnast.sweeps.driver import Driver, Watch
from gymnast.sweeps.executors import Notify, open_executor
from gymnast.sweeps.folder import SweepFolder, create_sweep
from gymnast.sweeps.planning import Wanted, make_plan
from gymnast.sweeps.search import Proposal
from gymnast.sweeps.state import SweepState
from gymnast.sweeps.warm_start import first_proposals
from gymnast.trials.trial import Executor


def start_sweep(
    wanted: Wanted, root: Path, watch: Watch | None = None, notify: Notify = lambda text: None
) -> tuple[SweepFolder, SweepState]:
    """A new sweep. Nothing is written before everything has been checked; `notify` gets what it may cost."""
    plan, resolved = make_plan(wanted, root)
    proposals, observed = first_proposals(plan, resolved, root)
    state = SweepState("", plan, now(), observed=observed, own=own_values(resolved.config, plan.space))
    with _executor(state, root, notify) as (executor, stop):
        folder = create_sweep(root)
        state.id = folder.id
        with folder.lock():
            folder.write(state, durable=True)
            state = Driver(folder, state, executor, watch or _nobody, stop, proposals).run()
    return folder, _reported(folder, state)


def continue_sweep(
    folder: SweepFolder,
    watch: Watch | None = None,
    workers: int | None = None,
    trials: int | None = None,
    max_cost: float | None = None,
    notify: Notify = lambda text: None,
) -> SweepState:
    """Where it was left, however that was. `trials` and `max_cost` are new totals."""
    with folder.lock():
        state = folder.read()
        if trials is not None:
            _extend(state, trials)
        if state.stage == "done":
            raise GymnastError(
                f"sweep {folder.id} is finished; more trials: gymnast sweep resume {folder.id} --trials "
                f"{2 * state.plan.trials}"
            )
        if workers is not None:
            state.plan = _changed(state.plan, workers=workers)
        if max_cost is not None:
            if state.plan.executor != "modal":
                raise GymnastError(f"--max-cost is for sweeps on modal, and sweep {folder.id} is not one")
            state.plan = _changed(state.plan, machine={**state.plan.machine, "max_cost": max_cost})
        proposals = _missing(state, folder)
        with _executor(state, folder.runs_root, notify) as (executor, stop):
            state = Driver(folder, state, executor, watch or _nobody, stop, proposals).run()
        return _reported(folder, state)


def _missing(state: SweepState, folder: SweepFolder) -> list[Proposal]:
    """What was to be tried first and was not yet when the driver was killed."""
    from gymnast.config.load import load_config

    if any(trial.origin == state.plan.method for trial in state.trials):
        return []
    plan = state.plan
    resolved = load_config(plan.reference, plan.overrides, config_dirs=[Path(d) for d in plan.config_dirs])
    proposals, _ = first_proposals(plan, resolved, folder.runs_root)
    tried = [trial.settings for trial in state.trials]
    own = f"run {state.id}-"
    return [item for item in proposals if item.settings not in tried and not item.note.startswith(own)]


def _extend(state: SweepState, trials: int) -> None:
    if trials <= len(state.trials):
        raise GymnastError(
            f"sweep {state.id} has {len(state.trials)} trials already; --trials is a new total"
        )
    state.plan = _changed(state.plan, trials=trials)
    if state.stage != "search":  # the race begins again when the search is over
        state.stage, state.winner, state.contenders = "search", None, []
        for trial in state.trials:
            trial.runs = trial.of("search")


def _changed(plan: Any, **values: Any) -> Any:
    from dataclasses import replace

    return replace(plan, **values)


@contextmanager
def _executor(state: SweepState, root: Path, notify: Notify) -> Iterator[tuple[Executor, Callable[[], bool]]]:
    """What trains the runs, and whether somebody asks to stop."""
    with _signals() as stop:
        executor = open_executor(state, root, notify)
        try:
            yield executor, stop
        finally:
            executor.close()


def _reported(folder: SweepFolder, state: SweepState) -> SweepState:
    if state.status == "finished":
        from gymnast.sweeps.report import write_report

        try:
            write_report(folder, state)
        except (GymnastError, OSError) as error:  # the sweep itself is saved
            logging.getLogger("gymnast").warning("no report of sweep %s: %s", folder.id, error)
    return state


def _nobody(folder: SweepFolder, state: SweepState) -> None:
    """Nobody watches."""


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Whether somebody asks to stop; a second Ctrl-C raises KeyboardInterrupt."""
    asked: list[int] = []

    def take(number: int, frame: Any) -> None:
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt

    def is_asked() -> bool:
        return bool(asked)

    if threading.current_thread() is not threading.main_thread():
        yield is_asked
        return
    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield is_asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
