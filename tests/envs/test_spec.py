"""What is known of an env, and the families that envs come from."""

from __future__ import annotations

import math

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

from gymnast.envs.families.bandit import BanditEnv
from gymnast.envs.families.table import FAMILIES, family_of
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import known_ids
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError


def test_gymnasium_is_asked_first() -> None:
    spec = read_spec(EnvConfig(id="LunarLander-v2"))
    assert (spec.id, spec.solved_at, spec.max_episode_steps) == ("LunarLander-v3", 200, 1000)
    assert spec.action_labels == ("action 0", "action 1", "action 2", "action 3")
    assert spec.observation_names == tuple(f"obs[{i}]" for i in range(8))
    assert (spec.family, spec.extra) == ("box2d", None)
    assert spec.description == "This environment is a classic rocket trajectory optimization problem."
    assert spec.reward_range == (-math.inf, math.inf)


def test_the_config_fills_in_what_gymnasium_does_not_know() -> None:
    given = {
        "action_labels": ["torque"],
        "observation_names": ["cos", "sin", "speed"],
        "reward_range": [-17, 0],
        "solved_at": -170,
        "description": "Swing it up.",
    }
    limit = {"name": "time-limit", "steps": 50}
    spec = read_spec(EnvConfig(id="Pendulum-v1", spec=given, wrappers=[limit]))
    assert spec.action_labels == ("torque",)
    assert spec.observation_names == ("cos", "sin", "speed")
    assert (spec.reward_range, spec.solved_at) == ((-17, 0), -170)
    assert (spec.description, spec.family, spec.max_episode_steps) == ("Swing it up.", "classic control", 50)


def test_defaults_for_an_env_by_import_path() -> None:
    spec = read_spec(EnvConfig(id="sample_envs:FromFive"))
    assert spec.observation_names == ("obs[0]",)
    assert spec.action_labels == ("action 0", "action 1")
    assert (spec.family, spec.solved_at, spec.max_episode_steps) == ("other", None, None)


def test_a_wrong_number_of_labels() -> None:
    with pytest.raises(GymnastError, match=r"env\.spec.action_labels: 2 are given, but Acrobot-v1 has 3"):
        read_spec(EnvConfig(id="Acrobot-v1", spec={"action_labels": ["left", "right"]}))


def test_families_know_what_they_need() -> None:
    names = {
        "Ant-v5": "mujoco",
        "Taxi-v4": "toy text",
        "CartPole-v1": "classic control",
        "gymnast/Bandit-v0": "bandits",
    }
    for env_id, family in names.items():
        assert family_of(env_id, gym.registry[env_id].entry_point).name == family
    assert family_of("ALE/Pong-v5").extra == "atari"
    installed = {family.name: family.installed for family in FAMILIES}
    assert installed["box2d"]
    assert installed["toy text"]


def test_ids_that_can_be_named() -> None:
    assert {"CartPole-v1", "Taxi-v3", "gymnast/Bandit-v0"} <= set(known_ids())


@pytest.mark.parametrize("kwargs", [{}, {"arms": [0.1, 0.9], "horizon": 5}, {"arms": 3, "kind": "gaussian"}])
def test_bandits_pass_gymnasiums_own_check(kwargs: dict) -> None:
    check_env(gym.make("gymnast/Bandit-v0", **kwargs).unwrapped, skip_render_check=True)


def test_bandits_pay_by_the_means_and_end_at_the_horizon() -> None:
    env = BanditEnv(arms=[0.2, 0.7], horizon=4000)
    env.reset(seed=0)
    for arm, mean in ((0, 0.2), (1, 0.7)):
        pulls = [env.step(arm) for _ in range(2000)]
        assert {reward for _, reward, *_ in pulls} == {0.0, 1.0}
        assert sum(reward for _, reward, *_ in pulls) / 2000 == pytest.approx(mean, abs=0.04)
    assert pulls[-1][2]
    assert not pulls[-2][2]
    gaussian = BanditEnv(arms=[3.0], kind="gaussian", noise=0.0)
    gaussian.reset(seed=0)
    assert gaussian.step(0)[1] == 3.0


def test_drawn_arms_are_the_same_in_every_copy() -> None:
    assert (BanditEnv(arms=6).means == BanditEnv(arms=6).means).all()
    assert (BanditEnv(arms=6).means != BanditEnv(arms=6, arms_seed=1).means).any()
