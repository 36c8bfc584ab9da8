"""Errors that the user can fix: each is one clear message, never a traceback."""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Iterable
from pathlib import Path

_MOST_SHOWN = 80  # characters of a long value
_LONG_LINE = 1200  # characters of a message's line; what is longer has values in it that nothing marks
_QUOTED = re.compile(r"""(?<!\w)(?:'([^'\n]*)'|"([^"\n]*)")(?!\w)""")
_UNBROKEN = re.compile(r"\S{400,}")  # longer than any sensible path


def cut(text: str, most: int = _MOST_SHOWN) -> str:
    """A long text as its beginning and its length; one that is not much longer stays whole."""
    return text if len(text) <= 2 * most else f"{text[:most]}… ({len(text):,} characters)"


def with_values_cut(message: str) -> str:
    """A message without the bulk of the values that it quotes."""
    if len(message) <= 2 * _MOST_SHOWN:
        return message
    message = _QUOTED.sub(lambda quoted: cut(quoted[0]), message)
    message = _UNBROKEN.sub(lambda word: cut(word[0]), message)
    return "\n".join(cut(line, _LONG_LINE // 2) for line in message.split("\n"))


class GymnastError(Exception):
    """Bad input: the message names what was wrong, where, and the nearest valid choice."""

    exit_code = 2

    def __init__(self, message: object = "") -> None:
        super().__init__(with_values_cut(str(message)))


class RunFailed(GymnastError):
    """Training started and could not continue (an env raised, NaN, a full disk)."""

    exit_code = 1


class UntrustedRun(GymnastError):
    """A run that was not made here would import code or read environment variables."""

    def __init__(self, run_id: str, wanted: Iterable[str]) -> None:
        lines = "".join(f"\n  {access}" for access in wanted)
        super().__init__(
            f"run {run_id} was made elsewhere or changed since, and its config is not trusted:{lines}"
            "\nif you know what this is, give --trust (from Python: trust=True)"
        )


class RunElsewhere(GymnastError):
    """A run that is not here, and whence it can be pulled; a terminal is asked whether it should be."""

    def __init__(self, message: str, source: str, root: Path, *, is_certain: bool) -> None:
        super().__init__(message)
        self.source, self.root = source, root
        self.is_certain = is_certain  # whether a run was meant, and not an environment of a like name


class MissingExtra(GymnastError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'gymnast[{extra}]'")
        self.extra = extra


class MissingGame(GymnastError):
    """A game whose own files, such as a ROM, only the user can provide."""


def described(error: BaseException) -> str:
    """'ValueError: no such track (my_env.py:42)': an error of someone else's code, and where it was raised.

    The place is the innermost one that is neither ours nor Gymnasium's, NumPy's or Python's own.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    files = [(frame.f_code.co_filename, frame.f_lineno) for frame in frames]
    places = [place for place in files if not _is_ours(place[0]) and not _is_library(place[0])]
    if isinstance(error, SyntaxError) and error.filename is not None:
        places, text = [(error.filename, error.lineno or 0)], error.msg
    else:
        text = str(error)
    place = f" ({Path(places[-1][0]).name}:{places[-1][1]})" if places else ""
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"


def _is_ours(file: str) -> bool:
    return file.startswith(os.path.dirname(__file__) + os.sep)  # noqa: PTH120


def _is_library(file: str) -> bool:
    """Whether the file is of a package that env authors call, or of Python itself."""
    _, _, package = file.rpartition(f"site-packages{os.sep}")
    if package != file:
        parts = Path(package).parts
        is_env = parts[:2] == ("gymnasium", "envs") and parts[-1] != "registration.py"
        return parts[0] in ("gymnasium", "numpy", "torch") and not is_env
    return file.startswith(("<frozen", os.path.dirname(os.__file__) + os.sep))  # noqa: PTH120


def nearest(word: str, choices: Iterable[str], count: int = 3) -> list[str]:
    """The choices that read most like `word`, best first, whatever the case."""
    by_lower = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), by_lower, n=count, cutoff=0.5)
    inside = [lower for lower in by_lower if word.lower() in lower and lower not in close]
    return [by_lower[lower] for lower in (close + sorted(inside, key=len))[:count]]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """' (did you mean …?)' or an empty string, to end a message with."""
    close = nearest(word, choices)
    return f" (did you mean {' or '.join(repr(c) for c in close)}?)" if close else ""
