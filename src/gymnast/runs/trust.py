"""Which code a run's config may import, and which environment variables it may read.

A run that was made here is marked with both (marks.py). The config of any other run (copied, pulled, edited)
is handed out only if it imports and reads nothing, or if the user trusts it: whoever has a `Config` may build
what it names. So every config of a run is loaded here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnast.cluster.settings import ClusterConfig
from gymnast.config.load import load_config
from gymnast.config.overrides import Overrides, texts_in
from gymnast.config.plugins import PluginConfig
from gymnast.config.schema import Config
from gymnast.config.values import Section, variables_in
from gymnast.envs.backends.remote_settings import ActorsConfig
from gymnast.envs.settings import EnvConfig, EnvSettings
from gymnast.errors import GymnastError, UntrustedRun
from gymnast.import_path import locate_module
from gymnast.policies.settings import PolicyConfig
from gymnast.redact import HIDDEN, secret_settings
from gymnast.runs.marks import add_mark, is_marked
from gymnast.runs.store import RunFolder

_HIDDEN_PASSWORD = re.compile(rf"://[^\s/:@]*:{re.escape(HIDDEN)}@")


@dataclass(frozen=True, slots=True)
class Access:
    """An import path that a config names, or an environment variable that it reads."""

    setting: str  # 'env.id', 'env.wrappers.0', 'env.kwargs'
    name: str  # 'package.module:Class', or '${NAME}'
    arguments: Mapping[str, Any]  # what the imported class is given
    does: str = ""  # in words, where it is neither

    @property
    def is_import(self) -> bool:
        return not self.name.startswith("${")

    @property
    def file(self) -> str | None:
        """What would be imported; nothing is, to find out."""
        return locate_module(self.name.partition(":")[0]) if self.is_import else None

    def describe(self) -> str:
        """The setting, and the module with its file or the variable."""
        if self.does:
            return f"{self.setting} {_printable(self.does)}"
        if not self.is_import:
            return f"{self.setting} reads the environment variable {self.name[2:-1]}"
        file = self.file or "a module that is not found here"
        return f"{self.setting} {_printable(self.name)} imports {_printable(file)}"


def load_run_config(
    run: RunFolder, overrides: Overrides = (), *, file: Path | None = None, trust: bool = False
) -> Config:
    """The config of a run, or the one in `file`, such as that of a checkpoint, with the user's overrides.

    Raises UntrustedRun, before anything is imported, for a config that needs trust and does not have it.
    What the overrides name is the user's own.
    """
    path = str(run.config_path if file is None else file)
    config = load_config(path, overrides).config
    _refuse_hidden(config, run)
    wanted = accesses(config)
    if trust or not wanted or is_marked(run, _facts(wanted)):
        return config
    named = set(texts_in(overrides))
    foreign = [access for access in wanted if not _is_named(access, named)]
    if foreign and not (overrides and is_trusted(run, load_config(path).config)):
        raise UntrustedRun(run.id, [access.describe() for access in foreign])
    return config


def is_trusted(run: RunFolder, config: Config) -> bool:
    """Whether a config needs no trust, or is as it was when the run was marked."""
    wanted = accesses(config)
    return not wanted or is_marked(run, _facts(wanted))


def is_made_here(run: RunFolder, config: Config) -> bool:
    """Whether this user trained a run with this config, or resumed it, on this machine."""
    return is_marked(run, _facts(accesses(config)))


def imported_paths(config: Config) -> list[str]:
    """The import paths that a config names."""
    return [access.name for access in accesses(config) if access.is_import]


def accesses(config: Config) -> list[Access]:
    """All that building a config imports, or reads from the environment."""
    return list(_accesses(config, ""))


def mark_run(run: RunFolder, config: Config) -> None:
    """Mark a run as made here, or as trusted, with its config as it is stored; earlier marks stay valid.

    A run that cannot be marked works, and has to be trusted to be used again.
    """
    needs_trust = bool(accesses(config))
    try:
        # As it is read back: an argument from Python may be stored in another form.
        stored = load_config(str(run.config_path)).config if needs_trust else config
        add_mark(run, _facts(accesses(stored)))
    except (OSError, RuntimeError, GymnastError) as error:
        if needs_trust:
            logging.getLogger("gymnast").warning(
                "this run cannot be marked as made here, and needs --trust when it is used again: %s", error
            )


def refuse_secrets(config: Config) -> None:
    """Raise GymnastError for a secret among the settings: a run's folder keeps its config."""
    found = list(secret_settings(config.model_dump()))
    if found:
        variable = re.sub(r"\W", "_", found[0].rpartition(".")[2]).upper()
        raise GymnastError(
            f"{', '.join(found)}: looks like a secret, which a run's folder must not keep; put it into an"
            f" environment variable and name that instead, such as {found[0]}='${{{variable}}}'"
        )


def _refuse_hidden(config: Config, run: RunFolder) -> None:
    """Raise GymnastError for `***`, which older versions stored in the place of a secret."""
    for key, text in _texts(config.model_dump(), ""):
        if text == HIDDEN or _HIDDEN_PASSWORD.search(text):
            raise GymnastError(
                f"{key} of run {run.id} is hidden ({text}); give its value again, such as {key}='${{NAME}}'"
                " for that of an environment variable"
            )


def _accesses(value: Any, key: str) -> Iterator[Access]:
    """Those of a section and all that is in it."""
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _accesses(item, f"{key}.{index}")
    if not isinstance(value, Section):
        return
    path, arguments, where, given = "", {}, key, key
    if isinstance(value, PluginConfig):
        path, arguments = value.name, value.arguments
    elif isinstance(value, EnvSettings):
        path, arguments, where, given = value.id, value.kwargs, f"{key}.id", f"{key}.kwargs"
    elif isinstance(value, PolicyConfig):
        path, arguments = value.encoder, value.encoder_kwargs
        where, given = f"{key}.encoder", f"{key}.encoder_kwargs"
    elif isinstance(value, ClusterConfig) and value.on == "ray" and value.address is not None:
        # Whoever listens there gets the token of this machine's clusters.
        yield Access(f"{key}.address", "${RAY_AUTH_TOKEN}", {"address": value.address})
    elif isinstance(value, ActorsConfig) and value.reaches_out:
        # Whoever knows the token may step the envs of this run, from any machine that reaches it.
        file = None if value.token_file is None else str(value.token_file)
        does = f"has actors dial in at {value.listen}{f' with the token in {file}' if file else ''}"
        listen = {"listen": value.listen, "token_file": file}
        yield Access(key, "${GYMNAST_ACTOR_TOKEN}", listen, does)
    if isinstance(value, EnvConfig) and value.mix is not None:
        for index, task in enumerate(value.tasks):  # whole: what an entry leaves out is that of the section
            yield from _accesses(task.env, f"{key}.mix.{index}")
        path = "" if " + " in path else path  # the names of all tasks, if the section has none
    if ":" in path:
        yield Access(where, path, arguments)
    for variable in dict.fromkeys(variables_in(arguments)):
        yield Access(given, f"${{{variable}}}", {})
    for name, item in value:
        if name != "mix":
            yield from _accesses(item, f"{key}.{name}" if key else name)


def _facts(wanted: Sequence[Access]) -> list[Any]:
    """What a mark depends on: names, arguments, and the files of modules that are not installed."""
    facts = [[access.name, dict(access.arguments), _own_file(access)] for access in wanted]
    return sorted(facts, key=repr)


def _own_file(access: Access) -> str | None:
    """The file of the user's own module: another of that name is other code. An installed one may move."""
    file = access.file
    return None if file is None or _is_installed(Path(file)) else str(Path(file).resolve())


def _is_installed(file: Path) -> bool:
    import site
    import sysconfig

    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [*map(sysconfig.get_path, kinds), *site.getsitepackages(), site.getusersitepackages()]
    return not file.is_absolute() or any(file.is_relative_to(folder) for folder in folders)


def _is_named(access: Access, texts: set[str]) -> bool:
    """Whether the user's own overrides name it."""
    return access.name in texts if access.is_import else any(access.name in text for text in texts)


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, (dict, list, tuple)):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(item, f"{key}.{name}" if key else str(name))


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)
