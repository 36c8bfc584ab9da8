"""The fastest way to step an environment on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import Folders, folders, plain_overrides, whole
from gymnast.api.run import Overrides
from gymnast.envs.measure.memory import shown_memory

if TYPE_CHECKING:
    from gymnast.config.load import ResolvedConfig
    from gymnast.envs.measure.tuning import Cell

__all__ = ["EnvTuning", "TunedCell", "shown_memory", "tune_envs"]


@dataclass(frozen=True, slots=True)
class TunedCell:
    """One way to step a number of envs, measured."""

    n_envs: int
    backend: str
    workers: int | None  # processes of the backend `workers`
    threads: int | None  # of native Atari games
    steps_per_second: float | None
    memory_bytes: int | None
    problem: str | None  # why there is no measurement

    @property
    def settings(self) -> list[str]:
        """What to put on a command line to have it without `auto`."""
        settings = [f"env.n_envs={self.n_envs}", f"env.backend={self.backend}"]
        if self.workers is not None:
            settings.append(f"env.workers={self.workers}")
        if self.threads is not None:
            settings.append(f"env.atari.threads={self.threads}")
        return settings


@dataclass(frozen=True, slots=True)
class EnvTuning:
    """Every way that was measured, the chosen one, and why."""

    env: str
    cells: tuple[TunedCell, ...]
    choice: TunedCell
    reason: str
    steps_between_rewards: float | None  # with random actions; None if there never was a reward
    same_experience: bool  # whether copies with different seeds see the same

    def to_json(self) -> dict[str, Any]:
        """What `gymnast tune-envs --json` prints."""
        return {
            "env": self.env,
            "cells": [asdict(cell) for cell in self.cells],
            "choice": asdict(self.choice) | {"reason": self.reason},
            "steps_between_rewards": self.steps_between_rewards,
            "same_experience": self.same_experience,
        }


def tune_envs(
    reference: str | Path,
    *,
    overrides: Overrides = (),
    n_envs: Sequence[int] | None = None,
    seconds: float = 1.0,
    config_dirs: Folders = (),
    on_start: Callable[[str], None] | None = None,
    on_cell: Callable[[TunedCell], None] | None = None,
) -> EnvTuning:
    """Measure every backend with several numbers of envs, choose one and remember it for `n_envs: auto`.

    `on_start` gets the full name of the config, `on_cell` each measurement as it is made.
    """
    from gymnast.envs.measure.capacity import check_fits
    from gymnast.envs.measure.tuning import N_ENVS, tune

    resolved = _load(str(reference), plain_overrides(overrides), folders(config_dirs))
    config, counts = resolved.config, tuple(whole("n_envs", count, 1) for count in n_envs or N_ENVS)
    n_steps = config.algo.n_steps if isinstance(config.algo.n_steps, int) else 1
    for count in counts:
        check_fits(config.env, count, n_steps)
    if on_start is not None:
        on_start(resolved.name)
    report = None if on_cell is None else lambda cell: on_cell(_measured(cell))
    tuning = tune(config.env, counts, seconds, report)
    return EnvTuning(
        env=resolved.name,
        cells=tuple(_measured(cell) for cell in tuning.cells),
        choice=_measured(tuning.choice),
        reason=tuning.reason,
        steps_between_rewards=tuning.steps_between_rewards,
        same_experience=_same_experience(tuning.choice, resolved),
    )


def _load(reference: str, overrides: Overrides, config_dirs: Sequence[Path]) -> ResolvedConfig:
    """Of several variants the first: they seldom differ in the env, and the result names it."""
    from gymnast.config.load import SeveralVariantsError, load_config

    try:
        return load_config(reference, overrides, config_dirs=config_dirs)
    except SeveralVariantsError as several:
        return load_config(f"{several.name}:{several.variants[0]}", overrides, config_dirs=config_dirs)


def _measured(cell: Cell) -> TunedCell:
    found = cell.measured
    return TunedCell(
        n_envs=cell.n_envs,
        backend=cell.backend,
        workers=cell.processes,
        threads=cell.threads,
        steps_per_second=None if found is None else round(found.steps_per_second, 1),
        memory_bytes=None if found is None else found.memory,
        problem=cell.problem,
    )


def _same_experience(choice: Cell, resolved: ResolvedConfig) -> bool:
    """Asked of at least two copies, stepped in the chosen way; nothing is logged: the caller reports it."""
    from gymnast.envs.measure.sameness import warn_of_same_copies
    from gymnast.training.notices import passed_on

    env = choice.applied(resolved.config.env)
    several = env.model_copy(update={"n_envs": max(4, env.copies)})
    backend = "auto" if choice.n_envs == 1 else choice.backend
    with passed_on():
        return warn_of_same_copies(several, backend, resolved.config.seed)
