"""Configs: show what one resolves to, validate, format, and list the keys that one may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import Folders, folders, plain_overrides
from gymnast.api.run import Overrides
from gymnast.config.applies import space_facts, without_effect
from gymnast.config.dump import dump_config, plain_data
from gymnast.config.files import SUFFIXES, config_folders, files_named, names_in
from gymnast.config.load import SeveralVariantsError, load_config
from gymnast.config.reference import Key as ConfigKey
from gymnast.config.reference import keys, markdown
from gymnast.config.schema import Config
from gymnast.errors import GymnastError, MissingExtra, MissingGame, did_you_mean

if TYPE_CHECKING:
    from gymnast.api.networks import Network

__all__ = [
    "ConfigKey",
    "FormattedFile",
    "ShownConfig",
    "Validation",
    "config_keys",
    "format_configs",
    "settings_page",
    "show_config",
    "validate_configs",
]


@dataclass(frozen=True, slots=True)
class ShownConfig:
    """A resolved config, where each value came from, and the network that it makes."""

    name: str
    config: Config
    sources: dict[str, str]  # dotted key → 'variant ppo', 'command line', 'default' …
    network: Network
    left_out: frozenset[str]  # dotted keys of settings and sections that have no effect and their defaults

    def text(self, *, every: bool = False) -> str:
        """YAML with the sources as comments; settings without effect only with `every`."""
        return dump_config(self.config, self.sources, leave_out=() if every else self.left_out)

    def to_json(self) -> dict[str, Any]:
        """What `gymnast config show --json` prints: every setting."""
        return {
            "name": self.name,
            "config": plain_data(self.config),
            "sources": self.sources,
            "network": self.network.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Validation:
    """What checking one config found."""

    name: str
    problem: str | None
    note: str = ""  # what a valid config needs to run and is not there

    @property
    def ok(self) -> bool:
        return self.problem is None

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "problem": self.problem}


@dataclass(frozen=True, slots=True)
class FormattedFile:
    """A config file, and whether formatting changes it."""

    file: str
    changed: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def show_config(
    reference: str | Path, *, overrides: Overrides = (), config_dirs: Folders = ()
) -> ShownConfig:
    """Resolve a reference with its overrides."""
    from gymnast.api.networks import describe_network
    from gymnast.envs.mix.build import policy_spaces

    try:
        resolved = load_config(str(reference), plain_overrides(overrides), config_dirs=folders(config_dirs))
    except SeveralVariantsError as several:
        raise SeveralVariantsError(several.name, several.variants, "gymnast config show") from None
    config = resolved.config
    try:
        spaces = policy_spaces(config.env)
    except GymnastError:
        spaces = None  # describe_network reports why
    facts = None if spaces is None else space_facts(*spaces)
    return ShownConfig(
        name=resolved.name,
        config=config,
        sources=resolved.sources,
        network=describe_network(config, spaces),
        left_out=frozenset(without_effect(config, facts)),
    )


def validate_configs(names: Sequence[str | Path] = (), *, config_dirs: Folders = ()) -> list[Validation]:
    """Check ids and files, with a variant or without; every config there is if none is named."""
    from gymnast.config import catalogue

    own = folders(config_dirs)
    places = config_folders(own)
    results: list[Validation] = []
    for name in [str(name) for name in names] or names_in(places):
        try:
            found = catalogue.references([name], places)
        except GymnastError as error:
            results.append(Validation(name, str(error)))
            continue
        results += [_check(reference, own) for reference in found]
    return results


def _check(reference: str, config_dirs: Sequence[Path]) -> Validation:
    return check_config(reference, lambda: load_config(reference, config_dirs=config_dirs).config)


def check_config(name: str, load: Callable[[], Config]) -> Validation:
    """The settings first, then what only the environments know."""
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.envs.spec import read_spec
    from gymnast.metrics.sinks.table import prepare_sinks
    from gymnast.training.hook_table import build_hooks

    try:
        config = load()
        policy_spaces(config.env)  # wrappers, their arguments, the env's own; tasks that go together
        read_spec(config.env)  # labels and names, one for each action and component
        prepare_sinks(config.sinks)
        build_hooks(config)
    except MissingExtra as missing:
        return Validation(name, None, f"needs gymnast[{missing.extra}] to run")
    except MissingGame:
        return Validation(name, None, "needs your own copy of the game to run")
    except GymnastError as error:
        return Validation(name, str(error))
    return Validation(name, None)


def format_configs(
    files: Sequence[str | Path] = (), *, check: bool = False, config_dirs: Folders = ()
) -> list[FormattedFile]:
    """Put config files (or ids) in order, the user's own folders if none is named; `check` writes nothing."""
    from gymnast.config.format import format_text
    from gymnast.config.reading import read_text, shown
    from gymnast.runs.files import write_atomic

    results: list[FormattedFile] = []
    for path in _files_to_format([str(file) for file in files], config_folders(folders(config_dirs))):
        before = read_text(path)
        after = format_text(before, shown(path))
        results.append(FormattedFile(shown(path), after != before))
        if after != before and not check:
            write_atomic(path.resolve(), after)  # a link of the user's stays a link
    return results


def _files_to_format(files: Sequence[str], places: list[Path]) -> list[Path]:
    if not files:  # the packaged presets, last of the folders, are not the user's to change
        own = [path for folder in places[:-1] if folder.is_dir() for path in sorted(folder.iterdir())]
        return [path for path in own if path.suffix in SUFFIXES]
    found: list[Path] = []
    for name in files:
        if name.endswith(SUFFIXES):
            found.append(Path(name).expanduser())
            continue
        path = next(files_named(name, places), None)
        if path is None:
            raise GymnastError(f"there is no config {name!r}{did_you_mean(name, names_in(places))}")
        found.append(path)
    return found


def config_keys(text: str = "") -> list[ConfigKey]:
    """Every key that a config may have, or those whose name or description contains `text`."""
    found = [key for key in keys() if text.lower() in f"{key.name} {key.description}".lower()]
    if not found:
        raise GymnastError(f"no key has {text!r} in its name or description")
    return found


def settings_page() -> str:
    """docs/settings.md."""
    return markdown()
