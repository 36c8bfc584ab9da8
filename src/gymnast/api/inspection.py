"""One run as the inspector shows it: what is set and may be changed, what came of it, its curves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError
from gymnast.runs.summary import CheckpointInfo

if TYPE_CHECKING:
    from gymnast.metrics.alerts.alert import Alert
    from gymnast.metrics.spec import MetricSpec
    from gymnast.runs.chart_rows import ChartRows
    from gymnast.runs.env_options import EnvOption
    from gymnast.runs.registry import RunEntry
    from gymnast.runs.store import RunFolder
    from gymnast.training.evaluator import EvaluationSeeds

__all__ = ["RunDetails", "RunMetrics", "metrics_position", "metrics_since", "run_details", "run_videos"]


@dataclass(frozen=True, slots=True)
class RunDetails:
    """What a page about one run needs at once; what cannot be read is empty, and `problems` say why."""

    run: RunEntry
    budget_env_steps: int | None
    checkpoints: tuple[CheckpointInfo, ...]  # newest first
    settings: dict[str, Any]  # by dotted key
    changed: dict[str, tuple[Any, Any]]  # value and default of those that are not at their default
    alerts: list[Alert]
    videos: dict[str, Path]
    report: Path | None
    tasks: tuple[str, ...]
    options: tuple[EnvOption, ...]  # of the env, which a recording may change
    seeds: EvaluationSeeds | None  # None where the settings cannot be read
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """Rows of a run's metrics, thinned for a chart, and what each metric means."""

    rows: ChartRows
    specs: dict[str, MetricSpec] = field(default_factory=dict)


def run_details(run: str | Path | Run | RunFolder, *, runs_dir: str | Path | None = None) -> RunDetails:
    """Everything but metrics. Nothing is imported that the run's config names."""
    from gymnast.runs.alerts import read_alerts
    from gymnast.runs.env_options import changed_settings, env_options, task_names
    from gymnast.runs.files import is_regular
    from gymnast.runs.registry import entry_of
    from gymnast.runs.summary import checkpoints_of, settings_of

    folder = folder_of(run, runs_dir)
    problems: list[str] = []
    settings: dict[str, Any] = {}
    checkpoints: tuple[CheckpointInfo, ...] = ()
    try:
        settings = settings_of(folder)
    except GymnastError as error:
        problems.append(str(error))
    try:
        checkpoints = checkpoints_of(folder)
    except (GymnastError, OSError) as error:
        problems.append(str(error))
    options: tuple[EnvOption, ...] = ()
    try:
        options = env_options(settings)
        options = _with_levels(str(settings.get("env.id")), options)
    except GymnastError as error:  # the library of console games is not installed
        problems.append(str(error))
    budget = folder.info().get("budget_env_steps")
    return RunDetails(
        run=entry_of(folder),
        budget_env_steps=budget if isinstance(budget, int) and not isinstance(budget, bool) else None,
        checkpoints=checkpoints,
        settings=settings,
        changed=changed_settings(settings),
        alerts=read_alerts(folder, problems.append),
        videos=run_videos(folder),
        report=folder.report_path if is_regular(folder.report_path) else None,
        tasks=task_names(settings),
        options=options,
        seeds=_seeds(settings),
        problems=tuple(problems),
    )


def _seeds(settings: dict[str, Any]) -> EvaluationSeeds | None:
    from gymnast.training.evaluator import evaluation_seeds

    seed, eval_seed = settings.get("seed"), settings.get("eval.seed")
    if not isinstance(seed, int) or not isinstance(eval_seed, int | None):
        return None
    return evaluation_seeds(seed, eval_seed)


def _with_levels(env_id: str, options: tuple[EnvOption, ...]) -> tuple[EnvOption, ...]:
    """The levels of a console game as choices."""
    if not env_id.startswith("Retro/"):
        return options
    from gymnast.api.roms import show_game

    levels = tuple(show_game(env_id).states)
    return tuple(replace(o, choices=levels) if o.key == "env.state" and levels else o for o in options)


def metrics_since(
    run: str | Path | Run | RunFolder,
    since: str = "0",
    *,
    names: Sequence[str] | None = None,
    points: int | None = None,
    runs_dir: str | Path | None = None,
) -> RunMetrics:
    """The rows of metrics.csv after a position (`RunMetrics.rows.position` of an earlier call)."""
    from gymnast.metrics import catalogue
    from gymnast.runs.chart_rows import read_rows

    rows = read_rows(folder_of(run, runs_dir).metrics_path, since, names, points)
    specs = {name: catalogue.spec(name) for name in rows.columns if catalogue.is_declared(name)}
    return RunMetrics(rows, specs)


def metrics_position(run: str | Path | Run | RunFolder, *, runs_dir: str | Path | None = None) -> str:
    """Where a run's metrics end now."""
    from gymnast.runs.chart_rows import read_position

    return read_position(folder_of(run, runs_dir).metrics_path)


def run_videos(run: str | Path | Run | RunFolder, *, runs_dir: str | Path | None = None) -> dict[str, Path]:
    """The videos that a run has by name, the best and the progress first."""
    from gymnast.runs.files import is_regular, list_folder

    folder = folder_of(run, runs_dir)
    names: list[str] = []
    with suppress(GymnastError):
        names = [name for name in list_folder(folder.videos) if name.endswith(".mp4") and name[0] != "."]
    first = {folder.best_video_path.name: 0, folder.progress_video_path.name: 1}
    names.sort(key=lambda name: (first.get(name, 2), name))
    return {name: folder.videos / name for name in names if is_regular(folder.videos / name)}
