"""What runs are compared by, and that nothing is given up that would have won."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs import score_auc
from gymnast.runs.score_auc import area
from gymnast.runs.store import RunFolder
from gymnast.sweeps.objective import Objective, check_name, measure, upper_bound, value_at
from gymnast.sweeps.pruning import ENOUGH, Pruner, cannot_win, is_far_behind

CEILING, BUDGET = 500.0, 1000.0
SCORES = st.lists(st.floats(-100, CEILING), min_size=1, max_size=12)


def curve(scores: list[float]) -> list[tuple[float, float]]:
    return [((place + 1) * BUDGET / (len(scores) + 1), score) for place, score in enumerate(scores)]


@given(SCORES, st.floats(-100, 100), st.integers(1, 12), st.floats(-100, CEILING))
def test_the_bound_gives_up_no_run_that_would_win(
    scores: list[float], start: float, seen: int, incumbent: float
) -> None:
    evals, start = curve(scores), min(start, scores[0])
    final = area(evals, start, BUDGET, BUDGET, solved=True)
    bound = upper_bound(evals[:seen], start, BUDGET, CEILING)
    assert bound is not None
    assert bound >= final - 1e-9
    if final > incumbent:
        assert not cannot_win(bound, incumbent)


@given(SCORES, st.floats(-100, 100))
def test_the_bound_becomes_tighter(scores: list[float], start: float) -> None:
    start, evals = min(start, scores[0]), curve(scores)
    bounds = [upper_bound(evals[: seen + 1], start, BUDGET, CEILING) for seen in range(len(evals))]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(bounds))


def test_without_a_ceiling_nothing_is_certain() -> None:
    assert upper_bound([(10.0, 5.0)], 0.0, BUDGET, None) is None
    assert not cannot_win(None, 1e9)


def test_few_others_are_no_evidence() -> None:
    others = [float(value) for value in range(ENOUGH)]
    assert is_far_behind(0.5, others)
    assert not is_far_behind(0.5, others[:-1])
    assert not is_far_behind(8.0, others)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    settings = {"eval.episodes": 5, "eval.every": 2048, "stop.eval_return": None, "seed": 3}
    root = tmp_path_factory.mktemp("runs")
    return api.train("CartPole-v1:ppo", overrides=settings, max_env_steps=10_000, runs_dir=root).folder


def objective(name: str, **more: float) -> Objective:
    return Objective(name, check_name(name), **more)  # type: ignore[arg-type]


def test_the_score_auc_is_that_of_the_run(run: RunFolder) -> None:
    found = measure(run, objective("score_auc", ceiling=500.0), ended=True)
    assert found.value == score_auc.of_run(run)
    assert found.env_steps >= 10_000
    assert found.seconds > 0


def test_other_objectives(run: RunFolder) -> None:
    scores = [score for *_, score in score_auc.curve_of(run).evals]  # type: ignore[union-attr]
    assert measure(run, objective("best"), ended=True).value == max(scores)
    assert measure(run, objective("final"), ended=True).value == pytest.approx(sum(scores[-3:]) / 3)
    easy = measure(run, objective("steps_to_threshold", threshold=min(scores)), ended=True)
    assert easy.value is not None
    assert easy.value <= 10_240
    never = measure(run, objective("steps_to_threshold", threshold=1e9), ended=True)
    assert never.value == 2 * 10_000
    slow = measure(run, objective("time_to_threshold", threshold=1e9), ended=True)
    assert slow.value is not None
    assert slow.value > measure(run, objective("best"), ended=True).seconds
    seconds = measure(run, objective("score_auc_seconds", seconds=1000.0), ended=True)
    assert seconds.value is not None
    assert seconds.value < max(scores)


def test_any_metric_by_its_last_value(run: RunFolder) -> None:
    found = measure(run, objective("eval/return/mean"), ended=True)
    assert found.value == score_auc.curve_of(run).evals[-1][2]  # type: ignore[union-attr]
    assert measure(run, objective("eval/return/max"), ended=True).value is not None


def test_values_at_a_step_use_nothing_later(run: RunFolder) -> None:
    auc = objective("score_auc")
    early, late = value_at(run, auc, 4_096), value_at(run, auc, 10_240)
    assert early is not None
    assert late is not None
    assert early <= late
    first = score_auc.curve_of(run).evals[0]  # type: ignore[union-attr]
    assert value_at(run, objective("best"), first[0]) == first[2]


def test_values_at_a_step_have_the_evaluation_of_that_step(run: RunFolder) -> None:
    curve = score_auc.curve_of(run)
    assert curve is not None
    steps, _, score = curve.evals[0]
    held = (curve.start * steps + score * (curve.budget - steps)) / curve.budget
    assert score > curve.start
    assert value_at(run, objective("score_auc"), steps) == pytest.approx(held)
    assert value_at(run, objective("score_auc"), steps - 1) == curve.start
    fewer = value_at(run, objective("steps_to_threshold", threshold=1e9), steps)
    assert fewer == pytest.approx(-held)


def test_a_metric_that_does_not_exist_is_refused() -> None:
    with pytest.raises(GymnastError, match="eval/return/mean"):
        check_name("eval/retrn/mean")
    with pytest.raises(GymnastError, match="must be maximize or minimize"):
        check_name("eval/return/mean", "up")
    with pytest.raises(GymnastError, match=r"which way is better\? .* goal: maximize"):
        check_name("train/entropy")
    with pytest.raises(GymnastError, match="to be maximized"):
        check_name("score_auc", "minimize")
    assert check_name("eval/return/mean") == "maximize"
    assert check_name("eval/return/mean", "minimize") == "minimize"


def test_a_pruner_names_its_reason(run: RunFolder, tmp_path: Path) -> None:
    auc = objective("score_auc", ceiling=500.0)
    assert Pruner(auc, 10_000).reason(run, None, []) is None
    assert "is reached already" in (Pruner(auc, 10_000).reason(run, 499.0, []) or "")
    same = [run] * ENOUGH
    assert Pruner(auc, 10_000).reason(run, None, same) is None  # no worse than the others
