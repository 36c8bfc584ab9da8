"""What a WAD file holds, read from its directory: which kind it is, and which maps are in it."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gymnast.errors import GymnastError, did_you_mean

_MAP_NAME = re.compile(r"E\dM\d|MAP\d\d")


@dataclass(frozen=True, slots=True)
class Wad:
    """One file: a whole game (IWAD), or maps that need one (PWAD)."""

    path: Path
    is_game: bool
    maps: tuple[str, ...]


@lru_cache(maxsize=16)
def read_wad(path: Path) -> Wad:
    """Read the directory of a WAD; GymnastError if there is no such file or it is not one."""
    if not path.is_file():
        raise GymnastError(f"env.vizdoom.wad: there is no file {path}")
    try:
        with path.open("rb") as file:
            kind, count, offset = struct.unpack("<4sii", file.read(12))
            if kind not in (b"IWAD", b"PWAD"):
                raise ValueError(f"it begins with {kind!r}")
            file.seek(offset)
            directory = file.read(16 * count)
        names = [
            struct.unpack_from("<8s", directory, 16 * index + 8)[0].rstrip(b"\0").decode("ascii", "replace")
            for index in range(count)
        ]
    except (OSError, struct.error, ValueError) as error:
        raise GymnastError(f"env.vizdoom.wad: {path} is not a WAD file ({error})") from error
    # A map is a marker, followed by its lumps: THINGS first, or TEXTMAP in the newer format.
    following = [*names[1:], ""]
    maps = [
        name
        for name, after in zip(names, following, strict=True)
        if _MAP_NAME.fullmatch(name.upper()) and after in ("THINGS", "TEXTMAP")
    ]
    return Wad(path, kind == b"IWAD", tuple(sorted({name.upper() for name in maps})))


def checked_map(name: str, wads: list[Wad]) -> tuple[str, Wad]:
    """The map as its WAD spells it, and the first of the WADs that has it."""
    for wad in wads:
        if name.upper() in wad.maps:
            return name.upper(), wad
    known = [map_name for wad in wads for map_name in wad.maps]
    files = " and ".join(wad.path.name for wad in wads)
    ranges = ", ".join(f"{wad.maps[0]} to {wad.maps[-1]}" for wad in wads if wad.maps)
    raise GymnastError(
        f"env.state: there is no map '{name}' in {files}{did_you_mean(name.upper(), known)};"
        f" there are {ranges or 'none'}"
    )
