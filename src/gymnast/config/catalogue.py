"""What there is to train: every preset and config file with its variants, listed and searched."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnast.algorithms.table import ALGORITHMS
from gymnast.config.files import SUFFIXES, config_folders, files_named, names_in, read_config_file
from gymnast.config.load import load_config
from gymnast.errors import GymnastError


@dataclass(frozen=True, slots=True)
class Entry:
    """One environment (or config file of the user's own) with what a listing shows of it."""

    name: str  # what `gymnast train` takes, before the colon
    env_id: str
    variants: tuple[str, ...]
    description: str = ""
    family: str = ""
    solved_at: float | None = None
    extra: str | None = None  # the extra it needs, None for the core
    installed: bool = True
    problem: str | None = None  # why it does not load

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "env": self.env_id,
            "variants": list(self.variants),
            "commands": [f"gymnast train {self.name}:{variant}" for variant in self.variants],
            "description": self.description,
            "family": self.family,
            "solved_at": self.solved_at,
            "extra": self.extra,
            "installed": self.installed,
            "problem": self.problem,
        }


def variants_of(name: str, folders: Sequence[Path]) -> list[str]:
    """The variants of a name over all folders; [] for a plain config."""
    files = [read_config_file(path) for path in files_named(name, folders)]
    return list(dict.fromkeys(variant for file in files for variant in file.variants))


def references(names: Iterable[str], folders: Sequence[Path]) -> list[str]:
    """Every `name:variant` behind the names (ids, files, either with a variant or without)."""
    found: list[str] = []
    for name in names:
        if name.endswith(SUFFIXES):
            variants = list(read_config_file(Path(name).expanduser()).variants)
        else:
            variants = variants_of(name, folders)
        found += [f"{name}:{variant}" for variant in variants] or [name]
    return found


def entries(config_dirs: Sequence[Path] = ()) -> list[Entry]:
    """Everything that has a config, the user's own first."""
    folders = config_folders(config_dirs)
    return [_entry(name, folders, config_dirs) for name in names_in(folders)]


def registered_entries(known: Iterable[str]) -> list[Entry]:
    """The newest version of each environment that no config is for: it trains with defaults."""
    import gymnasium as gym

    from gymnast.envs.families.table import FAMILIES, registered_family
    from gymnast.envs.single import register_family  # and with it our own

    for family in FAMILIES:
        if family.installed:
            register_family(family)
    taken = set(known)
    newest: dict[str, str] = {}  # older versions of a game are there for old results, not to start with
    for spec in gym.registry.values():
        prefixes = registered_family(spec.id).prefixes
        if prefixes and not spec.id.startswith(prefixes):
            continue  # an older name, such as PongNoFrameskip-v4
        base = f"{spec.namespace}/{spec.name}"
        if base not in newest or (spec.version or 0) > (gym.registry[newest[base]].version or 0):
            newest[base] = spec.id
    unplayable = _games_without_rom()
    return [
        _about(env_id, env_id, tuple(ALGORITHMS))
        for env_id in newest.values()
        if env_id not in taken and env_id not in unplayable
    ]


def _games_without_rom() -> set[str]:
    """Ids of consoles' games that cannot be played: the library knows a thousand, of which few are there."""
    from gymnast.envs.families.table import FAMILIES, load_hook

    hooks = [family.unplayable for family in FAMILIES if family.unplayable and family.installed]
    return {env_id for hook in hooks for env_id in load_hook(hook)()}


def not_installed() -> dict[str, str]:
    """Families that could be had: name → the extra that brings it."""
    from gymnast.envs.families.table import FAMILIES

    return {f.name: f.extra for f in FAMILIES if f.extra is not None and not f.installed}


def _entry(name: str, folders: Sequence[Path], config_dirs: Sequence[Path]) -> Entry:
    try:
        variants = variants_of(name, folders)
        reference = f"{name}:{variants[0]}" if variants else name
        env = load_config(reference, config_dirs=config_dirs).config.env
    except GymnastError as error:
        return Entry(name, name, (), problem=str(error))
    return _about(name, env.id, tuple(variants), env.spec.description or "", env.spec.solved_at)


def _about(
    name: str, env_id: str, variants: tuple[str, ...], description: str = "", solved_at: float | None = None
) -> Entry:
    import gymnasium as gym

    from gymnast.envs.families.table import registered_family

    spec = gym.registry.get(env_id)
    family = registered_family(env_id)
    if solved_at is None and spec is not None:
        solved_at = spec.reward_threshold
    return Entry(name, env_id, variants, description, family.name, solved_at, family.extra, family.installed)


def search(text: str, among: Iterable[Entry]) -> list[Entry]:
    """The entries that match every word of `text`, best first; near misses count less than parts of words."""
    words = text.lower().split()
    scored = [(min((_fit(word, entry) for word in words), default=1.0), entry) for entry in among]
    kept = [(score, entry) for score, entry in scored if score > 0]
    return [entry for _, entry in sorted(kept, key=lambda pair: -pair[0])]


def _fit(word: str, entry: Entry) -> float:
    """How well a word matches an entry, from 0 to 1; the name counts most, the description least."""
    best = 0.0
    fields = (
        (1.0, entry.name),
        (0.9, " ".join(entry.variants)),
        (0.8, entry.family),
        (0.6, entry.description),
    )
    for weight, field in fields:
        field = field.lower()
        if word in field:
            best = max(best, weight)
            continue
        if len(word) < 4:
            continue  # two letters off in three is another word
        # 'cartpol' and 'lunarlandr' are meant too: compare with each word's beginning.
        starts = [part[: len(word) + 1] for part in re.split(r"[^\w]+", field)]
        nearest = max(difflib.SequenceMatcher(None, word, start).ratio() for start in starts)
        if nearest >= 0.8:
            best = max(best, weight * nearest * 0.8)
    return best
