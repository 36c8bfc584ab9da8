"""Interventions: when a rule acts, waits, reverts; what the loop does then; the same over a resume."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.algorithms.ppo import PPO, PPOConfig
from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.training.hooks import Adjust, Adjustments, Stop
from gymnast.training.interventions import PlateauHook
from gymnast.training.report import Report
from gymnast.training.settings import InterventionConfig

RULE: dict[str, Any] = {
    "metric": "train/return/mean",
    "patience": 3,
    "unit": "updates",
    "setting": "lr",
    "multiply": 0.5,
}


def follow(values: list[float | None], **changes: Any) -> list[tuple[int, Any]]:
    """(update, command) of a rule that sees these values, one per update."""
    hook = PlateauHook([InterventionConfig(**RULE | changes)])
    found = []
    for update, value in enumerate(values, 1):
        row = {} if value is None else {"train/return/mean": value}
        found += [(update, command) for command in hook.after_update(Report(update * 10, update, row))]
    return found


def factors(found: list[tuple[int, Any]]) -> list[tuple[int, float | None]]:
    return [(update, command.factor) for update, command in found]


def test_rule_acts_after_its_patience_and_again_after_the_same_time() -> None:
    assert factors(follow([5.0] * 12)) == [(4, 0.5), (7, 0.25), (10, 0.125)]
    assert factors(follow([5.0] * 20, max_times=1)) == [(4, 0.5)]
    assert follow([float(i) for i in range(20)]) == []
    assert factors(follow([float(-i) for i in range(9)], direction="lower")) == []
    assert factors(follow([float(i) for i in range(9)], direction="lower")) == [(4, 0.5), (7, 0.25)]


def test_patience_may_be_in_env_steps() -> None:
    assert factors(follow([5.0] * 6, patience=30, unit="env_steps")) == [(4, 0.5)]
    assert factors(follow([5.0] * 6, patience=31, unit="env_steps")) == [(5, 0.5)]


def test_gain_below_min_delta_is_not_an_improvement() -> None:
    values = [1 + 0.1 * i for i in range(5)]
    assert follow(values) == []
    assert factors(follow(values, min_delta=0.5)) == [(4, 0.5)]


def test_cooldown_comes_on_top_of_patience() -> None:
    assert factors(follow([5.0] * 16, cooldown=4)) == [(4, 0.5), (11, 0.25)]


def test_metric_that_is_not_in_every_row_can_stall() -> None:
    assert factors(follow([None, 5.0, None, None, None, None])) == [(5, 0.5)]
    assert follow([None] * 20) == []  # never seen: nothing to compare


def test_change_is_reverted_after_its_time() -> None:
    assert factors(follow([5.0] * 9, revert_after=2, max_times=2)) == [
        (4, 0.5),
        (6, None),
        (7, 0.5),
        (9, None),
    ]


def test_change_is_reverted_if_the_metric_gets_worse() -> None:
    values = [5.0, 5, 5, 5, 4.5, 3.9, 3.9]
    assert factors(follow(values, revert_if_worse=1.0, max_times=1)) == [(4, 0.5), (6, None)]
    assert factors(follow(values, revert_if_worse=2.0, max_times=1)) == [(4, 0.5)]
    up = [5.0, 5, 5, 5, 5.5, 6.1]
    assert factors(follow(up, revert_if_worse=1.0, max_times=1, direction="lower")) == [(4, 0.5), (6, None)]
    # Only the last change is reverted; the one before it stays.
    twice = follow([5.0] * 7 + [3.0], revert_if_worse=1.0, max_times=2)
    assert factors(twice) == [(4, 0.5), (7, 0.25), (8, 0.5)]
    assert "fell from 5 to 3" in twice[-1][1].why


def test_a_rule_may_set_or_stop() -> None:
    ((update, command),) = follow([5.0] * 5, multiply=None, set=1e-3)
    assert (update, command.value, command.factor) == (4, 1e-3, None)
    ((update, command),) = follow([5.0] * 5, setting=None, multiply=None, stop=True)
    assert update == 4
    assert isinstance(command, Stop)
    assert command.why == "train/return/mean has not improved for 3 updates (best 5)"


@settings(max_examples=40)
@given(
    values=st.lists(st.floats(-5, 5), min_size=2, max_size=30),
    at=st.integers(0, 30),
    cooldown=st.integers(0, 4),
    revert=st.sampled_from([None, 0.5]),
)
def test_restored_hook_decides_as_if_never_stopped(
    values: list[float], at: int, cooldown: int, revert: float | None
) -> None:
    config = InterventionConfig(**RULE | {"cooldown": cooldown, "revert_if_worse": revert, "max_times": 9})
    straight, hook = PlateauHook([config]), PlateauHook([config])
    for update, value in enumerate(values, 1):
        if update == at:
            stored = hook.state()
            hook = PlateauHook([config])
            hook.load_state(stored)
        report = Report(update, update, {"train/return/mean": value})
        assert hook.after_update(report) == straight.after_update(report)
    assert hook.metrics() == straight.metrics()


def test_adjustments_stay_within_bounds_and_follow_the_schedule() -> None:
    algo = PPO(PPOConfig(lr={"kind": "linear", "start": 1.0, "end": 0.0}, n_epochs=5, gamma=0.99))
    adjustments = Adjustments()

    def at(step: int) -> Any:
        return adjustments.applied(algo.hyperparameters(step, 100))

    untouched = algo.hyperparameters(0, 100)
    assert adjustments.applied(untouched) is untouched  # without rules nothing is copied
    adjustments.take(Adjust("rule 1", "lr", "", factor=0.5))
    assert (at(0).lr, at(50).lr) == (0.5, 0.25)
    adjustments.take(Adjust("rule 2", "lr", "", factor=0.5, low=0.2))
    assert (at(0).lr, at(50).lr) == (0.25, 0.2)  # two rules combine
    adjustments.take(Adjust("rule 1", "lr", ""))
    assert at(0).lr == 0.5
    adjustments.take(Adjust("rule 3", "n_epochs", "", factor=0.5))
    assert at(0).n_epochs == 2  # a whole number
    adjustments.take(Adjust("rule 3", "n_epochs", "", factor=0.01))
    assert at(0).n_epochs == 1
    adjustments.take(Adjust("rule 4", "gamma", "", factor=2.0))
    assert at(0).gamma == 1.0  # beyond what a discount can be
    adjustments.take(Adjust("rule 5", "target_kl", "", value=0.02))
    assert at(0).target_kl == 0.02
    again = Adjustments()
    again.load_state(adjustments.state())
    assert again == adjustments


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": "train/retrun/mean"}, "interventions[0].metric: no metric 'train/retrun/mean' in the "
         "catalogue (did you mean 'train/return/mean'"),
        ({"setting": "lrr"}, "interventions[0].setting: ppo has no number 'lrr' to change (did you mean "),
        ({"setting": "target_kl"}, "algo.target_kl is null: there is nothing to multiply; use set"),
        ({"set": 1.0}, "give exactly one of multiply, set and stop, got multiply and set"),
        ({"multiply": None}, "give exactly one of multiply, set and stop, got none"),
        ({"stop": True, "multiply": None}, "stop takes no setting"),
        ({"metric": "train/entropy"}, "give the direction in which train/entropy is better: higher or lower"),
        ({"low": 2, "high": 1}, "low is above high: 2 > 1"),
        ({"patienc": 1}, "interventions[0].patienc: unknown key (did you mean 'patience'?)"),
    ],
)  # fmt: skip
def test_wrong_rules_are_refused(changes: dict[str, Any], message: str) -> None:
    rule = {key: value for key, value in (RULE | changes).items() if value is not None}
    with pytest.raises(GymnastError) as error:
        load_config("CartPole-v1:ppo", {"interventions": [rule]})
    assert message in str(error.value)


VALUE_RULE = {"metric": "train/loss/value", "patience": 2, "unit": "updates", "cooldown": 1, "max_times": 9}
RULES = [
    VALUE_RULE | {"setting": "lr", "multiply": 0.5, "revert_after": 2},
    {"metric": "eval/return/mean", "patience": 64, "min_delta": 1000, "setting": "entropy_coef", "set": 0.02},
]


def test_loop_applies_and_logs_what_rules_ask_for(train: Callable[..., api.Run], tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=10, algo__lr=1e-3, interventions=RULES)
    rows = run.metrics()
    rates = [row["opt/lr"] for row in rows]
    counts = [row["opt/interventions"] for row in rows]
    assert rates[0] == 1e-3
    assert 5e-4 in rates
    assert counts[-1] >= 2
    acted = next(i for i, count in enumerate(counts) if count)
    assert rates[acted] == 1e-3  # the row of the update that made the rule act; the next one has the new rate
    assert rows[-1]["opt/entropy_coef"] == 0.02
    assert rows[-1]["opt/reverts"] >= 1
    log = run.folder.log_path.read_text()
    assert "algo.lr × 0.5: train/loss/value has not improved for 2 updates" in log
    assert "algo.entropy_coef = 0.02: eval/return/mean" in log
    assert "algo.lr as scheduled: reverted: 2 updates have passed" in log
    assert "interventions" in run.folder.config_path.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("stop", [2, 3, 4, 5, 6, 7])
def test_resumed_run_intervenes_as_if_never_stopped(
    stop: int, train: Callable[..., api.Run], stop_after: Any, assert_same_run: Any, tmp_path: Path
) -> None:
    changes = {"updates": 9, "algo__lr": 1e-3, "interventions": RULES}
    straight = train("CartPole-v1:ppo", tmp_path / "one", **changes)
    train("CartPole-v1:ppo", tmp_path / "two", requests=stop_after(stop), **changes)
    assert_same_run(straight, api.resume("@last", runs_dir=tmp_path / "two"))


def test_a_rule_may_end_the_run(train: Callable[..., api.Run], tmp_path: Path) -> None:
    rule = {"metric": "eval/return/mean", "patience": 128, "min_delta": 1000, "stop": True}
    run = train("CartPole-v1:ppo", tmp_path, updates=50, interventions=[rule])
    assert run.outcome.status == "finished"
    assert "eval/return/mean has not improved for" in run.outcome.reason
    assert run.outcome.env_steps < 50 * 64


def test_run_without_rules_has_no_metrics_of_them(train: Callable[..., api.Run], tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=2)
    assert not any("intervention" in key or "reverts" in key for key in run.metrics()[-1])


def test_two_equal_rules_both_count() -> None:
    rule = InterventionConfig(metric="eval/return/mean", patience=10, setting="lr", multiply=0.5)
    hook, adjustments = PlateauHook([rule, rule]), Adjustments()
    for env_steps in (0, 10):
        for command in hook.after_update(Report(env_steps, 1, {"eval/return/mean": 1.0})):
            adjustments.take(command)
    assert len(adjustments.in_force) == 2
