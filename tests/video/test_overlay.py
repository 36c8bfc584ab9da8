"""Frames: the picture as it is, enlarged by whole numbers, and a bar of text."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.drawing import shortened, text_width
from gymnast.traces.action_text import ActionNames
from gymnast.traces.step import Decision, Outcome, TraceStep
from gymnast.video.overlay import BAR, LEAST_WIDTH, LONGEST_SIDE, Layout, paste

RANDOM = np.random.default_rng(0)
ACTION = np.zeros(1, np.int64)
OUTCOME = Outcome(ACTION, "RIGHT+FIRE", 1.0, {}, False, False)


def recorded(height: int = 210, width: int = 160) -> TraceStep:
    picture = RANDOM.integers(0, 255, (height, width, 3), dtype=np.uint8)
    return TraceStep(0, 3, picture, {}, {}, {}, 3.25, 12.5, OUTCOME, Decision(ACTION, 0.0, 0.0))


def layout_of(step: TraceStep, episodes: int = 1) -> Layout:
    assert step.picture is not None
    return Layout(step.picture, episodes=episodes)


@given(st.integers(1, 900), st.integers(1, 900))
def test_pixels_become_squares(height: int, width: int) -> None:
    one = recorded(height, width)
    layout = layout_of(one)
    factor = layout.factor
    assert factor == 1 or max(height, width) * factor <= LONGEST_SIDE
    assert max(height, width) * (factor + 1) > LONGEST_SIDE, "as large as it can be"
    frame = layout.compose(one)
    assert (
        frame.shape
        == (layout.height, layout.width, 3)
        == (
            height * factor + BAR,
            max(width * factor, LEAST_WIDTH),
            3,
        )
    )
    left = (layout.width - width * factor) // 2
    shown = frame[: height * factor, left : left + width * factor]
    assert (shown[::factor, ::factor] == one.picture).all()
    assert (shown[factor - 1 :: factor, factor - 1 :: factor] == one.picture).all()


@pytest.mark.parametrize(
    "change",
    [
        {"step": 4},
        {"outcome": replace(OUTCOME, label="LEFT")},
        {"outcome": replace(OUTCOME, reward=0.0)},
        {"total": 13.5},
        {"value": None},
        {"decision": None},
        {"decision": None, "outcome": replace(OUTCOME, terminated=True)},
        {"decision": None, "outcome": replace(OUTCOME, truncated=True)},
    ],
)
def test_the_bar_shows_everything_and_hides_nothing(change: dict[str, object]) -> None:
    one = recorded()
    other = replace(one, **change)  # type: ignore[arg-type]
    layout = layout_of(one)
    before, after = layout.compose(one), layout.compose(other)
    assert (before[:-BAR] == after[:-BAR]).all()
    assert (before[-BAR:] != after[-BAR:]).any()


def test_episodes_are_counted_where_there_are_several() -> None:
    one = recorded()
    layout = layout_of(one, episodes=3)
    assert (layout.compose(one) != layout.compose(replace(one, episode=1)))[-BAR:].any()
    alone = layout_of(one)
    assert (alone.compose(one) == alone.compose(replace(one, episode=1))).all()


@given(*[st.integers(1, 12)] * 4)
def test_pasting_centres_and_cuts(height: int, width: int, tall: int, wide: int) -> None:
    area, picture = np.zeros((height, width), np.uint8), np.ones((tall, wide), np.uint8)
    paste(area, picture)
    rows, columns = min(height, tall), min(width, wide)
    assert area.sum() == rows * columns
    top, left = (height - rows) // 2, (width - columns) // 2
    assert area[top : top + rows, left : left + columns].all()


@given(st.text(max_size=60), st.integers(20, 300))
def test_texts_fit(text: str, width: int) -> None:
    short = shortened(text.replace("\x00", ""), 20, width)
    assert text_width(short, 20) <= width


def test_fonts_survive_an_env_that_quits_pygame() -> None:
    import pygame

    one = recorded()
    layout = layout_of(one)
    before = layout.bar(one)
    pygame.quit()
    assert (layout.bar(one) == before).all()


@pytest.mark.parametrize(
    ("space", "labels", "action", "text"),
    [
        (gym.spaces.Discrete(3), ("a", "b", "c"), 1, "b"),
        (gym.spaces.Discrete(3, start=5), ("a", "b", "c"), 5, "a"),
        (gym.spaces.Discrete(3), (), 2, "action 2"),
        (gym.spaces.MultiBinary(3), ("UP", "A", "B"), np.array([1, 0, 1]), "UP+B"),
        (gym.spaces.MultiBinary(3), ("UP", "A", "B"), np.array([0, 0, 0]), "nothing"),
        (gym.spaces.MultiDiscrete([3, 4]), ("gear", "lane"), np.array([2, 1]), "gear 2  lane 1"),
        (gym.spaces.Box(-1, 1, (2,)), ("action 0", "action 1"), np.float32([0.5, -1]), "+0.50  -1.00"),
        (gym.spaces.Box(-2, 2, (1,)), ("torque",), np.float32([1.25]), "torque +1.25"),
    ],
)
def test_actions_in_words(space: gym.Space, labels: tuple[str, ...], action: object, text: str) -> None:
    assert ActionNames(space, labels).text(action) == text


def test_actions_of_a_dict_by_their_parts() -> None:
    space = gym.spaces.Dict(push=gym.spaces.Box(-1, 1, (1,)), turn=gym.spaces.Discrete(3))
    names = ActionNames(space, ("push", "turn"))
    assert names.text({"push": np.float32([0.25]), "turn": 2}) == "push +0.25  turn 2"
    assert names.numbers == ("push",)
    assert names.choices == ("turn=0", "turn=1", "turn=2")
