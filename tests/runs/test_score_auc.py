from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs import score_auc
from gymnast.runs.store import RunFolder


def test_score_auc_by_hand() -> None:
    # 0 until 100, 10 until 300 (the dip to 5 does not count), 20 until 400
    assert (
        score_auc.area([(100, 10.0), (200, 5.0), (300, 20.0)], 0.0, 400, 400, solved=False)
        == (200 * 10 + 100 * 20) / 400
    )
    # stopped at 300 of 400, unsolved: the rest counts as the start
    assert score_auc.area([(100, 10.0)], 0.0, 300, 400, solved=False) == 200 * 10 / 400
    # solved at 100: the score counts for the rest
    assert score_auc.area([(100, 10.0)], 0.0, 100, 400, solved=True) == 300 * 10 / 400
    assert score_auc.area([(100, -50.0)], -200.0, 100, 100, solved=True) == -200.0


SCORES = st.lists(st.tuples(st.integers(1, 1000), st.floats(-100, 100)), min_size=1, max_size=8).map(sorted)


@given(SCORES, st.booleans())
def test_score_auc_is_between_start_and_best(evals: list[tuple[int, float]], solved: bool) -> None:
    start = min(score for _, score in evals)
    value = score_auc.area(evals, start, evals[-1][0], 1000, solved)
    assert start - 1e-9 <= value <= max(score for _, score in evals) + 1e-9


@given(SCORES)
def test_sooner_scores_give_a_higher_score_auc(evals: list[tuple[int, float]]) -> None:
    start = min(score for _, score in evals)
    sooner = [(steps / 2, score) for steps, score in evals]
    late = score_auc.area(evals, start, 1000, 1000, solved=False)
    assert score_auc.area(sooner, start, 1000, 1000, solved=False) >= late - 1e-9


def row(step: int, **values: float) -> dict[str, float]:
    extra = {key.replace("__", "/"): value for key, value in values.items()}
    return dict.fromkeys(COUNTERS, 0) | {"time/env_steps": step, "time/progress": step / 1000} | extra


def test_score_auc_of_a_run(new_run: Callable[..., RunFolder]) -> None:
    run = new_run()
    assert score_auc.of_run(run) is None
    with Recorder(run.metrics_path) as recorder:
        recorder.write(row(100, train__return__mean=900.0, train__return_plain__mean=20.0))
        assert score_auc.of_run(run) is None
        recorder.write(row(200, eval__return__mean=100.0, eval__env_steps=100))
        recorder.write(row(500, eval__return__mean=475.0, eval__solved=1))
    # 20 until 100, 100 until 500, 475 for the rest of 1000 = 500 / progress 0.5
    assert score_auc.of_run(run) == pytest.approx((100 * 20 + 400 * 100 + 500 * 475) / 1000)
    shorter = new_run(budget_env_steps=500)
    shorter.metrics_path.write_bytes(run.metrics_path.read_bytes())
    assert score_auc.of_run(shorter) == pytest.approx((100 * 20 + 400 * 100) / 500)
