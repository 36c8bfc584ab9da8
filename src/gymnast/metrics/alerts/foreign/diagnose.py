"""Diagnosing a file: metrics.csv without its run, progress.csv of Stable-Baselines3, TensorBoard events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from gymnast.errors import GymnastError
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.alerts.diagnosis import Diagnosis, replay
from gymnast.metrics.alerts.foreign.dialects import EXPECTED, OURS
from gymnast.metrics.alerts.foreign.events import Events, is_event_file, read_events
from gymnast.metrics.alerts.foreign.table import read_table
from gymnast.metrics.alerts.foreign.translate import Translated, dialect_of, read_arguments, translate
from gymnast.metrics.alerts.rule import AlertRule
from gymnast.metrics.alerts.table import all_rules

_EVENTS = "*tfevents*"
_TABLES = ("metrics.csv", "progress.csv")
_MOST_FILES = 200  # of one folder
_SETTING = re.compile(r"\b(?:algo|policy|env|eval|explore|budget|stop)\.[a-z_]+(?:\.[a-z_]+)*")


def files_in(folder: Path) -> list[Path]:
    """What a folder holds that can be diagnosed: one table, or event files in the order of their names."""
    for name in _TABLES:
        if (folder / name).is_file():
            return [folder / name]
    if found := sorted(path for path in folder.glob(_EVENTS) if path.is_file())[:_MOST_FILES]:
        return found
    inner = sorted(
        path
        for path in folder.iterdir()
        if path.is_dir() and (any((path / name).is_file() for name in _TABLES) or any(path.glob(_EVENTS)))
    )
    if len(inner) == 1:
        return files_in(inner[0])
    if inner:
        shown = ", ".join(path.name for path in inner[:4]) + (" …" if len(inner) > 4 else "")
        raise GymnastError(f"{folder} holds {len(inner)} runs; name one of them: {shown}")
    raise GymnastError(
        f"{folder} holds no metrics: no metrics.csv, no progress.csv and no TensorBoard event file"
    )


def diagnose_files(paths: Sequence[Path], source: str) -> Diagnosis:
    """What the rules find in one table, or in the event files of one run."""
    notes: list[str] = []
    made = _read_events(paths, notes) if is_event_file(paths[0]) else _read_table(paths[0], notes)
    if not made.rows:
        raise GymnastError(f"{source} has a header but no rows: the run recorded nothing yet")
    monitor = replay(made.rows, made.facts)
    rules = {rule.id: rule for rule in all_rules()}
    return Diagnosis(
        source,
        made.dialect.name,
        len(made.rows),
        monitor.look.step,
        tuple(in_their_words(alert, rules[alert.id], made) for alert in monitor.raised()),
        tuple(notes),
    )


def _read_table(path: Path, notes: list[str]) -> Translated:
    table = read_table(path)
    dialect = dialect_of(table.columns)
    if dialect is None:
        _refuse(path, table.columns)
    if table.damaged:
        notes.append(f"{table.damaged:,} damaged row{'s' if table.damaged > 1 else ''} left out")
    if table.cut_off:
        notes.append("the last row is half written and was left out")
    return translate(dialect, ((None, row) for row in table.rows))


def _read_events(paths: Sequence[Path], notes: list[str]) -> Translated:
    events = Events()
    for path in paths:
        if is_event_file(path):
            read_events(path, events)
    names = list(dict.fromkeys(tag for _, tag, _ in events.scalars))
    dialect = dialect_of(names)
    if dialect is None:
        _refuse(paths[0], names)
    if events.damaged:
        notes.append(f"{events.damaged:,} damaged record{'s' if events.damaged > 1 else ''} left out")
    if events.cut_off:
        notes.append("the end of the file is half written or damaged; read up to there")
    arguments = read_arguments(events.texts.get("hyperparameters/text_summary", ""))
    return translate(dialect, ((step, {tag: value}) for step, tag, value in events.scalars), arguments)


def _refuse(path: Path, names: list[str]) -> NoReturn:
    shown = ", ".join(name[:40] for name in names[:4]) + (" …" if len(names) > 4 else "")
    found = f"none of its {len(names)} columns is known ({shown})" if names else "it holds no scalars"
    raise GymnastError(f"{path}: {found}; expected names such as {EXPECTED}")


def in_their_words(alert: Alert, rule: AlertRule, made: Translated) -> Alert:
    """The same with the names that the file's own library uses."""
    dialect, names = made.dialect, made.names
    if dialect is OURS:
        return alert
    metric = dialect.shown(alert.metric, names)
    message = alert.message
    for key in sorted({*rule.reads, alert.metric}, key=len, reverse=True):
        if key in message:
            message = message.replace(key, dialect.shown(key, names))
    for key, how in made.remarks.items():
        if key in rule.reads and dialect.shown(key, names) == metric:
            message = f"{message} ({how})"
    advice = "; ".join(dict.fromkeys(_translated(alert.advice, made)))
    return replace(
        alert, metric=metric, message=message, advice=advice or f"see gymnast diagnose --explain {alert.id}"
    )


def _translated(advice: str, made: Translated) -> Iterator[str]:
    """Each piece of advice in the names of that library; what it cannot do is left out."""
    for piece in (part.removeprefix("or ") for part in advice.split("; ") if part):
        keys = _SETTING.findall(piece)
        if other := next((key for key in keys if key in made.facts.instead), None):
            yield made.facts.instead[other]
        elif all(made.facts.name(key) for key in keys):
            yield _SETTING.sub(lambda found: made.facts.name(found[0]) or "", piece)
