"""What leaves the run folder: dashboards of trackers, and metrics as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.arguments import Folders, folders
from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError, did_you_mean

if TYPE_CHECKING:
    from gymnast.metrics.sinks.trackers.dashboard import Dashboard

_X_AXES = ("vec_steps", "env_steps", "updates", "seconds")


@dataclass(frozen=True, slots=True)
class ExportedMetrics:
    """A file with the metrics of a run."""

    path: Path
    rows: int
    run: str


def export_metrics(
    run: str | Path | Run = "@last",
    output: str | Path | None = None,
    *,
    format: str | None = None,  # noqa: A002  - as the command's option is called
    force: bool = False,
    runs_dir: str | Path | None = None,
) -> ExportedMetrics:
    """Write a run's metrics as CSV or Parquet; an existing file is replaced with `force` alone."""
    from gymnast.runs.export import export_metrics as export

    folder = folder_of(run, runs_dir)
    path, rows = export(folder, None if output is None else Path(output), format, force=force)
    return ExportedMetrics(path, rows, folder.id)


def wandb_dashboard(
    reference: str | None = None,
    *,
    project: str | None = None,
    entity: str | None = None,
    x_axis: str = "vec_steps",
    config_dirs: Folders = (),
) -> Dashboard:
    """Make or update the one workspace on W&B that shows every metric of a project. With a preset or config,
    y axes have the bounds that its env's spaces and time limit give."""
    from gymnast.metrics.sinks.trackers.dashboard import make_dashboard

    if x_axis not in _X_AXES:
        raise GymnastError(
            f"no x axis {x_axis!r}{did_you_mean(x_axis, _X_AXES)}; there are {', '.join(_X_AXES)}"
        )
    bounds = {} if reference is None else _bounds_of_env(reference, config_dirs)
    return make_dashboard(project, entity, x_axis, bounds)


def _bounds_of_env(reference: str, config_dirs: Folders) -> dict[str, tuple[float, float]]:
    from gymnast.config.load import load_config
    from gymnast.envs.metric_bounds import bounds_of
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.envs.spec import read_spec

    env = load_config(reference, config_dirs=folders(config_dirs)).config.env
    _, action_space = policy_spaces(env)
    return bounds_of(read_spec(env), action_space)
