"""From a reference (`CartPole-v1:ppo`, `my.yaml:fast`, any registered id) to one checked Config.

Order, each over the one before: defaults, extended files, base, variant, command line. All of it is
merged before anything is validated, so an override may correct a file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from pydantic import ValidationError

from gymnast.algorithms.table import ALGORITHMS, DEFAULT_ALGO
from gymnast.config.fields import Keys, leaf_keys
from gymnast.config.files import (
    SUFFIXES,
    ConfigFile,
    config_folders,
    files_named,
    layers_of,
    names_in,
    read_config_file,
    split_reference,
)
from gymnast.config.merge import Layer, Merged
from gymnast.config.overrides import Overrides, apply_overrides, overridden
from gymnast.config.problems import explain
from gymnast.config.reading import line_of, shown
from gymnast.config.schema import Config
from gymnast.errors import GymnastError, did_you_mean

DEFAULT_ENV_STEPS = 1_000_000
_LONGEST_NAME = 200  # what a file may be called, with room for a suffix
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_EXAMPLE = "write for example CartPole-v1:ppo, or see `gymnast envs`"


class SeveralVariantsError(GymnastError):
    """A name of several configs, with the command for each."""

    def __init__(self, name: str, variants: Sequence[str], command: str = "gymnast train") -> None:
        choices = "\n".join(f"  {command} {shlex.quote(f'{name}:{variant}')}" for variant in variants)
        super().__init__(f"{name} has {len(variants)} variants; choose one:\n{choices}")
        self.name, self.variants = name, tuple(variants)


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """A checked config, what it was made from, and where each of its values came from."""

    config: Config
    name: str  # 'CartPole-v1:ppo'
    variant: str | None
    sources: dict[str, str] = field(default_factory=dict)  # dotted key → 'variant ppo', 'command line', …


def load_config(
    reference: str, overrides: Overrides = (), *, config_dirs: Sequence[Path] = ()
) -> ResolvedConfig:
    """Resolve a reference with its overrides; raises GymnastError with everything that is wrong."""
    name, variant, layers = find_layers(reference, config_folders(config_dirs), overrides)
    return resolve(name, variant, layers, overrides)


def resolve(
    name: str, variant: str | None, layers: Sequence[Layer], overrides: Overrides = ()
) -> ResolvedConfig:
    """Merge the layers and the overrides, then validate."""
    merged = Merged()
    for layer in layers:
        merged.add(layer)
    apply_overrides(merged, overrides)
    _fill_budget(merged)
    try:
        config = Config.model_validate(merged.data)
    except ValidationError as error:
        place = partial(_place, merged, name=name)
        raise GymnastError(explain(error, name, merged.data, place)) from None
    return ResolvedConfig(config, name, variant, sources_of(merged, config))


def sources_of(merged: Merged, config: Config) -> dict[str, str]:
    """Every dotted key of the config with the label of the layer that last touched it."""
    origins = {keys: merged.origins.get(keys) for keys in leaf_keys(data=config.model_dump())}
    return {".".join(keys): "default" if layer is None else layer.label for keys, layer in origins.items()}


def _fill_budget(merged: Merged) -> None:
    budget = merged.data.get("budget") or {}
    if isinstance(budget, dict) and all(
        budget.get(key) is None for key in ("env_steps", "vec_steps", "wall_time")
    ):
        merged.data["budget"] = {**budget, "env_steps": DEFAULT_ENV_STEPS}


def _place(merged: Merged, path: Keys, name: str) -> str:
    """'file:line' of the key, 'command line', or the config's name for a default."""
    layer = merged.origin(path)
    if layer is None:
        return name
    if layer.file is None:
        return layer.label
    line = line_of(layer.file, layer.line_key(path))
    return shown(layer.file) if line is None else f"{shown(layer.file)}:{line}"


def find_layers(
    reference: str, folders: Sequence[Path], overrides: Overrides = ()
) -> tuple[str, str | None, list[Layer]]:
    """(name, variant, layers) of what `reference` means."""
    name, variant = split_reference(reference)
    _check_reference(reference, name, variant)
    if name.endswith(SUFFIXES):
        file = read_config_file(Path(name).expanduser())
        variant = _variant_of([file], variant, name)
        stem = Path(name).stem
        return (f"{stem}:{variant}" if variant else stem), variant, layers_of(file, variant, folders)
    if not any(files_named(name, folders)):
        from gymnast.envs.aliases import current_id

        name = current_id(name)  # an older id, such as Taxi-v3
    files = [read_config_file(path) for path in files_named(name, folders)]
    if variant in ALGORITHMS and files and not any(variant in file.variants for file in files):
        return _untuned(files[0], name, variant, folders, overrides)
    if files:
        variant = _variant_of(files, variant, name)
        file = next(file for file in files if variant is None or variant in file.variants)
        return (f"{name}:{variant}" if variant else name), variant, layers_of(file, variant, folders)
    return _without_preset(reference, name, variant, folders, overrides)


def variants_for_a_cpu(name: str) -> list[str]:
    """Of a variant that is called after GPUs, such as ALE/Pong-v5:ppo-gpu: its siblings that are not."""
    env_id, variant = split_reference(name)
    if variant is None or "gpu" not in variant.split("-"):
        return []
    files = [read_config_file(path) for path in files_named(env_id, config_folders())]
    known = next((file.variants for file in files if variant in file.variants), {})
    return [f"{env_id}:{other}" for other in known if "gpu" not in other.split("-")]


def _check_reference(reference: str, name: str, variant: str | None) -> None:
    """Raise GymnastError for what cannot be a name, before it is looked for."""
    if not reference.strip():
        raise GymnastError(f"the name of what to train is empty; {_EXAMPLE}")
    if max(len(part) for part in (name, variant or "")) > _LONGEST_NAME and not name.endswith(SUFFIXES):
        raise GymnastError(
            f"{reference[:40]!r}… is not a name: it has {len(reference)} characters; {_EXAMPLE}"
        )
    if reference.startswith("@"):
        run = reference if reference != "@" else "@last"
        raise GymnastError(
            f"{reference!r} is not an environment or a config; runs are named with @:"
            f" `gymnast train --resume {run}` resumes one"
        )
    if not name.strip():
        raise GymnastError(f"{reference!r} has no environment before the ':'; {_EXAMPLE}")
    if variant is not None and not variant.strip():
        raise GymnastError(f"{reference!r} has nothing after the ':'; leave it out, or name a variant")
    if reference.endswith("/"):
        raise GymnastError(f"{reference!r} ends in '/', as no environment does; {_EXAMPLE}")


def _variant_of(files: Sequence[ConfigFile], variant: str | None, name: str) -> str | None:
    """The variant to use: the one named, the only one, or none where a file has none."""
    known = list(dict.fromkeys(variant for file in files for variant in file.variants))
    if variant is None:
        if len(known) <= 1:
            return known[0] if known else None
        raise SeveralVariantsError(name, known)
    if variant in known:
        return variant
    hint = did_you_mean(variant, known) or (f"; there are {', '.join(known)}" if known else "; it has none")
    raise GymnastError(f"{name} has no variant {variant!r}{hint}")


def _untuned(
    file: ConfigFile, name: str, algo: str, folders: Sequence[Path], overrides: Overrides
) -> tuple[str, str | None, list[Layer]]:
    """An algorithm that the preset has no variant for: its env, with what suits the algorithm anywhere."""
    known = [
        _env_alone(layer)
        for layer in layers_of(file, None, folders)
        if isinstance(layer.data.get("env"), dict)
    ]
    env_id = next((layer.data["env"]["id"] for layer in reversed(known) if "id" in layer.data["env"]), name)
    full_name, _, layers = _without_preset(f"{env_id}:{algo}", env_id, algo, folders, overrides)
    return full_name, algo, [*layers, *known]


def _without_preset(
    reference: str, name: str, variant: str | None, folders: Sequence[Path], overrides: Overrides
) -> tuple[str, str | None, list[Layer]]:
    from gymnast.config.from_spaces import defaults_for

    algo = DEFAULT_ALGO
    if variant is None or variant in ALGORITHMS:
        env_id, algo = name, variant or DEFAULT_ALGO
    elif _MODULE.fullmatch(name):  # my_package:Namespace/id-v0, my_module:MyEnv
        env_id = reference
        _check_module(reference, name, folders)
    elif ":" in name:
        raise GymnastError(
            f"{name} has no preset, so {variant!r} can only be an algorithm"
            f"{did_you_mean(variant, ALGORITHMS)}; there are {', '.join(ALGORITHMS)}"
        )
    else:
        raise GymnastError(f"there is no preset {reference!r}{did_you_mean(name, names_in(folders))}")
    shared = _of_the_family(env_id, algo, folders)
    given = [layer.data["env"] for layer in shared if "env" in layer.data]
    env = dict(chain.from_iterable(part.items() for part in [*given, overridden(overrides, "env")]))
    defaults = defaults_for(env_id, env, algo)
    return f"{env_id}:{algo}", algo, [Layer(defaults, "defaults from the spaces"), *shared]


def _check_module(reference: str, module: str, folders: Sequence[Path]) -> None:
    """Raise GymnastError where `module:id` was meant as a preset, or names a file."""
    if module.endswith(".py"):
        better = f"{module.removesuffix('.py')}:{reference.rpartition(':')[2]}"
        raise GymnastError(f"{reference!r}: a module is named without .py: {better}")
    package = module.partition(".")[0]
    with suppress(ValueError):  # __main__ and the like have no place
        if find_spec(package) is not None or Path(package).is_dir() or Path(f"{package}.py").is_file():
            return
    meant = did_you_mean(module, names_in(folders))
    raise GymnastError(
        f"there is no preset {reference!r}{meant}, and there is no module {package!r} in {Path.cwd()} nor"
        " among the installed packages"
    )


def _of_the_family(env_id: str, algo: str, folders: Sequence[Path]) -> list[Layer]:
    """What suits every env of the family, where there is a file for it (`_mujoco.yaml`)."""
    from gymnast.envs.families.table import registered_family

    shared = registered_family(env_id).shared
    path = None if shared is None else next(files_named(shared, folders), None)
    if path is None:
        return []
    layers = layers_of(read_config_file(path), None, folders)
    return [layer if _suits(layer, algo) else _env_alone(layer) for layer in layers]


def _suits(layer: Layer, algo: str) -> bool:
    """Whether what a layer sets for learning is meant for this algorithm."""
    settings = layer.data.get("algo")
    return not isinstance(settings, dict) or settings.get("name", DEFAULT_ALGO) == algo


def _env_alone(layer: Layer) -> Layer:
    """A layer's env, without the number of copies, which goes with the algorithm."""
    env = layer.data.get("env")
    known = {key: value for key, value in env.items() if key != "n_envs"} if isinstance(env, dict) else {}
    return replace(layer, data={"env": known})
