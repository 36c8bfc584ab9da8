"""Config files: where they are searched for, what one may contain, and the layers it defines.

A file is either a plain config or `base:` with `variants:`; both may have `extends:`. The layers of
a variant, lowest first: files that are extended, `base`, variants that are extended, the variant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnast.config.fields import Keys
from gymnast.config.merge import Layer
from gymnast.config.reading import PACKAGED, line_of, read_yaml, shown
from gymnast.errors import GymnastError, did_you_mean

SUFFIXES = (".yaml", ".yml")
_FILE_KEYS = ("extends", "base", "variants")


def config_folders(config_dirs: Sequence[Path] = ()) -> list[Path]:
    """Folders of configs in order: given, GYMNAST_CONFIG_DIR, ./configs, and the packaged presets."""
    from_env = [Path(part) for part in os.environ.get("GYMNAST_CONFIG_DIR", "").split(os.pathsep) if part]
    return [*(Path(folder) for folder in config_dirs), *from_env, Path("configs"), PACKAGED]


def file_name(name: str) -> str:
    """A namespaced id such as gymnast/Bandit-v0 lives in gymnast__Bandit-v0.yaml."""
    return name.replace("/", "__")


def files_named(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Every file for the name (an env id, a family such as `_box2d`), the user's own first."""
    for folder in folders:
        for suffix in SUFFIXES:
            path = folder / (file_name(name) + suffix)
            if os.path.isfile(path):  # noqa: PTH113  - False, not an error, for names that no file can have
                yield path


def names_in(folders: Sequence[Path]) -> list[str]:
    """The names that `files_named` finds something for, families left out."""
    found = (path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()))
    names = (
        path.stem.replace("__", "/") for path in found if path.suffix in SUFFIXES and path.stem[0] not in "._"
    )
    return list(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One parsed file."""

    path: Path
    extends: list[str]
    base: dict[str, Any]
    base_prefix: Keys
    variants: dict[str, dict[str, Any]]

    @property
    def label(self) -> str:
        if self.path.stem.startswith("_"):
            return f"family {self.path.name}"
        return f"preset {self.path.name}" if self.path.parent == PACKAGED else shown(self.path)

    def base_layer(self) -> Layer:
        label = (
            f"{self.label} base" if self.base_prefix and not self.path.stem.startswith("_") else self.label
        )
        return Layer(self.base, label, self.path, self.base_prefix)


def read_config_file(path: Path) -> ConfigFile:
    path = path.absolute()
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise GymnastError(f"{shown(path)}: must hold a map of settings, not {_kind_of(data)}")
    if not ("base" in data or "variants" in data):
        plain = {key: value for key, value in data.items() if key != "extends"}
        return ConfigFile(path, _references(path, data, ()), plain, (), {})
    for key in data:
        if key not in _FILE_KEYS:
            hint = did_you_mean(str(key), _FILE_KEYS) or "; beside base and variants only extends is allowed"
            raise GymnastError(f"{_at(path, (key,))}: {key}: unknown key{hint}")
    base = _map_at(path, data, ("base",))
    variants = {
        str(name): _map_at(path, data, ("variants", name)) for name in _map_at(path, data, ("variants",))
    }
    return ConfigFile(path, _references(path, data, ()), base, ("base",), variants)


def layers_of(
    file: ConfigFile, variant: str | None, folders: Sequence[Path], chain: Chain = ()
) -> list[Layer]:
    """The layers of a file or of one of its variants, lowest first."""
    here = (file.path, variant)
    if here in chain:
        raise GymnastError(f"{shown(file.path)}: extends goes in a circle: {_circle([*chain, here])}")
    chain = (*chain, here)
    below = [layer for ref in file.extends for layer in _extended(ref, file, folders, chain)]
    own: list[Layer] = []
    if variant is not None:
        files_below, own = _variant_layers(file, variant, folders, chain, ())
        below += files_below
    return [*below, file.base_layer(), *own]


Chain = tuple[tuple[Path, str | None], ...]


def _variant_layers(
    file: ConfigFile, variant: str, folders: Sequence[Path], chain: Chain, seen: tuple[str, ...]
) -> tuple[list[Layer], list[Layer]]:
    """(layers of the files it extends, which go below `base`; layers of variants up to this one)."""
    if variant in seen:
        raise GymnastError(f"{shown(file.path)}: extends goes in a circle: {' → '.join([*seen, variant])}")
    prefix = ("variants", variant)
    data = file.variants[variant]
    below: list[Layer] = []
    own: list[Layer] = []
    for ref in _references(file.path, data, prefix):
        if ref in file.variants:
            files_below, siblings = _variant_layers(file, ref, folders, chain, (*seen, variant))
            below += files_below
            own += siblings
        else:
            below += _extended(ref, file, folders, chain, prefix)
    settings = {key: value for key, value in data.items() if key != "extends"}
    label = f"variant {variant}" if file.path.parent == PACKAGED else f"{file.label} variant {variant}"
    return below, [*own, Layer(settings, label, file.path, prefix)]


def _extended(
    ref: str, file: ConfigFile, folders: Sequence[Path], chain: Chain, prefix: Keys = ()
) -> list[Layer]:
    """The layers of another file: `name.yaml`, `_family`, `EnvId`, each with `:variant` if wanted."""
    name, variant = split_reference(ref)
    searched = [file.path.parent, *folders]
    if name.endswith(SUFFIXES):
        candidates = [path] if (path := (file.path.parent / name).absolute()).is_file() else []
    else:
        # A user's CartPole-v1.yaml may extend the packaged file of the same name: skip what is being read.
        candidates = list(dict.fromkeys(path.absolute() for path in files_named(name, searched)))
        being_read = {path for path, _ in chain}
        candidates = [path for path in candidates if path not in being_read] or candidates
    if not candidates:
        families = [path.stem for folder in searched for path in folder.glob("_*.yaml")]
        siblings = [known for known in file.variants if known != (prefix[-1] if prefix else None)]
        hint = did_you_mean(ref, dict.fromkeys([*siblings, *families, *names_in(searched)]))
        place = _at(file.path, (*prefix, "extends"))
        raise GymnastError(f"{place}: extends: there is no variant, family or file {ref!r}{hint}")
    other = read_config_file(candidates[0])
    if variant is not None and variant not in other.variants:
        hint = did_you_mean(variant, other.variants)
        place = _at(file.path, (*prefix, "extends"))
        raise GymnastError(f"{place}: extends: {shown(other.path)} has no variant {variant!r}{hint}")
    return layers_of(other, variant, folders, chain)


def split_reference(reference: str) -> tuple[str, str | None]:
    """'CartPole-v1:ppo' → ('CartPole-v1', 'ppo'); a file's own path is never split."""
    if reference.endswith(SUFFIXES):
        return reference, None
    name, colon, variant = reference.rpartition(":")
    return (name, variant) if colon else (reference, None)


def _references(path: Path, data: dict[str, Any], prefix: Keys) -> list[str]:
    value = data.get("extends")
    references = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(references, list) or not all(isinstance(ref, str) for ref in references):
        raise GymnastError(f"{_at(path, (*prefix, 'extends'))}: extends: must be a name or a list of names")
    return references


def _map_at(path: Path, data: dict[str, Any], keys: Keys) -> dict[str, Any]:
    value: Any = data
    for key in keys:
        value = value.get(key)
        if value is None:  # `base:` with nothing below it
            return {}
    if not isinstance(value, dict):
        name = ".".join(str(key) for key in keys)
        raise GymnastError(f"{_at(path, keys)}: {name}: must be a map of settings, not {_kind_of(value)}")
    return value


def _at(path: Path, keys: Keys) -> str:
    line = line_of(path, keys)
    return shown(path) if line is None else f"{shown(path)}:{line}"


def _kind_of(value: Any) -> str:
    return (
        "empty" if value is None else "a list" if isinstance(value, list) else f"a single value ({value!r})"
    )


def _circle(chain: Sequence[tuple[Path, str | None]]) -> str:
    return " → ".join(path.name + (f":{variant}" if variant else "") for path, variant in chain)
