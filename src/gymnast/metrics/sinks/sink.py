"""What watches a training: the metrics file, a console, a tracker, or an object of the user's own.

A sink is one class and one line in `metrics/sinks/table.py`; or it is passed to `api.train`, or named by
import path in the config.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from gymnast.metrics.sinks.console import RunHeader
    from gymnast.training.report import Report
    from gymnast.training.run.outcome import Outcome

Style = Literal["info", "good", "warning", "error"]


class Sink:
    """Does nothing: override what is needed. Calls come from the training thread: return at once."""

    # Whether the run ends if this sink fails. Any other is dropped at its first exception.
    essential: ClassVar[bool] = False

    def started(self, header: RunHeader) -> None:
        """Training begins."""

    def take(self, report: Report) -> None:
        """An update is over."""

    def note(self, text: str, style: Style = "info") -> None:
        """Something worth a line has happened."""

    def paused(self, flag: bool) -> None:
        """Training was paused, or continues."""

    def row_metrics(self) -> Mapping[str, int]:
        """Counts of its own that belong into the rows; those of several sinks are added up."""
        return {}

    def video(self, path: Path, env_steps: int) -> None:
        """The run has written a video of the weights of this step."""

    def checkpoint(self, env_steps: int, reason: str) -> None:
        """A checkpoint was written."""

    def finished(self, outcome: Outcome) -> None:
        """Training is over."""

    def ended(self, outcome: Outcome) -> None:
        """Training is over, also where an error ended it: begin to deliver what is left."""

    def deliver(self, note: Callable[[str], None]) -> None:
        """Wait until everything is delivered, for a limited time; `note` tells the user why."""

    def close(self) -> None:
        """Nothing more will come."""


class Sinks:
    """All sinks of a run. One that is not essential is dropped at its first exception, with a warning."""

    def __init__(self, sinks: Iterable[Sink], warn: Callable[[str], None]) -> None:
        self._sinks = list(sinks)
        self._warn = warn
        self._counting = [sink for sink in self._sinks if type(sink).row_metrics is not Sink.row_metrics]

    def started(self, header: RunHeader) -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.started(header)

    def take(self, report: Report) -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.take(report)

    def note(self, text: str, style: Style = "info") -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.note(text, style)

    def paused(self, flag: bool) -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.paused(flag)

    def row_metrics(self) -> Mapping[str, int]:
        """What sinks count, added up; nothing in a run without such sinks."""
        total: Counter[str] = Counter()
        for sink in self._counting:
            with self._guarded(sink):
                total.update(sink.row_metrics())
        return total

    def video(self, path: Path, env_steps: int) -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.video(path, env_steps)

    def checkpoint(self, env_steps: int, reason: str) -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.checkpoint(env_steps, reason)

    def finished(self, outcome: Outcome) -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.finished(outcome)

    def deliver(self, outcome: Outcome, *, wait: bool = True) -> None:
        """On every way out: all sinks begin to deliver what is left, then each is waited for."""
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.ended(outcome)
        for sink in tuple(self._sinks) if wait else ():
            with self._guarded(sink):
                sink.deliver(self.note)

    def close(self) -> None:
        for sink in tuple(self._sinks):
            with self._guarded(sink):
                sink.close()

    @contextmanager
    def _guarded(self, sink: Sink) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if sink.essential:
                raise
            self._sinks.remove(sink)
            self._counting = [other for other in self._counting if other is not sink]
            with suppress(Exception):
                sink.close()
            self._warn(
                f"sink {type(sink).__name__} raised {type(error).__name__}: {error}; "
                "training continues without it"
            )
