"""Which games there are, what their actions are called, and which of them the agent may choose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec as find_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gymnast.errors import GymnastError, did_you_mean

if TYPE_CHECKING:
    from gymnast.envs.settings import EnvConfig

PREFIX = "ALE/"
FIRE = 1  # ALE's number of it

# What Gymnasium's own class calls our settings, for those who bring their env.kwargs along.
_OUR_NAMES = {
    "obs_type": "obs",
    "frameskip": "frame_skip",
    "repeat_action_probability": "sticky",
    "full_action_space": "full_actions",
    "max_num_frames_per_episode": "max_frames",
    "mode": "mode",
    "difficulty": "difficulty",
}


def rom_of(env_id: str) -> str:
    """The game behind an id as ale-py names its ROM: ALE/SpaceInvaders-v5 → space_invaders."""
    from gymnast.envs.single import find_spec

    spec = find_spec(env_id)
    assert spec is not None
    return str(spec.kwargs["game"])


def meant_by(env_id: str) -> str:
    """A hint for an id that once was a game's (PongNoFrameskip-v4); "" for any other."""
    match = re.fullmatch(r"(\w+?)(NoFrameskip|Deterministic)?(-ram)?-v[0-5]", env_id)
    current = f"{PREFIX}{match[1]}-v5" if match else ""
    if find_module("ale_py") is None or not match or not match[1].isalnum():
        return ""
    from ale_py import roms

    if not any(match[1] == rom.title().replace("_", "") for rom in roms.get_all_rom_ids()):
        return ""
    return f"; the game is {current} here, and env.atari.sticky=0 plays it as v4 does (docs/atari.md)"


def rom_path(rom: str) -> Path:
    """Where ale-py has the ROM."""
    from ale_py import roms

    path = roms.get_rom_path(rom)
    if path is None:
        raise GymnastError(f"ale-py has no ROM of the game '{rom}'")
    return Path(path)


def check_kwargs(config: EnvConfig) -> None:
    """Raise GymnastError for env.kwargs: an Atari game is set by env.atari alone."""
    for name in config.kwargs:
        ours = _OUR_NAMES.get(name)
        instead = (
            f": write env.atari.{ours}" if ours else "; `gymnast config keys env.atari` lists what there is"
        )
        raise GymnastError(f"env.kwargs.{name}: Atari games are set under env.atari{instead}")


@dataclass(frozen=True, slots=True)
class ActionSet:
    """The actions an agent may choose among, as ALE knows them."""

    labels: tuple[str, ...]
    codes: np.ndarray  # [A] int32: ALE's number of each (NOOP 0, FIRE 1, … DOWNLEFTFIRE 17)
    minimal: np.ndarray  # [A] bool: which of them the game itself uses
    can_fire: bool  # the game uses FIRE, whether or not the agent may press it


def action_set(config: EnvConfig, facts: Facts) -> ActionSet:
    """Those of a config."""
    names, minimal = all_labels(), facts.minimal
    offered = list(range(len(names))) if config.atari.full_actions else list(minimal)
    chosen = offered
    if config.actions is not None:
        chosen = [_chosen(config.id, label, offered) for label in config.actions]
        repeated = [names[code] for code in chosen if chosen.count(code) > 1]
        if repeated:
            raise GymnastError(f"env.actions: {repeated[0]} is there twice")
        if not chosen:
            raise GymnastError("env.actions: at least one action is needed")
    codes = np.array(chosen, np.int32)
    return ActionSet(
        labels=tuple(names[code] for code in chosen),
        codes=codes,
        minimal=np.isin(codes, minimal),
        can_fire=FIRE in minimal,
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """What a game is like."""

    minimal: tuple[int, ...]  # ALE's numbers of the actions that it uses
    screen: tuple[int, int]  # height and width


@cache
def facts_of(rom: str) -> Facts:
    """What ALE knows about a game."""
    ale = load_ale()
    ale.loadROM(rom_path(rom))
    height, width = ale.getScreenDims()
    return Facts(tuple(action.value for action in ale.getMinimalActionSet()), (height, width))


def check_size(config: EnvConfig, facts: Facts) -> None:
    """Raise GymnastError for pictures that would be larger than the screen."""
    size = config.atari.size
    if size[0] > facts.screen[0] or size[1] > facts.screen[1]:
        raise GymnastError(
            f"env.atari.size: {list(size)} is larger than the screen of {config.id}, {list(facts.screen)}"
        )


def load_ale() -> Any:
    """A new emulator, which prints errors only."""
    from ale_py import ALEInterface, LoggerMode

    ALEInterface.setLoggerMode(LoggerMode.Error)
    return ALEInterface()


def fire_steps(config: EnvConfig, actions: ActionSet) -> int:
    """For how many actions of a game or life FIRE is pressed instead.

    One would do, were it not that a sticky action may swallow it. An agent that can press FIRE itself gets
    over that; for one that cannot, a ball that was not served would stay away for the rest of the game.
    """
    if not (config.atari.fire_reset and actions.can_fire):
        return 0
    return 1 if FIRE in actions.codes else 3


def step_limit(config: EnvConfig) -> int:
    """Steps after which a game is cut off."""
    frames = -(-config.atari.max_frames // config.atari.frame_skip)
    return frames if config.max_episode_steps is None else min(frames, config.max_episode_steps)


def all_labels() -> tuple[str, ...]:
    """ALE's names of its 18 actions, in its order."""
    from ale_py import Action

    return tuple(
        action.name for action in sorted(Action.__members__.values(), key=lambda action: action.value)
    )


def _chosen(env_id: str, label: str, offered: list[int]) -> int:
    """The number of the action that a label means; RIGHT+FIRE and rightfire are RIGHTFIRE."""
    names = all_labels()
    wanted = re.sub(r"[\s+_]", "", label).upper()
    here = [names[code] for code in offered]
    if wanted in here:
        return names.index(wanted)
    if wanted in names:
        reason = f"{env_id} does not use it; env.atari.full_actions=true offers all {len(names)}"
    else:
        reason = f"there is no such action{did_you_mean(wanted, here)}"
    raise GymnastError(f"env.actions: '{label}': {reason}; {env_id} has {', '.join(here)}")
