"""What was reported while a run trained: its log, searched and in pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError, did_you_mean, with_values_cut
from gymnast.redact import redact
from gymnast.runs.store import RunFolder

_MOST_LOG = 64 << 20
LOGS = ("run", "console")


@dataclass(frozen=True, slots=True)
class LogPage:
    """Lines of a log, and where they stand in it."""

    lines: tuple[str, ...]
    first: int  # the number of the first line, from 1; 0 without any
    matching: int  # lines that mention the text
    total: int


def read_log(
    run: str | Path | Run | RunFolder = "@last",
    *,
    log: str = "run",
    text: str = "",
    lines: int = 50,
    before: int | None = None,
    runs_dir: str | Path | None = None,
) -> LogPage:
    """The last lines that mention `text`, or those before line `before`. Logs: run, and console of a detached
    run. Secrets are hidden."""
    if log not in LOGS:
        raise GymnastError(f"no log {log!r}: {', '.join(LOGS)}{did_you_mean(log, LOGS)}")
    if lines < 1:
        raise GymnastError(f"lines must be at least 1, got {lines}")
    folder = folder_of(run, runs_dir)
    numbered = list(enumerate(_content(folder, log).splitlines(), 1))
    found = [(number, line) for number, line in numbered if text.lower() in line.lower()]
    page = [pair for pair in found if before is None or pair[0] < before][-lines:]
    return LogPage(
        lines=tuple(with_values_cut(redact(line)) for _, line in page),
        first=page[0][0] if page else 0,
        matching=len(found),
        total=len(numbered),
    )


def _content(folder: RunFolder, log: str) -> str:
    from gymnast.runs.files import read_bytes

    path = folder.log_path if log == "run" else folder.console_path
    try:
        return read_bytes(path, _MOST_LOG).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise GymnastError(f"the log of run {folder.id} cannot be read: {error.strerror or error}") from error
