"""Each wrapper does what its docstring says, and says what it added to the reward."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.wrappers import WRAPPERS, is_training_only, parts_of, wrapper_class
from gymnast.errors import GymnastError


def wrapped(env_id: str, *wrappers: Any, **more: Any) -> gym.Env:
    return make_env(EnvConfig(id=env_id, wrappers=wrappers, **more))


@pytest.mark.parametrize("name", WRAPPERS)
def test_every_wrapper_describes_itself_and_its_arguments(name: str) -> None:
    wrapper = wrapper_class(name)
    doc = wrapper.__doc__ or ""
    assert doc.strip()
    names = list(wrapper.__init__.__annotations__)
    for argument in names:
        if argument not in ("env", "return"):
            assert f"{argument}" in doc
    # What changes the reward or disturbs is for training, so that evaluation scores the env itself.
    assert is_training_only(wrapper) == (bool(parts_of(wrapper)) or name.endswith("-noise"))


def test_centring_charges_in_proportion_to_the_distance() -> None:
    env = wrapped("CartPole-v1", {"name": "cartpole-centring", "weight": 0.8})
    env.reset(seed=1)
    for _ in range(8):
        obs, reward, *_, info = env.step(1)
        charge = -0.8 * abs(float(obs[0])) / 2.4
        assert info["reward_parts"] == {"cartpole-centring": pytest.approx(charge)}
        assert reward == pytest.approx(1.0 + charge)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31 - 1),
    kind=st.sampled_from(["energy", "height"]),
    gamma=st.floats(0.8, 1.0),
    env_id=st.sampled_from(["MountainCar-v0", "MountainCarContinuous-v0"]),
)
def test_shaping_is_a_difference_of_potentials(seed: int, kind: str, gamma: float, env_id: str) -> None:
    """Its discounted sum depends on the ends alone: −Φ(first) + γᵀ Φ(last)."""
    env = wrapped(env_id, {"name": "mountaincar-shaping", "kind": kind, "gamma": gamma, "weight": 2.0})

    def potential(obs: np.ndarray) -> float:
        x, v = float(obs[0]), float(obs[1])
        height = math.sin(3 * x) - math.sin(3 * env.unwrapped.goal_position)
        return 2.0 * (height + (v * v / 2 / (0.0025 / 3) if kind == "energy" else 0.0))

    first, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    total, obs = 0.0, first
    for at in range(30):
        obs, _, terminated, _, info = env.step(env.action_space.sample())
        assert not terminated
        total += gamma**at * info["reward_parts"]["mountaincar-shaping"]
    assert total == pytest.approx(gamma**30 * potential(obs) - potential(first), abs=1e-4)


def test_shaping_counts_the_goal_as_zero() -> None:
    env = wrapped("MountainCar-v0", {"name": "mountaincar-shaping", "gamma": 1.0})
    obs, _ = env.reset(seed=0)
    total, terminated = 0.0, False
    while not terminated:
        obs, _, terminated, truncated, info = env.step(2 if obs[1] >= 0 else 0)  # pump with the motion
        assert not truncated
        total += info["reward_parts"]["mountaincar-shaping"]
    env.reset(seed=0)
    assert total == pytest.approx(-10.0 * env.get_wrapper_attr("_before"), abs=1e-4)


def test_count_bonus_falls_with_the_root_of_the_visits() -> None:
    env = wrapped("gymnast/Bandit-v0", {"name": "count-bonus", "weight": 3.0}, kwargs={"arms": [0.0, 0.0]})
    env.reset(seed=0)
    bonuses = [env.step(0)[1] for _ in range(9)]
    assert bonuses == pytest.approx([3.0 / math.sqrt(n) for n in range(1, 10)])


def test_count_bonus_tells_cells_apart() -> None:
    env = wrapped("MountainCar-v0", {"name": "count-bonus", "weight": 1.0, "bins": 2})
    env.reset(seed=0)
    seen: dict[tuple[bool, bool], int] = {}
    for at in range(150):
        obs, *_, info = env.step(2 if (at // 20) % 2 else 0)
        cell = (float(obs[0]) >= -0.3, float(obs[1]) >= 0.0)
        seen[cell] = seen.get(cell, 0) + 1
        assert info["reward_parts"]["count-bonus"] == pytest.approx(1 / math.sqrt(seen[cell]))
    assert len(seen) >= 2


def test_the_shares_of_stacked_wrappers_leave_the_envs_own_reward() -> None:
    env = wrapped(
        "CartPole-v1",
        "cartpole-centring",
        {"name": "long-episode-penalty", "cost": 0.1, "after": 2, "growth": 0.5},
        {"name": "reward-scale", "scale": 3.0},
    )
    env.reset(seed=0)
    for at in range(1, 6):
        _, reward, *_, info = env.step(at % 2)
        parts = info["reward_parts"]
        assert parts["long-episode-penalty"] == pytest.approx(-0.1 - 0.5 * max(0, at - 2))
        assert reward - sum(parts.values()) == pytest.approx(1.0)
        assert reward == pytest.approx(3 * (1.0 + parts["cartpole-centring"] + parts["long-episode-penalty"]))


def test_the_penalty_starts_anew_with_each_episode() -> None:
    env = wrapped("CartPole-v1", {"name": "long-episode-penalty", "growth": 1.0})
    for _ in range(2):
        env.reset(seed=0)
        assert [env.step(at % 2)[1] for at in range(3)] == [0.0, -1.0, -2.0]


def test_time_limit_truncates() -> None:
    env = wrapped("Pendulum-v1", {"name": "time-limit", "steps": 3})
    for _ in range(2):
        env.reset(seed=0)
        assert [env.step(np.zeros(1, np.float32))[3] for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "LunarLanderContinuous-v3"])
def test_physics_are_drawn_for_each_episode_and_rule_the_world(env_id: str) -> None:
    ranges = {"gravity": [-11.5, -2.0], "wind_power": [1, 19], "turbulence_power": [0.1, 1.9]}
    env = wrapped(env_id, {"name": "lunarlander-physics", **ranges})
    lander = env.unwrapped
    drawn = []
    for episode in range(5):
        _, info = env.reset(seed=3 if episode == 0 else None)
        assert info["physics"]["gravity"] == lander.gravity
        assert lander.world.gravity[1] == pytest.approx(lander.gravity, rel=1e-6)
        for name, (least, greatest) in ranges.items():
            assert least <= getattr(lander, name) <= greatest
        assert lander.enable_wind
        drawn.append((lander.gravity, lander.wind_power, lander.turbulence_power))
    assert len(set(drawn)) == 5
    env.reset(seed=3)
    assert (lander.gravity, lander.wind_power, lander.turbulence_power) == drawn[0]


def test_gravity_pulls_as_strongly_as_was_drawn() -> None:
    falls = {}
    for gravity in (-2.0, -11.0):
        env = wrapped("LunarLander-v3", {"name": "lunarlander-physics", "gravity": [gravity, gravity]})
        env.reset(seed=0)
        before = env.unwrapped.lander.linearVelocity.y
        for _ in range(10):
            env.step(0)
        falls[gravity] = env.unwrapped.lander.linearVelocity.y - before
        assert not env.unwrapped.enable_wind
    assert falls[-11.0] / falls[-2.0] == pytest.approx(5.5, rel=0.02)


def test_a_range_for_turbulence_alone_leaves_the_wind_off() -> None:
    env = wrapped("LunarLander-v3", {"name": "lunarlander-physics", "turbulence_power": [1.0, 1.5]})
    env.reset(seed=0)
    assert env.unwrapped.wind_power == 0.0


def test_a_users_own_wrapper_by_import_path() -> None:
    env = wrapped("CartPole-v1", {"name": "sample_envs:PlusOne", "add": 5.0})
    env.reset(seed=0)
    assert env.step(0)[1] == 6.0


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        ("cartpole-centering", "unknown wrapper 'cartpole-centering' .*did you mean 'cartpole-centring'"),
        ({"name": "count-bonus", "wieght": 1}, "no argument 'wieght' .*did you mean 'weight'"),
        ({"name": "count-bonus", "weight": "much"}, "weight must be a number, not 'much'"),
        ({"name": "count-bonus"}, "no bound low in some dimension"),
        ({"name": "count-bonus", "low": [1, 2, 3], "high": 1}, "one per dimension"),
        ({"name": "count-bonus", "low": 1, "high": -1}, "high must lie above low"),
        ("mountaincar-shaping", "is for MountainCar"),
        ("lunarlander-physics", "is for LunarLander"),
        ("time-limit", "needs a value for steps"),
        ({"name": "time-limit", "steps": 0}, "at least 1, not 0"),
        ("long-episode-penalty", "give a cost or a growth"),
        ({"name": "long-episode-penalty", "cost": -1}, "cost must be a number from 0"),
        ("sample_envs:PlusTwo", "has no 'PlusTwo' .*did you mean 'PlusOne'"),
        ("sample_envs:Countdown", "it is no Wrapper class"),
        ("no_such_module:Thing", "no module 'no_such_module'"),
    ],
)
def test_a_wrong_wrapper_is_told_with_what_would_be_right(wrapper: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        wrapped("CartPole-v1", wrapper)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give a range for at least one of gravity"),
        ({"gravity": -5}, r"gravity must be \[least, greatest\]"),
        ({"gravity": [-1, -5]}, r"gravity must be \[least, greatest\]"),
        ({"gravity": [-20, -5]}, "gravity must be a number from -12 to 0"),
    ],
)
def test_wrong_ranges_of_physics(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        wrapped("LunarLander-v3", {"name": "lunarlander-physics", **arguments})


def test_wrong_kind_of_shaping() -> None:
    with pytest.raises(GymnastError, match=r"kind is energy or height, not 'hight' .*'height'"):
        wrapped("MountainCar-v0", {"name": "mountaincar-shaping", "kind": "hight"})
