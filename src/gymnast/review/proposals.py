"""Proposals of a model, checked as if the user had typed them: what is wrong is named, what would run code is
refused, and the rest is one command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gymnast.config.dump import flat_data
from gymnast.config.overrides import parse_override, texts_in
from gymnast.errors import GymnastError, did_you_mean
from gymnast.reports.text import clean
from gymnast.review.answer import Suggestion
from gymnast.review.fits import check_buildable
from gymnast.review.refused_keys import is_refused_key
from gymnast.review.start import Start, start_of
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import accesses, load_run_config, refuse_secrets

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")  # as a command line has it
_MOST_VALUE = 500


@dataclass(frozen=True, slots=True)
class Proposal:
    """A training that a model proposes, and whether it can be started."""

    run: str  # the run whose settings it changes
    title: str
    why: str
    overrides: tuple[str, ...]  # key=value
    start: Start | None  # None: refused
    problem: str = ""  # why

    @property
    def is_ready(self) -> bool:
        return self.start is not None

    @property
    def command(self) -> str:
        """What to type, quoted for a shell; empty if it was refused."""
        return "" if self.start is None else f"gymnast train {self.start.command}"


def check_proposal(suggestion: Suggestion, runs: Mapping[str, RunFolder]) -> Proposal:
    """Against the config of the run that it names; `runs` are those under review, the first by default."""
    words = tuple(f"{key}={value}" for key, value in suggestion.overrides)
    run_id = suggestion.run.removeprefix("run ").strip() or next(iter(runs))
    shown = tuple(clean(word, 200) for word in words)
    try:
        if run_id not in runs:
            raise GymnastError(f"no run {run_id!r} is under review{did_you_mean(run_id, runs)}")
        start = _checked(runs[run_id], suggestion.overrides, words)
    except GymnastError as error:
        problem = clean(" ".join(str(error).split()), 400)
        return Proposal(run_id, suggestion.title, suggestion.why, shown, None, problem)
    return Proposal(run_id, suggestion.title, suggestion.why, words, start)


def _checked(run: RunFolder, pairs: tuple[tuple[str, str], ...], words: tuple[str, ...]) -> Start:
    if not pairs:
        raise GymnastError("it changes no setting")
    for (key, value), word in zip(pairs, words, strict=True):
        _refuse_odd(key, value)
        path, parsed = parse_override(word)
        for leaf in flat_data(parsed, ".".join(path)) or {".".join(path): None}:
            if is_refused_key(leaf):
                raise GymnastError(f"{leaf} may name code, files or services: a model may not set it")
    for text in texts_in(words):
        if "${" in text:
            raise GymnastError(f"{text!r} would read an environment variable: a model may not")
    before = load_run_config(run)
    after = load_run_config(run, words)
    known = {access.name for access in accesses(before)}
    for access in accesses(after):
        if access.name not in known:
            raise GymnastError(
                f"{access.setting} {access.name!r} would import code: a model may not name any"
            )
    refuse_secrets(after)
    if after == before:
        raise GymnastError("the run has these settings already")
    check_buildable(after)
    return start_of(run, after, words)


def _refuse_odd(key: str, value: str) -> None:
    if not _KEY.fullmatch(key):
        raise GymnastError(f"{key!r} is not the key of a setting")
    if len(value) > _MOST_VALUE:
        raise GymnastError(f"{key}: a value of more than {_MOST_VALUE} characters")
    if not value or not value.isprintable():
        raise GymnastError(f"{key}: {value!r} is not a value" if value else f"{key} has no value")
