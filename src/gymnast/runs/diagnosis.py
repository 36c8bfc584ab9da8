"""Diagnosing a run of ours: its metrics replayed as its own monitor saw them while it trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gymnast.errors import GymnastError
from gymnast.metrics.alerts.diagnosis import Diagnosis, replay
from gymnast.metrics.alerts.monitor import facts_of
from gymnast.metrics.csv_file import iterate_metrics
from gymnast.runs.alerts import read_alerts
from gymnast.runs.store import RunFolder
from gymnast.runs.summary import settings_of


def diagnose_run(run: RunFolder) -> Diagnosis:
    """What the rules find in the run's metrics, whatever state it is in."""
    notes: list[str] = []
    settings: dict[str, Any] = {}
    try:
        settings = settings_of(run)
    except GymnastError as error:
        notes.append(f"{error}; advice is given without present values")
    seen = as_seen(iterate_metrics(run.metrics_path), settings)
    monitor = replay(seen, facts_of(settings, _number(settings.get("env.spec.solved_at"))))
    kept = read_alerts(run)
    if not monitor.look.updates and not kept:
        raise GymnastError(
            f"run {run.id} has no metrics: a row is written after each update; see gymnast runs show {run.id}"
        )
    if not monitor.look.updates:
        notes.append(
            "metrics.csv has no rows that can be read; the alerts are those that the run itself kept"
        )
    # An update in which the loss became NaN has no row: only the run itself saw it.
    unseen = [alert for alert in kept if alert.last_step >= monitor.look.step]
    alerts = {alert.id: alert for alert in (*unseen, *monitor.raised())}
    return Diagnosis(
        str(run.path),
        "Gymnast",
        monitor.look.updates,
        monitor.look.step,
        tuple(alerts[id_] for id_ in sorted(alerts)),
        tuple(notes),
    )


def as_seen(rows: Iterable[Mapping[str, Any]], settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rows as the monitor got them. A run whose budget ends evaluates once more, which a longer run
    would not do there: that evaluation is in the file, but the monitor never saw it."""
    steps_before, best_before = 0, None
    for row in rows:
        steps = int(row.get("time/env_steps") or 0)
        at_end = row.get("time/progress", 0) >= 1 and "eval/return/mean" in row
        if at_end and not _evaluation_due(row, steps, steps_before, settings):
            seen = {key: value for key, value in row.items() if not key.startswith("eval/")}
            yield seen if best_before is None else seen | {"eval/best": best_before}
        else:
            yield row
        steps_before, best_before = steps, row.get("eval/best", best_before)


def _evaluation_due(row: Mapping[str, Any], steps: int, before: int, settings: Mapping[str, Any]) -> bool:
    """Whether the update was followed by an evaluation wherever the run ended, as `eval` schedules them."""
    every, warmup = _number(settings.get("eval.every")), _number(settings.get("eval.warmup"))
    if not every or steps // every <= before // every or steps < (warmup or 0):
        return False
    fraction = _number(settings.get("eval.from_train_fraction"))
    solved_at = _number(settings.get("env.spec.solved_at"))
    if fraction is None or solved_at is None:
        return True
    score = row.get("train/return_plain/mean") if row.get("time/episodes", 0) >= 100 else None
    return score is not None and bool(score >= solved_at - (1 - fraction) * abs(solved_at))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
