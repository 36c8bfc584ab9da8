from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gymnast.cli.envs import envs
from gymnast.errors import GymnastError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(envs)
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def found(*arguments: str) -> list[str]:
    return [row["name"] for row in rows(*arguments)]


def rows(*arguments: str) -> list[dict[str, Any]]:
    return json.loads(run(*arguments, "--json"))


def test_list_has_every_environment_with_its_facts() -> None:
    by_name = {row["name"]: row for row in rows()}
    assert {"CartPole-v1", "Taxi-v4", "LunarLander-v3", "gymnast/Bandit-v0"} <= set(by_name)
    cartpole = by_name["CartPole-v1"]
    assert cartpole["variants"][0] == "ppo"
    assert cartpole["commands"][0] == "gymnast train CartPole-v1:ppo"
    assert (cartpole["solved_at"], cartpole["family"], cartpole["installed"]) == (
        475,
        "classic control",
        True,
    )
    assert by_name["gymnast/Bandit-v0"]["solved_at"] is None
    assert all(row["description"] and row["family"] != "other" for row in by_name.values())


@pytest.mark.parametrize(
    ("words", "best"),
    [
        (["cartpol"], "CartPole-v1"),
        (["LUNAR"], "LunarLander-v3"),
        (["lunarlandr"], "LunarLander-v3"),
        (["frozen", "8x8"], "FrozenLake8x8-v1"),
        (["ppo-zoo"], "CartPole-v1"),
        (["pasenger"], "Taxi-v4"),
        (["box2d", "walk"], "BipedalWalker-v3"),
        (["bandits"], "gymnast/Bandit-v0"),
    ],
)
def test_words_find_what_is_near(words: list[str], best: str) -> None:
    assert found(*words)[0] == best


def test_family_name_finds_all_of_the_family_and_nothing_else() -> None:
    assert set(found("toy", "text")) == {"CliffWalking-v1", "FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v4"}


def test_without_a_preset_registered_ones_are_found() -> None:
    assert "Blackjack-v1" in found("blackjack")
    humanoid = next(row for row in rows("humanoid") if row["name"] == "Humanoid-v5")
    assert (humanoid["family"], humanoid["extra"]) == ("mujoco", "mujoco")
    assert "Humanoid-v2" not in found("humanoid"), "only the newest version"
    assert len(found("--all")) > len(found())


def test_families_that_register_their_ids_themselves_are_found_too() -> None:
    pytest.importorskip("minigrid")
    row = next(row for row in rows("lavagap") if row["name"] == "MiniGrid-LavaGapS5-v0")
    assert (row["family"], row["extra"], row["installed"]) == ("minigrid", "minigrid", True)
    assert "MinAtar/Seaquest-v1" in found("seaquest", "minatar")
    assert "minigrid ✓" in run("lavagaps5")


def test_missing_family_is_listed_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)  # as if it were not there
    row = next(row for row in rows("doorkey") if row["name"] == "MiniGrid-DoorKey-5x5-v0")
    assert (row["extra"], row["installed"]) == ("minigrid", False)
    text = run("doorkey")
    assert "minigrid ✗" in text
    assert "pip install 'gymnast[minigrid]'" in " ".join(text.split())
    assert "Not installed: minigrid. pip install 'gymnast[minigrid]' brings them." in run("--all")


def test_nothing_near() -> None:
    assert found("qqqzzz") == []
    with pytest.raises(GymnastError, match="no environment matches 'qqqzzz'"):
        run("qqqzzz")


def test_own_configs_are_listed_and_broken_ones_reported(folder: Path) -> None:
    (folder / "configs").mkdir()
    (folder / "configs/mine.yaml").write_text("base: {env: {id: CartPole-v1}}\nvariants: {a: {}, b: {}}\n")
    (folder / "configs/torn.yaml").write_text("env: [")
    by_name = {row["name"]: row for row in rows()}
    assert (by_name["mine"]["env"], by_name["mine"]["variants"]) == ("CartPole-v1", ["a", "b"])
    assert "not valid YAML" in by_name["torn"]["problem"]
    assert "torn does not load" in run()


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    text = run("lunar")
    assert text.splitlines()[0].split() == ["environment", "variants", "family", "solved", "at"]
    assert "Land softly between two flags." in text
    assert text.rstrip().endswith("Train one: gymnast train LunarLander-v3:ppo")
    monkeypatch.setenv("COLUMNS", "80")
    assert "Land softly" not in run("lunar")
