"""Frames an action is held for, and episodes that end because nothing is gained."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.envs import states as carrying
from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError


def slides(*wrappers: Any, training: bool = True, **kwargs: Any) -> gym.Env:
    config = EnvConfig(id="tests.envs.picture_envs:Slides", kwargs=kwargs, wrappers=wrappers)
    return make_env(config, training=training)


@settings(max_examples=30, deadline=None)
@given(
    skip=st.integers(1, 7),
    rewards=st.lists(st.floats(-5, 5), min_size=1, max_size=40),
    seed=st.integers(0, 99),
)
def test_skipped_frames_add_their_rewards_and_parts(skip: int, rewards: list[float], seed: int) -> None:
    env = slides({"name": "frame-skip", "skip": skip}, rewards=rewards, shape=(4, 4))
    env.reset(seed=seed)
    total, parts, steps, over = 0.0, 0.0, 0, False
    while not over:
        _, reward, over, _, info = env.step(steps % 5)
        assert reward == pytest.approx(sum(rewards[steps * skip : (steps + 1) * skip]))
        total, parts, steps = total + reward, parts + info["reward_parts"]["bonus"], steps + 1
    assert steps == -(-40 // skip)  # an episode of 40 frames ends where it ends
    assert env.unwrapped.at == 40
    assert total == pytest.approx(sum(rewards))
    assert parts == pytest.approx(0.25 * sum(rewards))


def test_the_brightest_of_the_last_frames() -> None:
    env = slides({"name": "frame-skip", "skip": 3, "max_of": 2}, shape=(6, 5))
    plain = slides(shape=(6, 5))
    env.reset(seed=0)
    plain.reset(seed=0)
    obs, *_ = env.step(1)
    _, second, third = (plain.step(1)[0].copy() for _ in range(3))
    np.testing.assert_array_equal(obs, np.maximum(second, third))


def test_a_random_skip_varies_in_training_alone() -> None:
    wrappers = ({"name": "frame-skip", "skip": 4}, {"name": "random-frame-skip", "low": 2, "high": 5})

    def lengths(env: gym.Env, seed: int) -> list[int]:
        env.reset(seed=seed)
        found, before, over = [], 0, False
        while not over:
            *_, over, _, _ = env.step(0)
            found.append(env.unwrapped.at - before)
            before = env.unwrapped.at
        return found[:-1]  # the episode's end may have cut the last one

    drawn = [n for seed in range(20) for n in lengths(slides(*wrappers), seed)]
    assert set(drawn) == {2, 3, 4, 5}
    assert np.mean(drawn) == pytest.approx(3.5, abs=0.3)
    assert set(lengths(slides(*wrappers, training=False), 0)) == {4}
    assert lengths(slides(*wrappers), 3) == lengths(slides(*wrappers), 3) != lengths(slides(*wrappers), 4)


def test_sticky_actions_repeat_what_was_done_as_often_as_was_asked() -> None:
    env = slides({"name": "sticky-actions", "probability": 0.25}, shape=(2, 2))
    repeated, counted = 0, 0
    for episode in range(60):
        env.reset(seed=episode)
        asked = [at % 5 for at in range(40)]  # never the same twice in a row
        for action in asked:
            env.step(action)
        done = env.unwrapped.actions
        assert done[0] == asked[0]
        for at in range(1, 40):
            assert done[at] in (asked[at], done[at - 1])
            repeated += done[at] != asked[at]
            counted += 1
    # Of the repeated ones every fifth or so repeats what would have been asked for anyway.
    assert 0.20 < repeated / counted < 0.26
    always = slides({"name": "sticky-actions", "probability": 1.0}, shape=(2, 2))
    always.reset(seed=0)
    for action in (3, 1, 2):
        always.step(action)
    assert always.unwrapped.actions == [3, 3, 3]


@pytest.mark.parametrize("value", [None, "x"])
def test_an_episode_without_progress_is_cut_off(value: str | None) -> None:
    rewards = (1.0, 0.0, 0.0, 2.0, -1.0, 0.5, 0.5, 0.0, 0.0)  # 3 is reached at step 4 and never passed
    env = slides({"name": "no-progress", "steps": 4, "value": value}, rewards=rewards, shape=(2, 2))
    for _ in range(2):  # an episode starts again
        env.reset(seed=0)
        cut = [env.step(0)[3] for _ in range(8)]
        assert cut == [False] * 7 + [True]


def test_small_gains_may_not_count() -> None:
    env = slides({"name": "no-progress", "steps": 3, "least": 0.5}, rewards=(0.4,) * 40, shape=(2, 2))
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(6)] == [False] * 6  # 0.8 is enough every second step
    env = slides({"name": "no-progress", "steps": 3, "least": 2.0}, rewards=(0.4,) * 40, shape=(2, 2))
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize(
    "wrappers",
    [
        ({"name": "sticky-actions", "probability": 0.5},),
        ({"name": "frame-skip", "skip": 2}, {"name": "random-frame-skip", "low": 1, "high": 4}),
        ({"name": "no-progress", "steps": 6},),
        ({"name": "no-progress", "steps": 6, "value": "x"},),
    ],
)
def test_a_state_continues_exactly(wrappers: Any) -> None:
    rewards = (1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    ours, theirs = (slides(*wrappers, rewards=rewards, shape=(3, 3)) for _ in range(2))
    ours.reset(seed=1)
    theirs.reset(seed=2)
    for at in range(4):
        ours.step(np.int64(at))
    carrying.set_env_state(theirs, json.loads(json.dumps(carrying.env_state(ours))))
    for at in range(6):
        here, there = ours.step(at % 5), theirs.step(at % 5)
        assert here[0].tobytes() == there[0].tobytes()
        assert here[1:4] == there[1:4]
    done = theirs.unwrapped.actions
    assert done == ours.unwrapped.actions[-len(done) :]


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        ({"name": "frame-skip", "skip": 0}, "skip must be a whole number of at least 1"),
        ("random-frame-skip", "varies the number of a 'frame-skip', which must stand before"),
        ({"name": "sticky-actions", "probability": 2}, "probability must be a number from 0 to 1, not 2"),
        ({"name": "no-progress"}, "needs a value for steps"),
        ({"name": "no-progress", "steps": 5, "value": 3}, "must be the name of an entry, not 3"),
    ],
)
def test_wrong_use_raises_a_clear_error(wrapper: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        slides(wrapper)


def test_a_value_that_the_env_does_not_tell() -> None:
    env = slides({"name": "no-progress", "steps": 5, "value": "xx"})
    env.reset(seed=0)
    with pytest.raises(GymnastError, match=r"no 'xx'.*did you mean 'x'.*it has reward_parts, x"):
        env.step(0)
