"""/api/sweeps: the sweeps of the runs folder, and one with all its trials."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gymnast import api
from gymnast.api import Sweep
from gymnast.errors import GymnastError
from gymnast.inspect.context import Inspector, answer, in_thread, inspector_of, plain
from gymnast.web.security import Refused

_MOST = 200  # sweeps listed


async def list_sweeps(request: Request) -> Response:
    return answer(await in_thread(_listed, inspector_of(request)))


def _listed(inspector: Inspector) -> dict[str, Any]:
    found = api.list_sweeps(runs_dir=inspector.runs_dir)
    return {"total": len(found), "sweeps": [_entry(sweep) for sweep in found[:_MOST]]}


def _entry(sweep: Sweep) -> dict[str, Any]:
    values = sweep.to_json()
    keys = ("id", "status", "stage", "reason", "method", "created", "seconds", "trials", "env_steps")
    best, base = values["best"], values["baseline"]
    return {key: values[key] for key in keys} | {
        "name": sweep.state.plan.reference.rpartition("/")[2]
        if sweep.state.plan.reference.startswith("/")
        else sweep.state.plan.reference,
        "objective": values["objective"]["name"],
        "best": None if best is None else best["value"],
        "preset": None if base is None else base["value"],
        "verdict": values["verdict"]["text"],
    }


async def show_sweep(request: Request) -> Response:
    wanted = request.path_params["sweep"]
    return answer(await in_thread(_details, inspector_of(request), wanted))


def _details(inspector: Inspector, wanted: str) -> dict[str, Any]:
    # Looked up among the sweeps there are: no path is made of what was asked for.
    known = [sweep for sweep in api.list_sweeps(runs_dir=inspector.runs_dir) if sweep.id == wanted]
    if not known:
        raise Refused(404, f"there is no sweep {wanted[:40]!r}")
    (sweep,) = known
    state = sweep.state
    try:
        weights = sweep.importances()
    except GymnastError:
        weights = {}
    trials = [
        {
            "trial": trial.number,
            "origin": trial.origin,
            "status": trial.status,
            "value": trial.value,
            "values": plain(state.values_of(trial)),
            "runs": [run.run_id for run in trial.runs],
        }
        for trial in state.trials
    ]
    return {
        "sweep": _entry(sweep),
        "settings": [{"key": key, "log": kind} for key, kind in _scales(sweep).items()],
        "goal": state.plan.objective.goal,
        "winner": state.winner,
        "verdict": plain(sweep.to_json()["verdict"]),
        "importances": weights,
        "trials": trials,
    }


def _scales(sweep: Sweep) -> dict[str, bool]:
    """Searched settings, and whether they are drawn by their logarithm."""
    dimensions = sweep.state.plan.space.dimensions
    return {key: type(dimension).__name__ in ("LogRange", "Pow2") for key, dimension in dimensions.items()}


ROUTES = [Route("/api/sweeps", list_sweeps), Route("/api/sweeps/{sweep}", show_sweep)]
