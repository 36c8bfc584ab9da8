"""What may be changed for a recording, and what a run has changed."""

from __future__ import annotations

from typing import Any

import pytest

from gymnast.config.dump import flat_data, plain_data
from gymnast.config.load import load_config
from gymnast.runs.env_options import changed_settings, env_options, task_names


def settings(reference: str, **changes: Any) -> dict[str, Any]:
    overrides = {key.replace("__", "."): value for key, value in changes.items()}
    return flat_data(plain_data(load_config(reference, overrides).config))


@pytest.mark.parametrize(
    ("reference", "there", "absent"),
    [
        ("LunarLander-v3:ppo", "env.kwargs.gravity", "env.kwargs.continuous"),
        ("FrozenLake-v1:ppo", "env.kwargs.is_slippery", "env.state"),
        ("ALE/Pong-v5:ppo", "env.atari.difficulty", "env.atari.stack"),
        ("VizDoom-Basic-v0:ppo", "env.vizdoom.doom_skill", "env.vizdoom.wad"),
        ("Retro/SuperMarioBros-Nes:ppo", "env.state", "env.retro.crop"),
        ("MinAtar/Mix:ppo", "env.max_episode_steps", "env.mix"),
    ],
)
def test_levels_difficulty_and_physics_may_change(reference: str, there: str, absent: str) -> None:
    keys = [option.key for option in env_options(settings(reference))]
    assert there in keys
    assert absent not in keys
    assert "env.n_envs" not in keys
    assert len(set(keys)) == len(keys)


def test_choices_are_those_of_the_setting() -> None:
    options = {o.key: o for o in env_options(settings("VizDoom-Basic-v0:ppo", env__vizdoom__doom_skill=3))}
    assert options["env.vizdoom.doom_skill"].choices == (None, 1, 2, 3, 4, 5)
    assert options["env.vizdoom.doom_skill"].value == 3
    assert "Difficulty" in options["env.vizdoom.doom_skill"].help
    assert options["env.vizdoom.hud"].choices == (None, False, True)
    wind = {o.key: o for o in env_options(settings("LunarLander-v3:ppo", env__kwargs={"gravity": -5.0}))}
    assert wind["env.kwargs.gravity"].value == -5.0
    assert wind["env.kwargs.enable_wind"].choices == (False, True)


def test_envs_of_others_are_not_imported_to_look(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "never_imported.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    options = env_options({"env.id": "never_imported:Env", "env.kwargs.level": 2})
    assert [(o.key, o.value) for o in options if "kwargs" in o.key] == [("env.kwargs.level", 2)]
    assert env_options({}) == ()
    assert env_options({"env.id": 5}) == ()


def test_changed_settings_have_their_default_beside_them() -> None:
    changed = changed_settings(settings("CartPole-v1:ppo", algo__gamma=0.5, eval__episodes=7))
    assert changed["algo.gamma"] == (0.5, 0.99)
    assert changed["eval.episodes"] == (7, 20)
    assert "algo.name" not in changed
    assert "eval.stochastic" not in changed
    assert changed_settings({"nonsense": 1, "env.kwargs.a": 1, "a.b.c": 2}) == {}


def test_tasks_go_by_their_names() -> None:
    assert task_names(settings("MinAtar/Mix:ppo")) == ("breakout", "asterix")
    assert task_names(settings("CartPole-v1:ppo")) == ()
    assert task_names({"env.mix": [{"id": 5}], "env.id": ""}) == ()
