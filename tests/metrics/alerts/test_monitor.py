"""The monitor: hysteresis, gates, how often it checks, and that a resumed run finds the same."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast import api
from gymnast.metrics.alerts.facts import RunFacts, nice
from gymnast.metrics.alerts.look import Look
from gymnast.metrics.alerts.monitor import Monitor
from gymnast.metrics.alerts.rule import AlertRule, Finding
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs.arrays import join_arrays, split_arrays


def _above_one(look: Look) -> Finding | None:
    value = look.mean("train/kl", 1)
    return Finding("warning", f"KL {value:g}") if value is not None and value > 1 else None


RULE = AlertRule(
    id="test.high",
    group="policy update",
    metric="train/kl",
    reads=("train/kl",),
    when="",
    means="",
    check=_above_one,
    advise=lambda look: look.lower("algo.lr", 0.1),
    warmup=0,
)


def rows(values: list[float], **more: Any) -> Iterator[dict[str, Any]]:
    for number, value in enumerate(values, 1):
        yield {"time/env_steps": 100 * number, "train/kl": value, "opt/lr": 0.3, **more}


def fed(values: list[float], rule: AlertRule = RULE, **more: Any) -> Monitor:
    monitor = Monitor(RunFacts({"algo.lr": 0.3}), [rule])
    for row in rows(values, **more):
        monitor.take(row)
    return monitor


def test_an_alert_is_raised_at_the_second_hit_and_cleared_at_the_third_miss() -> None:
    assert not fed([5]).active()
    (alert,) = fed([5, 5]).active()
    assert (alert.first_step, alert.last_step, alert.count) == (200, 200, 1)
    assert alert.advice == "algo.lr is 0.3: try 0.03"
    assert fed([5, 5, 0, 0]).active()
    monitor = fed([5, 5, 0, 0, 0])
    assert not monitor.active()
    assert [found.id for found in monitor.raised()] == ["test.high"]
    assert not fed([5, 0, 5, 0, 5]).raised()


def test_an_alert_that_is_less_than_it_was_is_told_with_its_present_numbers() -> None:
    def graded(look: Look) -> Finding | None:
        value = look.mean("train/kl", 1) or 0.0
        return Finding("critical" if value > 4 else "info", f"KL {value:g}") if value > 1 else None

    rule = dataclasses.replace(RULE, check=graded, advise=lambda look: f"at {look.step}")
    monitor = fed([5, 5, 2, 3], rule)
    (alert,) = monitor.active()
    assert (alert.severity, alert.message, alert.advice, alert.count) == ("info", "KL 3", "at 400", 3)
    (worst,) = monitor.raised()
    assert (worst.severity, worst.message, worst.advice, worst.count) == ("critical", "KL 5", "at 200", 3)
    resumed = fed([], rule)
    resumed.load_state(monitor.state())
    assert (resumed.active(), resumed.raised()) == ((alert,), (worst,))


def test_a_solved_run_and_the_end_of_a_schedule_close_the_gates() -> None:
    solved = dataclasses.replace(RULE, unless_solved=True)
    assert fed([5, 5], solved).active()
    assert not fed([5, 5], solved, **{"eval/solved": 1}).active()
    learning = dataclasses.replace(RULE, while_learning=True)
    monitor = Monitor(RunFacts(), [learning])
    for number, lr in enumerate((1.0, 0.5, 0.05, 0.05, 0.05, 0.05, 0.05), 1):
        monitor.take({"time/env_steps": number, "train/kl": 5, "opt/lr": lr})
    assert monitor.raised()
    assert not monitor.active()


def test_a_run_without_evaluations_is_solved_by_its_score_in_training() -> None:
    gated = dataclasses.replace(RULE, unless_solved=True)
    monitor = Monitor(RunFacts({}, solved_at=100.0), [gated])
    for number, (score, episodes) in enumerate([(120.0, 5), (120.0, 50), (120.0, 200), (90.0, 400)], 1):
        row = {"time/env_steps": 100 * number, "train/kl": 5.0, "time/episodes": episodes}
        monitor.take(row | {"train/return/mean": score})
        assert monitor.look.solved == (episodes == 200)
    monitor.take({"time/env_steps": 500, "eval/solved": 0.0})
    monitor.take(row | {"train/return/mean": 120.0})
    assert not monitor.look.solved  # an evaluation knows better


def test_small_updates_are_not_checked_every_time() -> None:
    monitor = Monitor(RunFacts(rollout_steps=256), [RULE])
    for row in rows([5.0] * 50):
        monitor.take(row)
    assert monitor.raised()[0].count == 9 + 10  # updates 2 … 10, then every fourth


@given(
    values=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=60),
    cut=st.integers(0, 60),
)
def test_a_monitor_restored_in_the_middle_finds_the_same(values: list[float], cut: int) -> None:
    whole = fed(values)
    before = fed(values[:cut])
    document, arrays = split_arrays(before.state())
    after = Monitor(RunFacts({"algo.lr": 0.3}), [RULE])
    after.load_state(join_arrays(json.loads(json.dumps(document)), arrays))
    for row in list(rows(values))[cut:]:
        after.take(row)
    assert repr(after.raised()) == repr(whole.raised())
    assert repr(after.active()) == repr(whole.active())
    assert repr(after.look.score.state()) == repr(whole.look.score.state())


@pytest.mark.parametrize(("value", "near"), [(0.00033, 0.0003), (0.09, 0.1), (7.0, 5.0), (1.4, 1.0)])
def test_advice_names_round_values(value: float, near: float) -> None:
    assert nice(value) == near


def test_a_run_records_its_alerts_and_a_resumed_one_records_the_same(tmp_path: Path) -> None:
    sick = {"algo.lr": 0.3, "eval.every": 0}
    whole = api.train("CartPole-v1:ppo", overrides=sick, max_env_steps=12_000, runs_dir=tmp_path)
    part = api.train("CartPole-v1:ppo", overrides=sick, max_env_steps=6_000, runs_dir=tmp_path)
    api.resume(part, max_env_steps=12_000)
    for run in (whole, part):
        (spike, *_) = [
            alert
            for alert in json.loads(run.folder.alerts_path.read_text())["alerts"]
            if alert["id"] == "kl.spike"
        ]
        assert spike["severity"] == "critical"
        assert spike["advice"].startswith("algo.lr is 0.3: try 0.001")
    assert whole.folder.alerts_path.read_text() == part.folder.alerts_path.read_text()
    counts = [
        [row["alert/critical"] for row in read_metrics(run.folder.metrics_path)] for run in (whole, part)
    ]
    assert counts[0] == counts[1]
    assert max(counts[0]) >= 1


def test_alerts_can_be_switched_off(tmp_path: Path) -> None:
    off = {"observe.alerts": False, "algo.lr": 0.3, "eval.every": 0}
    run = api.train("CartPole-v1:ppo", overrides=off, max_env_steps=4_000, runs_dir=tmp_path)
    assert not run.folder.alerts_path.exists()
    assert "alert/critical" not in read_metrics(run.folder.metrics_path)[0]
