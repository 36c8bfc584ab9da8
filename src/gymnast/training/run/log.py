"""run.log: what was reported while a run trained, with the time."""

from __future__ import annotations

import io
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO

from gymnast.redact import redact
from gymnast.runs.files import open_append, write_failed


def append_to_log(path: Path, text: str, mark: str = "") -> None:
    """Log something from outside a training's own messages, such as what an env printed."""
    with RunLog(path) as log:
        log.write("\n".join(f"{mark}{line}" for line in text.splitlines()))


class RunLog:
    """Appends lines; a resumed run continues the same file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: TextIO = io.TextIOWrapper(open_append(path), "utf-8", line_buffering=True)
        except OSError as error:
            raise write_failed(path, error) from error

    def write(self, text: str) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            self._file.write("".join(f"{stamp} {line}\n" for line in redact(text).splitlines()))
        except OSError as error:
            raise write_failed(self._path, error) from error

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # a failed write was reported by `write`
            self._file.close()
