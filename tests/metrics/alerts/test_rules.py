"""All rules together: whatever numbers come, none of them fails, and what they read exists."""

from __future__ import annotations

import math
from random import Random

import pytest

from gymnast.metrics import catalogue
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.monitor import Monitor
from gymnast.metrics.alerts.score import ScoreHistory
from gymnast.metrics.alerts.table import all_rules

KEYS = sorted({key.replace("*", "actor") for rule in all_rules() for key in rule.reads})
NUMBERS = [0.0, 1.0, 1e99, -1e99, -1.0, 0.5, 1e-9, 3.0, 200.0, 1e308, -1e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("known", [True, False])
def test_no_rule_fails_on_any_numbers(known: bool) -> None:
    facts = {"algo.lr": 3e-4, "algo.n_epochs": 4} if known else {}
    random, raised = Random(1), set()
    for _ in range(40):
        monitor = Monitor(RunFacts(facts, rollout_steps=512 if known else None))
        usual = {key: random.choice(NUMBERS) for key in KEYS}
        for number in range(1, 41):
            odd = {key: random.choice(NUMBERS) for key in random.sample(KEYS, 3)}
            row = {"time/env_steps": 512 * number, "time/progress": number / 40, "train/return/mean": 1.0}
            monitor.take(usual | odd | row)
        raised |= {alert.id for alert in monitor.raised() if alert.message}
    assert len(raised) > 20  # it was no empty exercise


def test_rules_read_metrics_that_exist() -> None:
    known = {metric.key for metric in catalogue.all_metrics()}
    for rule in all_rules():
        assert {rule.metric, *rule.reads} <= known, rule.id


def raised(rows: list[dict[str, float]]) -> dict[str, str]:
    monitor = Monitor(RunFacts({}))
    for place, row in enumerate(rows, 1):
        monitor.take({"time/env_steps": 1024 * place, "time/progress": place / len(rows)} | row)
    return {alert.id: alert.severity for alert in monitor.raised()}


def test_evaluation_is_compared_with_what_training_scored_then() -> None:
    """The score falls at once and stays there; both evaluations gave what training did at their time."""
    scores = [100.0 + place for place in range(50)] + [20.0] * 50
    rows: list[dict[str, float]] = [{"train/return/mean": score, "train/return/std": 5.0} for score in scores]
    few = {"eval/return/std": 5.0, "eval/episodes": 100}
    rows[49] |= few | {"eval/return/mean": scores[49]}
    assert "eval.gap" not in raised(rows)
    rows[55] |= few | {"eval/return/mean": 20.0}
    assert "eval.gap" not in raised(rows)
    for place, row in enumerate(rows[50:]):
        row["train/return/mean"] = 100.0 if place < 6 else 20.0  # the mean of 100 episodes falls later
    assert "eval.gap" not in raised(rows)
    for row in rows[50:]:
        row["train/return/mean"] = 140.0
    assert raised(rows)["eval.gap"] == "warning"


@pytest.mark.parametrize("target", [0.0, 0.02])
def test_steps_that_are_large_are_critical_only_where_nothing_was_learned(target: float) -> None:
    rows: list[dict[str, float]] = [
        {"train/kl": 0.3, "train/return/mean": 20.0, "train/return/std": 10.0, "opt/target_kl": target}
        for _ in range(40)
    ]
    assert raised(rows)["kl.high"] == "critical"
    for gain in (0.5, 20.0):  # it rises long before it leaves the spread of its episodes
        for place, row in enumerate(rows):
            row["train/return/mean"] = min(200.0, 20.0 + gain * place)
        assert raised(rows)["kl.high"] == "warning"


@pytest.mark.parametrize(
    ("gain", "severity"), [(0.0, "critical"), (0.5, "warning"), (20.0, "warning")], ids=str
)
def test_much_clipping_is_critical_only_where_nothing_is_learned(gain: float, severity: str) -> None:
    """A score may rise from update to update for long before it leaves the spread of its episodes."""
    rows = [
        {
            "train/clip_fraction": 0.55,
            "train/return/mean": 20.0 + gain * place + (-1) ** place,
            "train/return/std": 50.0,
        }
        for place in range(60)
    ]
    assert raised(rows)["clip.high"] == severity
    for row in rows:
        row["train/clip_fraction"] = 0.45
    assert raised(rows)["clip.high"] == "warning"


def test_narrow_clip_range_is_named_before_the_learning_rate() -> None:
    settings = {"algo.lr": 1e-3, "algo.n_epochs": 10, "algo.clip_range": 0.01}
    monitor = Monitor(RunFacts(settings))
    for place in range(1, 20):
        monitor.take({"time/env_steps": 1024 * place, "train/clip_fraction": 0.6, "opt/clip_range": 0.01})
    (alert,) = monitor.raised()
    assert alert.advice.startswith("algo.clip_range is 0.01: try 0.2; algo.lr is 0.001: try ")


def test_gradient_that_was_larger_before_has_not_exploded() -> None:
    """While all goes well, values are exact and gradients tiny: the next failure is not an explosion."""
    norms = [5.0, 300.0, *[20.0] * 30, *[0.05] * 30, 100.0, *[0.05] * 5]
    rows = [{"opt/grad_norm": norm, "opt/max_grad_norm": 0.5} for norm in norms]
    assert "grad.explode" not in raised(rows)
    rows[-6]["opt/grad_norm"] = 1000.0
    assert raised(rows)["grad.explode"] == "warning"
    for row in rows[-6:]:
        row["opt/grad_norm"] = 100.0
    assert raised(rows)["grad.explode"] == "critical"


def test_ends_of_episodes_among_short_rollouts_are_no_explosion() -> None:
    """A2C with 5 steps a rollout: where no episode ends, nothing surprises the critic. As CartPole-v1:a2c-zoo
    with seed 12 has it, which solves the task soon after."""
    calm = [0.05, 0.36, 0.13, 0.27, 0.16, 0.26, 0.37, 0.21, 0.13, 0.05]
    ends = [118.5, 0.22, 0.16, 0.07, 61.9, 0.22, 98.0, 73.9]
    norms = [6.0, 20.0, 459.4, *calm, *calm, *ends]
    rows = [{"opt/grad_norm": norm, "opt/max_grad_norm": 0.5} for norm in norms]
    assert raised(rows).get("grad.explode") != "critical"


@pytest.mark.parametrize(("seconds", "severity"), [(0.05, "info"), (5.0, "warning")])
def test_short_slow_spell_is_worth_knowing_a_long_one_is_a_warning(seconds: float, severity: str) -> None:
    rows = [
        {"time/fps": 10_000.0 if place < 30 else 2_000.0, "time/seconds": seconds * place}
        for place in range(60)
    ]
    assert raised(rows)["fps.drop"] == severity


def test_score_that_was_never_above_its_first_has_not_collapsed() -> None:
    """A first update that throws the policy into a corner: the random policy before it was better."""
    rows = [
        {"train/return/mean": 17.5 if place == 0 else 9.3, "train/return/std": 1.0} for place in range(40)
    ]
    assert "score.collapse" not in raised(rows)
    for row in rows[5:15]:
        row["train/return/mean"] = 60.0
    assert raised(rows)["score.collapse"] == "critical"


def test_long_run_remembers_where_it_began() -> None:
    """Scores are thinned; a run that learned within its first hundred updates has left its start."""
    scores = ScoreHistory()
    for step in range(200_000):
        scores.add(40 * step, min(500.0, 20.0 + step))
    assert scores.start == 20.0
    restored = ScoreHistory()
    restored.load_state(scores.state())
    assert (restored.start, restored.first) == (20.0, scores.first)
