"""A user's config with a probe in place of the env: the same algorithm, network, engine and hooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.algorithms.table import build_algorithm
from gymnast.config.schema import Config
from gymnast.doctor.small_images import has_images, small_images
from gymnast.envs.families.probe import IDS, Kind, has_choice, has_signals
from gymnast.envs.settings import EnvConfig
from gymnast.metrics.settings import ObserveConfig
from gymnast.rollout.settings import EvalConfig
from gymnast.training.settings import BudgetConfig, StopConfig
from gymnast.video.settings import VideoConfig

N_ENVS, N_STEPS, MINIBATCH = 8, 16, 32
IMAGE_STEPS, IMAGE_MINIBATCH = 8, 16  # where samples are expensive
VALUE_PROBES: tuple[Kind, ...] = ("constant", "observation", "discount")


@dataclass(frozen=True, slots=True)
class Spaces:
    """What the agent sees and does."""

    observation: gym.Space[Any]
    action: gym.Space[Any]


def plain_spaces(*, continuous: bool = False) -> Spaces:
    """Where there is no env to stand in for: one number to see, one of two things (or a number) to do."""
    number = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    return Spaces(number, number if continuous else gym.spaces.Discrete(2))


def why_not_tried(config: Config, kind: Kind, spaces: Spaces) -> str | None:
    """Why a probe says nothing about this config; None if it does."""
    if kind in VALUE_PROBES and not build_algorithm(config.algo).uses_critic:
        return "no values are learned with these settings of algo"
    if kind in ("observation", "discount", "match") and not has_signals(spaces.observation):
        return f"observations of {spaces.observation} are all the same"
    if kind in ("action", "match") and not has_choice(spaces.action):
        return f"actions of {spaces.action} leave nothing to choose"
    return None


def probe_config(config: Config, kind: Kind, spaces: Spaces) -> Config:
    """The config to train on one probe.

    Rollouts are small, since episodes have one or two steps: everything else that decides what is learned
    stays as the user has it. Rewards that never differ have no scale, so the constant one is not normalised.
    """
    images = has_images(spaces.observation, config.policy)
    env = EnvConfig(
        id=IDS[kind],
        n_envs=N_ENVS,
        backend="sync",
        kwargs={
            "observation_space": small_images(spaces.observation, config.policy),
            "action_space": spaces.action,
        },
    )
    fields = type(config.algo).model_fields
    changes: dict[str, Any] = {"n_steps": IMAGE_STEPS if images else N_STEPS, "sequence_length": None}
    if "batch_size" in fields:
        changes["batch_size"] = IMAGE_MINIBATCH if images else MINIBATCH
    if kind == "constant":
        changes["normalize_reward"] = False
    return config.model_copy(
        update={
            "env": env,
            "algo": config.algo.model_copy(update=changes),
            "budget": BudgetConfig(env_steps=10**9),
            "stop": StopConfig(eval_return=None),
            "eval": EvalConfig(every=0),
            "video": VideoConfig(record="never"),
            "observe": ObserveConfig(alerts=False, distributions=False, network=False),
            "sinks": (),
        }
    )
