"""`gymnast train … --run-id ID --continue`: the command that a scheduler may give again and again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.api import Run

EXIT_AGAIN = 3


def check_continuing(reference: str | None, run_id: str | None, continued: bool, detach: bool) -> None:
    """Raise GymnastError for options that do not go together."""
    if run_id is not None and reference is None:
        raise GymnastError("--run-id is for what starts a run: name what to train, or leave it out")
    if not continued:
        return
    if reference is None:
        raise GymnastError(
            "--continue starts a run or continues it, so it needs what to train and --run-id ID; a run that"
            " is there already continues with --resume"
        )
    if run_id is None:
        raise GymnastError("--continue needs --run-id ID: the run to start, or to continue")
    if detach:
        raise GymnastError("--continue ends when the run does, and --detach at once: give one of them")


@contextmanager
def again_on_sigterm() -> Iterator[None]:
    """Before and after training a SIGTERM has nothing to save; the exit code is the same as after saving."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(EXIT_AGAIN)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)


def with_next(run: Run) -> dict[str, Any]:
    """What `--continue --json` prints: also whether the same command has to be given again."""
    return run.to_json() | {"next": "again" if run.outcome.status == "interrupted" else "done"}
