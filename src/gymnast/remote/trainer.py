"""The training process on a rented machine: starts or continues the run, exits as `gymnast train` does."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.metrics.sinks.plain import PlainConsole
from gymnast.processes.output import captured
from gymnast.remote.keeper import PAUSED
from gymnast.remote.spec import read_spec
from gymnast.runs.files import read_text, write_atomic
from gymnast.runs.store import RunFolder, is_run
from gymnast.terminal.text import echo
from gymnast.training.requests import AnyOf
from gymnast.training.run.observers import Observers
from gymnast.training.run.start_or_continue import start_or_continue
from gymnast.training.run.step_limit import StepLimit, waits_at
from gymnast.training.run.time_limit import TimeLimit

_CODES = {"failed": 1, "interrupted": 3}


def main(order: str, root: str, seconds: str) -> None:
    """Train what the file `order` holds, as a run in the folder `root`, for so long."""
    with captured(partial(echo, err=True)):
        code = _train(Path(order), Path(root), float(seconds))
    sys.exit(code)


def _train(order: Path, root: Path, seconds: float) -> int:
    console = PlainConsole()
    try:
        spec = read_spec(read_text(order))
        time_limit, leg = TimeLimit(seconds, console.note), StepLimit(spec.stop_at)
        observers = Observers(console=console, requests=AnyOf(time_limit, leg), sinks=(leg,))
        run = RunFolder(root / spec.run_id)
        while True:
            if spec.stop_at is not None and is_run(run) and waits_at(run, spec.stop_at):
                return PAUSED
            _, outcome = start_or_continue(spec.resolved(), root, spec.run_id, lambda: None, observers)
            short = leg.is_short(outcome.env_steps) and not time_limit.stop_asked()
            if outcome.status != "interrupted" or not short:
                break
    except GymnastError as error:
        console.note(str(error), "error")
        write_atomic(root / "error.txt", str(error), durable=False)
        return error.exit_code
    finally:
        console.close()
    reached = spec.stop_at is not None and outcome.env_steps >= spec.stop_at
    return PAUSED if reached and outcome.status == "interrupted" else _CODES.get(outcome.status, 0)
