"""MiniGrid's view as planes holds exactly what its numbers did, and different missions look different."""

from __future__ import annotations

import numpy as np
import pytest

from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError

pytest.importorskip("minigrid")


def build(env_id: str, **arguments: bool):
    return make_env(EnvConfig(id=env_id, wrappers=({"name": "minigrid-planes", **arguments},)))


@pytest.mark.parametrize(
    "env_id", ["MiniGrid-DoorKey-8x8-v0", "MiniGrid-LavaGapS7-v0", "MiniGrid-Dynamic-Obstacles-6x6-v0"]
)
def test_planes_hold_what_the_numbers_did(env_id: str) -> None:
    env, plain = build(env_id), make_env(EnvConfig(id=env_id))
    (obs, _), (own, _) = env.reset(seed=3), plain.reset(seed=3)
    env.action_space.seed(0)
    for _ in range(40):
        assert env.observation_space.contains(obs)
        kinds, colours, states = np.split(obs["image"], [11, 17], axis=2)
        read = np.stack([planes.argmax(2) for planes in (kinds, colours, states)], 2)
        np.testing.assert_array_equal(read, own["image"])
        assert (obs["image"].sum(2) == 3).all()
        assert obs["direction"] == own["direction"]
        action = env.action_space.sample()
        (obs, _, over, cut, _), (own, *_) = env.step(action), plain.step(action)
        if over or cut:
            (obs, _), (own, _) = env.reset(), plain.reset()


def test_a_mission_that_never_changes_is_left_out() -> None:
    assert set(build("MiniGrid-DoorKey-5x5-v0").observation_space.spaces) == {"direction", "image"}
    only = build("MiniGrid-DoorKey-5x5-v0", direction=False)
    assert only.observation_space.shape == (7, 7, 21)
    assert only.observation_space.contains(only.reset(seed=0)[0])


@pytest.mark.parametrize(
    "env_id", ["MiniGrid-GoToDoor-5x5-v0", "MiniGrid-PutNear-6x6-N2-v0", "BabyAI-GoToLocal-v0"]
)
def test_missions_with_different_words_look_different(env_id: str) -> None:
    env = build(env_id)
    seen: dict[str, bytes] = {}
    for seed in range(25):
        obs, _ = env.reset(seed=seed)
        assert env.observation_space.contains(obs)
        text = env.unwrapped.mission
        words = obs["mission"].tobytes()
        assert seen.setdefault(text, words) == words
    assert len(seen) > 3
    assert len(set(seen.values())) == len({" ".join(t.replace(" a ", " the ").split()) for t in seen})
    assert "mission" not in build(env_id, mission=False).observation_space.spaces


def test_planes_are_refused_around_other_envs() -> None:
    with pytest.raises(GymnastError, match="'minigrid-planes' is for MiniGrid's own observations, not Box"):
        build("CartPole-v1")
    with pytest.raises(GymnastError, match="direction must be true or false, not 'no'"):
        build("MiniGrid-DoorKey-5x5-v0", direction="no")
