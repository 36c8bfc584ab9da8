"""Interrupted and restored, an env continues bit for bit, or reports that it cannot."""

from __future__ import annotations

import json
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.envs.build import build_envs, build_training_envs
from gymnast.envs.contract import Envs, Step
from gymnast.envs.settings import EnvConfig

WITH_STATE = {
    "CartPole-v1": {},
    "Acrobot-v1": {},
    "MountainCar-v0": {},
    "MountainCarContinuous-v0": {},
    "Pendulum-v1": {},
    "FrozenLake-v1": {},
    "CliffWalkingSlippery-v1": {},
    "Taxi-v4": {"is_rainy": True, "fickle_passenger": True},
    "LunarLander-v3": {"enable_wind": True},
    "LunarLanderContinuous-v3": {},
    "gymnast/Bandit-v0": {"arms": 4, "kind": "gaussian", "horizon": 9},
    "gymnast/TMaze-v0": {"length": 3, "max_steps": 9},
}


def config_for(env_id: str, **more: Any) -> EnvConfig:
    # The limit is odd, so that a snapshot falls into the middle of an episode.
    limit = None if env_id.startswith("gymnast/") else 23
    return EnvConfig(id=env_id, kwargs=WITH_STATE.get(env_id, {}), max_episode_steps=limit, workers=2, **more)


def actions_for(envs: Envs, step: int) -> np.ndarray:
    random = np.random.default_rng(step)
    if isinstance(envs.action_space, gym.spaces.Discrete):
        return random.integers(0, envs.action_space.n, size=envs.n_envs)
    return random.uniform(-1, 1, size=(envs.n_envs, *envs.action_space.shape)).astype(np.float32)


def through_json(snapshot: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(snapshot, default=np.ndarray.tolist))


def record(envs: Envs, start: int, stop: int) -> list[np.ndarray]:
    rows = []
    for at in range(start, stop):
        step: Step = envs.step(actions_for(envs, at))
        done = step.terminated | step.truncated
        ended = step.final_obs[done].ravel() if step.final_obs is not None else np.zeros(0)
        parts = [step.reward_parts[name] for name in envs.reward_parts]
        rows.append(
            np.concatenate(
                [step.obs.ravel(), step.rewards, step.terminated, step.truncated, ended.astype(float), *parts]
            )
        )
    return rows


def check_continues(config: EnvConfig, backend: str, other_backend: str | None = None) -> None:
    whole = build_envs(config, n_envs=4, seed=9, backend=backend)
    resumed = None
    try:
        assert whole.carries_state
        whole.reset()
        record(whole, 0, 40)
        saved = through_json(whole.snapshot())
        expected = record(whole, 40, 120)
        resumed = build_envs(config, n_envs=4, seed=9, backend=other_backend or backend)
        assert resumed.restore(saved) is None
        got = record(resumed, 40, 120)
        for want, have in zip(expected, got, strict=True):
            np.testing.assert_array_equal(have, want)
    finally:
        whole.close()
        if resumed is not None:
            resumed.close()


@pytest.mark.parametrize("env_id", WITH_STATE)
def test_sync_envs_continue_exactly(env_id: str) -> None:
    check_continues(config_for(env_id), "sync")


@pytest.mark.parametrize("backend", ["workers", "remote"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Taxi-v4"])
def test_worker_envs_continue_exactly(env_id: str, backend: str) -> None:
    check_continues(config_for(env_id), backend)


def test_native_cartpole_continues_exactly() -> None:
    check_continues(config_for("CartPole-v1"), "native")


def test_a_run_may_change_between_sync_and_workers() -> None:
    check_continues(config_for("FrozenLake-v1"), "sync", "workers")
    check_continues(config_for("FrozenLake-v1"), "workers", "sync")
    check_continues(config_for("FrozenLake-v1"), "workers", "remote")
    check_continues(config_for("FrozenLake-v1"), "remote", "sync")


def test_wrappers_continue_exactly() -> None:
    wrappers = (
        "mountaincar-shaping",
        {"name": "count-bonus", "weight": 1.0, "bins": 4},
        {"name": "long-episode-penalty", "growth": 0.5, "after": 3},
        {"name": "time-limit", "steps": 17},
        {"name": "reward-scale", "scale": 0.3},
    )
    check_continues(config_for("MountainCar-v0", wrappers=wrappers), "sync")


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
@pytest.mark.parametrize("env_id", ["BipedalWalker-v3", "sample_envs:Countdown"])
def test_envs_without_a_state_start_new_episodes(env_id: str, backend: str) -> None:
    config = config_for(env_id)
    envs = build_envs(config, n_envs=3, seed=4, backend=backend)
    resumed = build_envs(config, n_envs=3, seed=4, backend=backend)
    again = build_envs(config, n_envs=3, seed=4, backend="sync")
    try:
        assert not envs.carries_state
        first = envs.reset().copy()
        record(envs, 0, 10)
        saved = through_json(envs.snapshot())
        obs = resumed.restore(saved).copy()
        assert obs.shape == first.shape
        assert not np.array_equal(obs, first)
        # Two resumes of one snapshot agree, whatever the backend.
        np.testing.assert_array_equal(again.restore(saved), obs)
        np.testing.assert_array_equal(
            np.concatenate(record(resumed, 0, 5)), np.concatenate(record(again, 0, 5))
        )
    finally:
        for each in (envs, resumed, again):
            each.close()


def test_a_users_wrapper_without_a_state_cannot_be_resumed() -> None:
    config = EnvConfig(id="CartPole-v1", wrappers=("sample_envs:PlusOne",))
    assert not build_envs(config, n_envs=2, seed=0, backend="sync").carries_state


@pytest.mark.parametrize("backend", ["sync", "native"])
def test_another_number_of_envs_starts_new_episodes(backend: str) -> None:
    envs = build_envs(config_for("CartPole-v1"), n_envs=4, seed=0, backend=backend)
    first = envs.reset().copy()
    saved = through_json(envs.snapshot())
    for n_envs in (2, 6):
        other = build_envs(config_for("CartPole-v1"), n_envs=n_envs, seed=0, backend=backend)
        obs = other.restore(saved)
        assert obs.shape == (n_envs, 4)
        assert not (obs[:, None] == first[None, :2]).all(-1).any()
        other.step(np.zeros(n_envs, np.int64))


def test_a_snapshot_of_another_env_or_backend_starts_new_episodes() -> None:
    acrobot = build_envs(config_for("Acrobot-v1"), n_envs=4, seed=0, backend="sync")
    acrobot.reset()
    native = build_envs(config_for("CartPole-v1"), n_envs=4, seed=0, backend="native")
    first = native.reset().copy()
    sync = build_envs(config_for("CartPole-v1"), n_envs=4, seed=0, backend="sync")
    assert sync.restore(acrobot.snapshot()).shape == (4, 4)
    assert sync.restore(native.snapshot()).shape == (4, 4)
    sync.reset()
    assert not np.array_equal(native.restore(sync.snapshot()), first)


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
def test_numpy_values_in_a_state_are_kept(backend: str) -> None:
    wrappers = ({"name": "sample_envs:Remembers", "what": "numpy"},)
    check_continues(config_for("CartPole-v1", wrappers=wrappers), backend)


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
@pytest.mark.parametrize("what", ["object", "error"])
def test_a_state_that_cannot_be_written_warns_and_costs_only_the_episode(
    backend: str, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    config = config_for("CartPole-v1", wrappers=({"name": "sample_envs:Remembers", "what": what},))
    envs = build_envs(config, n_envs=2, seed=4, backend=backend)
    try:
        envs.reset()
        record(envs, 0, 5)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            saved = through_json(envs.snapshot())
        said = " ".join(str(one.message) for one in told) + capfd.readouterr().err
        assert "get_state of sample_envs.Remembers does not give plain data" in said
        record(envs, 5, 10)  # nobody was lost
        assert envs.restarts == 0
        assert envs.restore(saved) is not None  # new episodes
    finally:
        envs.close()


def grouped(groups: int, env_id: str, backend: str) -> Envs:
    return build_training_envs(config_for(env_id, n_envs=4, groups=groups, backend=backend), seed=4)


@pytest.mark.parametrize(
    ("env_id", "backend", "groups"),
    [
        ("BipedalWalker-v3", "sync", (2, 2, 2)),
        ("BipedalWalker-v3", "sync", (2, 1, 2)),
        ("BipedalWalker-v3", "sync", (1, 2, 1)),
        ("BipedalWalker-v3", "sync", (2, 3, 2)),
        ("CartPole-v1", "native", (2, 1, 2)),  # its state is of all envs of a group
        ("CartPole-v1", "native", (1, 2, 1)),
    ],
)
def test_groups_of_envs_without_a_state_never_repeat_an_episode(
    env_id: str, backend: str, groups: tuple[int, ...]
) -> None:
    seen: list[np.ndarray] = []
    saved: dict[str, Any] | None = None
    for count in groups:
        envs = grouped(count, env_id, backend)
        first = envs.reset()
        if saved is not None:
            resumed = envs.restore(saved)
            assert resumed is not None
            first = resumed
        seen.extend(np.array(first))
        record(envs, 0, 3)
        saved = through_json(envs.snapshot())
        envs.close()
    # No two episodes begin alike: observations of physics repeat only if their seeds do.
    assert len(np.unique(np.array(seen), axis=0)) == len(seen) == 4 * len(groups)


@pytest.mark.parametrize("groups", [(1, 2), (2, 1), (2, 3)], ids=str)
def test_envs_with_a_state_continue_exactly_in_other_groups(groups: tuple[int, int]) -> None:
    before, after = (grouped(count, "CartPole-v1", "sync") for count in groups)
    before.reset()
    record(before, 0, 30)
    saved = through_json(before.snapshot())
    assert after.restore(saved) is None
    for want, have in zip(record(before, 30, 80), record(after, 30, 80), strict=True):
        # Where several envs end in one step, their last observations come group by group.
        np.testing.assert_array_equal(np.sort(have), np.sort(want))
    before.close()
    after.close()


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
def test_envs_that_left_and_came_back_begin_new_episodes(backend: str) -> None:
    seen, saved = [], None
    for n_envs in (4, 2, 4):
        envs = build_envs(config_for("BipedalWalker-v3"), n_envs=n_envs, seed=4, backend=backend)
        first = envs.reset() if saved is None else envs.restore(saved)
        assert first is not None
        seen.extend(first.copy())
        saved = through_json(envs.snapshot())
        envs.close()
    assert len(np.unique(np.array(seen), axis=0)) == len(seen)
