"""Which files of a run folder travel, and how large each may be. Anything else stays behind, both ways.

Left out are what belongs to one machine or process (`.lock`, `process.json`, `requests/`, `mark.json`, which
says who trusts the run), files of trackers, and whatever somebody else put there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gymnast.runs.files import (
    MOST_ARRAYS,
    MOST_CONFIG,
    MOST_JSON,
    MOST_METRICS,
    is_link,
    is_regular,
    list_folder,
)
from gymnast.runs.store import RunFolder

MOST_FILES = 5_000
MOST_BYTES = 64 << 30  # of a whole run

_MOST_PICTURE = 64 << 20
_MOST_TEXT = 256 << 20
_MOST_VIDEO = 4 << 30
_MOST_TRACE = 2_000_000_000
_STEPS = r"\d{12,15}"
_RECORDING = r"recordings/[0-9a-f]{10}"
# The only names that are ever written: no separators but those here, no dots at the start.
_KNOWN: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(name, re.ASCII), most)
    for name, most in (
        (r"config\.yaml", MOST_CONFIG),
        (r"(?:run|status|alerts|trackers|review|origin)\.json", MOST_JSON),
        (r"metrics\.csv", MOST_METRICS),
        (r"distributions\.bin", MOST_METRICS),
        (r"(?:report|review)\.md", MOST_JSON),
        (r"(?:run|console)\.log", _MOST_TEXT),
        (r"report/[a-z0-9_]{1,60}\.png", _MOST_PICTURE),
        (rf"checkpoints/{_STEPS}\.json", MOST_JSON),
        (rf"checkpoints/{_STEPS}(?:-1)?\.(?:policy|state)\.safetensors", MOST_ARRAYS),
        (rf"checkpoints/{_STEPS}\.steps\.csv", _MOST_TEXT),
        (r"checkpoints/config-[0-9a-f]{16}\.yaml", MOST_CONFIG),
        (r"videos/[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}\.mp4", _MOST_VIDEO),
        (rf"{_RECORDING}/recording\.json", MOST_JSON),
        (rf"{_RECORDING}/pictures\.bin", _MOST_TEXT),
        (rf"{_RECORDING}/trace/trace\.json", MOST_JSON),
        (rf"{_RECORDING}/trace/arrays-[0-9a-f]{{16}}\.safetensors", _MOST_TRACE),
        (rf"{_RECORDING}/trace/frames-[0-9a-f]{{16}}\.png", _MOST_TRACE),
    )
)
NEEDED = ("run.json", "config.yaml")


_FOLDERS = re.compile(rf"checkpoints|report|videos|recordings|{_RECORDING}(?:/trace)?", re.ASCII)


def most_bytes(name: str) -> int | None:
    """How large the file of this name may be; None if a run has no such file."""
    return next((most for pattern, most in _KNOWN if pattern.fullmatch(name)), None)


def travelling_files(run: RunFolder) -> list[str]:
    """The names of the files of a run that travel, in a fixed order; links and FIFOs do not."""
    return [name for name in _names(run) if most_bytes(name) is not None and is_regular(run.path / name)]


def left_behind(run: RunFolder) -> list[str]:
    """What a run's folder has beside them, for the user to know; the run's own scratch is not named."""
    own = {".lock", "mark.json", "process.json", "requests", "hub", "videos/best.mp4"}
    return [
        name
        for name in _names(run)
        if name not in own
        and not name.rpartition("/")[2].startswith(".")
        and (most_bytes(name) is None or not is_regular(run.path / name))
    ]


def _names(run: RunFolder, folder: str = "") -> Iterator[str]:
    """Names in the folder, with those in the folders that have files of ours."""
    for inner in sorted(list_folder(run.path / folder)):
        name = f"{folder}/{inner}" if folder else inner
        if _FOLDERS.fullmatch(name) and not is_link(run.path / name) and (run.path / name).is_dir():
            yield from _names(run, name)
        else:
            yield name
