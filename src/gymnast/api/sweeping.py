"""Sweeps: find settings that suit an env, by training many runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import (
    Folders,
    folders,
    maybe_positive,
    maybe_seconds,
    maybe_whole,
    plain_overrides,
)
from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.sweeps.folder import SweepFolder
    from gymnast.sweeps.state import SweepState

    SweepWatch = Callable[["Sweep"], None]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One sweep as it is now."""

    folder: SweepFolder
    state: SweepState
    driven: bool = False  # whether a process works on it

    @property
    def id(self) -> str:
        return self.folder.id

    @property
    def path(self) -> Path:
        return self.folder.path

    def importances(self) -> dict[str, float]:
        """How much of the differences each setting explains, the largest first; empty if not known."""
        from gymnast.sweeps.results import importances

        return importances(self.state)

    def runs_left(self) -> int:
        """How many runs it still needs, about."""
        from gymnast.sweeps.results import runs_left

        return runs_left(self.state)

    def seconds_left(self) -> float | None:
        """About; None before the first run has ended."""
        from gymnast.sweeps.results import seconds_left

        return seconds_left(self.state)

    def to_json(self, *, trials: bool = False, importances: bool = False) -> dict[str, Any]:
        from gymnast.sweeps.results import described, summary

        values = summary(self.state, driven=self.driven, with_importances=importances)
        values["path"] = str(self.path)
        if trials:
            values["all_trials"] = [described(trial) for trial in self.state.trials]
        return values


def sweep(
    what: str | Path,
    *,
    overrides: Mapping[str, Any] | Sequence[str] = (),
    trials: int | str | None = None,
    workers: int | None = None,
    method: str | None = None,
    objective: str | None = None,
    init_from: str | None = None,
    on: str | None = None,
    seeds_per_trial: int | None = None,
    race_seeds: int | None = None,
    test_seeds: int | None = None,
    prune: bool | None = None,
    patience: float | str | None = None,
    seed: int | None = None,
    runs_dir: str | Path | None = None,
    config_dirs: Folders = (),
    max_cost: float | None = None,
    cores: float | None = None,
    memory: int | None = None,
    gpu: str | None = None,
    watch: SweepWatch | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> Sweep:
    """Search settings of a preset, a config or what a sweep file says, and return when that is done.

    Each trial is a run. `watch` is called about twice a second with the sweep as it is. Ctrl-C saves
    everything; `resume_sweep` continues. With `on="modal"` all runs together cost at most `max_cost` dollars,
    about; `cores`, `memory` (MiB) and `gpu` are of one machine, and `notify` receives the estimate before
    anything is started.
    """
    from gymnast.runs.store import runs_root
    from gymnast.sweeps.planning import Wanted
    from gymnast.sweeps.session import start_sweep

    wanted = Wanted(
        str(what),
        plain_overrides(overrides),
        trials=maybe_whole("trials", trials, 1),
        workers=maybe_whole("workers", workers, 1),
        method=method,
        objective=objective,
        init_from=init_from,
        on=on,
        per_trial=maybe_whole("seeds_per_trial", seeds_per_trial, 1),
        race=maybe_whole("race_seeds", race_seeds),
        test=maybe_whole("test_seeds", test_seeds),
        prune=prune,
        patience=maybe_seconds("patience", patience),
        seed=maybe_whole("seed", seed),
        config_dirs=tuple(str(folder) for folder in folders(config_dirs)),
        machine={
            "max_cost": maybe_positive("max_cost", max_cost),
            "cores": maybe_positive("cores", cores),
            "memory": maybe_whole("memory", memory, 1),
            "gpu": gpu,
        },
    )
    return Sweep(*start_sweep(wanted, runs_root(runs_dir), _watched(watch), notify))


def resume_sweep(
    reference: str = "@last",
    *,
    workers: int | None = None,
    trials: int | str | None = None,
    max_cost: float | None = None,
    runs_dir: str | Path | None = None,
    watch: SweepWatch | None = None,
    notify: Callable[[str], None] = lambda text: None,
) -> Sweep:
    """Continue a sweep where it was left; `trials` and `max_cost` (of one on Modal) are new totals."""
    from gymnast.sweeps.session import continue_sweep

    folder = _folder(reference, runs_dir)
    counts = maybe_whole("workers", workers, 1), maybe_whole("trials", trials, 1)
    most = maybe_positive("max_cost", max_cost)
    return Sweep(folder, continue_sweep(folder, _watched(watch), *counts, most, notify))


def find_sweep(reference: str = "@last", *, runs_dir: str | Path | None = None) -> Sweep:
    """A sweep by its id, the beginning of one, or @last."""
    folder = _folder(reference, runs_dir)
    return Sweep(folder, folder.read(), folder.is_driven())


def list_sweeps(*, runs_dir: str | Path | None = None) -> list[Sweep]:
    """All sweeps, newest first; one whose file is damaged is left out."""
    from gymnast.runs.store import runs_root
    from gymnast.sweeps.folder import sweep_folders

    found = []
    for folder in sweep_folders(runs_root(runs_dir)):
        try:
            found.append(Sweep(folder, folder.read(), folder.is_driven()))
        except GymnastError:
            continue
    return found


def stop_sweep(reference: str = "@last", *, runs_dir: str | Path | None = None) -> Sweep:
    """Ask the process that works on a sweep to save everything and leave."""
    known = find_sweep(reference, runs_dir=runs_dir)
    if not known.driven:
        raise GymnastError(f"sweep {known.id} is not being worked on; its state: {known.state.status}")
    known.folder.ask_to_stop()
    return known


def report_on_sweep(reference: str = "@last", *, runs_dir: str | Path | None = None) -> Path:
    """Write the report of a sweep as far as it is; its path."""
    from gymnast.sweeps.report import write_report

    known = find_sweep(reference, runs_dir=runs_dir)
    return write_report(known.folder, known.state)


def apply_sweep(
    reference: str = "@last",
    *,
    trial: int | None = None,
    name: str | None = None,
    folder: str | Path | None = None,
    runs_dir: str | Path | None = None,
) -> tuple[Path, str]:
    """Write the winner as a variant of the env's own config; (the file, what `train` calls it)."""
    from gymnast.sweeps.apply import apply_trial

    known = find_sweep(reference, runs_dir=runs_dir)
    return apply_trial(known.state, trial, name, None if folder is None else Path(folder).expanduser())


def export_sweep(reference: str = "@last", *, runs_dir: str | Path | None = None) -> str:
    """A sweep as a file for W&B, which `sweep` reads as well."""
    from gymnast.sweeps.export import wandb_file

    return wandb_file(find_sweep(reference, runs_dir=runs_dir).state.plan)


def objectives() -> dict[str, str]:
    """What a sweep can aim at beside metrics, with an explanation."""
    from gymnast.sweeps.objective import OBJECTIVES

    return {name: f"{goal}: {about}" for name, (goal, about) in OBJECTIVES.items()}


def _watched(watch: SweepWatch | None) -> Callable[[SweepFolder, SweepState], None] | None:
    if watch is None:
        return None
    return lambda folder, state: watch(Sweep(folder, state, driven=True))


def _folder(reference: str, runs_dir: str | Path | None) -> SweepFolder:
    from gymnast.runs.store import runs_root
    from gymnast.sweeps.folder import find_sweep as find

    return find(runs_root(runs_dir), reference)
