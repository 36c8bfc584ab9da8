"""A captured state is data from which any row continues: the same actions give the same bits again."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymnast.envs.build import build_envs, build_training_envs
from gymnast.envs.contract import Envs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.states import EnvState, decode, encode
from gymnast.errors import GymnastError
from gymnast.spaces.action_arrays import random_actions

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
            {"id": "ALE/SpaceInvaders-v5", "atari": {"obs": "ram"}, "wrappers": [NOISY[2]]},
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
    return [[seen_of(envs, envs.step(action), row) for row in rows] for action in actions]


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
    actions = [
        random_actions(envs.action_space, envs.n_envs, np.random.default_rng([seed, at]))
        for at in range(after)
    ]
    expected = record(envs, actions, rows)
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
    @given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 2**20))
    def law(before: int, after: int, seed: int) -> None:
        check_repeats(envs, rows, before, after, seed)

    try:
        law()
    finally:
        envs.close()


@pytest.mark.parametrize(("config", "n_envs"), cases(LIGHT))
def test_light_envs_repeat_from_a_captured_state(config: dict[str, Any], n_envs: int) -> None:
    check_law(config, n_envs, examples=8)


@pytest.mark.parametrize(("config", "n_envs"), cases(HEAVY))
def test_heavy_envs_repeat_from_a_captured_state(config: dict[str, Any], n_envs: int) -> None:
    check_law(config, n_envs, examples=3)
