"""Each wrapper does what its docstring says, and says what it added to the reward."""

from __future__ import annotations

import json
import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.envs import states as carrying
from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import read_spec
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
    disturbs = name.endswith("-noise") or name in ("sticky-actions", "random-frame-skip")
    pays = bool(parts_of(wrapper)) or name == "reward-components"  # whose arguments name its parts
    assert is_training_only(wrapper) == (pays or disturbs)


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


def test_the_penalty_starts_again_with_each_episode() -> None:
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
        ("sample_envs:Countdown", "it is not a Wrapper class"),
        ("no_such_module:Thing", "no module 'no_such_module'"),
    ],
)
def test_a_wrong_wrapper_raises_an_error_that_names_the_right_one(wrapper: Any, message: str) -> None:
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


def test_hidden_components_are_left_out_by_index_or_name() -> None:
    names = ("position", "velocity", "angle", "spin")
    plain = wrapped("CartPole-v1").reset(seed=3)[0]
    for components in ([1, 3], [1, -1], ["velocity", "spin"], ["velocity", 3]):
        env = wrapped(
            "CartPole-v1",
            {"name": "hide-components", "components": components},
            spec={"observation_names": names},
        )
        assert env.observation_space.shape == (2,)
        assert env.reset(seed=3)[0].tolist() == plain[[0, 2]].tolist()
        assert env.observation_space.contains(env.step(0)[0])
        config = EnvConfig(
            id="CartPole-v1",
            wrappers=({"name": "hide-components", "components": components},),
            spec={"observation_names": names},
        )
        assert read_spec(config).observation_names == ("position", "angle")


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ([4], "no component 4; they are 0 to 3"),
        (["spin"], "have no names here"),
        ([0, 1, 2, 3], "every component would be left out"),
        ([], "nothing would be left out"),
    ],
)
def test_components_that_cannot_be_hidden(components: list[Any], message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        wrapped("CartPole-v1", {"name": "hide-components", "components": components})


def test_stacked_frames_start_with_the_first_and_roll() -> None:
    env = wrapped("CartPole-v1", {"name": "frame-stack", "k": 3})
    plain = wrapped("CartPole-v1")
    for seed in (1, 2):
        first, _ = plain.reset(seed=seed)
        assert env.reset(seed=seed)[0].tolist() == [*first, *first, *first]
        second, third = plain.step(0)[0], plain.step(1)[0]
        assert env.step(0)[0].tolist() == [*first, *first, *second]
        assert env.step(1)[0].tolist() == [*first, *second, *third]
        assert env.observation_space.contains(env.step(0)[0])
        plain.step(0)


@pytest.mark.parametrize("kind", ["image", "discrete", "multidiscrete", "multibinary", "image_dict", "tuple"])
def test_anything_can_be_stacked(kind: str) -> None:
    env = wrapped("observation_envs:Cue", {"name": "frame-stack", "k": 2}, kwargs={"kind": kind})
    obs, _ = env.reset(seed=0)
    assert env.observation_space.contains(obs)
    assert env.observation_space.contains(env.step(1)[0])


def test_previous_actions_and_rewards_are_shown_from_the_second_step_on() -> None:
    env = wrapped(
        "MountainCar-v0",
        {"name": "previous-action", "k": 2},
        "previous-reward",
        {"name": "time-limit", "steps": 3},
    )
    for _ in range(2):
        obs, _ = env.reset(seed=0)
        assert obs[2:].tolist() == [0.0] * 7
        obs = env.step(2)[0]
        assert obs[2:].tolist() == [0, 0, 0, 0, 0, 1, -1]
        obs = env.step(0)[0]
        assert obs[2:].tolist() == [0, 0, 1, 1, 0, 0, -1]
        assert env.observation_space.contains(obs)


def test_previous_actions_beside_what_is_no_vector() -> None:
    env = wrapped("FrozenLake-v1", "previous-action", "previous-reward")
    env.reset(seed=0)
    obs = env.step(2)[0]
    assert set(obs) == {"observation", "previous_action", "previous_reward"}
    assert obs["previous_action"].tolist() == [0, 0, 1, 0]
    assert env.observation_space.contains(obs)
    with pytest.raises(GymnastError, match="has an entry 'previous_action' already"):
        wrapped("FrozenLake-v1", "previous-action", "previous-action")
    pendulum = wrapped("Pendulum-v1", "previous-action")
    pendulum.reset(seed=0)
    assert pendulum.step(np.array([1.5], np.float32))[0][-1] == 1.5


def test_waves_are_shown_beside_the_numbers_they_are_of() -> None:
    # Position -1.2 to 0.6 and speed -0.07 to 0.07: both are brought to -1 to 1.
    env, plain = wrapped("MountainCar-v0", {"name": "fourier", "k": 2}), wrapped("MountainCar-v0")
    obs, known = env.reset(seed=3)[0], plain.reset(seed=3)[0]
    for _ in range(3):
        scaled = (known - [-0.3, 0.0]) / [0.9, 0.07]
        waves = [np.sin(np.pi * scaled), np.sin(2 * np.pi * scaled)]
        waves += [np.cos(np.pi * scaled), np.cos(2 * np.pi * scaled)]
        np.testing.assert_allclose(obs, np.concatenate([known, *waves]), atol=1e-5)
        assert env.observation_space.contains(obs)
        obs, known = env.step(2)[0], plain.step(2)[0]
    names = env.names(("x", "v"))  # type: ignore[attr-defined]
    assert names == (
        "x",
        "v",
        "x sin 1",
        "v sin 1",
        "x sin 2",
        "v sin 2",
        "x cos 1",
        "v cos 1",
        "x cos 2",
        "v cos 2",
    )
    # CartPole's speeds have no bounds: they are taken as they are.
    obs = wrapped("CartPole-v1", {"name": "fourier", "k": 1}).reset(seed=0)[0]
    assert obs[5] == pytest.approx(np.sin(np.pi * obs[1]), abs=1e-6)


def test_observation_noise_has_the_std_that_was_asked_for_and_follows_its_schedule() -> None:
    noisy = wrapped("CartPole-v1", {"name": "observation-noise", "std": 0.5})
    plain = wrapped("CartPole-v1")
    differences = []
    for seed in range(300):
        differences.append(noisy.reset(seed=seed)[0] - plain.reset(seed=seed)[0])
    assert np.std(differences) == pytest.approx(0.5, rel=0.1)
    assert abs(np.mean(differences)) < 0.05
    fading = wrapped(
        "CartPole-v1", {"name": "observation-noise", "std": {"start": 1.0, "end": 0.0, "until": 5}}
    )
    fading.reset(seed=0)
    plain.reset(seed=0)
    gaps = [float(np.abs(fading.step(at % 2)[0] - plain.step(at % 2)[0]).max()) for at in range(8)]
    assert gaps[0] > 0.01
    assert max(gaps[5:]) < 1e-6


def test_noise_on_pixels_stays_pixels() -> None:
    env = wrapped(
        "observation_envs:Cue", {"name": "observation-noise", "std": 60}, kwargs={"kind": "image_dict"}
    )
    obs, _ = env.reset(seed=0)
    assert obs["image"].dtype == np.uint8
    assert env.observation_space["image"].contains(obs["image"])
    assert len(np.unique(obs["image"])) > 50
    assert obs["v"].dtype == np.float32


def test_action_noise_replaces_choices_and_disturbs_numbers_within_bounds() -> None:
    env = wrapped("sample_envs:Recording", {"name": "action-noise", "probability": 0.5})
    env.reset(seed=0)
    taken = []
    for _ in range(400):
        env.step(0)
        taken.append(env.unwrapped.actions[-1])
    assert np.mean(np.array(taken) != 0) == pytest.approx(0.5 * 3 / 4, abs=0.08)
    pendulum = wrapped("Pendulum-v1", {"name": "action-noise", "std": 1.0})
    pendulum.reset(seed=0)
    torques = []
    for _ in range(200):
        pendulum.step(np.zeros(1, np.float32))
        torques.append(pendulum.unwrapped.last_u)
    assert np.std(torques) == pytest.approx(1.0, rel=0.2)
    assert np.abs(torques).max() <= 2.0


def test_noise_is_for_training_and_repeats_with_the_seed() -> None:
    config = EnvConfig(id="CartPole-v1", wrappers=({"name": "observation-noise", "std": 0.5},))
    assert (
        make_env(config, training=False).reset(seed=1)[0].tolist()
        == wrapped("CartPole-v1").reset(seed=1)[0].tolist()
    )
    first = [make_env(config).reset(seed=1)[0].tolist() for _ in range(2)]
    assert first[0] == first[1]


@pytest.mark.parametrize(
    ("env_id", "wrapper", "message"),
    [
        ("CartPole-v1", {"name": "observation-noise", "std": -1}, "std must be at least 0"),
        ("CartPole-v1", {"name": "observation-noise", "std": {"start": 1, "end": 0}}, "numbers of steps"),
        ("CartPole-v1", {"name": "observation-noise", "std": "much"}, "std: must be a number or a schedule"),
        ("FrozenLake-v1", {"name": "observation-noise", "std": 1}, "no numbers to disturb"),
        ("CartPole-v1", {"name": "action-noise", "std": 1}, "takes probability, not std"),
        ("Pendulum-v1", {"name": "action-noise", "probability": 0.1}, "takes std, not probability"),
        ("CartPole-v1", "action-noise", "give a probability above 0"),
        ("CartPole-v1", {"name": "action-noise", "probability": 2}, "from 0 to 1"),
        ("CartPole-v1", {"name": "frame-stack", "k": 1}, "at least 2"),
        ("FrozenLake-v1", {"name": "hide-components", "components": [0]}, "a vector of numbers"),
        ("FrozenLake-v1", "fourier", "a vector of numbers"),
        ("CartPole-v1", {"name": "fourier", "k": 0}, "at least 1"),
    ],
)
def test_wrong_arguments_of_observation_wrappers(env_id: str, wrapper: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        wrapped(env_id, wrapper)


@pytest.mark.parametrize(
    "wrapper",
    [
        {"name": "frame-stack", "k": 3},
        {"name": "previous-action", "k": 2},
        {"name": "previous-reward", "k": 2},
        {"name": "observation-noise", "std": {"start": 1.0, "end": 0.1, "until": 20}},
        {"name": "action-noise", "probability": 0.5},
    ],
)
def test_the_state_of_a_wrapper_continues_exactly(wrapper: dict[str, Any]) -> None:
    """As JSON, into an env that was reset with another seed: from there on both go the same way."""
    config = EnvConfig(id="CartPole-v1", wrappers=(wrapper,))
    ours, theirs = make_env(config), make_env(config)
    ours.reset(seed=1)
    for at in range(6):
        ours.step(at % 2)
    theirs.reset(seed=2)
    carrying.set_env_state(theirs, json.loads(json.dumps(carrying.env_state(ours))))
    for at in range(5):
        here, there = ours.step(at % 2), theirs.step(at % 2)
        assert np.asarray(here[0]).tobytes() == np.asarray(there[0]).tobytes()
        assert here[1:4] == there[1:4]
