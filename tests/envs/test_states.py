"""A captured state is data from which any row continues: the same actions give the same bits again."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymnast.envs.build import build_envs, build_training_envs, make_env
from gymnast.envs.contract import Envs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.states import EnvState, decode, encode, env_state, set_env_state
from gymnast.errors import GymnastError
from gymnast.spaces.plain import random_actions

NOISY = ("sticky-actions", {"name": "observation-noise", "std": 0.1}, {"name": "frame-stack", "k": 3})
PIXELS = {"frame_skip": 4, "stack": 3, "size": [42, 42]}

# family → (package it needs, configs); the time limits are short so that episodes end on the way.
LIGHT: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "classic control": (
        "gymnasium",
        [
            {"id": "CartPole-v1", "max_episode_steps": 23},
            {"id": "Acrobot-v1", "max_episode_steps": 17},
            {"id": "MountainCar-v0", "max_episode_steps": 19, "wrappers": ["mountaincar-shaping"]},
            {"id": "MountainCarContinuous-v0", "max_episode_steps": 19, "wrappers": NOISY},
            {"id": "Pendulum-v1", "max_episode_steps": 13},
        ],
    ),
    "toy text": (
        "gymnasium",
        [
            {"id": "FrozenLake-v1"},
            {"id": "CliffWalkingSlippery-v1", "max_episode_steps": 21},
            {"id": "Taxi-v4", "max_episode_steps": 21, "action_masks": True, "kwargs": {"is_rainy": True}},
            {"id": "Blackjack-v1"},
        ],
    ),
    "ours": (
        "gymnasium",
        [
            {"id": "gymnast/Bandit-v0", "kwargs": {"kind": "gaussian", "horizon": 9}},
            {"id": "gymnast/TMaze-v0", "kwargs": {"length": 3}},
        ],
    ),
    "minatar": (
        "minatar",
        [{"id": f"MinAtar/{game}-v1"} for game in ("Asterix", "Breakout", "Freeway", "Seaquest")],
    ),
}
HEAVY: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "box2d": (
        "Box2D",
        [
            {"id": "LunarLander-v3", "kwargs": {"enable_wind": True}},
            {"id": "LunarLanderContinuous-v3", "max_episode_steps": 25},
            {
                "id": "LunarLander-v3",
                "wrappers": [{"name": "lunarlander-physics", "gravity": [-11, -5], "wind_power": [0, 9]}],
            },
        ],
    ),
    "minigrid": (
        "minigrid",
        [
            {"id": env_id, "max_episode_steps": 25, "wrappers": ["minigrid-planes"]}
            for env_id in (
                "MiniGrid-DoorKey-5x5-v0",
                "MiniGrid-Dynamic-Obstacles-6x6-v0",
                "MiniGrid-MultiRoom-N2-S4-v0",
                "MiniGrid-KeyCorridorS3R1-v0",
                "MiniGrid-RedBlueDoors-6x6-v0",
                "BabyAI-GoToLocal-v0",
                "BabyAI-SynthS5R2-v0",
                "BabyAI-PutNextS4N1-v0",
            )
        ],
    ),
    "mujoco": (
        "mujoco",
        [{"id": "Hopper-v5", "max_episode_steps": 25}, {"id": "Reacher-v5", "max_episode_steps": 25}],
    ),
    "atari": (
        "ale_py",
        [
            {"id": "ALE/Breakout-v5", "atari": PIXELS, "max_episode_steps": 30},
            {"id": "ALE/Pong-v5", "atari": {**PIXELS, "frame_skip": 1}, "max_episode_steps": 25},
            {"id": "ALE/Breakout-v5", "atari": {"obs": "objects", "sticky": 0.25}},
            {"id": "ALE/SpaceInvaders-v5", "atari": {"obs": "ram", "sticky": 0.9}, "wrappers": [NOISY[2]]},
        ],
    ),
    "vizdoom": (
        "vizdoom",
        [
            {
                "id": "VizDoom-Basic-v0",
                "max_episode_steps": 20,
                "vizdoom": {"variables": ["HEALTH", "AMMO2"], "rewards": {"ammo": 0.1}},
                "wrappers": [NOISY[2]],
            }
        ],
    ),
    "retro": ("stable_retro", [{"id": "Retro/Airstriker-Genesis", "max_episode_steps": 30}]),
}
ALONE = ("retro",)  # one emulator per process


def name_of(config: dict[str, Any]) -> str:
    return config["id"] + "".join(f" {key}" for key in config if key in ("wrappers", "atari"))


def cases(families: dict[str, tuple[str, list[dict[str, Any]]]]) -> list[Any]:
    return [
        pytest.param(
            config,
            1 if family in ALONE else 3,
            id=name_of(config),
            marks=pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}"),
        )
        for family, (package, configs) in families.items()
        for config in configs
    ]


def record(envs: Envs, actions: list[np.ndarray], rows: list[int]) -> list[list[Any]]:
    """All that a consumer is handed of some rows, step by step."""
    seen = []
    for action in actions:
        step = envs.step(action)
        seen.append([seen_of(envs, step, row) for row in rows])
    return seen


def seen_of(envs: Envs, step: Any, row: int) -> list[Any]:
    done = bool(step.terminated[row] or step.truncated[row])
    return [
        bits(step.obs[row]),
        float(step.rewards[row]),
        bool(step.terminated[row]),
        bool(step.truncated[row]),
        bits(step.final_obs[row]) if done else None,
        None if envs.masks is None else envs.masks[row].tolist(),
        [float(part[row]) for part in step.reward_parts.values()],
        [repr(float(value[row])) for value in step.episode_values.values()] if done else None,
        bool(step.life_lost is not None and step.life_lost[row]),
    ]


def bits(row: Any) -> list[bytes]:
    """An observation's numbers, without the gaps between the fields of a structured one."""
    return [row.tobytes()] if row.dtype.names is None else [row[name].tobytes() for name in row.dtype.names]


def through_json(state: EnvState) -> EnvState:
    return EnvState.from_json(json.loads(json.dumps(state.to_json())))


def check_repeats(envs: Envs, rows: list[int], before: int, after: int, seed: int) -> None:
    """Play, capture, play on, begin from what was captured, do the same: the same is seen."""
    assert envs.carries_state
    assert envs.can_capture
    obs = envs.reset()
    random = np.random.default_rng(seed)
    for _ in range(before):
        obs = envs.step(random_actions(envs.action_space, envs.n_envs, random, envs.masks)).obs
    seen = [bits(obs[row]) for row in rows]
    masks = None if envs.masks is None else envs.masks[rows].copy()
    states = [through_json(state) for state in envs.capture(rows)]
    actions, expected = [], []
    for _ in range(after):
        actions.append(random_actions(envs.action_space, envs.n_envs, random, envs.masks))
        expected += record(envs, actions[-1:], rows)
    begun = envs.begin_from(rows, states)
    assert [bits(row) for row in begun] == seen
    if masks is not None:
        assert envs.masks is not None
        np.testing.assert_array_equal(envs.masks[rows], masks)
    assert record(envs, actions, rows) == expected


def check_law(config: dict[str, Any], n_envs: int, examples: int, backend: str = "sync") -> None:
    envs = build_envs(EnvConfig.model_validate(config), n_envs=n_envs, seed=5, backend=backend)
    rows = [n_envs - 1, 0] if n_envs > 1 else [0]

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 30), st.integers(1, 30), st.integers(0, 2**20))
    def law(before: int, after: int, seed: int) -> None:
        check_repeats(envs, rows, before, after, seed)

    try:
        law()
    finally:
        envs.close()


@pytest.mark.parametrize(("config", "n_envs"), cases(LIGHT))
def test_light_envs_repeat_from_a_captured_state(config: dict[str, Any], n_envs: int) -> None:
    check_law(config, n_envs, examples=8)


@pytest.mark.slow
@pytest.mark.parametrize(("config", "n_envs"), cases(HEAVY))
def test_heavy_envs_repeat_from_a_captured_state(config: dict[str, Any], n_envs: int) -> None:
    check_law(config, n_envs, examples=3)


IN_WORKERS = {
    "classic control": ("gymnasium", LIGHT["classic control"][1][:1]),
    "toy text": ("gymnasium", LIGHT["toy text"][1][2:3]),
    "minigrid": ("minigrid", HEAVY["minigrid"][1][:1]),
}


@pytest.mark.parametrize("backend", ["workers", "remote"])
@pytest.mark.parametrize(("config", "n_envs"), cases(IN_WORKERS))
def test_worker_envs_repeat_from_a_captured_state(config: dict[str, Any], n_envs: int, backend: str) -> None:
    check_law({**config, "workers": 2, "actors": {"count": 2}}, n_envs, examples=4, backend=backend)


@pytest.mark.skipif(find_spec("ale_py") is None, reason="needs ale_py")
def test_atari_in_workers_repeats_from_a_captured_state() -> None:
    check_law({"id": "ALE/Breakout-v5", "atari": {"obs": "ram"}, "workers": 2}, 2, 2, "workers")


def test_native_cartpole_repeats_an_episode_and_then_draws_new_starts() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1"), n_envs=3, seed=5, backend="native")
    obs = envs.reset()
    actions = [np.array([at % 2, 1, at % 3 > 0]) for at in range(12)]
    for action in actions[:4]:
        obs = envs.step(action).obs
    seen = obs[[2, 0]].copy()
    states = [through_json(state) for state in envs.capture([2, 0])]
    expected = record(envs, actions[:5], [2, 0])
    np.testing.assert_array_equal(envs.begin_from([2, 0], states), seen)
    assert record(envs, actions[:5], [2, 0]) == expected
    pushed = [np.ones(3, np.int64)] * 12
    ends = []
    for _ in range(2):
        envs.begin_from([0, 2], states[::-1])
        ends.append(record(envs, pushed, [0, 2]))
    last = next(at for at, (seen, _) in enumerate(ends[0]) if seen[2])
    assert [rows[0] for rows in ends[0][:last]] == [rows[0] for rows in ends[1][:last]]
    assert ends[0][last][0][0] != ends[1][last][0][0]  # the next start


@pytest.mark.parametrize(
    ("there", "here"), [("sync", "workers"), ("workers", "sync"), ("remote", "sync"), ("sync", "remote")]
)
@pytest.mark.parametrize("env_id", ["Taxi-v4", "LunarLander-v3"])
def test_a_state_continues_in_another_row_process_and_run(env_id: str, there: str, here: str) -> None:
    masked = env_id == "Taxi-v4"
    config = EnvConfig(id=env_id, workers=2, action_masks=masked, max_episode_steps=40)
    first = build_envs(config, n_envs=4, seed=1, backend=there)
    other = build_envs(config, n_envs=2, seed=77, backend=here)
    try:
        first.reset()
        random = np.random.default_rng(0)
        chosen = [random_actions(first.action_space, 4, random) for _ in range(70)]
        for action in chosen[:25]:
            obs = first.step(action).obs
        last = bits(obs[3])
        (state,) = first.capture([3])
        begun = other.begin_from([0, 1], [through_json(state)] * 2)  # without a reset before
        assert [bits(row) for row in begun] == [last, last]
        expected = record(first, chosen[25:], [3])
        got = record(other, [action[[3, 3]] for action in chosen[25:]], [0, 1])
        assert got == [[seen, seen] for (seen,) in expected]
    finally:
        first.close()
        other.close()


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
def test_groups_capture_any_rows_in_any_order(backend: str) -> None:
    config = EnvConfig(id="FrozenLake-v1", n_envs=5, groups=2, backend=backend, workers=1)
    envs = build_training_envs(config, seed=3)
    try:
        check_repeats(envs, [4, 0, 2], before=7, after=30, seed=1)
        # A state goes to the other group as well.
        envs.reset()
        states = envs.capture([0])
        expected = record(envs, [np.full(5, 2)] * 20, [0])
        envs.begin_from([4], states)
        assert record(envs, [np.full(5, 2)] * 20, [4]) == expected
    finally:
        envs.close()


def mixed_config() -> EnvConfig:
    tasks = [
        {"name": "near", "kwargs": {"length": 2}},
        {"name": "far", "kwargs": {"length": 5}},
        {"name": "masked", "kwargs": {"n_actions": 3, "forbids": 1}, "action_masks": True},
    ]
    return EnvConfig.model_validate({"id": "mix_envs:Chore", "mix": tasks, "n_envs": 5})


def test_mixed_tasks_capture_any_rows() -> None:
    envs = build_envs(mixed_config(), seed=3, backend="sync")
    check_repeats(envs, [4, 0, 2, 1, 3], before=7, after=30, seed=1)


def test_states_of_another_task_env_or_backend_are_refused() -> None:
    mixed = build_envs(mixed_config(), seed=3, backend="sync")
    mixed.reset()
    with pytest.raises(GymnastError, match="task 'far' cannot begin from a state of 'task near"):
        mixed.begin_from([2], mixed.capture([0]))
    lake = build_envs(EnvConfig(id="FrozenLake-v1"), n_envs=2, seed=0, backend="sync")
    cartpole = build_envs(EnvConfig(id="CartPole-v1"), n_envs=2, seed=0, backend="native")
    lake.reset()
    cartpole.reset()
    before = lake.capture([0])
    with pytest.raises(GymnastError, match=r"env 1 is .*FrozenLakeEnv.* a state of .*CartPoleVectorEnv"):
        lake.begin_from([0, 1], [*before, *cartpole.capture([0])])
    assert lake.capture([0]) == before  # nothing was begun


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
def test_envs_without_a_state_refuse_and_name_the_layer(backend: str) -> None:
    config = EnvConfig(id="CartPole-v1", wrappers=("sample_envs:PlusOne",), workers=1)
    envs = build_envs(config, n_envs=2, seed=0, backend=backend)
    try:
        envs.reset()
        assert not envs.can_capture
        with pytest.raises(GymnastError, match=r"cannot be captured: sample_envs.PlusOne cannot report"):
            envs.capture([0])
    finally:
        envs.close()


@pytest.mark.skipif(find_spec("ale_py") is None, reason="needs ale_py")
def test_vectorised_atari_refuses() -> None:
    envs = build_envs(EnvConfig(id="ALE/Pong-v5"), n_envs=2, seed=0, backend="native")
    assert not envs.can_capture
    with pytest.raises(GymnastError, match=r"env.backend native cannot capture .* use sync or workers"):
        envs.capture([0])
    envs.close()


@pytest.mark.parametrize("backend", ["sync", "workers", "native", "remote"])
def test_wrong_rows_are_refused(backend: str) -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1", workers=1), n_envs=2, seed=0, backend=backend)
    try:
        with pytest.raises(GymnastError, match="before their first reset"):
            envs.capture([0])
        first = envs.reset().copy()
        states = envs.capture([0, 1])
        with pytest.raises(GymnastError, match="there is no env 2; they are 0 to 1"):
            envs.capture([2])
        with pytest.raises(GymnastError, match="twice"):
            envs.begin_from([1, 1], states)
        with pytest.raises(GymnastError, match="1 states are given for 2 envs"):
            envs.begin_from([0, 1], states[:1])
        np.testing.assert_array_equal(envs.begin_from([1, 0], states), first)
    finally:
        envs.close()


keys = st.one_of(st.text(max_size=4), st.integers(), st.tuples(st.integers()))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**130), 2**130), st.floats(), st.text(), st.binary()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_plain_values_survive_json(value: Any) -> None:
    again = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert repr(again) == repr(value)  # NaN is not equal to itself


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?", "U1"])
@pytest.mark.parametrize("shape", [(), (3,), (40, 80)])
def test_arrays_survive_json_with_their_dtype(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    given_value = array if shape else array[()]
    again = decode(json.loads(json.dumps(encode(given_value))))
    assert type(again) is type(given_value)
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([object()])])
def test_what_is_not_plain_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be written"):
        encode(value)


DRAWN = {
    "classic control": ("pygame", [{"id": "CartPole-v1"}]),
    "ours": ("pygame", [{"id": "gymnast/TMaze-v0"}, {"id": "gymnast/Bandit-v0"}]),
    "minatar": ("minatar", [{"id": "MinAtar/Breakout-v1"}]),
    "minigrid": ("minigrid", [{"id": "MiniGrid-DoorKey-5x5-v0"}]),
    "atari": ("ale_py", [{"id": "ALE/Breakout-v5"}]),
    "retro": ("stable_retro", [{"id": "Retro/Airstriker-Genesis"}]),
}


@pytest.mark.parametrize(("config", "n_envs"), cases(DRAWN))
def test_the_picture_is_that_of_the_state_at_once(config: dict[str, Any], n_envs: int) -> None:
    env = make_env(EnvConfig.model_validate(config), render_mode="rgb_array")
    try:
        env.reset(seed=1)
        env.action_space.seed(2)
        chosen = [env.action_space.sample() for _ in range(60)]
        for action in chosen[:7]:
            env.step(action)
        saved, picture = json.loads(json.dumps(env_state(env))), np.array(env.render())
        for action in chosen[7:]:
            if any(env.step(action)[2:4]):
                env.reset()
        later = np.array(env.render())
        set_env_state(env, saved)
        np.testing.assert_array_equal(np.array(env.render()), picture)
        if config["id"] != "gymnast/TMaze-v0":
            assert (later != picture).any()
    finally:
        env.close()


@pytest.mark.skipif(find_spec("ale_py") is None, reason="needs ale_py")
def test_the_sticky_action_is_found_beyond_the_block_of_random_numbers_in_use() -> None:
    from gymnast.envs.families.atari.games import load_ale, rom_path
    from gymnast.envs.families.atari.sticky import StickyAction, _block_before

    ale = load_ale()
    ale.setFloat("repeat_action_probability", 0.9)
    ale.setInt("random_seed", 3)
    ale.loadROM(rom_path("breakout"))
    sticky = StickyAction(ale, 0.9)
    ale.act(0)
    first, used = sticky._random()
    assert used == 2
    for _ in range(312):
        ale.act(0)
    second, used = sticky._random()
    assert used == 2
    np.testing.assert_array_equal(_block_before(second), first)
    settings = {"obs": "ram", "sticky": 0.9, "noop_max": 0}  # 78 steps of 4 frames use a block up
    config = EnvConfig.model_validate({"id": "ALE/SpaceInvaders-v5", "atari": settings})
    envs = build_envs(config, n_envs=1, seed=5, backend="sync")
    for before in (77, 78, 79):
        check_repeats(envs, [0], before=before, after=12, seed=before)
    envs.close()
