"""What someone outside names, such as a language model: runs, configs and settings, none of them trusted.

A run is looked up, never joined into a path. A config is known by name, never by a file. What would import
code, read the environment or open files of this machine is refused.
"""

from __future__ import annotations

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
    from gymnast.runs.store import RunFolder

_HOW = "is refused here: it would {what}; whoever started this server can allow it with --trust"
_TEXT_FILE = "config.yaml"


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

    if not trust:
        load_config(reference, list(overrides), config_dirs=folders(config_dirs))


def check_settings(settings: Any, *, trust: bool = False) -> dict[str, Any] | list[str]:
    """Overrides as they may be used; GymnastError for one that names code, a variable or a file."""
    given = plain_overrides(settings or ())
    if not trust:
        _refuse_access(given)
        keys = given if isinstance(given, dict) else (text.partition("=")[0] for text in given)
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
    from gymnast.config.overrides import texts_in

    for text in [*texts_in(given), *_names(given)]:
        if ":" in text:
            raise GymnastError(f"the setting {text!r} {_HOW.format(what='import code')}")
        if "${" in text:
            raise GymnastError(f"the setting {text!r} {_HOW.format(what='read an environment variable')}")
        if _is_path(text) or text.endswith(SUFFIXES):
            raise GymnastError(f"the setting {text!r} {_HOW.format(what='name a file of this machine')}")


def _parts(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The maps of settings that a file has: itself, or `base` and each of `variants`."""
    own = {key: value for key, value in data.items() if key not in ("base", "variants")}
    variants = data.get("variants")
    inner = [data.get("base"), *(variants.values() if isinstance(variants, Mapping) else [variants])]
    yield from (dict(part) for part in (own, *inner) if isinstance(part, Mapping))


def _names(given: Mapping[str, Any] | Sequence[str]) -> Iterator[str]:
    """A wrapper may be given as a map of its name to its arguments: keys count as values do."""
    pending: list[Any] = [given]
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            yield from (str(key) for key in value)
            pending += value.values()
        elif isinstance(value, (list, tuple)):
            pending += [item for item in value if not isinstance(item, str)]


def _is_path(text: str) -> bool:
    """Whether a text leads out of the folder that it would be looked for in."""
    if text.startswith("~") or PurePath(text).is_absolute() or PureWindowsPath(text).drive:
        return True
    return ".." in text.replace("\\", "/").split("/")
