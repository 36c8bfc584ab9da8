"""What is paid, and what is told of an episode."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.envs import states as carrying
from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import episode_values, reward_parts
from gymnast.errors import GymnastError


def slides(*wrappers: Any, training: bool = True, **kwargs: Any) -> gym.Env:
    config = EnvConfig(
        id="tests.envs.picture_envs:Slides", kwargs={"shape": (2, 2), **kwargs}, wrappers=wrappers
    )
    return make_env(config, training=training)


@settings(max_examples=40, deadline=None)
@given(
    rewards=st.lists(st.floats(-10, 10), min_size=1, max_size=10),
    low=st.floats(-3, 0),
    high=st.floats(0.1, 3),
)
def test_clipped_rewards_leave_the_envs_own(rewards: list[float], low: float, high: float) -> None:
    env = slides({"name": "reward-clip", "low": low, "high": high}, rewards=rewards)
    env.reset(seed=0)
    for own in rewards:
        _, reward, *_, info = env.step(0)
        assert low <= reward <= high
        assert reward - info["reward_parts"]["reward-clip"] == pytest.approx(own)
    plain = slides("reward-clip", rewards=rewards, training=False)
    plain.reset(seed=0)
    assert plain.step(0)[1] == rewards[0]  # evaluation scores the env itself


def test_components_pay_for_values_and_for_their_changes() -> None:
    env = slides(
        {"name": "reward-components", "weights": {"x": 0.1}, "changes": {"x": 2}}, rewards=(3.0, 0.0, -1.0)
    )
    assert reward_parts(env) == ("x",)
    for _ in range(2):  # what changed is forgotten with the episode
        env.reset(seed=0)
        for own, x, change in ((3.0, 3.0, 3.0), (0.0, 3.0, 0.0), (-1.0, 2.0, -1.0)):
            _, reward, *_, info = env.step(0)
            share = 0.1 * x + 2 * change
            assert info["reward_parts"]["x"] == pytest.approx(share)
            assert reward == pytest.approx(own + share)


def test_statistics_of_an_episode() -> None:
    env = slides(
        {"name": "episode-statistics", "last": ["x"], "greatest": "x"}, rewards=(1.0, 0.0, 4.0, -2.0)
    )
    assert episode_values(env) == (
        *("greatest_reward", "least_reward", "mean_reward", "steps_between_rewards"),
        *("last_x", "greatest_x"),
    )
    for _ in range(2):
        env.reset(seed=0)
        over, info = False, {}
        while not over:
            assert "greatest_reward" not in info
            *_, over, _, info = env.step(0)
        assert (info["greatest_reward"], info["least_reward"]) == (4.0, -2.0)
        assert info["mean_reward"] == pytest.approx(3 / 40)
        assert info["steps_between_rewards"] == pytest.approx(40 / 3)
        assert (info["last_x"], info["greatest_x"]) == (3.0, 5.0)


@pytest.mark.parametrize(
    "wrapper",
    [
        {"name": "reward-components", "changes": {"x": 1.0}},
        {"name": "episode-statistics", "greatest": ["x"]},
    ],
)
def test_a_state_continues_exactly(wrapper: Any) -> None:
    ours, theirs = (slides(wrapper, rewards=(1.0, 5.0, 0.0, 2.0, -1.0)) for _ in range(2))
    ours.reset(seed=1)
    theirs.reset(seed=2)
    for _ in range(3):
        ours.step(0)
    carrying.set_env_state(theirs, json.loads(json.dumps(carrying.env_state(ours))))
    over = False
    while not over:
        here, there = ours.step(0), theirs.step(0)
        assert here[1:] == there[1:]
        over = here[2]


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        ({"name": "reward-clip", "low": 1, "high": 0}, r"low \(1\) must lie below high \(0\)"),
        ("reward-components", "give weights or changes"),
        ({"name": "reward-components", "weights": "x"}, "weights is a map such as {x_pos: 0.1}, not 'x'"),
        ({"name": "reward-components", "weights": {"x": "much"}}, "weights.x must be a number, not 'much'"),
        ({"name": "episode-statistics", "last": 3}, "last is a list of names, not 3"),
    ],
)
def test_wrong_use_raises_a_clear_error(wrapper: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        slides(wrapper)


def test_what_the_env_does_not_tell() -> None:
    env = slides({"name": "reward-components", "weights": {"xx": 1}})
    env.reset(seed=0)
    with pytest.raises(GymnastError, match=r"'reward-components': the env's info has no 'xx'.*it has .*x"):
        env.step(0)
    env = slides({"name": "reward-components", "weights": {"reward_parts": 1}})
    env.reset(seed=0)
    with pytest.raises(GymnastError, match=r"info\['reward_parts'\] is not a number"):
        env.step(0)
