"""The command that trains a run's settings again, some of them changed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.errors import GymnastError
from gymnast.reports.changed_settings import changed_settings, preset_data
from gymnast.runs.store import RunFolder

_MOST_OWN = 12  # settings of a run that differ from its preset; beyond them the run's own file is clearer


@dataclass(frozen=True, slots=True)
class Start:
    """What `gymnast train` and `api.train` take."""

    reference: str  # a preset, or the run's own config.yaml
    overrides: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return self.reference, *self.overrides

    @property
    def command(self) -> str:
        """The words as a shell takes them, after `gymnast train`."""
        return shlex.join(self.words)


def start_of(run: RunFolder, wanted: Config, changes: Sequence[str] = ()) -> Start:
    """How to train `wanted`, which is the run's config with `changes` (`key=value`).

    By the name of its preset where that gives the very same config, else from the run's own file.
    """
    return _from_preset(run, wanted, changes) or _from_file(run, wanted, changes)


def _from_preset(run: RunFolder, wanted: Config, changes: Sequence[str]) -> Start | None:
    name = run.info().get("name")
    preset = preset_data(name) if isinstance(name, str) and name.isprintable() else None
    if preset is None:
        return None
    changed = {change.partition("=")[0] for change in changes}
    own = [
        f"{setting.key}={_as_yaml(setting.value)}"
        for setting in changed_settings(wanted.model_dump(), preset)
        if not setting.of_preset and not any(_is_in(setting.key, key) for key in changed)
    ]
    if len(own) > _MOST_OWN:
        return None
    start = Start(str(name), (*own, *changes))
    return start if _gives(start, wanted) else None


def _from_file(run: RunFolder, wanted: Config, changes: Sequence[str]) -> Start:
    path = run.config_path.absolute()
    shown = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
    start = Start(shown, tuple(changes))
    if not _gives(start, wanted):
        raise GymnastError(f"no command trains these settings of run {run.id}")
    return start


def _gives(start: Start, wanted: Config) -> bool:
    """Whether the command would train exactly this."""
    try:
        return load_config(start.reference, start.overrides).config == wanted
    except GymnastError:
        return False


def _is_in(key: str, section: str) -> bool:
    return key == section or key.startswith(f"{section}.")


def _as_yaml(value: Any) -> str:
    """A value as an override has it. JSON is YAML; a plain word needs no quotes."""
    if isinstance(value, str) and value.isidentifier():
        return value
    return json.dumps(value, ensure_ascii=False)
