"""What someone outside names, such as a language model: runs, configs and settings, none of them trusted.

A run is looked up, never joined into a path. A config is known by name, never by a file. What would import
code, read the environment or open files of this machine is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import Folders, folders, plain_overrides
from gymnast.api.run import Overrides
from gymnast.errors import GymnastError, did_you_mean

if TYPE_CHECKING:
    from gymnast.api.config import Validation
    from gymnast.config.load import ResolvedConfig
    from gymnast.config.schema import Config
    from gymnast.runs.store import RunFolder

_HOW = "is refused here: it would {what}; whoever started this server can allow it with --trust"
_TEXT_FILE = "config.yaml"
_KEY = re.compile(r"\s*[A-Za-z_]\w*(?:\.\w+)*\s*", re.ASCII)  # of a setting, as an override has it


def outside_run(reference: str, *, runs_dir: str | Path | None = None) -> RunFolder:
    """The run that an id, the beginning of one, @last or @best names. Paths are refused."""
    from gymnast.runs.references import find_run
    from gymnast.runs.store import runs_root

    return find_run(runs_root(runs_dir), reference, allow_paths=False)


def outside_checkpoint(reference: str, *, runs_dir: str | Path | None = None) -> str:
    """The checkpoint that `RUN[/CHECKPOINT]` names, as `ID/STEPS`; of a run alone its best, else its last."""
    from gymnast.runs.references import find_checkpoint
    from gymnast.runs.store import runs_root

    found = find_checkpoint(runs_root(runs_dir), reference, allow_paths=False)
    return f"{found.run.id}/{found.env_steps}"


def check_reference(reference: str, *, config_dirs: Folders = (), trust: bool = False) -> str:
    """The name of a preset or env, with a variant or without; GymnastError for a file or an import path."""
    from gymnast.algorithms.table import ALGORITHMS
    from gymnast.config.files import SUFFIXES, config_folders, files_named, names_in, split_reference

    if trust:
        return reference
    name, variant = split_reference(reference)
    places = config_folders(folders(config_dirs))
    if name.endswith(SUFFIXES) or _is_path(name):
        raise GymnastError(
            f"{reference!r} is a path: name a preset, an env id, or a file of the config folder without its"
            f" suffix{did_you_mean(PurePath(name).stem, names_in(places))}"
        )
    known = any(files_named(name, places))
    if not known and (":" in name or (variant is not None and variant not in ALGORITHMS)):
        import gymnasium

        if name in gymnasium.registry:
            raise GymnastError(
                f"{name} has no variant {variant!r}{did_you_mean(variant or '', ALGORITHMS)}; there are"
                f" {', '.join(ALGORITHMS)}"
            )
        meant = did_you_mean(name, names_in(places))
        raise GymnastError(
            f"{reference!r} is not a preset{meant}; as an import path it {_HOW.format(what='import code')}"
        )
    return reference


def check_loads(
    reference: str, overrides: Sequence[str] = (), *, config_dirs: Folders = (), trust: bool = False
) -> None:
    """Raise GymnastError for a reference or settings that do not load; environments are not built for it.
    With `trust` it is left to the process that trains, in which code of the user's own is found."""
    from gymnast.config.load import load_config

    if trust:
        return
    places = folders(config_dirs)
    after = load_config(reference, list(overrides), config_dirs=places).config
    if overrides:
        _refuse_new_access(load_config(reference, config_dirs=places).config, after)


def check_changes(run: RunFolder, overrides: Overrides, *, trust: bool = False, trains: bool = False) -> None:
    """Raise GymnastError for changed settings with which a run would reach for more than by itself; where it
    `trains`, also for a run from elsewhere that would send metrics to where its author wants them."""
    from gymnast.metrics.sinks.trackers.settings import uploads
    from gymnast.runs.trust import is_made_here, load_run_config

    if trust:
        return
    if overrides:
        _refuse_new_access(load_run_config(run), load_run_config(run, overrides))
    if trains and uploads((own := load_run_config(run)).sinks) and not is_made_here(run, own):
        what = "send metrics elsewhere"
        raise GymnastError(f"the setting sinks of run {run.id}, made elsewhere, {_HOW.format(what=what)}")


def check_settings(settings: Any, *, trust: bool = False) -> dict[str, Any] | list[str]:
    """Overrides as they may be used; GymnastError for one that names code, a variable or a file."""
    given = plain_overrides(settings or ())
    keys = list(given) if isinstance(given, dict) else [text.partition("=")[0] for text in given]
    if odd := [key for key in keys if not _KEY.fullmatch(key)]:
        raise GymnastError(f"{odd[0]!r} is not the key of a setting; write one like algo.lr")
    if not trust:
        _refuse_access(given)
        if any(key.partition(".")[0].strip() == "sinks" for key in keys):
            raise GymnastError(f"the setting sinks {_HOW.format(what='send metrics elsewhere')}")
    return given


def load_text(text: str, overrides: Overrides = (), *, trust: bool = False) -> ResolvedConfig:
    """A config given as YAML text, checked as a file of that content would be."""
    from gymnast.config.load import load_config

    refuse_in_text(text, trust=trust)
    given = check_settings(overrides, trust=trust)
    with TemporaryDirectory(prefix="gymnast-") as folder:
        file = Path(folder) / _TEXT_FILE
        file.write_text(text, encoding="utf-8")
        try:
            return load_config(str(file), given)
        except GymnastError as error:
            raise GymnastError(str(error).replace(str(file), "yaml").replace(str(folder), "")) from None


def refuse_in_text(text: str, *, trust: bool = False) -> None:
    """Raise GymnastError for YAML that names code, a variable or a file."""
    from gymnast.config.reading import parse_yaml

    data = None
    with suppress(GymnastError):  # whoever loads it says why it cannot be
        data = None if trust else parse_yaml(text, "yaml")
    if not isinstance(data, Mapping):
        return
    for part in _parts(data):
        extended = part.pop("extends", None) or []
        for name in [extended] if isinstance(extended, str) else extended:
            if not str(name).startswith("_"):  # what suits a family
                check_reference(str(name))
        if isinstance(env := part.get("env"), dict):
            env.pop("spec", None)  # words that describe an env
        _refuse_access(part)


def check_outside_config(
    reference: str = "",
    text: str = "",
    overrides: Any = (),
    *,
    config_dirs: Folders = (),
    trust: bool = False,
) -> Validation:
    """Whether a reference with overrides, or the text of a config, would train. What is refused raises."""
    from gymnast.api.config import check_config
    from gymnast.config.load import load_config

    if bool(reference) == bool(text):
        raise GymnastError("give a reference or the text of a config: one of the two")
    given = check_settings(overrides, trust=trust)
    if text:
        refuse_in_text(text, trust=trust)
        return check_config("yaml", lambda: load_text(text, given, trust=trust).config)
    name = check_reference(reference, config_dirs=config_dirs, trust=trust)
    places = folders(config_dirs)
    return check_config(name, lambda: load_config(name, given, config_dirs=places).config)


def _refuse_access(given: Mapping[str, Any] | Sequence[str]) -> None:
    """Raise for any text that the loader, an env or a wrapper could take for more than a plain word."""
    from gymnast.config.files import SUFFIXES

    for text in _texts(given):
        if ":" in text:
            raise GymnastError(f"{text!r} in the settings {_HOW.format(what='import code')}")
        if "${" in text:
            raise GymnastError(f"{text!r} in the settings {_HOW.format(what='read an environment variable')}")
        if _is_path(text) or text.endswith(SUFFIXES):
            raise GymnastError(f"{text!r} in the settings {_HOW.format(what='name a file of this machine')}")


def _refuse_new_access(before: Config, after: Config) -> None:
    """The same of settings as they are loaded, however they were written."""
    from gymnast.runs.trust import accesses

    known = {access.name for access in accesses(before)}
    for access in accesses(after):
        if access.name not in known:
            what = "import code" if access.is_import else "read an environment variable"
            raise GymnastError(f"the setting {access.setting} {access.name!r} {_HOW.format(what=what)}")


def _parts(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The maps of settings that a file has: itself, or `base` and each of `variants`."""
    own = {key: value for key, value in data.items() if key not in ("base", "variants")}
    variants = data.get("variants")
    inner = [data.get("base"), *(variants.values() if isinstance(variants, Mapping) else [variants])]
    yield from (dict(part) for part in (own, *inner) if isinstance(part, Mapping))


def _texts(given: Mapping[str, Any] | Sequence[str]) -> Iterator[str]:
    """Every text of the settings. Keys count as values do: a wrapper may be given as a map of its name to its
    arguments."""
    from gymnast.config.overrides import parse_override

    pending: list[Any] = (
        [given] if isinstance(given, Mapping) else [parse_override(text)[1] for text in given]
    )
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            pending += [*map(str, value), *value.values()]
        elif isinstance(value, (list, tuple)):
            pending += value


def _is_path(text: str) -> bool:
    """Whether a text leads out of the folder that it would be looked for in."""
    if text.startswith("~") or PurePath(text).is_absolute() or PureWindowsPath(text).drive:
        return True
    return ".." in text.replace("\\", "/").split("/")
