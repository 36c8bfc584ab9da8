"""Learning curves of the presets: kept as a few points per run, drawn as one picture per family of envs.

`make results` keeps the curves of what it trains. `python benchmarks/learning_curves.py adopt DIR…` takes
those of runs that were kept (`results.py --keep`), `… draw` draws all pictures again.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gymnast.charts.picture import Series, grid, line_chart
from gymnast.runs.curves import EMPTY, read_curve
from gymnast.runs.store import RunFolder
from gymnast.traces.png import encode_png
from processes import gymnast
from result_rows import ROWS

ROOT = Path(__file__).resolve().parent.parent
CURVES = ROOT / "benchmarks" / "curves.json"
IMAGES = ROOT / "docs" / "images"
_RETURNS = ("train/return_plain/mean", "train/return/mean")
_MOST_POINTS = 60
_PLACES = 200  # at which the seeds of a preset are compared

Points = list[list[float]]  # [env steps, return]
Curves = dict[str, dict[str, Points]]  # by preset and seed


def points_of(run: RunFolder) -> Points:
    """Returns of the episodes that a run learnt from, without shaping; a few dozen, always with the last."""
    curve = next((curve for curve in (read_curve(run, name) for name in _RETURNS) if len(curve.y)), EMPTY)
    kept = np.unique(np.linspace(0, len(curve.y) - 1, min(len(curve.y), _MOST_POINTS)).round().astype(int))
    steps = curve.x["env_steps"]
    return [[int(steps[i]), float(f"{curve.y[i]:.5g}")] for i in kept]


def read() -> Curves:
    curves: Curves = json.loads(CURVES.read_text()) if CURVES.exists() else {}
    return curves


def keep(found: dict[str, dict[str, Points]]) -> None:
    """The curves of these presets replace what was known of them."""
    curves = read() | found
    lines = [
        f" {json.dumps(ref)}: {{\n"
        + ",\n".join(f"  {json.dumps(seed)}: {json.dumps(points)}" for seed, points in seeds.items())
        + "\n }"
        for ref, seeds in sorted(curves.items())
    ]
    CURVES.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def families() -> dict[str, list[str]]:
    """Names of envs by family, in the order of `gymnast envs`."""
    listed = subprocess.run(gymnast("envs", "--json"), capture_output=True, text=True, check=True).stdout
    found: dict[str, list[str]] = {}
    for entry in json.loads(listed):
        found.setdefault(entry["family"], []).append(entry["name"])
    return found


def image_of(family: str) -> str:
    return f"curves-{re.sub('[^a-z0-9]+', '-', family.lower())}.png"


def draw(shown: Iterable[str]) -> list[str]:
    """One picture per family with a curve of these presets; the families."""
    curves, shown, drawn = read(), list(shown), []
    for family, envs in families().items():
        charts = [
            line_chart(
                [_series(ref.partition(":")[2], curves[ref]) for ref in refs],
                title=env,
                x_label="env steps",
                y_label="return in training",
                width=560,
                height=300,
            )
            for env in envs
            if (refs := [ref for ref in shown if ref.partition(":")[0] == env and ref in curves])
        ]
        if charts:
            (IMAGES / image_of(family)).write_bytes(encode_png(grid(charts, min(2, len(charts)))))
            drawn.append(family)
    return drawn


def _series(name: str, seeds: dict[str, Points]) -> Series:
    """The median of the seeds, in a band from the lowest to the highest; each keeps its last return."""
    runs = [np.asarray(points) for points in seeds.values() if points]
    places = np.linspace(max(run[0, 0] for run in runs), max(run[-1, 0] for run in runs), _PLACES)
    values = np.stack([np.interp(places, run[:, 0], run[:, 1]) for run in runs])
    label = f"{name} ({len(runs)} {'seed' if len(runs) == 1 else 'seeds'})"
    return Series(label, places, np.median(values, 0), values.min(0), values.max(0))


def adopt(folders: Iterable[Path]) -> Curves:
    """Curves of runs that were trained to their end, whole presets alone."""
    curves = {ref: dict(seeds) for ref, seeds in read().items()}
    for path in sorted(path for folder in folders for path in folder.iterdir()):
        run = RunFolder(path)
        if not run.metrics_path.exists():
            continue
        status = json.loads((path / "status.json").read_text())
        about = json.loads((path / "run.json").read_text())
        if status.get("status") in ("solved", "finished") and (points := points_of(run)):
            curves.setdefault(about["name"], {})[str(about["seed"])] = points
    return {ref: dict(sorted(seeds.items(), key=lambda one: int(one[0]))) for ref, seeds in curves.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("adopt").add_argument("folders", nargs="+", type=Path)
    commands.add_parser("draw")
    options = parser.parse_args()
    if options.command == "adopt":
        keep(adopt(options.folders))
    print("drawn:", ", ".join(draw(row.ref for row in ROWS)))


if __name__ == "__main__":
    main()
