"""How actions, rewards, values and observations were distributed over a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.run import Run, folder_of
from gymnast.observe.distributions import Distributions

if TYPE_CHECKING:
    import numpy as np

    from gymnast.runs.store import RunFolder

__all__ = ["Distributions", "distribution_pictures", "read_distributions"]


def read_distributions(
    run: str | Path | Run | RunFolder, runs_dir: str | Path | None = None
) -> Distributions:
    """Arrays by name, one row per observed update (docs/distributions.md)."""
    from gymnast.observe import distributions

    return distributions.read_distributions(folder_of(run, runs_dir))


def distribution_pictures(
    run: str | Path | Run | RunFolder, runs_dir: str | Path | None = None
) -> dict[str, np.ndarray]:
    """The same as pictures, RGB arrays [height, width, 3] by name."""
    from gymnast.observe import pictures

    return pictures.distribution_pictures(folder_of(run, runs_dir))
