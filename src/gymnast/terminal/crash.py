"""A fault of ours (or of a library): the traceback goes to a file, one line to the terminal."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import tempfile
import time
import traceback
from pathlib import Path

from gymnast import __version__
from gymnast.errors import cut
from gymnast.redact import redact

_KEPT = 20  # files


def crash_message(error: BaseException) -> str:
    """What to print of an unexpected exception: what and where it was, and the file of its traceback."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" ({Path(last[0].filename).name}, line {last[0].lineno})" if last else ""
    text = redact(" ".join(_text_of(error).split()))
    what = f"{type(error).__name__}: {cut(text)}" if text else type(error).__name__
    path = _save(error)
    where = f"the full traceback is in {path}" if path else "set GYMNAST_DEBUG=1 to see the traceback"
    return f"unexpected {what}{place}; {where}"


def _save(error: BaseException) -> Path | None:
    """The traceback in the user's cache folder, else in that for temporary files; None if in neither."""
    lines = "".join(traceback.format_exception(error))
    report = (
        f"gymnast {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"command: {shlex.join(sys.argv)}\nfolder: {_folder_name()}\n\n{lines}"
    )
    for folder in (_folder(), None):
        try:
            if folder is not None:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _remove_old(folder)
            # A new file of a name that nobody can foresee, for this user alone (mode 0600).
            prefix = time.strftime("gymnast-%Y%m%d-%H%M%S-")
            fd, name = tempfile.mkstemp(prefix=prefix, suffix=".txt", dir=folder)
            with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(redact(report))
            return Path(name)
        except OSError:
            continue
    return None


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # its class is not ours either
        return ""


def _folder() -> Path | None:
    own, base = os.environ.get("GYMNAST_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    if own:
        return Path(own) / "crashes"
    try:
        return (Path(base) if base else Path.home() / ".cache") / "gymnast" / "crashes"
    except RuntimeError:  # no home
        return None


def _folder_name() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  - a removed folder has no path
    except OSError:
        return "unknown"


def _remove_old(folder: Path) -> None:
    for old in sorted(folder.glob("gymnast-*.txt"))[: -_KEPT + 1]:
        old.unlink(missing_ok=True)
