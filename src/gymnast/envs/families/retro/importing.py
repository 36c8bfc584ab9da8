"""Taking ROMs in: files of the user's own, recognised by their hash, copied into the user's data folder."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import stable_retro.data

from gymnast.envs.families.retro import library
from gymnast.errors import GymnastError

_ALSO_ROMS = {".bin", ".gen", ".smd", ".smc", ".zip"}  # usual names that stable-retro does not use itself
_MOST_NESTED = 3  # zip files within zip files

Known = dict[str, tuple[str, str]]  # sha1 → folder and file name, of `library.known_hashes`


@dataclass(slots=True)
class Imported:
    """What became of the files of a folder."""

    folder: Path  # where ROMs are kept
    games: dict[str, str] = field(default_factory=dict)  # game → the file that was taken
    already: dict[str, str] = field(default_factory=dict)  # was there before
    unknown: list[str] = field(default_factory=list)  # look like ROMs, but are not known ones
    unreadable: dict[str, str] = field(default_factory=dict)  # file → why

    def as_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "imported": [{"game": game, "file": file} for game, file in self.games.items()],
            "already": [{"game": game, "file": file} for game, file in self.already.items()],
            "unknown": self.unknown,
            "unreadable": [{"file": file, "reason": reason} for file, reason in self.unreadable.items()],
        }


def import_roms(source: Path) -> Imported:
    """Look through a folder (or one file), zip files included, and keep every ROM whose hash is known."""
    source = source.expanduser()
    if not source.exists():
        raise GymnastError(f"there is no folder {source}")
    known = library.known_hashes()
    result = Imported(library.roms_folder())
    kept = result.folder.resolve()
    for path in _files(source):
        if kept in path.resolve().parents:
            continue  # what is kept already
        shown = str(path.relative_to(source)) if path != source else path.name
        try:
            if not _take(path, shown, known, result) and _looks_like_rom(path.name):
                result.unknown.append(shown)
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            # The last two: a zip file with a password, or packed in a way that Python does not know.
            result.unreadable[shown] = str(error) or type(error).__name__
    return result


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
        return
    for folder, folders, names in os.walk(source):
        folders.sort()
        yield from (Path(folder) / name for name in sorted(names) if (Path(folder) / name).is_file())


def _take(path: Path, shown: str, known: Known, result: Imported) -> bool:
    """Keep what one file holds; whether anything in it is known."""
    with path.open("rb") as file:
        if _keep(path.name, file, shown, known, result):
            return True
        if path.suffix.lower() != ".zip":
            return False
        file.seek(0)
        return _take_zip(file, shown, known, result, 1)


def _take_zip(file: IO[bytes], shown: str, known: Known, result: Imported, depth: int) -> bool:
    any_known = False
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            inside = f"{shown}/{entry.filename}"
            with archive.open(entry) as member:
                if entry.filename.lower().endswith(".zip") and depth < _MOST_NESTED:
                    nested = io.BytesIO(member.read())
                    any_known |= _take_zip(nested, inside, known, result, depth + 1)
                else:
                    any_known |= _keep(entry.filename, member, inside, known, result)
    return any_known


def _keep(name: str, file: IO[bytes], shown: str, known: Known, result: Imported) -> bool:
    """Copy a file into the user's folder if its hash is that of a game."""
    try:
        content, sha1 = stable_retro.data.groom_rom(name, file)  # an NES header is not part of the hash
    except ValueError:  # larger than any cartridge
        return False
    if sha1 not in known:
        return False
    folder, rom_name = known[sha1]
    game = library.short_name(folder)
    if game in result.games or game in result.already:
        return True  # a second copy of the same game
    paths = [result.folder / folder / name for name in (rom_name, *_original_name(folder))]
    if all(_same(path, content) for path in paths):
        result.already[game] = shown
        return True
    for path in paths:
        _write(path, content)
    result.games[game] = shown
    return True


def _original_name(folder: str) -> list[str]:
    """Arcade emulators want the file under its own name too."""
    path = stable_retro.data.get_file_path(folder, "metadata.json", library.integrations())
    try:
        name = json.loads(Path(path).read_text()).get("original_rom_name") if path else None
    except (OSError, ValueError):
        return []
    # A bare name: nothing may be written elsewhere.
    return [name] if isinstance(name, str) and Path(name).name == name else []


def _same(path: Path, content: bytes) -> bool:
    with contextlib.suppress(OSError):
        return hashlib.sha1(path.read_bytes()).digest() == hashlib.sha1(content).digest()
    return False


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as new:
            new.write(content)
        Path(new.name).replace(path)
    except OSError as error:
        raise GymnastError(f"the ROM cannot be kept in {path.parent}: {error}") from error


def _looks_like_rom(name: str) -> bool:
    return Path(name).suffix.lower() in {*stable_retro.data.EMU_EXTENSIONS, *_ALSO_ROMS}
