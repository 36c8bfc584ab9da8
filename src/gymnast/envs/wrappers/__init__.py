"""Wrappers by name. Adding one: a class in a file named after what it changes, and a line here."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import gymnasium as gym

from gymnast.envs.settings import WrapperConfig
from gymnast.errors import GymnastError, did_you_mean
from gymnast.import_path import load_class

# name → where the class is, so that a listing or one wrapper does not import them all
WRAPPERS: dict[str, str] = {
    "action-combinations": "gymnast.envs.wrappers.combinations:ActionCombinations",
    "action-noise": "gymnast.envs.wrappers.noise:ActionNoise",
    "cartpole-centring": "gymnast.envs.wrappers.cartpole:CartPoleCentring",
    "count-bonus": "gymnast.envs.wrappers.reward:CountBonus",
    "crop": "gymnast.envs.wrappers.images:Crop",
    "discretise": "gymnast.envs.wrappers.discretise:Discretise",
    "episode-statistics": "gymnast.envs.wrappers.statistics:EpisodeStatistics",
    "forbidden-combinations": "gymnast.envs.wrappers.combinations:ForbiddenCombinations",
    "fourier": "gymnast.envs.wrappers.fourier:Fourier",
    "frame-skip": "gymnast.envs.wrappers.frames:FrameSkip",
    "frame-stack": "gymnast.envs.wrappers.observation:FrameStack",
    "grayscale": "gymnast.envs.wrappers.images:Grayscale",
    "hide-components": "gymnast.envs.wrappers.observation:HideComponents",
    "long-episode-penalty": "gymnast.envs.wrappers.reward:LongEpisodePenalty",
    "lunarlander-physics": "gymnast.envs.wrappers.lunarlander:LunarLanderPhysics",
    "mask-region": "gymnast.envs.wrappers.images:MaskRegion",
    "minigrid-planes": "gymnast.envs.wrappers.minigrid:MiniGridPlanes",
    "mountaincar-shaping": "gymnast.envs.wrappers.mountaincar:MountainCarShaping",
    "no-progress": "gymnast.envs.wrappers.limits:NoProgress",
    "observation-noise": "gymnast.envs.wrappers.noise:ObservationNoise",
    "previous-action": "gymnast.envs.wrappers.previous:PreviousAction",
    "previous-reward": "gymnast.envs.wrappers.previous:PreviousReward",
    "random-frame-skip": "gymnast.envs.wrappers.frames:RandomFrameSkip",
    "resize": "gymnast.envs.wrappers.images:Resize",
    "reward-clip": "gymnast.envs.wrappers.reward:RewardClip",
    "reward-components": "gymnast.envs.wrappers.components:RewardComponents",
    "reward-scale": "gymnast.envs.wrappers.reward:ScaleReward",
    "sticky-actions": "gymnast.envs.wrappers.frames:StickyActions",
    "time-limit": "gymnast.envs.wrappers.limits:TimeLimit",
}


def wrapper_class(name: str) -> type[gym.Wrapper[Any, Any, Any, Any]]:
    """The class behind a name of `WRAPPERS` or behind an import path `package.module:Class`."""
    if ":" in name:
        return load_class(name, gym.Wrapper, "wrapper")
    if name not in WRAPPERS:
        raise GymnastError(
            f"unknown wrapper '{name}'{did_you_mean(name, WRAPPERS)};"
            f" there are {', '.join(sorted(WRAPPERS))}, or your own as package.module:Class"
        )
    module_name, _, class_name = WRAPPERS[name].partition(":")
    found: type[gym.Wrapper[Any, Any, Any, Any]] = vars(importlib.import_module(module_name))[class_name]
    return found


def wrapper_arguments(wrapper: type[gym.Wrapper[Any, Any, Any, Any]]) -> dict[str, inspect.Parameter]:
    """The arguments a config may set: those of the constructor after the env."""
    parameters = list(inspect.signature(wrapper).parameters.values())[1:]
    return {p.name: p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def check_wrapper(config: WrapperConfig) -> type[gym.Wrapper[Any, Any, Any, Any]]:
    """The wrapper's class, its arguments' names checked against the constructor."""
    wrapper = wrapper_class(config.name)
    known = wrapper_arguments(wrapper)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(wrapper).parameters.values())
    for argument in config.arguments:
        if argument not in known and not takes_any:
            raise GymnastError(
                f"wrapper '{config.name}' has no argument '{argument}'{did_you_mean(argument, known)};"
                f" it takes {', '.join(known) or 'none'}"
            )
    missing = [p.name for p in known.values() if p.default is p.empty and p.name not in config.arguments]
    if missing:
        raise GymnastError(f"wrapper '{config.name}' needs a value for {', '.join(missing)}")
    return wrapper


def is_training_only(wrapper: type[Any]) -> bool:
    """Whether evaluation leaves it out; a user's class sets `training_only = True`."""
    return bool(getattr(wrapper, "training_only", False))


def gives_masks(wrapper: type[Any]) -> bool:
    """Whether a wrapper works by masks alone and does nothing without env.action_masks."""
    return bool(getattr(wrapper, "gives_masks", False))


def parts_of(wrapper: type[Any]) -> tuple[str, ...]:
    """The shares of the reward that a wrapper (ours or a user's) declares."""
    return tuple(getattr(wrapper, "reward_parts", ()))
