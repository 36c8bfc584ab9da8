"""Families of environments: what each needs installed and does in its own way, known without importing it.

Hooks are `module:function` strings, imported when they are first needed, so that generic code names no
family and start-up pays for none.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """A group of environments that one package brings."""

    name: str
    extra: str | None  # the extra of gymnast that installs it; None: part of the core
    package: str | None  # importable name that must be there
    entry_points: tuple[str, ...] = ()  # how the registered entry points of its envs begin
    prefixes: tuple[str, ...] = ()  # how its ids begin
    registers: str | None = None  # module whose import registers the ids, or a function that does
    # (config, training=, render_mode=) → one env, where gym.make will not do
    builds: str | None = None
    # (layer) → what reads and writes its state (`CarriesItself`), or None; for classes of other packages
    states: str | None = None
    # Module with why_not_native(config, training=, render_mode=) and build_native(config, seeds, training=,
    # groups=), where the
    # family has a vectorised env that Gymnasium's registry does not name
    native: str | None = None
    # Its native env plays the very episodes of single envs with the same seeds
    native_as_single: bool = False
    # Vectorised classes by entry point → the class that steps one behind our contract: (env, seed, arguments)
    vectorised: Mapping[str, str] = field(default_factory=dict)
    older_ids: Mapping[str, str] = field(default_factory=dict)  # accepted names → today's
    hint: str | None = None  # (id) → a hint for an unknown id that was once one of its, else ""
    unplayable: str | None = None  # () → ids that are registered but cannot be played here
    only_prefixed: bool = False  # its package also registers ids without the prefix: older ones, refused
    versioned: bool = True  # its ids end in -v0 or the like; otherwise a version is dropped
    takes: tuple[str, ...] = ()  # which of FAMILY_SETTINGS mean something here
    shared: str | None = None  # file of presets/ with what suits all of its envs, also those without a preset

    @property
    def installed(self) -> bool:
        return self.package is None or find_spec(self.package) is not None

    def is_older_id(self, env_id: str) -> bool:
        """Whether a registered id of its package is one that we do not offer, such as PongNoFrameskip-v4."""
        return self.only_prefixed and not env_id.startswith(self.prefixes)


def load_hook(hook: str) -> Any:
    """The object that a `module:name` string of the table names."""
    module_name, _, name = hook.partition(":")
    return vars(importlib.import_module(module_name))[name]


# Keys of the `env` section that only some families read; given elsewhere, they are an error.
FAMILY_SETTINGS = ("actions", "state", "atari", "vizdoom", "retro")

FAMILIES: tuple[Family, ...] = (
    Family(
        "memory tasks",
        None,
        None,
        ("gymnast.envs.families.tmaze",),
        ("gymnast/TMaze",),
        "gymnast.envs.families.tmaze",
    ),
    Family(
        "probes",
        None,
        None,
        ("gymnast.envs.families.probe",),
        ("gymnast/Probe",),
        "gymnast.envs.families.probe",
    ),
    Family(
        "bandits",
        None,
        None,
        ("gymnast.envs.families.bandit",),
        ("gymnast/",),
        "gymnast.envs.families.bandit",
    ),
    Family(
        "classic control",
        None,
        None,
        ("gymnasium.envs.classic_control",),
        states="gymnast.envs.families.gymnasium_states:attributes_of",
        vectorised={
            "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv": (
                "gymnast.envs.families.native_cartpole:NativeCartPole"
            )
        },
        older_ids={"Pendulum-v0": "Pendulum-v1", "Acrobot-v0": "Acrobot-v1"},
    ),
    Family(
        "toy text",
        None,
        None,
        ("gymnasium.envs.toy_text",),
        states="gymnast.envs.families.gymnasium_states:attributes_of",
        older_ids={
            "Taxi-v1": "Taxi-v4",
            "Taxi-v2": "Taxi-v4",
            "Taxi-v3": "Taxi-v4",
            "CliffWalking-v0": "CliffWalking-v1",
            "CliffWalkingSlippery-v0": "CliffWalkingSlippery-v1",
            "FrozenLake-v0": "FrozenLake-v1",
            "FrozenLake8x8-v0": "FrozenLake8x8-v1",
            "Blackjack-v0": "Blackjack-v1",
        },
    ),
    Family(
        "box2d",
        None,
        "Box2D",
        ("gymnasium.envs.box2d",),
        builds="gymnast.envs.families.box2d:build_box2d",
        older_ids={
            "LunarLander-v1": "LunarLander-v3",
            "LunarLander-v2": "LunarLander-v3",
            "LunarLanderContinuous-v1": "LunarLanderContinuous-v3",
            "LunarLanderContinuous-v2": "LunarLanderContinuous-v3",
            "BipedalWalker-v2": "BipedalWalker-v3",
            "BipedalWalkerHardcore-v2": "BipedalWalkerHardcore-v3",
            "CarRacing-v0": "CarRacing-v3",
            "CarRacing-v1": "CarRacing-v3",
            "CarRacing-v2": "CarRacing-v3",
        },
    ),
    Family(
        "mujoco",
        "mujoco",
        "mujoco",
        ("gymnasium.envs.mujoco",),
        builds="gymnast.envs.families.mujoco:build_mujoco",
        states="gymnast.envs.families.mujoco:MujocoState",
        shared="_mujoco",
    ),
    Family("jax", None, "jax", ("gymnasium.envs.phys2d", "gymnasium.envs.tabular"), ("phys2d/", "tabular/")),
    Family(
        "minatar",
        "minatar",
        "minatar",
        ("gymnast.envs.families.minatar",),
        ("MinAtar/",),
        "gymnast.envs.families.minatar",
        shared="_minatar",
    ),
    Family(
        "minigrid",
        "minigrid",
        "minigrid",
        ("minigrid.",),
        ("MiniGrid-", "BabyAI-"),
        "minigrid",
        states="gymnast.envs.families.minigrid.states:GridState",
        native="gymnast.envs.families.minigrid.native",
        native_as_single=True,
        shared="_minigrid",
    ),
    Family(
        "atari",
        "atari",
        "ale_py",
        ("ale_py",),
        ("ALE/",),
        "ale_py",
        builds="gymnast.envs.families.atari.game:build_game",
        native="gymnast.envs.families.atari.native",
        hint="gymnast.envs.families.atari.games:meant_by",
        only_prefixed=True,
        takes=("actions", "atari"),
        shared="_atari",
    ),
    Family(
        "vizdoom",
        "vizdoom",
        "vizdoom",
        ("gymnast.envs.families.doom", "vizdoom"),
        ("VizDoom", "Vizdoom"),
        "gymnast.envs.families.doom.scenarios:register_scenarios",
        builds="gymnast.envs.families.doom.env:build_game",
        takes=("actions", "state", "vizdoom"),
        shared="_vizdoom",
    ),
    Family(
        "retro",
        "retro",
        "stable_retro",
        ("gymnast.envs.families.retro",),
        ("Retro/",),
        "gymnast.envs.families.retro.library:register_games",
        builds="gymnast.envs.families.retro.build:build_game",
        unplayable="gymnast.envs.families.retro.library:games_without_rom",
        versioned=False,
        takes=("actions", "state", "retro"),
        shared="_retro",
    ),
)

OTHER = Family("other", None, None)


def family_of(env_id: str, entry_point: str | None = None) -> Family:
    """The family by the id's prefix or, for registered ids, by where the env's class lives."""
    module, _, name = env_id.rpartition(":")
    if module and ("-" in name or "/" in name):  # `ale_py:ALE/Pong-v5`; a class path has neither
        env_id = name
    for family in FAMILIES:
        if any(env_id.startswith(prefix) for prefix in family.prefixes):
            return family
        if entry_point is not None and any(entry_point.startswith(start) for start in family.entry_points):
            return family
    return OTHER


def family_of_class(created: type[Any]) -> Family:
    """The family that an env or wrapper class belongs to by where it lives."""
    for family in FAMILIES:
        if any(created.__module__.startswith(start) for start in family.entry_points):
            return family
    return OTHER


def registered_family(env_id: str) -> Family:
    """The family of an id, also by where Gymnasium has the env's class from."""
    import gymnasium as gym

    spec = gym.registry.get(env_id)
    entry_point = spec.entry_point if spec is not None else None
    return family_of(env_id, entry_point if isinstance(entry_point, str) else None)


def misfits(env_id: str, given: Iterable[str]) -> dict[str, str]:
    """What is wrong with settings of the `env` section that the family of `env_id` does not read."""
    takes = family_of(env_id).takes
    problems = {}
    for key in given:
        if key in FAMILY_SETTINGS and key not in takes:
            families = " and ".join(family.name for family in FAMILIES if key in family.takes)
            problems[f"env.{key}"] = f"is for {families} environments, and {env_id} is not one"
    return problems
