"""What leaves the run folder: dashboards of trackers, and metrics as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
    *, project: str | None = None, entity: str | None = None, x_axis: str = "vec_steps"
) -> Dashboard:
    """Make or update the one workspace on W&B that shows every metric of a project."""
    from gymnast.metrics.sinks.trackers.dashboard import make_dashboard

    if x_axis not in _X_AXES:
        raise GymnastError(
            f"no x axis {x_axis!r}{did_you_mean(x_axis, _X_AXES)}; there are {', '.join(_X_AXES)}"
        )
    return make_dashboard(project, entity, x_axis)
