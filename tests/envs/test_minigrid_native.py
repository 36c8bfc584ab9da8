"""MiniGrid stepped as arrays, and its faster observation: the same episodes as MiniGrid's, bit for bit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.envs.build import build_envs, why_not_backend
from gymnast.envs.contract import EnvFailure, Envs, Step
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError
from gymnast.rollout.evaluate import evaluation_envs

pytest.importorskip("minigrid")

from minigrid.core.world_object import Ball, Key
from minigrid.minigrid_env import MiniGridEnv

from gymnast.envs.families.minigrid.cells import PICKUP, TOGGLE
from gymnast.envs.families.minigrid.quick_view import QuickView, quicken_view

PLANES = ("minigrid-planes",)
# MiniGrid looks for the pictures that these are made after in a folder that its package does not have.
WITHOUT_PICTURES = "MiniGrid-WFC-"
ALL_IDS = sorted(
    env_id
    for env_id, spec in gym.registry.items()
    if str(spec.entry_point).startswith("minigrid.") and not env_id.startswith(WITHOUT_PICTURES)
)
WITH_RULES_OF_THEIR_OWN = ("Dynamic", "Fetch", "GoTo", "Memory", "PutNear", "RedBlue")
NATIVE_IDS = [
    env_id
    for env_id in ALL_IDS
    if env_id.startswith("MiniGrid-") and not any(name in env_id for name in WITH_RULES_OF_THEIR_OWN)
]


def slow(env_id: str) -> Any:
    """All of some two hundred envs together take too long for every day."""
    return pytest.param(env_id, marks=pytest.mark.slow)


def config_for(env_id: str, **more: Any) -> EnvConfig:
    return EnvConfig(id=env_id, **{"wrappers": PLANES, "max_episode_steps": 60, **more})


def both(config: EnvConfig, n_envs: int, seed: int) -> tuple[Envs, Envs]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of ids that have a newer version
        native = build_envs(config, n_envs=n_envs, seed=seed, backend="native")
        sync = build_envs(config, n_envs=n_envs, seed=seed, backend="sync")
    for env in sync._envs:  # type: ignore[attr-defined]
        del env.unwrapped.gen_obs  # back to MiniGrid's own observation
    return native, sync


def eager_actions(random: np.random.Generator, n_envs: int) -> np.ndarray:
    """Random ones, more often forward, that pick up and open a lot."""
    return random.choice(7, p=[0.13, 0.13, 0.31, 0.17, 0.06, 0.17, 0.03], size=n_envs)


def step_alike(native: Envs, sync: Envs, actions: np.ndarray) -> Step:
    """One step of both, which must agree in all that it gives."""
    mine, want = native.step(actions), sync.step(actions)
    for name in ("obs", "rewards", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(want, name))
    done = want.terminated | want.truncated
    assert (mine.final_obs is not None) == done.any()
    if mine.final_obs is not None and want.final_obs is not None:
        np.testing.assert_array_equal(mine.final_obs[done], want.final_obs[done])
    return want


def check_alike(native: Envs, sync: Envs, steps: int, seed: int) -> tuple[int, int]:
    """Step both with the same actions; how many episodes ended, and how many of them well."""
    random = np.random.default_rng(seed)
    ended = rewarded = 0
    for _ in range(steps):
        step = step_alike(native, sync, eager_actions(random, sync.n_envs))
        ended += int((step.terminated | step.truncated).sum())
        rewarded += int((step.rewards > 0).sum())
    return ended, rewarded


@pytest.mark.parametrize("env_id", NATIVE_IDS)
def test_native_episodes_equal_those_of_single_envs(env_id: str) -> None:
    native, sync = both(config_for(env_id), n_envs=4, seed=5)
    np.testing.assert_array_equal(native.reset(), sync.reset())
    ended, _ = check_alike(native, sync, steps=130, seed=0)
    assert ended >= 8
    first = native.reset().copy()
    np.testing.assert_array_equal(first, sync.reset())


def go_before(thing: Any, native: Any, sync: Any, row: int) -> None:
    """Put the agents of one env before a thing, as if they had walked there."""
    env = sync._envs[row].unwrapped
    x, y = thing.cur_pos
    for facing, (dx, dy) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        place = (int(x - dx), int(y - dy))
        if env.grid.get(*place) is None:
            env.agent_pos, env.agent_dir = place, facing
            native._at[row] = native._starts[row] + native._layouts.place(*place)
            native._facing[row] = facing
            return
    raise AssertionError(f"there is no way to {thing.cur_pos}")


@pytest.mark.parametrize(
    "env_id",
    [
        "MiniGrid-UnlockPickup-v0",
        "MiniGrid-BlockedUnlockPickup-v0",
        "MiniGrid-KeyCorridorS4R3-v0",
        "MiniGrid-ObstructedMaze-2Dl-v0",
    ],
)
def test_native_episodes_end_when_the_target_is_picked_up(env_id: str) -> None:
    native, sync = both(config_for(env_id), n_envs=6, seed=11)
    native.reset()
    sync.reset()
    for row in range(6):
        go_before(sync._envs[row].unwrapped.obj, native, sync, row)  # type: ignore[attr-defined]
    step = step_alike(native, sync, np.full(6, PICKUP))
    assert step.terminated.all()
    assert (step.rewards > 0.9).all()
    check_alike(native, sync, steps=70, seed=2)


def test_native_episodes_end_when_the_door_is_unlocked() -> None:
    native, sync = both(config_for("MiniGrid-Unlock-v0"), n_envs=6, seed=11)
    native.reset()
    sync.reset()
    envs = [env.unwrapped for env in sync._envs]  # type: ignore[attr-defined]
    for row, env in enumerate(envs):
        go_before(next(thing for thing in env.grid.grid if isinstance(thing, Key)), native, sync, row)
    step_alike(native, sync, np.full(6, PICKUP))
    for row, env in enumerate(envs):
        go_before(env.door, native, sync, row)
    assert not step_alike(native, sync, np.full(6, PICKUP)).terminated.any()
    step = step_alike(native, sync, np.full(6, TOGGLE))
    assert step.terminated.all()
    assert (step.rewards > 0.9).all()


@pytest.mark.parametrize(
    "env_id", ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-Unlock-v0", "MiniGrid-MultiRoom-N2-S4-v0"]
)
def test_native_rewards_equal_those_of_single_envs(env_id: str) -> None:
    native, sync = both(config_for(env_id, max_episode_steps=None), n_envs=16, seed=11)
    native.reset()
    sync.reset()
    _, rewarded = check_alike(native, sync, steps=500, seed=1)
    assert rewarded


@settings(max_examples=25, deadline=None)
@given(
    env_id=st.sampled_from(("MiniGrid-DoorKey-6x6-v0", "MiniGrid-Playground-v0", "MiniGrid-FourRooms-v0")),
    view=st.sampled_from((3, 5, 7, 9)),
    see_through_walls=st.booleans(),
    wrappers=st.sampled_from(
        (
            PLANES,
            ({"name": "minigrid-planes", "direction": False},),
            ({"name": "minigrid-planes", "mission": False}, {"name": "time-limit", "steps": 17}),
            ({"name": "time-limit", "steps": 23}, "minigrid-planes"),
        )
    ),
    seed=st.integers(0, 1000),
)
def test_native_observations_hold_for_every_view_and_wrapper(
    env_id: str, view: int, see_through_walls: bool, wrappers: Any, seed: int
) -> None:
    kwargs = {"agent_view_size": view} | ({"see_through_walls": True} if see_through_walls else {})
    native, sync = both(config_for(env_id, kwargs=kwargs, wrappers=wrappers), n_envs=5, seed=seed)
    assert native.observation_space == sync.observation_space
    np.testing.assert_array_equal(native.reset(), sync.reset())
    check_alike(native, sync, steps=40, seed=seed)


@pytest.mark.parametrize(
    "env_id", [*ALL_IDS[::7], *(slow(env_id) for env_id in ALL_IDS if env_id not in ALL_IDS[::7])]
)
def test_quick_view_equals_minigrids_own(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quick, own = (gym.make(env_id, disable_env_checker=True).unwrapped for _ in range(2))
    quicken_view(quick)
    assert isinstance(quick.gen_obs, QuickView)
    random = np.random.default_rng(0)
    for seed in (0, 1):
        mine, want = quick.reset(seed=seed)[0], own.reset(seed=seed)[0]
        for _ in range(40):
            np.testing.assert_array_equal(mine["image"], want["image"])
            assert mine["image"].dtype == want["image"].dtype
            assert (mine["direction"], mine["mission"]) == (want["direction"], want["mission"])
            action = int(eager_actions(random, 1)[0]) % quick.action_space.n
            (mine, *ends), (want, *want_ends) = quick.step(action), own.step(action)
            assert ends == want_ends
            if ends[1] or ends[2]:
                mine, want = quick.reset()[0], own.reset()[0]


def test_quick_view_leaves_views_of_a_users_own_alone() -> None:
    class Marble(Ball):
        def encode(self) -> tuple[int, int, int]:
            return (6, 3, 1)

    env = gym.make("MiniGrid-Empty-5x5-v0").unwrapped
    quicken_view(env)
    env.reset(seed=0)
    env.put_obj(Marble(), 2, 1)
    np.testing.assert_array_equal(env.gen_obs()["image"], MiniGridEnv.gen_obs(env)["image"])
    assert (env.gen_obs()["image"] == (6, 3, 1)).all(axis=2).any()

    class Blind(type(env)):  # type: ignore[misc]
        def gen_obs(self) -> Any:
            return None

    blind = Blind()
    quicken_view(blind)
    assert blind.gen_obs() is None


@pytest.mark.parametrize(
    ("env_id", "more", "reason"),
    [
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", {}, "DynamicObstaclesEnv.step has rules of its own"),
        ("BabyAI-GoToLocal-v0", {}, "RoomGridLevel.step has rules of its own"),
        ("MiniGrid-DoorKey-5x5-v0", {"wrappers": ()}, "needs the wrapper minigrid-planes"),
        ("MiniGrid-DoorKey-5x5-v0", {"wrappers": (*PLANES, "sticky-actions")}, "sticky-actions"),
        ("MiniGrid-DoorKey-5x5-v0", {"kwargs": {"agent_view_size": 11}}, "views are of 11 × 11 cells"),
    ],
)
def test_native_refuses_what_it_cannot_step(env_id: str, more: Any, reason: str) -> None:
    assert reason in str(why_not_backend(config_for(env_id, **more), 8, "native"))


def test_native_is_chosen_by_rule() -> None:
    assert build_envs(config_for("MiniGrid-DoorKey-5x5-v0"), n_envs=8, seed=0).backend == "native"
    assert build_envs(config_for("MiniGrid-DoorKey-5x5-v0"), n_envs=2, seed=0).backend != "native"


def test_evaluation_plays_the_same_episodes_whatever_the_backend() -> None:
    counts = {
        evaluation_envs(config_for("MiniGrid-DoorKey-5x5-v0", backend=backend), 100)
        for backend in ("auto", "native", "sync")
    }
    assert len(counts) == 1


def test_native_leaves_the_step_before_whole() -> None:
    envs = build_envs(config_for("MiniGrid-Empty-5x5-v0"), n_envs=4, seed=0, backend="native")
    first = envs.reset()
    kept = first.copy()
    step = envs.step(np.zeros(4, np.int64))
    np.testing.assert_array_equal(first, kept)
    kept = step.obs.copy()
    envs.send(np.ones(4, np.int64))
    assert (envs.receive().obs != kept).any()
    np.testing.assert_array_equal(step.obs, kept)


@pytest.mark.parametrize("action", [-1, 7])
def test_an_unknown_action_is_a_failure(action: int) -> None:
    for envs in both(config_for("MiniGrid-DoorKey-5x5-v0"), n_envs=4, seed=0):
        envs.reset()
        with pytest.raises(EnvFailure, match=f"env 2 .*Unknown action: {action}"):
            envs.step(np.array([0, 1, action, 3]))


@pytest.mark.parametrize(
    "env_id",
    ["MiniGrid-DoorKey-6x6-v0", "MiniGrid-ObstructedMaze-1Dlhb-v0", "MiniGrid-KeyCorridorS3R2-v0"],
)
def test_a_restored_native_env_continues_its_episodes_exactly(env_id: str) -> None:
    config = config_for(env_id, max_episode_steps=23)
    envs = build_envs(config, n_envs=6, seed=2, backend="native")
    other = build_envs(config, n_envs=6, seed=2, backend="native")
    assert envs.carries_state
    envs.reset()
    other.reset()
    random = np.random.default_rng(4)
    for _ in range(57):
        envs.step(eager_actions(random, 6))
    saved = envs.snapshot()
    kept = [envs.step(eager_actions(np.random.default_rng(at), 6)).obs.copy() for at in range(60)]
    assert other.restore(saved) is None
    for at, want in enumerate(kept):
        np.testing.assert_array_equal(other.step(eager_actions(np.random.default_rng(at), 6)).obs, want)


@pytest.mark.parametrize("n_envs", [6, 4, 8])
def test_native_and_single_envs_start_the_same_episodes_from_the_snapshots_of_the_other(n_envs: int) -> None:
    config = config_for("MiniGrid-DoorKey-6x6-v0", max_episode_steps=23)
    native, sync = both(config, n_envs=6, seed=2)
    native.reset()
    sync.reset()
    check_alike(native, sync, steps=57, seed=0)
    started = []
    for backend, snapshot in (("sync", native.snapshot()), ("native", sync.snapshot())):
        envs = build_envs(config, n_envs=n_envs, seed=2, backend=backend)
        envs.reset()
        first = envs.restore(snapshot)
        assert first is not None, "the state of the other cannot be read, its random numbers can"
        started.append([first.copy(), *(envs.step(np.full(n_envs, at % 3)).obs.copy() for at in range(40))])
    np.testing.assert_array_equal(*started)


@pytest.mark.parametrize("env_id", ["MiniGrid-DoorKey-6x6-v0", "MiniGrid-MultiRoom-N2-S4-v0"])
def test_captured_states_begin_in_any_row(env_id: str) -> None:
    config = config_for(env_id, max_episode_steps=23)
    envs = build_envs(config, n_envs=6, seed=2, backend="native")
    envs.reset()
    random = np.random.default_rng(4)
    for _ in range(31):
        seen = envs.step(eager_actions(random, 6)).obs
    before = seen.copy()
    states = envs.capture([5, 2])
    actions = eager_actions(random, 6 * 60).reshape(60, 6)
    kept = [(step.obs.copy(), step.rewards.copy(), step.truncated.copy()) for step in map(envs.step, actions)]
    other = build_envs(config, n_envs=3, seed=9, backend="native")
    other.reset()
    for _ in range(7):
        other.step(eager_actions(random, 3))
    np.testing.assert_array_equal(other.begin_from([0, 2], states), before[[5, 2]])
    for at, (obs, rewards, truncated) in enumerate(kept):
        step = other.step(actions[at][[5, 0, 2]])
        np.testing.assert_array_equal(step.obs[[0, 2]], obs[[5, 2]])
        np.testing.assert_array_equal(step.rewards[[0, 2]], rewards[[5, 2]])
        np.testing.assert_array_equal(step.truncated[[0, 2]], truncated[[5, 2]])


def test_a_state_of_another_env_is_refused() -> None:
    envs = build_envs(config_for("MiniGrid-DoorKey-6x6-v0"), n_envs=2, seed=0, backend="native")
    other = build_envs(config_for("MiniGrid-MultiRoom-N2-S4-v0"), n_envs=2, seed=0, backend="native")
    envs.reset()
    other.reset()
    with pytest.raises(GymnastError, match="cannot begin from a state of"):
        other.begin_from([0], envs.capture([1]))


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["MiniGrid-DoorKey-5x5-v0:ppo", "MiniGrid-MultiRoom-N4-S5-v0:ppo"])
def test_training_gives_the_same_bits_on_either_backend(reference: str, tmp_path: Path) -> None:
    weights = {}
    for backend in ("native", "sync"):
        overrides = {
            "env.backend": backend,
            "env.n_envs": 16,
            "algo.n_steps": 128,
            "budget.env_steps": 4096,
            "eval.every": 2048,
            "eval.episodes": 8,
        }
        run = api.train(reference, overrides=overrides, runs_dir=tmp_path / backend)
        newest = max(run.path.glob("checkpoints/*.policy.safetensors"))
        scores = [line.split(",") for line in (run.path / "metrics.csv").read_text().splitlines()]
        column = scores[0].index("eval/return/mean")
        weights[backend] = (newest.read_bytes(), [row[column] for row in scores[1:]])
    assert weights["native"] == weights["sync"]
