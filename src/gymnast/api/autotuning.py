"""The autotuner: find out what is wrong with a preset or run, try changes, keep what holds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import Folders, folders, maybe_seconds, maybe_whole, plain_overrides, whole
from gymnast.api.audit import names_a_run
from gymnast.api.run import Overrides, folder_of
from gymnast.errors import GymnastError
from gymnast.tune.advice import Advice as TuningAdvice

if TYPE_CHECKING:
    from gymnast.runs.store import RunFolder
    from gymnast.tune.folder import TuneFolder
    from gymnast.tune.state import Plan, TuneState

__all__ = ["Tuned", "TuningAdvice", "autotune", "find_autotune", "resume_autotune", "tuning_advice"]

DEFAULT_SECONDS = 1800.0
Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Tuned:
    """A tune as it stands."""

    id: str
    path: Path
    state: TuneState

    @property
    def report(self) -> Path:
        return self.path / "report.md"

    def to_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "report": str(self.report), **self.state.to_json()}


def autotune(
    reference: str | Path,
    *,
    overrides: Overrides = (),
    max_env_steps: int | str | None = None,
    budget: float | str | None = None,
    workers: int | None = None,
    until_solved: bool = False,
    method: str = "diagnose",
    ask_model: bool = True,
    runs_dir: str | Path | None = None,
    config_dirs: Folders = (),
    notify: Notify = lambda text: None,
) -> Tuned:
    """Diagnose a preset, a config or a run, race changes on paired seeds, and confirm what is accepted.

    `budget` is a time (30 minutes if neither is given), `max_env_steps` counts those of all runs together.
    `until_solved` ends the search when every seed reaches the env's threshold. `method="random"` draws from
    the whole space instead of from what is seen, to compare with. A confirmed change is written as a config
    into the tune's folder.
    """
    from gymnast.runs.store import now
    from gymnast.tune.folder import create_tune
    from gymnast.tune.state import TuneState

    plan, run = _plan(
        reference, overrides, max_env_steps, budget, workers, until_solved, method, ask_model, runs_dir,
        config_dirs,
    )  # fmt: skip
    if run is not None:
        _warn_of_uploads(run, overrides)
    folder = create_tune(_root(runs_dir))
    folder.write(TuneState(folder.id, now(), plan))
    notify(f"tune {folder.id} of {plan.reference}")
    return _driven(folder, notify)


def resume_autotune(
    tune: str = "@last",
    *,
    workers: int | None = None,
    runs_dir: str | Path | None = None,
    notify: Notify = lambda text: None,
) -> Tuned:
    """Continue a tune whose driver was stopped or killed; one that is over is returned as it is. `workers` is
    how many runs are trained at once from now on; what is tried stays the same."""
    return _driven(_find(tune, runs_dir), notify, maybe_whole("workers", workers, 1))


def find_autotune(tune: str = "@last", *, runs_dir: str | Path | None = None) -> Tuned:
    """A tune as it stands, without working on it."""
    folder = _find(tune, runs_dir)
    return Tuned(folder.id, folder.path, folder.read())


def tuning_advice(
    reference: str | Path,
    *,
    overrides: Overrides = (),
    runs_dir: str | Path | None = None,
    config_dirs: Folders = (),
) -> TuningAdvice:
    """What the first round would try, from runs that exist: the run that is named, or the newest three of
    the preset. Nothing is trained."""
    from gymnast.tune.advice import advise

    plan, run = _plan(
        reference, overrides, None, None, 1, False, "diagnose", False, runs_dir, config_dirs
    )  # fmt: skip
    runs = [run] if run is not None else _runs_of(plan.reference, runs_dir)
    if not runs:
        raise GymnastError(
            f"no run of {plan.reference} exists yet, so there is nothing to look at; train one first:"
            f" gymnast train {plan.reference}"
        )
    return advise(plan, runs)


def _plan(
    reference: str | Path,
    overrides: Overrides,
    max_env_steps: int | str | None,
    budget: float | str | None,
    workers: int | None,
    until_solved: bool,
    method: str,
    ask_model: bool,
    runs_dir: str | Path | None,
    config_dirs: Folders,
) -> tuple[Plan, RunFolder | None]:
    from gymnast.config.overrides import parse_override
    from gymnast.envs.measure.cache import usable_cores
    from gymnast.review.start import start_of
    from gymnast.runs.trust import load_run_config
    from gymnast.tune.planning import make_plan
    from gymnast.tune.state import METHODS

    if method not in METHODS:
        raise GymnastError(f"a tune's method is {' or '.join(METHODS)}, not {method!r}")
    steps, seconds = maybe_whole("max_env_steps", max_env_steps, 1), maybe_seconds("budget", budget)
    if steps is None and seconds is None:
        seconds = DEFAULT_SECONDS
    given = plain_overrides(overrides)
    pairs = given.items() if isinstance(given, dict) else map(_pair, map(parse_override, given))
    settings = dict(pairs)
    run, name = None, str(reference)
    if not _is_config(name, config_dirs) and names_a_run(name, runs_dir):
        run = folder_of(reference, runs_dir)
        start = start_of(run, load_run_config(run))
        name, settings = start.reference, dict(map(_pair, map(parse_override, start.overrides))) | settings
    plan = make_plan(
        name,
        settings,
        config_dirs=folders(config_dirs),
        from_run=run,
        changed=bool(given),
        workers=usable_cores() if workers is None else whole("workers", workers, 1),
        max_env_steps=steps,
        seconds=seconds,
        until_solved=until_solved,
        method=method,
        ask_model=ask_model,
    )
    return plan, run


def _warn_of_uploads(run: RunFolder, overrides: Overrides) -> None:
    from gymnast.runs.trust import load_run_config
    from gymnast.training.run.launch import upload_notices

    for notice in upload_notices(run, load_run_config(run, plain_overrides(overrides))):
        logging.getLogger("gymnast").warning("%s", notice)


def _pair(override: tuple[tuple[str, ...], Any]) -> tuple[str, Any]:
    path, value = override
    return ".".join(path), value


def _is_config(name: str, config_dirs: Folders) -> bool:
    """Whether it names a preset or file: one of an id like a run's comes first."""
    from gymnast.config.files import config_folders, files_named

    found = next(files_named(name.partition(":")[0], config_folders(folders(config_dirs))), None)
    return found is not None or name.endswith((".yaml", ".yml"))


def _runs_of(name: str, runs_dir: str | Path | None) -> list[RunFolder]:
    """The newest three runs of a preset that have ended."""
    from gymnast.runs import registry
    from gymnast.runs.store import RunFolder

    root = _root(runs_dir)
    ended = [e for e in registry.entries(root) if e.name == name and e.status in ("finished", "failed")]
    return [RunFolder(root / entry.id) for entry in ended[:3]]


def _driven(folder: TuneFolder, notify: Notify, workers: int | None = None) -> Tuned:
    from gymnast.trials.pool import LocalPool
    from gymnast.tune.driver import drive

    with folder.lock():
        state = folder.read()
        if state.status == "working":
            with LocalPool(workers or state.plan.workers, folder.runs_root) as pool:
                state = drive(folder, pool, notify)
            if state.status == "confirmed":
                _write_variant(folder, state)
                notify(f"written: {state.variant}")
    return Tuned(folder.id, folder.path, state)


def _write_variant(folder: TuneFolder, state: TuneState) -> None:
    from gymnast.trials.variant import write_variant

    plan = state.plan
    path = folder.path / f"tuned-{state.id}.yaml"
    provenance: Sequence[str] = (
        f"Found by gymnast tune {plan.reference} (tune {state.id}, {state.created[:10]}).",
        f"{state.message}; {state.env_steps:,} env steps in {len(state.spent)} runs.",
        f"The evidence is in {folder.report_path.name} beside this file.",
    )
    own = {key: value for key, value in plan.overrides.items() if key != "seed"}
    reference = plan.reference
    if reference.endswith((".yaml", ".yml")) or "/" in reference.partition(":")[0]:
        file = Path(reference)
        reference = str(file.resolve()) if file.is_file() else reference
    path.unlink(missing_ok=True)  # of a driver that was killed just then
    write_variant(path, reference, {**own, **state.changes}, provenance)
    state.variant = str(path)
    folder.write(state)


def _find(tune: str, runs_dir: str | Path | None) -> TuneFolder:
    from gymnast.tune.folder import find_tune

    return find_tune(_root(runs_dir), tune)


def _root(runs_dir: str | Path | None) -> Path:
    from gymnast.runs.store import runs_root

    return runs_root(runs_dir).resolve()
