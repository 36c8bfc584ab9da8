"""The layouts of episodes, made by MiniGrid's own envs, as arrays; and which envs that suffices for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from minigrid.minigrid_env import MiniGridEnv

from gymnast.envs.families.minigrid.cells import cell_code
from gymnast.envs.families.minigrid.sight import LARGEST_VIEW
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import active_wrappers, find_spec
from gymnast.envs.wrappers.limits import TimeLimit
from gymnast.envs.wrappers.minigrid import MiniGridPlanes

# What ends an episode beside the goal and lava, by the class whose `step` says so: the thing that is to be
# picked up, or the door that is to be opened. Read from the sources of MiniGrid 3.2.
_TARGETS: dict[str, Callable[[Any], Any]] = {
    "MiniGridEnv.step": lambda env: None,
    "KeyCorridorEnv.step": lambda env: env.obj,
    "UnlockPickupEnv.step": lambda env: env.obj,
    "BlockedUnlockPickupEnv.step": lambda env: env.obj,
    "ObstructedMazeEnv.step": lambda env: env.obj,
    "UnlockEnv.step": lambda env: env.door,
}
# What must be MiniGrid's own in any case.
_SAME = ("_reward", "gen_obs", "gen_obs_grid", "get_view_exts", "reset", "front_pos", "dir_vec")


def why_not_arrays(config: EnvConfig, *, training: bool) -> str | None:
    """Why these episodes cannot be stepped as arrays, or None if they can."""
    names = [wrapper.name for wrapper in active_wrappers(config, training=training)]
    if names.count("minigrid-planes") != 1:
        return "it needs the wrapper minigrid-planes, once"
    if others := [name for name in names if name not in ("minigrid-planes", "time-limit")]:
        return f"the wrapper {others[0]} goes around single envs"
    if config.action_masks:
        return "env.action_masks needs single envs, whose infos hold the masks"
    spec = find_spec(config.id)
    if spec is None or not isinstance(spec.entry_point, str):
        return "it is not one of MiniGrid's own envs"
    if spec.additional_wrappers:
        return "its registration adds wrappers"
    created: Any = gym.envs.registration.load_env_creator(spec.entry_point)
    own = isinstance(created, type) and issubclass(created, MiniGridEnv)
    if not own or not created.__module__.startswith("minigrid.envs."):
        return "it is not one of MiniGrid's own envs"
    if (rules := created.step.__qualname__) not in _TARGETS:
        return f"{rules} has rules of its own"
    if changed := [name for name in _SAME if vars(MiniGridEnv)[name] is not _found(created, name)]:
        return f"{created.__name__} has a {changed[0]} of its own"
    size = {**spec.kwargs, **config.kwargs}.get("agent_view_size", 7)
    if isinstance(size, int) and size > LARGEST_VIEW:
        return f"its views are of {size} × {size} cells, and tables of visibility end at {LARGEST_VIEW}"
    return None


def _found(created: type, name: str) -> Any:
    """A class's attribute as it was defined: of a property, not its value."""
    return inspect.getattr_static(created, name)


@dataclass(frozen=True, slots=True)
class Layout:
    """How an episode begins."""

    grid: np.ndarray  # [height, width] of `cell_code`
    agent: tuple[int, int]  # x, y
    facing: int
    mission: np.ndarray  # the numbers of its words; empty if every episode has the same


class Layouts:
    """Resets MiniGrid's envs, one for each row, and reads what they made."""

    def __init__(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        self._envs = list(envs)
        self._bases: list[Any] = [env.unwrapped for env in envs]
        first = self._bases[0]
        self.view: int = first.agent_view_size
        self.see_through_walls: bool = first.see_through_walls
        self._margin = margin = self.view - 1  # so far can be seen beyond the grid
        self._shape = (first.height, first.width)
        self.stride = first.width + 2 * margin
        self.padded_cells = (first.height + 2 * margin) * self.stride
        self._target = _TARGETS[type(first).step.__qualname__]
        self.max_steps: int = first.max_steps  # rewards are computed from it
        self.limit = min([self.max_steps, *_outer_limits(envs[0])])  # the step that truncates an episode
        self._planes = next(layer for layer in _layers(envs[0]) if isinstance(layer, MiniGridPlanes))
        self.mission_length = self._planes.mission_length
        for base in self._bases:
            base.gen_obs = _no_observation  # two thirds of a reset, and made here for all rows at once

    def make(self, row: int, seed: int | None) -> Layout:
        """The next episode of one env; from `seed`, or as its random numbers continue."""
        base = self._bases[row]
        base.reset(seed=seed)
        target = self._target(base)
        things = base.grid.grid
        grid = np.array([1 if thing is None else cell_code(thing, target) for thing in things])
        x, y = base.agent_pos
        return Layout(
            grid=grid.reshape(self._shape),
            agent=(int(x), int(y)),
            facing=int(base.agent_dir),
            mission=self._planes.mission_words(base.mission),
        )

    def inner(self, padded: np.ndarray) -> np.ndarray:
        """The part of a flat grid that is inside of its margin, as [height, width]."""
        margin = self._margin
        return padded.reshape(-1, self.stride)[margin:-margin, margin:-margin]

    def place(self, x: int, y: int) -> int:
        """Index of a cell in a flat grid with a margin."""
        return (y + self._margin) * self.stride + x + self._margin

    def random(self, row: int) -> np.random.Generator:
        generator: np.random.Generator = self._bases[row].np_random
        return generator

    def close(self) -> None:
        for env in self._envs:
            env.close()


def _no_observation() -> None:
    return None


def _layers(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    return layers


def _outer_limits(env: gym.Env[Any, Any]) -> list[int]:
    """The limits of steps that are set around an env, beside its own."""
    limits = []
    for layer in _layers(env):
        if isinstance(layer, TimeLimit):
            limits.append(layer.steps)
        elif isinstance(layer, gym.wrappers.TimeLimit):
            limits.append(layer._max_episode_steps)
    return limits
