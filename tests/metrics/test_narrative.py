"""The sentence on top of the live view, against curves of known shape."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.metrics.sinks.narrative import (
    CAPACITY,
    Narrator,
    Point,
    Scores,
    Sentence,
    about,
    count,
    figure,
    narrate,
)

BUDGET = 500_000


def curve(
    score: Callable[[float], float], share: float = 1.0, noise: float = 3.0, seed: int = 0
) -> list[Point]:
    """Scores of the first `share` of a run of 100 seconds; `score` is a function of the share done."""
    rng = random.Random(seed)
    n = 150
    return [
        Point(share * BUDGET * i / n, share * 100 * i / n, score(share * i / n) + rng.gauss(0, noise))
        for i in range(1, n + 1)
    ]


SEEDS = pytest.mark.parametrize("seed", range(5))


@SEEDS
def test_noisy_rise_is_steady_learning_with_the_time_to_the_threshold(seed: int) -> None:
    seen = narrate(curve(lambda t: 300 * t, share=0.5, seed=seed), threshold=200.0, budget=BUDGET)
    assert seen == Sentence("rising", "learning steadily; at this slope 200 in about 20 s")


@SEEDS
def test_rise_that_the_budget_ends_too_soon_is_named(seed: int) -> None:
    seen = narrate(curve(lambda t: 100 * t, share=0.5, seed=seed), threshold=200.0, budget=BUDGET)
    assert seen.kind == "slow"
    assert re.fullmatch(
        r"learning; at this slope 200 only after (1|1.1|1.2|9\d\d)[kM] of 500k steps", seen.text
    )


def test_evaluations_say_how_far_the_threshold_is() -> None:
    points = curve(lambda t: 100 * t, share=0.5, noise=0.1)
    far = narrate(points, threshold=200.0, evaluated=None, budget=BUDGET)
    near = narrate(points, threshold=200.0, evaluated=190.0, budget=BUDGET)
    assert far.kind == "slow"
    assert near == Sentence("rising", "learning steadily; at this slope 200 in about 10 s")


@SEEDS
def test_flat_scores_are_no_progress(seed: int) -> None:
    seen = narrate(curve(lambda t: 20.0, share=0.5, seed=seed), threshold=200.0, budget=BUDGET)
    assert seen.kind == "stuck"
    assert re.fullmatch(r"no progress for 2[0-5]\dk steps; score (19|20|21)(.\d)?", seen.text)


def test_rise_after_a_dip_at_the_start_is_learning() -> None:
    """Acrobot: the first episodes to end are the short ones, so the first means are too good."""
    scores = (-302, -352, -393, -397, -360, -302, -281, -249)
    points = [Point(2048 * (place + 5), 2.0 * place, score) for place, score in enumerate(scores)]
    assert narrate(points, threshold=-100.0, budget=120_000).text.startswith("learning steadily; at this")
    noise = [
        Point(point.steps, point.seconds, -300 + 9 * (-1) ** place) for place, point in enumerate(points)
    ]
    assert narrate(noise, threshold=-100.0, budget=120_000).kind == "stuck"


@SEEDS
def test_flat_scores_after_a_rise_are_a_plateau(seed: int) -> None:
    seen = narrate(curve(lambda t: min(180.0, 900 * t), seed=seed), threshold=200.0, budget=BUDGET)
    assert seen.kind == "plateau"
    assert re.fullmatch(r"plateau at 1(79|80|81) for (39|40)\dk steps", seen.text)


@SEEDS
def test_falling_scores_are_named_with_the_highest(seed: int) -> None:
    seen = narrate(curve(lambda t: 180 * math.sin(math.pi * t), seed=seed), threshold=200.0, budget=BUDGET)
    assert seen.kind == "falling"
    assert "at its highest" in seen.text


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (lambda t: 300 * t, "solved threshold reached; still improving"),
        (lambda t: 205.0, "solved threshold reached; training holds at 205"),
        (lambda t: 400 - 300 * t, "solved threshold reached, but the score of training is falling: 102 now"),
    ],
)
def test_solved_run_says_what_became_of_it(score: Callable[[float], float], text: str) -> None:
    points = curve(score, noise=0.1)
    assert narrate(points, threshold=200.0, best=210.0, budget=BUDGET).text == text
    assert "solved" not in narrate(points, threshold=200.0, best=190.0, budget=BUDGET).text


def test_run_without_scores_warms_up() -> None:
    assert narrate([], threshold=200.0).text == "warming up: no episode has ended yet"
    assert narrate(curve(lambda t: 20.0)[:3]).text.endswith("too early for a trend")
    assert narrate([], over=True).text == "no episode has ended"


def test_beginning_without_a_trend_is_no_news() -> None:
    seen = narrate(curve(lambda t: 20.0, share=0.01), threshold=200.0, budget=BUDGET)
    assert seen.kind == "unclear"


def test_run_that_ended_promises_nothing() -> None:
    seen = narrate(curve(lambda t: 100 * t), threshold=200.0, budget=BUDGET, over=True)
    assert re.fullmatch(r"still learning when it ended: score 9\d(.\d)?", seen.text)


def test_without_a_threshold_the_gain_is_named() -> None:
    seen = narrate(curve(lambda t: 300 * t, noise=0.0), budget=BUDGET)
    assert seen.text == "learning steadily: +98 in 163k steps"


def test_sentence_changes_only_after_it_held_a_few_looks() -> None:
    narrator = Narrator()
    rising, flat = Sentence("rising", "up"), Sentence("stuck", "flat")
    assert narrator.look(Sentence("waiting", "wait")) == "wait"
    assert narrator.look(rising) == "up", "the first news is told at once"
    assert [narrator.look(s) for s in (flat, flat, rising, flat, flat, flat)] == [
        "up", "up", "up", "up", "up", "flat",
    ]  # fmt: skip
    assert narrator.look(Sentence("stuck", "flat, longer")) == "flat, longer", "numbers stay up to date"


def test_solved_task_is_said_at_once() -> None:
    """Beside a best score above the threshold, 'in a few seconds' would be wrong."""
    narrator = Narrator()
    narrator.look(Sentence("rising", "200 in a few seconds"))
    assert narrator.look(Sentence("solved rising", "solved")) == "solved"
    assert narrator.look(Sentence("solved flat", "solved; flat")) == "solved", "how it goes on need not be"


@SEEDS
def test_sentence_is_calm_over_a_whole_noisy_run(seed: int) -> None:
    points = curve(lambda t: min(180.0, 360 * t), noise=6.0, seed=seed)
    narrator, said = Narrator(), []
    for known in range(len(points)):
        seen = narrate(points[:known], threshold=200.0, budget=BUDGET)
        text = re.sub(r"-?\d.*", "", narrator.look(seen))
        if not said or text != said[-1]:
            said.append(text)
    assert said[0] == "warming up: no episode has ended yet"
    assert said[-1] == "plateau at "
    assert len(said) <= 7, said


@given(st.lists(st.floats(-1e9, 1e9), max_size=300), st.floats(-1e3, 1e3), st.booleans())
def test_any_scores_give_a_short_sentence(scores: list[float], threshold: float, over: bool) -> None:
    history = Scores()
    for index, score in enumerate(scores):
        history.take({"train/return_plain/mean": score, "time/env_steps": index * 100, "time/seconds": 0.1})
    assert len(history.points) < CAPACITY
    seen = narrate(history.points, threshold=threshold, best=None, budget=30_000, over=over)
    assert 0 < len(seen.text) < 80


def test_scores_that_are_not_numbers_are_left_out() -> None:
    history = Scores()
    for score in (None, math.nan, math.inf, 1.0):
        history.take({"train/return_plain/mean": score, "time/env_steps": 1})
    assert [point.score for point in history.points] == [1.0]


def test_history_keeps_the_whole_run() -> None:
    history = Scores()
    for step in range(10_000):
        history.take({"train/return_plain/mean": 1.0, "time/env_steps": step})
    assert history.points[0].steps < 500
    assert history.points[-1].steps > 9_800


def test_numbers_are_as_one_says_them() -> None:
    assert [figure(x) for x in (475.0, -110.0, 0.85, 21.456, 1234.5)] == [
        "475",
        "-110",
        "0.85",
        "21.5",
        "1,234",
    ]
    assert [count(x) for x in (950, 1_240, 120_345, 2_500_000)] == ["950", "1.2k", "120k", "2.5M"]
    assert [about(x) for x in (3, 42, 200, 7_300)] == [
        "a few seconds", "about 40 s", "about 3 min", "about 2 h",
    ]  # fmt: skip
