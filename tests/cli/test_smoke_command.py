from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gymnast.cli.smoke import smoke
from gymnast.config.catalogue import entries
from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.smoke import run as running
from gymnast.smoke.run import Outcome, Preset, choose_presets, try_presets
from gymnast.smoke.tiny import tiny_overrides

BROKEN_ENVS = """
import os, time
import gymnasium as gym, numpy as np

class Base(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}
    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}

class Raises(Base):
    def step(self, action):
        raise ValueError("a wheel came off")

class Crashes(Base):
    def step(self, action):
        os.abort()

class Hangs(Base):
    def step(self, action):
        time.sleep(600)
"""


def invoke(*words: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(smoke)
    result = CliRunner().invoke(app, list(words))
    if isinstance(result.exception, GymnastError):
        raise result.exception
    return result.exit_code, result.stdout


def named(*words: str, every_variant: bool = True) -> list[str]:
    return [preset.reference for preset in choose_presets(words, every_variant=every_variant)]


def test_what_words_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = entries()
    monkeypatch.setattr(running, "entries", lambda _: listed)  # reading every preset takes a while
    everything, firsts = named(), named(every_variant=False)
    assert len(set(everything)) == len(everything) > len(firsts) == len(listed)
    assert {"CartPole-v1:ppo", "CartPole-v1:reinforce", "gymnast/TMaze-v0:ppo-gru"} <= set(everything)
    assert named("toy text", every_variant=False) == [
        "CliffWalking-v1:ppo",
        "FrozenLake-v1:ppo",
        "FrozenLake8x8-v1:ppo",
        "Taxi-v4:ppo",
    ]
    assert named("CartPole-v1:a2c", "pendulum-v1") == ["CartPole-v1:a2c", "Pendulum-v1:ppo"]
    assert named("Taxi-v4", "Taxi-v4:ppo") == ["Taxi-v4:ppo", "Taxi-v4:ppo-masked"], "each once"
    for word in ("toy txt", "CartPole-v1:pppo", "CartPol-v1"):
        with pytest.raises(GymnastError, match="did you mean"):
            named(word)


@pytest.mark.parametrize("reference", named())
def test_every_preset_can_be_made_small(reference: str) -> None:
    """Whether or not its game is installed: the settings fit together, and the preset is still itself."""
    config = load_config(reference).config
    changes, rollout = tiny_overrides(config)
    small = load_config(reference, changes).config
    assert rollout == changes["env.n_envs"] * small.algo.n_steps
    assert small.policy == config.policy
    assert small.algo.name == config.algo.name
    assert small.env.wrappers == config.env.wrappers


def test_one_preset_through_all_stages() -> None:
    code, text = invoke("CartPole-v1:ppo", "gymnast/Bandit-v0:ppo", "--json")
    outcomes: list[dict[str, Any]] = json.loads(text)
    assert code == 0, outcomes
    assert [outcome["preset"] for outcome in outcomes] == ["CartPole-v1:ppo", "gymnast/Bandit-v0:ppo"]
    for outcome in outcomes:
        assert outcome["status"] == "ok"
        assert outcome["reason"] is None
        assert all(outcome[stage] for stage in ("train", "eval", "resume"))
        assert outcome["video"] is (True if find_spec("av") else None)


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "broken_envs.py").write_text(BROKEN_ENVS)
    (tmp_path / "configs").mkdir()
    for name in ("Raises", "Crashes", "Hangs"):
        config = f"env: {{id: 'broken_envs:{name}', backend: sync}}\n"
        (tmp_path / "configs" / f"{name}.yaml").write_text(config)
    (tmp_path / "configs" / "Torn.yaml").write_text("env: [")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_failures_are_reported_and_the_others_continue(broken: Path) -> None:
    names = ["Raises", "Crashes", "Torn"]
    code, text = invoke(*names, "CartPole-v1:ppo", "--json")
    assert code == 1
    by_name = {outcome["preset"]: outcome for outcome in json.loads(text)}
    assert list(by_name) == [*names, "CartPole-v1:ppo"]
    assert "a wheel came off" in by_name["Raises"]["reason"]
    assert "SIGABRT" in by_name["Crashes"]["reason"]
    assert by_name["Crashes"]["train"] is False
    assert "not valid YAML" in by_name["Torn"]["reason"]
    assert by_name["CartPole-v1:ppo"]["status"] == "ok"
    assert list((broken / "configs").parent.glob("runs*")) == [], "nothing is left behind"


def test_hanging_preset_times_out(broken: Path) -> None:
    (outcome,) = try_presets([Preset("Hangs", "other")], jobs=1, seconds=3)
    assert outcome.status == "failed"
    assert outcome.reason == "train: not done after 3 s"


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [
        Outcome("A:ppo", "classic control", {"train": True, "eval": True, "video": True, "resume": True}),
        Outcome("B:ppo", "atari", {"train": True, "eval": False}, "eval: it fell over", "failed", 2.0),
        Outcome("C:ppo", "retro", {}, "the ROM of C is not here", "skipped"),
    ]
    monkeypatch.setattr(running, "choose_presets", lambda words, **_: [])
    monkeypatch.setattr(running, "try_presets", lambda *_, **__: outcomes)
    code, text = invoke()
    assert code == 1
    lines = text.splitlines()
    assert lines[0].split() == ["preset", "train", "eval", "video", "resume", "seconds"]
    assert lines[1].split() == ["A:ppo", "✓", "✓", "✓", "✓", "0.0", "✓"]
    assert lines[2].split() == ["B:ppo", "✓", "✗", "–", "–", "2.0", "failed"]
    assert "eval: it fell over" in text
    assert "the ROM of C is not here" in text
    assert lines[-1] == "1 ok, 1 failed, 1 skipped"
    outcomes.pop(1)
    assert invoke()[0] == 0, "a skipped preset is not a failure"


def test_missing_games_are_skipped_with_what_to_do(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[dict[str, Any]] = []
    from gymnast.errors import MissingGame
    from gymnast.smoke import stages

    def missing(*_: Any, **__: Any) -> Any:
        raise MissingGame("the ROM of X is not here; gymnast roms import DIR")

    monkeypatch.setattr(stages.api, "train", missing)
    stages.run_stages("CartPole-v1:ppo", str(broken / "runs"), reports.append)
    assert reports == [{"skip": "the ROM of X is not here; gymnast roms import DIR"}]
