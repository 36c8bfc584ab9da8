"""Reading a run's alerts.json: {"alerts": [{"id": "kl.high", "severity": "warning", …}, …]}."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from typing import Any

from gymnast.errors import cut
from gymnast.metrics.alerts.alert import SEVERITIES, Alert
from gymnast.runs.files import read_json
from gymnast.runs.store import RunFolder

_ID = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*")  # also a file name in the docs
_LONGEST_ID, _LONGEST_METRIC, _LONGEST_TEXT = 60, 200, 600
_MOST_ALERTS = 1000  # there are some fifty rules
_COUNTS = range(2**63)
_warn = logging.getLogger("gymnast").warning


def read_alerts(run: RunFolder, warn: Callable[[str], object] = _warn) -> list[Alert]:
    """All alerts that the run ever raised, by id; none if it has no such file. What is damaged is left out,
    and `warn` is told once."""
    if not os.path.lexists(run.alerts_path):
        return []
    document = read_json(run.alerts_path)
    items = document.get("alerts") if document is not None else None
    if not isinstance(items, list):
        warn(f"the alerts of run {run.id} cannot be read: alerts.json is damaged")
        return []
    found = [alert for alert in map(_alert, items[:_MOST_ALERTS]) if alert is not None]
    if lost := len(items) - len(found):
        warn(f"{'1 alert' if lost == 1 else f'{lost:,} alerts'} of run {run.id} cannot be read: damaged")
    return sorted(found, key=lambda alert: alert.id)


def _alert(item: Any) -> Alert | None:
    if not isinstance(item, dict):
        return None
    id_, severity, metric = item.get("id"), item.get("severity"), item.get("metric")
    texts = [item.get("message"), item.get("advice")]
    counts: list[Any] = [item.get(name) for name in ("count", "first_step", "last_step")]
    if (
        not isinstance(id_, str)
        or len(id_) > _LONGEST_ID
        or _ID.fullmatch(id_) is None
        or severity not in SEVERITIES
        or not isinstance(metric, str)
        or len(metric) > _LONGEST_METRIC
        or not all(isinstance(text, str) for text in texts)
        or not all(type(number) is int and number in _COUNTS for number in counts)
    ):
        return None
    message, advice = (cut(str(text), _LONGEST_TEXT) for text in texts)
    return Alert(id_, severity, metric, message, advice, *counts)
