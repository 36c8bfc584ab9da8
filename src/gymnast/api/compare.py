"""Runs side by side, as numbers, as text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError
from gymnast.runs import compare_charts, registry, selection
from gymnast.runs.aggregate import Aggregate, Difference
from gymnast.runs.compare import Comparison, compare
from gymnast.runs.files import named_file, write_atomic
from gymnast.runs.results import RunResult
from gymnast.runs.statistics import Interval
from gymnast.runs.store import RunFolder, runs_root

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Aggregate",
    "Comparison",
    "Difference",
    "Interval",
    "RunResult",
    "check_picture_file",
    "compare_runs",
    "comparison_picture",
    "comparison_text",
    "save_comparison_picture",
]


def compare_runs(
    runs: Sequence[str | Path | Run] = (),
    *,
    env: str | None = None,
    metric: str | None = None,
    x: str = "vec_steps",
    threshold: float | None = None,
    group_by: str | None = None,
    runs_dir: str | Path | None = None,
) -> Comparison:
    """Runs side by side: the settings in which they differ, results, curves, and statistics of seeds.

    env: also all runs of this env. metric: what is compared, by default the score. x: what curves are drawn
    over (vec_steps, env_steps, seconds, updates). threshold: the score that counts as solved, by default
    what the configs record. group_by: settings with commas between them, or `auto` for all but the seed.
    """
    chosen = [folder_of(run, runs_dir) for run in runs]
    if env is not None:
        root = runs_root(runs_dir)
        found = selection.of_env(registry.entries(root), env)
        chosen += [RunFolder(root / entry.id) for entry in reversed(found)]  # the oldest first
    chosen = list({run.path.resolve(): run for run in chosen}.values())
    if len(chosen) < 2:
        raise GymnastError("name at least two different runs to compare; `gymnast runs` lists them")
    return compare(chosen, metric=metric, axis=x, threshold=threshold, group_by=group_by)


def comparison_picture(found: Comparison) -> np.ndarray:
    """The curves of a comparison in one picture [height, width, 3]: one chart for each env."""
    return compare_charts.picture(found)


def comparison_text(found: Comparison, *, width: int = 60) -> str:
    """The same as text, one chart for each env."""
    return compare_charts.text(found, width)


def save_comparison_picture(found: Comparison, file: str | Path, *, force: bool = False) -> Path:
    """Write the picture as PNG. A file that is there already is replaced only with `force`."""
    from gymnast.traces.png import encode_png

    path = check_picture_file(file, force=force)
    write_atomic(path, encode_png(comparison_picture(found)))
    return path


def check_picture_file(file: str | Path, *, force: bool = False) -> Path:
    """Where a picture will be written; GymnastError if it cannot be."""
    path = Path(file).expanduser()
    if path.suffix.lower() != ".png":
        raise GymnastError(f"{path}: a picture is a PNG file: give a name that ends in .png")
    place = named_file(path)
    if path.is_dir():
        raise GymnastError(f"{path} is a folder")
    if path.exists() and not force:
        raise GymnastError(f"{path} exists already; --force replaces it")
    return place
