"""Metrics and distributions of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gymnast import api
from gymnast.api import Distributions, RunMetrics
from gymnast.inspect.context import answer, in_thread, inspector_of, number_in
from gymnast.runs.store import RunFolder
from gymnast.web.security import Refused

_MOST_POINTS = 20_000
_MOST_ROWS = 1_000  # of a heat map; more are left out evenly


async def show_metrics(request: Request) -> Response:
    folder = inspector_of(request).run(request.path_params["run"])
    since = request.query_params.get("since", "0")
    points = number_in(request, "points", 2000, 2, _MOST_POINTS)
    text = request.query_params.get("names", "")
    names = [name for name in text.split(",") if name] or None
    found = await in_thread(api.metrics_since, folder, since, names=names, points=points)
    return answer(await in_thread(_metrics, found))


def _metrics(found: RunMetrics) -> dict[str, Any]:
    return {
        "columns": {name: _cells(column) for name, column in found.rows.columns.items()},
        "next": found.rows.position,
        "reset": found.rows.from_start,
        "specs": {
            name: {
                "unit": spec.unit,
                "better": spec.better,
                "description": spec.help,
                "group": name.rpartition("/")[0],
                "priority": spec.priority,
                "precision": spec.precision,
            }
            for name, spec in found.specs.items()
        },
    }


def _cells(column: np.ndarray) -> list[float | None]:
    finite = np.isfinite(column)
    if finite.all():
        return list(column.tolist())
    return [value if known else None for value, known in zip(column.tolist(), finite.tolist(), strict=True)]


async def list_distributions(request: Request) -> Response:
    folder = inspector_of(request).run(request.path_params["run"])
    known = await in_thread(_kept, folder)
    kinds = {name: list(array.shape[1:]) for name, array in known.arrays.items()}
    return answer({"names": list(known.arrays), "shapes": kinds, "rows": len(known)})


async def show_distribution(request: Request) -> Response:
    folder = inspector_of(request).run(request.path_params["run"])
    name = request.path_params["name"]
    known = await in_thread(_kept, folder)
    if name not in known.arrays:
        raise Refused(404, f"run {folder.id} keeps no distribution {name[:60]!r}")
    return answer(await in_thread(_distribution, known, name))


def _kept(folder: RunFolder) -> Distributions:
    return api.read_distributions(folder)


def _distribution(known: Distributions, name: str) -> dict[str, Any]:
    """Rows over time: `z[row][column]`. Quantiles (21 from 0 to 1) are values, the rest shares or numbers of
    each component. Of quantiles of several components there is one `z` each, in `parts`."""
    array = known.arrays[name]
    every = -(-len(array) // _MOST_ROWS) if len(array) else 1
    kept = array[::every].astype(np.float64)
    labels = list(known.labels.get(name, ()))
    is_quantiles = kept.shape[-1] == 21 and (kept.ndim == 3 or not labels)
    quantiles = np.linspace(0, 1, 21).round(3).tolist() if is_quantiles else None
    found: dict[str, Any] = {
        "name": name,
        "x": known.env_steps[::every].tolist(),
        "quantiles": quantiles,
        "labels": labels or [str(i) for i in range(kept.shape[1] if kept.ndim > 1 else 1)],
        "parts": None,
    }
    if kept.ndim == 3:
        found["z"] = _rows(kept[:, 0])
        found["parts"] = [_rows(kept[:, i]) for i in range(kept.shape[1])]
    else:
        found["z"] = _rows(kept.reshape(len(kept), -1))
    return found


def _rows(values: np.ndarray) -> list[list[float | None]]:
    return [_cells(row) for row in values]


ROUTES = [
    Route("/api/runs/{run}/metrics", show_metrics),
    Route("/api/runs/{run}/distributions", list_distributions),
    Route("/api/runs/{run}/distributions/{name:path}", show_distribution),
]
