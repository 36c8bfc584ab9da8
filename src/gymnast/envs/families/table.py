"""Families of environments: what each needs installed, known without importing any of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True, slots=True)
class Family:
    """A group of environments that one package brings."""

    name: str
    extra: str | None  # the extra of gymnast that installs it; None: part of the core
    package: str | None  # importable name that must be there
    entry_points: tuple[str, ...] = ()  # how the registered entry points of its envs begin
    prefixes: tuple[str, ...] = ()  # how its ids begin
    registers: str | None = None  # module whose import registers the ids
    # `module:function` that builds one env from (config, training=, render_mode=), where gym.make will not do
    builds: str | None = None
    takes: tuple[str, ...] = ()  # which of FAMILY_SETTINGS mean something here
    shared: str | None = None  # file of presets/ with what suits all of its envs, also those without a preset

    @property
    def installed(self) -> bool:
        return self.package is None or find_spec(self.package) is not None


# Keys of the `env` section that only some families read; given elsewhere, they are an error.
FAMILY_SETTINGS = ("actions", "state", "atari", "vizdoom", "retro")

FAMILIES: tuple[Family, ...] = (
    Family("memory tasks", None, None, ("gymnast.envs.families.tmaze",), ("gymnast/TMaze",)),
    Family("bandits", None, None, ("gymnast.envs.families.bandit",), ("gymnast/",)),
    Family("classic control", None, None, ("gymnasium.envs.classic_control",)),
    Family("toy text", None, None, ("gymnasium.envs.toy_text",)),
    Family("box2d", None, "Box2D", ("gymnasium.envs.box2d",)),
    Family(
        "mujoco",
        "mujoco",
        "mujoco",
        ("gymnasium.envs.mujoco",),
        builds="gymnast.envs.families.mujoco:build_mujoco",
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
        takes=("actions", "atari"),
        shared="_atari",
    ),
    Family(
        "vizdoom",
        "vizdoom",
        "vizdoom",
        ("gymnast.envs.families.doom", "vizdoom"),
        ("VizDoom", "Vizdoom"),
        "gymnast.envs.families.doom.register",
        builds="gymnast.envs.families.doom.build:build_game",
        takes=("actions", "state", "vizdoom"),
        shared="_vizdoom",
    ),
    Family(
        "retro",
        "retro",
        "stable_retro",
        ("gymnast.envs.families.retro",),
        ("Retro/",),
        registers="gymnast.envs.families.retro.register",
        builds="gymnast.envs.families.retro.build:build_game",
        takes=("actions", "state", "retro"),
        shared="_retro",
    ),
)

OTHER = Family("other", None, None)


def family_of(env_id: str, entry_point: str | None = None) -> Family:
    """The family by the id's prefix or, for registered ids, by where the env's class lives."""
    for family in FAMILIES:
        if any(env_id.startswith(prefix) for prefix in family.prefixes):
            return family
        if entry_point is not None and any(entry_point.startswith(start) for start in family.entry_points):
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
            problems[f"env.{key}"] = f"is for {families} environments, and {env_id} is none"
    return problems
