"""Draws the pictures of docs/reading-a-run.md from runs of its own: `python benchmarks/reading_pictures.py`.

One healthy run and some that each have one wrong setting, on CartPole, seed 1.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from gymnast import api
from gymnast.charts.picture import Series, grid, line_chart
from gymnast.metrics.csv_file import read_columns
from gymnast.runs.alerts import read_alerts
from gymnast.traces.png import encode_png

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
STEPS = 60_000
RUNS = {
    "healthy": {},
    "algo.lr=0.3": {"algo.lr": 0.3},
    "algo.lr=1e-6": {"algo.lr": 1e-6},
    "algo.entropy_coef=1": {"algo.entropy_coef": 1.0},
}
X = "time/env_steps"


def chart(
    paths: dict[str, Path],
    key: str,
    title: str,
    *,
    log_y: bool = False,
    mark: tuple[float, str] | None = None,
) -> np.ndarray:
    """One metric of all the runs."""
    series = []
    for name, path in paths.items():
        x, y = read_columns(path, (X, key)).values()
        known = np.isfinite(y)
        series.append(Series(name, x[known], y[known]))
    marks = () if mark is None else (mark,)
    return line_chart(
        series, title=title, x_label="env steps", marks=marks, log_y=log_y, width=560, height=300
    )


def parts(path: Path, pattern: str, title: str, names: tuple[str, ...], *, log_y: bool = True) -> np.ndarray:
    """One metric of one run, by part of the network."""
    series = []
    for name in names:
        x, y = read_columns(path, (X, f"{pattern}/{name}")).values()
        known = np.isfinite(y)
        series.append(Series(name, x[known], y[known]))
    return line_chart(series, title=title, x_label="env steps", log_y=log_y, width=560, height=300)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gymnast-reading-") as folder:
        paths = {}
        for name, changes in RUNS.items():
            overrides = {"seed": 1, "stop.eval_return": None, **changes}
            run = api.train("CartPole-v1:ppo-zoo", overrides=overrides, max_env_steps=STEPS, runs_dir=folder)
            paths[name] = run.folder.metrics_path
            print(name, run.outcome.best_score, [alert.id for alert in read_alerts(run.folder)])
        score = chart(paths, "train/return_plain/mean", "Mean return of the last 100 episodes")
        kl = chart(paths, "train/kl", "KL per update", log_y=True, mark=(0.02, "0.02"))
        entropy = chart(paths, "train/entropy_fraction", "Entropy, share of its maximum")
        variance = chart(paths, "train/explained_variance", "Explained variance")
        pictures = {
            "reading-curves": grid([score, kl, entropy, variance], 2),
            "reading-gradients": grid(
                [
                    parts(paths[name], pattern, f"{title}, {name}", ("actor", "critic"))
                    for pattern, title in (
                        ("opt/grad_norm", "Gradient norm"),
                        ("net/step_ratio", "Step / weights"),
                    )
                    for name in ("healthy", "algo.lr=0.3")
                ],
                2,
            ),
        }
        for name, picture in pictures.items():
            (IMAGES / f"{name}.png").write_bytes(encode_png(picture))
            print(f"docs/images/{name}.png written")


if __name__ == "__main__":
    main()
