"""Ids, aliases, import paths and what wrong ones are told."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.envs import aliases
from gymnast.envs.build import build_envs, make_env
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError, MissingExtra
from gymnast.spaces.plain import check_spaces


@pytest.mark.parametrize(("old", "new"), aliases.ALIASES.items())
def test_every_alias_leads_to_a_registered_env(old: str, new: str) -> None:
    assert old not in gym.registry
    assert new in gym.registry


def test_an_older_name_is_accepted_and_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aliases, "_warned", set())
    with caplog.at_level(logging.WARNING, "gymnast"):
        for _ in range(2):
            env = make_env(EnvConfig(id="Taxi-v3"))
            assert env.spec.id == "Taxi-v4"
    assert [record.getMessage() for record in caplog.records] == ["Taxi-v3 is now called Taxi-v4; using that"]


def test_an_env_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from gymnasium.envs.classic_control import PendulumEnv\n\nclass Mine(PendulumEnv):\n    pass\n"
    (tmp_path / "my_module_of_envs.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [entry for entry in __import__("sys").path if entry])
    config = EnvConfig(id="my_module_of_envs:Mine", kwargs={"g": 5.0}, max_episode_steps=3, workers=1)
    for backend in ("sync", "workers"):
        envs = build_envs(config, n_envs=2, seed=0, backend=backend)
        envs.reset()
        flags = [envs.step(np.zeros((2, 1), np.float32)).truncated.all() for _ in range(3)]
        envs.close()
        assert flags == [False, False, True]


def test_an_id_registered_at_run_time_is_known_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    import sample_envs

    monkeypatch.setitem(
        gym.registry,
        "RunTime-v0",
        gym.envs.registration.EnvSpec(
            "RunTime-v0", entry_point=sample_envs.Countdown, kwargs={"lengths": [2]}
        ),
    )
    envs = build_envs(EnvConfig(id="RunTime-v0", workers=1), n_envs=2, seed=0, backend="workers")
    envs.reset()
    assert [envs.step(np.zeros(2, int)).truncated.all() for _ in range(2)] == [False, True]
    envs.close()

    class Local(sample_envs.Countdown):
        pass

    monkeypatch.setitem(
        gym.registry, "Local-v0", gym.envs.registration.EnvSpec("Local-v0", entry_point=Local)
    )
    with pytest.raises(GymnastError, match="not at the top of an importable module; use sync"):
        build_envs(EnvConfig(id="Local-v0"), n_envs=2, seed=0, backend="workers")
    assert build_envs(EnvConfig(id="Local-v0"), n_envs=2, seed=0).backend == "sync"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"id": "CartPol-v1"}, "unknown environment 'CartPol-v1' .*'CartPole-v1'"),
        ({"id": "cartpole-v1"}, "did you mean 'CartPole-v1'"),
        ({"id": "CartPole-v9"}, "did you mean 'CartPole-v"),
        ({"id": "sample_envs:Coundown"}, "unknown environment 'Coundown'"),
        ({"id": "no_such_module:Env"}, "no module 'no_such_module'"),
        ({"id": "sample_envs:PlusOne"}, "missing 1 required positional argument: 'env'"),
        (
            {"id": "CartPole-v1", "kwargs": {"gravty": 1}},
            "no argument 'gravty' .*it takes sutton_barto_reward",
        ),
        ({"id": "LunarLander-v3", "kwargs": {"gravty": 1}}, "no argument 'gravty' .*did you mean 'gravity'"),
        ({"id": "LunarLander-v3", "kwargs": {"gravity": 5.0}}, "must be between -12 and 0"),
        ({"id": "gymnast/Bandit-v0", "kwargs": {"arms": [2.0]}}, "probabilities, from 0 to 1"),
        (
            {"id": "sample_envs:NoSpaces", "kwargs": {"which": "obs"}},
            "observation space Dict.* not supported: in 'a', Text",
        ),
        (
            {"id": "sample_envs:NoSpaces", "kwargs": {"which": "act"}},
            "action space Sequence.* not supported.* MultiDiscrete, MultiBinary, Box of floats",
        ),
    ],
)
def test_bad_input_is_one_message_with_the_nearest_choice(config: dict[str, Any], message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        build_envs(EnvConfig(**config), n_envs=2, seed=0, backend="sync")


def test_backends_that_cannot_step_an_env_give_the_reason() -> None:
    cases = [
        ("native", EnvConfig(id="Pendulum-v1"), "no vectorised class"),
        (
            "native",
            EnvConfig(id="CartPole-v1", wrappers=("cartpole-centring",)),
            "wrappers go around single envs",
        ),
        ("native", EnvConfig(id="CartPole-v1", kwargs={"wind": 1}), "no argument 'wind'"),
        ("native", EnvConfig(id="sample_envs:sample/NextStep-v0"), "mode NEXT_STEP"),
        ("workers", EnvConfig(id="CartPole-v1", kwargs={"x": object()}), "plain values"),
        ("sycn", EnvConfig(id="CartPole-v1"), "unknown env.backend 'sycn' .*'sync'"),
    ]
    for backend, config, message in cases:
        with pytest.raises(GymnastError, match=message):
            build_envs(config, n_envs=4, seed=0, backend=backend)


def test_envpool_without_its_extra() -> None:
    if importlib.util.find_spec("envpool") is not None:
        with pytest.raises(GymnastError, match="EnvPool does not have it"):
            build_envs(EnvConfig(id="gymnast/Bandit-v0"), n_envs=2, seed=0, backend="envpool")
        return
    with pytest.raises(MissingExtra, match=r"gymnast\[envpool\]"):
        build_envs(EnvConfig(id="CartPole-v1"), n_envs=2, seed=0, backend="envpool")


def test_an_error_while_building_in_a_worker_comes_back_as_a_message() -> None:
    config = EnvConfig(id="sample_envs:Failing", kwargs={"how": "raise", "wrong": 1})
    with pytest.raises(GymnastError, match="no argument 'wrong'"):
        build_envs(config, n_envs=2, seed=0, backend="workers")


@pytest.mark.parametrize(
    ("obs", "act", "fine"),
    [
        (gym.spaces.Box(0, 255, (8, 8, 3), np.uint8), gym.spaces.Discrete(2), True),
        (gym.spaces.Discrete(3, start=-1), gym.spaces.Box(-1, 1, (2,)), True),
        (gym.spaces.Discrete(3), gym.spaces.Box(-1, 1, (2, 2)), True),
        (gym.spaces.Discrete(3), gym.spaces.Box(0, 5, (2,), np.int64), False),
        (gym.spaces.Box(0, 1, (0,)), gym.spaces.Discrete(2), False),
        (gym.spaces.MultiBinary(3), gym.spaces.Discrete(2), True),
        (gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Text(3)]), gym.spaces.Discrete(2), False),
    ],
)
def test_which_spaces_are_supported(obs: gym.Space, act: gym.Space, fine: bool) -> None:
    if fine:
        check_spaces(obs, act)
    else:
        with pytest.raises(GymnastError, match="not supported"):
            check_spaces(obs, act)


def test_rendering_goes_through_single_envs() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1"), n_envs=4, seed=0, render_mode="rgb_array")
    assert envs.backend == "sync"
    env = make_env(EnvConfig(id="CartPole-v1", wrappers=("cartpole-centring",)), render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (400, 600, 3)
