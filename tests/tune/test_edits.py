"""The table of symptoms and edits, and the choice among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymnast.config.load import load_config
from gymnast.tune.edits import _TABLE, edits_for, may_fork
from gymnast.tune.evidence import Symptom
from gymnast.tune.present import Present, point_of, towards_one
from gymnast.tune.proposals import Chooser, with_edit
from gymnast.tune.race import most_steps
from gymnast.tune.state import Plan

PRESET = "CartPole-v1:ppo"


def present(**overrides: Any) -> Present:
    return Present(load_config(PRESET, {key.replace("__", "."): v for key, v in overrides.items()}).config)


def plan(**more: Any) -> Plan:
    given: dict[str, Any] = {
        "reference": PRESET, "overrides": {}, "fixed": {}, "budget": 50_000, "seeds": (0, 1, 2),
        "fresh_seeds": (1000,), "workers": 2,
    }  # fmt: skip
    return Plan(**{**given, **more})


def chooser(changes: dict[str, Any] | None = None, **more: Any) -> Chooser:
    return Chooser(plan(**more), changes or {}, {point_of({})}, np.random.default_rng(1))


def test_a_schedule_keeps_its_shape() -> None:
    assert present().times("algo.lr", 0.1) == {"algo.lr.start": 5e-4}  # to 0 as before
    both = present(algo__lr={"kind": "linear", "start": 1e-3, "end": 1e-4})
    assert both.times("algo.lr", 0.5) == {"algo.lr.start": 5e-4, "algo.lr.end": 5e-5}
    assert present(algo__lr=1e-3).times("algo.lr", 0.5) == {"algo.lr": 5e-4}


def test_bounds_never_turn_a_change_round() -> None:
    assert present(algo__lr=0.2).times("algo.lr", 2.0, high=0.05) == {}
    assert present().times("algo.entropy_coef", 3.0, zero=0.01) == {"algo.entropy_coef": 0.01}
    assert present().times("algo.no_such", 2.0) == {}
    assert towards_one(0.8, 0.25) == pytest.approx(0.95)


@pytest.mark.parametrize("preset", [PRESET, "CartPole-v1:a2c", "FrozenLake-v1:reinforce", "Pendulum-v1:ppo"])
@pytest.mark.parametrize("severity", ["info", "warning", "critical"])
def test_every_edit_that_is_proposed_loads(preset: str, severity: Any) -> None:
    config = load_config(preset).config
    symptoms = [Symptom(name, severity, 100, "seen") for name in _TABLE]
    asked = Chooser(plan(reference=preset), {}, {point_of({})}, np.random.default_rng(0))
    proposed = asked.choose(100, symptoms)
    by_table = [each for each in proposed if each.source == "table"]
    assert len(by_table) >= 5
    for each in by_table:
        assert load_config(preset, each.changes).config != config
    assert len({point_of(each.changes) for each in proposed}) == len(proposed)


def test_only_schedule_like_settings_fork() -> None:
    assert may_fork("algo.lr")
    assert may_fork("algo.lr.start")
    assert not may_fork("algo.gamma")
    assert not may_fork("policy.hidden")
    assert not may_fork("algo.n_steps")


def test_what_an_edit_sets_as_a_whole_replaces_its_parts() -> None:
    assert with_edit({"algo.lr.start": 1.0, "seed": 1}, {"algo.lr": 0.1}) == {"seed": 1, "algo.lr": 0.1}
    decaying = {"algo.lr": {"kind": "linear", "start": 1.0, "end": 0.0}}
    assert with_edit(decaying, {"algo.lr.start": 0.5})["algo.lr"]["start"] == 0.5


def test_arms_that_won_before_come_first() -> None:
    symptoms = [Symptom("plateau", "info", 0, "seen")]
    won = "plateau → wider network"
    firsts = 0
    for seed in range(20):
        asked = Chooser(plan(), {}, set(), np.random.default_rng(seed), {won: (40.0, 0.0)})
        firsts += asked.ranked(symptoms)[0].arm == won
    assert firsts >= 15


def test_the_surest_edit_is_never_left_out_by_luck() -> None:
    symptoms = [
        Symptom("steps-too-large", "critical", 1000, "KL"), Symptom("plateau", "warning", 1000, "flat"),
        Symptom("entropy-collapses", "warning", 7000, "2%"), Symptom("critic-blind", "warning", 9000, "0"),
    ]  # fmt: skip
    for seed in range(50):
        asked = Chooser(plan(), {}, {point_of({})}, np.random.default_rng(seed))
        assert asked.choose(2, symptoms)[0].arm == "steps-too-large → lr lower"
        lost = Chooser(plan(), {}, set(), asked.rng, {"steps-too-large → lr lower": (0.0, 20.0)})
        assert lost.ranked(symptoms)[0].arm != "steps-too-large → lr lower"


def test_a_race_costs_at_most_what_is_reserved_for_it() -> None:
    # All to 25 %, half of them to 50 %, half of those to the end.
    assert most_steps(1, 3, 1000) == 3000
    assert most_steps(4, 3, 1000) == 4 * 750 + 2 * 750 + 1500


def test_near_points_stay_within_a_factor_of_four() -> None:
    asked = chooser()
    for _ in range(30):
        edit, _ = asked._near()
        if "algo.lr.start" in edit:
            assert 5e-3 / 4.01 <= edit["algo.lr.start"] <= 1e-2
        if "algo.gamma" in edit:
            assert 0.01 / 4.01 <= 1 - edit["algo.gamma"] <= 0.0401


def test_a_random_search_draws_from_the_whole_space() -> None:
    found = chooser(method="random").choose(4, [])
    assert len(found) == 4
    assert all({"algo.lr.start", "algo.gamma", "algo.n_epochs"} <= set(each.edit) for each in found)


def test_a_models_share_is_a_quarter_and_what_does_not_load_is_dropped() -> None:
    def model(most: int) -> list[tuple[dict[str, Any], str]]:
        assert most == 1
        return [({"algo.lrr": 1.0}, "wrong"), ({"algo.gamma": 0.97}, "good"), ({"algo.gamma": 0.96}, "late")]

    found = chooser().choose(4, [Symptom("plateau", "info", 0, "seen")], model)
    by_model = [each for each in found if each.source == "model"]
    assert [each.edit for each in by_model] == [{"algo.gamma": 0.97}]
    assert len(found) == 4


def test_edits_name_what_was_seen() -> None:
    edits = list(edits_for(present(), [Symptom("horizon-short", "info", 5, "gamma is short")]))
    assert edits[0].arm == "horizon-short → further sight"
    assert edits[0].why == "gamma is short"
