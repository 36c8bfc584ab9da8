"""MinAtar's games: planes as bytes, labels, seeds that repeat, a picture, and a state that can be carried."""

from __future__ import annotations

import json
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gymnast.envs import states as carrying
from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import read_spec

pytest.importorskip("minatar")
IDS = [f"MinAtar/{game}-v1" for game in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")]


def played(env: gym.Env, seed: int, steps: int) -> list[tuple[bytes, float, bool]]:
    obs, _ = env.reset(seed=seed)
    trace = [(obs.tobytes(), 0.0, False)]
    for at in range(steps):
        obs, reward, over, _, _ = env.step(at * 7 % env.action_space.n)
        assert env.observation_space.contains(obs)
        trace.append((obs.tobytes(), reward, over))
        if over:
            env.reset()
    return trace


@pytest.mark.parametrize("env_id", IDS)
def test_a_seed_repeats_what_happens_and_another_does_not(env_id: str) -> None:
    env = make_env(EnvConfig(id=env_id))
    assert env.observation_space.dtype == np.uint8
    first = played(env, 5, 200)
    assert played(env, 5, 200) == first  # whatever was played before
    assert played(make_env(EnvConfig(id=env_id)), 5, 200) == first
    assert played(env, 6, 200) != first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it advises on render modes
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("env_id", IDS)
def test_a_state_continues_exactly(env_id: str) -> None:
    ours, theirs = make_env(EnvConfig(id=env_id)), make_env(EnvConfig(id=env_id))
    played(ours, 1, 150)
    theirs.reset(seed=9)
    assert carrying.can_carry(ours)
    carrying.set_env_state(theirs, json.loads(json.dumps(carrying.env_state(ours))))
    for at in range(300):
        action = at * 5 % ours.action_space.n
        here, there = ours.step(action), theirs.step(action)
        assert (here[0].tobytes(), *here[1:3]) == (there[0].tobytes(), *there[1:3])
        if here[2]:
            assert ours.reset()[0].tobytes() == theirs.reset()[0].tobytes()


def test_labels_are_of_the_actions_that_matter() -> None:
    assert read_spec(EnvConfig(id="MinAtar/Breakout-v1")).action_labels == ("noop", "left", "right")
    everything = ("noop", "left", "up", "right", "down", "fire")
    assert read_spec(EnvConfig(id="MinAtar/Breakout-v0")).action_labels == everything


def test_the_picture_shows_the_planes() -> None:
    env = make_env(EnvConfig(id="MinAtar/Breakout-v1"), render_mode="rgb_array")
    obs, _ = env.reset(seed=0)
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((240, 240, 3), np.uint8)
    lit = picture.reshape(10, 24, 10, 24, 3).max((1, 3, 4)) > 0
    np.testing.assert_array_equal(lit, obs.any(2))
    colours = {tuple(colour) for colour in picture.reshape(-1, 3).tolist()}
    assert len(colours) == 4  # black, paddle, ball, bricks
