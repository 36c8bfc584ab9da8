"""Families of games: what is said when one is not installed, and what suits all of its envs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from gymnast.config.load import load_config
from gymnast.envs.families.table import FAMILIES, OTHER, family_of, registered_family
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.envs.spec import read_spec
from gymnast.errors import MissingExtra


@pytest.mark.parametrize(
    ("env_id", "package", "extra"),
    [
        ("Ant-v5", "mujoco", "mujoco"),
        ("ALE/Pong-v5", "ale_py", "atari"),
        ("VizdoomBasic-v1", "vizdoom", "vizdoom"),
        ("Retro/Airstriker-Genesis", "stable_retro", "retro"),
        ("MinAtar/Breakout-v1", "minatar", "minatar"),
        ("MiniGrid-DoorKey-5x5-v0", "minigrid", "minigrid"),
    ],
)
def test_a_missing_extra_raises_an_error_with_the_install_line(
    env_id: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # what Python does for a package that cannot be imported
    assert not family_of(env_id, gym.registry[env_id].entry_point if extra == "mujoco" else None).installed
    with pytest.raises(MissingExtra, match=rf"'{env_id}' needs .*pip install 'gymnast\[{extra}\]'"):
        make_env(EnvConfig(id=env_id))


def test_every_extra_of_a_family_is_one_of_the_package() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    of_families = {family.extra for family in FAMILIES if family.extra is not None}
    assert of_families <= set(extras)
    (games,) = extras["games"]
    assert of_families <= set(games.removeprefix("gymnast[").removesuffix("]").split(","))


def test_the_family_is_known_by_the_id_or_by_where_the_class_is() -> None:
    assert registered_family("Ant-v5").name == "mujoco"
    assert registered_family("MiniGrid-Nothing-v9").name == "minigrid"
    assert registered_family("CartPole-v1").name == "classic control"
    assert registered_family("my_package:Env") == OTHER


def test_what_suits_a_family_suits_its_envs_without_a_preset() -> None:
    pytest.importorskip("mujoco")
    resolved = load_config("HumanoidStandup-v5")
    ppo = resolved.config
    assert (ppo.algo.name, ppo.algo.n_epochs.start, ppo.env.n_envs) == ("ppo", 10, 8)
    assert ppo.policy.normalize_obs == "running"
    assert resolved.sources["algo.n_epochs"] == "family _mujoco.yaml"
    assert load_config("HumanoidStandup-v5", ["algo.n_epochs=3"]).config.algo.n_epochs.start == 3
    # What is said of PPO is not said of another algorithm.
    other = load_config("HumanoidStandup-v5:a2c")
    assert other.config.algo.name == "a2c"
    assert not any(source.startswith("family") for key, source in other.sources.items() if key[:4] == "algo")


def test_minigrid_is_seen_as_planes_by_default() -> None:
    pytest.importorskip("minigrid")
    env = load_config("MiniGrid-Empty-5x5-v0").config.env
    assert [wrapper.name for wrapper in env.wrappers] == ["minigrid-planes"]
    spec = read_spec(env)
    assert spec.action_labels == ("left", "right", "forward", "pickup", "drop", "toggle", "done")
    assert (spec.family, spec.extra) == ("minigrid", "minigrid")
    own = ["env.wrappers=[{name: minigrid-planes, direction: false}]"]
    assert load_config("MiniGrid-Empty-5x5-v0", own).config.env.wrappers[0].arguments == {"direction": False}


@pytest.mark.parametrize(
    ("reference", "package", "settings"),
    [
        ("MinAtar/Freeway-v1", "minatar", ["env.n_envs=4", "algo.n_steps=16", "algo.batch_size=32"]),
        ("MiniGrid-Empty-5x5-v0", "minigrid", ["env.n_envs=4", "algo.n_steps=16", "algo.batch_size=32"]),
        ("Reacher-v5", "mujoco", ["env.n_envs=2", "algo.n_steps=32", "algo.batch_size=32"]),
    ],
)
def test_any_env_of_a_family_trains(
    reference: str, package: str, settings: list[str], tmp_path: Path
) -> None:
    pytest.importorskip(package)
    from gymnast import api

    budget: list[Any] = ["env.backend=sync", "budget.env_steps=128", "eval.every=128", "eval.episodes=1"]
    limits = ["env.max_episode_steps=20"]
    run = api.train(reference, overrides=[*settings, *budget, *limits], runs_dir=tmp_path)
    assert run.metrics()[-1]["eval/return/mean"] is not None
