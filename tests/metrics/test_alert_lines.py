"""What the live table says of an alert, in the room that it has."""

from __future__ import annotations

import pytest

from gymnast.metrics.alerts.alert import Alert, Severity
from gymnast.metrics.alerts.facts import either
from gymnast.metrics.sinks.alert_lines import MARKS, tell

TRIES = ("algo.lr is 0.03: try 0.001", "algo.n_epochs is 20: try 10", "try algo.target_kl 0.02")
HIGH = Alert("kl.high", "warning", "train/kl", "KL is 0.3, above 0.2", either(*TRIES))
SAID = "⚠ KL is 0.3, above 0.2"


@pytest.mark.parametrize(
    ("in_row", "below", "row", "lines"),
    [
        (110, 110, f"{SAID} → {either(*TRIES)}", []),
        (90, 110, f"{SAID} → {either(*TRIES[:2])}", []),
        (60, 110, f"{SAID} → {TRIES[0]}", []),
        (40, 90, SAID, [f"→ {either(*TRIES)}"]),
        (40, 70, SAID, [f"→ {either(*TRIES[:2])}"]),
        (40, 40, SAID, [f"→ {TRIES[0]}"]),
        (10, 52, "", [f"{SAID} → {TRIES[0]};", TRIES[1]]),
    ],
)
def test_first_proposals_are_left_where_not_all_fit(
    in_row: int, below: int, row: str, lines: list[str]
) -> None:
    told = tell(HIGH, in_row, below)
    assert told.row == row
    assert [text.strip() for text, _ in told.below] == lines


@pytest.mark.parametrize("severity", MARKS)
def test_no_text_has_the_colour_of_the_bars(severity: Severity) -> None:
    """Cyan is hard to read on white."""
    assert MARKS[severity][1] != "bar"
