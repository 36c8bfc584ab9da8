"""Our own envs draw themselves."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gymnast.envs.single  # noqa: F401  registers them


def play(env_id: str, actions: list[int], **arguments: Any) -> list[np.ndarray]:
    env = gym.make(env_id, render_mode="rgb_array", **arguments)
    env.reset(seed=3)
    pictures = [env.render()]
    for action in actions:
        env.step(action)
        pictures.append(env.render())
    return pictures  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("env_id", "actions", "arguments"),
    [
        ("gymnast/Bandit-v0", [0, 3, 3, 9], {}),
        ("gymnast/Bandit-v0", [0, 1, 1], {"arms": [-3.0, 0.5], "kind": "gaussian"}),
        ("gymnast/Bandit-v0", [0, 1], {"arms": 60}),
        ("gymnast/Bandit-v0", [0, 0], {"arms": [0.0]}),
        ("gymnast/TMaze-v0", [2, 2, 0, 2], {}),
        ("gymnast/TMaze-v0", [2, 2, 1], {"length": 2}),
        ("gymnast/TMaze-v0", [2, 2, 2], {"length": 300}),
    ],
)
def test_every_step_shows(env_id: str, actions: list[int], arguments: dict[str, Any]) -> None:
    pictures = play(env_id, actions, **arguments)
    assert len({picture.shape for picture in pictures}) == 1
    assert all(picture.dtype == np.uint8 and picture.shape[2] == 3 for picture in pictures)
    assert (pictures[0] != pictures[1]).any()
    assert (pictures[0] != pictures[-1]).any()


def test_both_ends_of_the_maze_look_different() -> None:
    left, right = (play("gymnast/TMaze-v0", [2, turn], length=1)[-1] for turn in (0, 1))
    assert (left != right).any()


@pytest.mark.parametrize("env_id", ["gymnast/Bandit-v0", "gymnast/TMaze-v0"])
def test_nothing_is_drawn_unless_asked_for(env_id: str) -> None:
    env = gym.make(env_id)
    env.reset()
    assert env.unwrapped.render() is None
