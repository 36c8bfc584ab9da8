from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gymnast.cli.roms import app
from gymnast.errors import GymnastError, MissingExtra

pytest.importorskip("stable_retro")


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ROMs are kept in this test."""
    monkeypatch.setenv("GYMNAST_ROMS_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def rom() -> bytes:
    """The one ROM that may be handed on."""
    from gymnast.envs.families.retro.library import rom_path

    path = rom_path("Airstriker-Genesis-v0")
    assert path is not None
    return path.read_bytes()


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_roms_are_known_by_their_hash_and_kept_in_the_users_folder(
    tmp_path: Path, kept: Path, rom: bytes
) -> None:
    from gymnast.envs.families.retro.library import rom_path

    source = tmp_path / "mine"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "er" / "some name.bin").write_bytes(rom)
    (source / "changed.md").write_bytes(rom[:-1] + b"x")
    (source / "notes.txt").write_text("no ROM, and none that looks like one")
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    output = run("import", str(source))
    assert "imported Airstriker-Genesis  (deep/er/some name.bin)" in output
    assert "unknown: changed.md" in output
    assert "notes.txt" not in output
    assert f"1 game imported into {kept}" in output
    assert [path.relative_to(kept) for path in kept.rglob("*") if path.is_file()] == [
        Path("Airstriker-Genesis-v0/rom.md")
    ]
    assert (kept / "Airstriker-Genesis-v0" / "rom.md").read_bytes() == rom
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before
    assert rom_path("Airstriker-Genesis-v0") == kept / "Airstriker-Genesis-v0" / "rom.md"  # and it is used


def test_zip_files_are_searched_and_broken_ones_reported(tmp_path: Path, rom: bytes) -> None:
    source = tmp_path / "mine"
    source.mkdir()
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("game.gen", rom)
    with zipfile.ZipFile(source / "outer.zip", "w") as archive:
        archive.write(inner, "inner.zip")
    (source / "broken.zip").write_bytes(b"PK no zip")
    with zipfile.ZipFile(source / "other.zip", "w") as archive:
        archive.writestr("other.nes", b"NES" + bytes(100))
    output = run_json("import", str(source))
    assert output["imported"] == [
        {"game": "Airstriker-Genesis", "file": "outer.zip/inner.zip/game.gen"},
    ]
    assert output["unknown"] == ["other.zip"]
    assert [entry["file"] for entry in output["unreadable"]] == ["broken.zip"]


def test_a_second_import_finds_everything_there(tmp_path: Path, rom: bytes) -> None:
    source = tmp_path / "game.md"
    source.write_bytes(rom)
    run("import", str(source))
    output = run_json("import", str(source))
    assert (output["imported"], output["already"]) == (
        [],
        [{"game": "Airstriker-Genesis", "file": "game.md"}],
    )


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_is_missing_or_holds_nothing_known_is_an_error(tmp_path: Path, there: bool) -> None:
    source = tmp_path / "mine"
    if there:
        source.mkdir()
        (source / "own.nes").write_bytes(bytes(64))
    with pytest.raises(GymnastError, match="knows" if there else "there is no folder"):
        CliRunner().invoke(app, ["import", str(source)], catch_exceptions=False)
    assert not (tmp_path / "kept").exists()


def test_the_games_that_can_be_played_are_listed() -> None:
    rows = {row["id"]: row for row in run_json("list")}
    row = rows["Retro/Airstriker-Genesis"]
    assert (row["console"], row["states"], row["default_state"]) == ("Genesis", 1, "Level1")
    assert "Retro/SuperMarioBros-Nes" not in rows
    assert "Retro/Airstriker-Genesis" in run("list")


def test_one_game_is_shown_with_its_states_though_its_rom_is_missing() -> None:
    about = run_json("list", "Retro/SuperMarioBros-Nes-v0")
    assert about["rom"] is None
    assert {"Level1-1", "Level2-1", "Level8-1"} <= set(about["states"])
    assert {"xscrollHi", "time", "progress"} <= set(about["variables"])
    assert about["buttons"] == ["B", "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT", "A"]
    assert about["reward_parts"] == ["progress", "time", "death", "level"]
    text = run("list", "SuperMarioBros-Nes")
    assert "gymnast roms import DIR" in text
    assert "facee9c577a5262dbe33ac4930bb0b58c8c037f7" in text


def test_unknown_game_names_the_nearest() -> None:
    with pytest.raises(GymnastError, match=r"no game 'SuperMaroBros-Nes'.*'SuperMarioBros-Nes'"):
        CliRunner().invoke(app, ["list", "SuperMaroBros-Nes"], catch_exceptions=False)


def test_without_the_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    for arguments in (["list"], ["import", "."]):
        with pytest.raises(MissingExtra, match=r"gymnast\[retro\]"):
            CliRunner().invoke(app, arguments, catch_exceptions=False)
