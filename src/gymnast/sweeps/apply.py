"""The winner of a sweep as a config of the user's own, which `gymnast train` finds by its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gymnast.config.dump import flat_data, plain_data
from gymnast.config.files import (
    SUFFIXES,
    config_folders,
    file_name,
    files_named,
    read_config_file,
    split_reference,
)
from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.sweeps.results import verdict
from gymnast.sweeps.state import SweepState, TrialRecord
from gymnast.trials.variant import write_variant

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,80}")


def apply_trial(
    state: SweepState, trial: int | None = None, name: str | None = None, folder: Path | None = None
) -> tuple[Path, str]:
    """(the file, the name that trains it). Without a trial: the winner, or what leads so far."""
    chosen = _chosen(state, trial)
    plan = state.plan
    dirs = [Path(place) for place in plan.config_dirs]
    settings = {key: value for key, value in {**plan.overrides, **chosen.settings}.items() if key != "seed"}
    config = load_config(plan.reference, settings, config_dirs=dirs).config
    name = name or f"{file_name(config.env.id)}-{state.id}"
    if not _NAME.fullmatch(name):
        raise GymnastError(f"{name!r} is not a name for a config: letters, digits, dots, - and _")
    place = (folder or Path("configs")) / f"{name}.yaml"
    reference: str | None = plan.reference
    if not _can_be_extended(plan.reference, dirs):  # an env without a preset: all settings are written
        reference, settings = None, flat_data(plain_data(config))
        settings.pop("seed", None)
    write_variant(place, reference, settings, _provenance(state, chosen), "give another --name")
    return place, name.replace("__", "/") if folder is None else str(place)


def _chosen(state: SweepState, number: int | None) -> TrialRecord:
    if number is not None:
        if not 0 <= number < len(state.trials):
            raise GymnastError(f"sweep {state.id} has trials 0 to {len(state.trials) - 1}, not {number}")
        return state.trials[number]
    best = state.best()
    if best is None:
        raise GymnastError(f"sweep {state.id} has no trial with a value yet")
    return best


def _can_be_extended(reference: str, dirs: list[Path]) -> bool:
    name, variant = split_reference(reference)
    if name.endswith(SUFFIXES):
        return True
    files = [read_config_file(path) for path in files_named(name, config_folders(dirs))]
    return any(variant is None or variant in file.variants for file in files)


def _provenance(state: SweepState, trial: TrialRecord) -> list[str]:
    """Where the settings come from and what is known of them, as comments."""
    objective, base = state.plan.objective, state.baseline
    lines = [
        f"Trial {trial.number} of sweep {state.id} ({state.plan.method}, {len(state.trials)} trials) of "
        f"{_short(state.plan.reference)}, {state.created[:10]}.",
        f"{objective.name} {_figure(trial.value)} in the search"
        + (f"; the preset had {_figure(base.value)}" if base is not None else ""),
    ]
    if state.winner == trial.number:
        found = verdict(state)
        if found.winner is not None and found.baseline is not None and trial is not base:
            lines.append(
                f"On {len(found.winner.values)} test seeds: {found.winner.iqm:.4g} "
                f"(preset {found.baseline.iqm:.4g}), interquartile means."
            )
        lines.append(f"{found.text[:1].upper()}{found.text[1:]}.")
    else:
        lines.append("It is not the winner of its sweep, or the sweep is not over.")
    return lines


def _short(reference: str) -> str:
    return Path(reference).name if "/" in reference and reference.startswith("/") else reference


def _figure(value: Any) -> str:
    return "no value" if value is None else f"{value:.4g}"
