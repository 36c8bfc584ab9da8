"""/api/runs and what a single run has: settings, checkpoints, alerts, report, videos; control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gymnast import api
from gymnast.api import RunDetails, RunEntry
from gymnast.inspect.context import Inspector, answer, in_thread, inspector_of, number_in, plain
from gymnast.runs.files import read_bytes
from gymnast.runs.store import RunFolder
from gymnast.runs.summary import EvalPoint
from gymnast.web.guard import read_json_object
from gymnast.web.ranges import answer_ranges
from gymnast.web.security import Refused

_MOST_REPORT = 4 << 20
_ACTIONS = ("checkpoint", "evaluate", "pause", "resume", "stop")
_CONTROL_SECONDS = 30.0


async def list_runs(request: Request) -> Response:
    text = request.query_params.get("q", "")[:200].lower()
    limit = number_in(request, "limit", 100, 0, 1000)
    offset = number_in(request, "offset", 0)
    return answer(await in_thread(_listed, inspector_of(request), text, limit, offset))


def _listed(inspector: Inspector, text: str, limit: int, offset: int) -> dict[str, Any]:
    words = text.split()
    found = [e for e in api.list_runs(runs_dir=inspector.runs_dir) if all(w in _searched(e) for w in words)]
    shown = found[offset : offset + limit]
    return {"total": len(found), "runs": [_entry(e, _budget(inspector, e)) for e in shown]}


def _searched(entry: RunEntry) -> str:
    words = (
        entry.id,
        entry.name,
        entry.env,
        entry.variant or "",
        entry.algo,
        entry.state,
        entry.reason or "",
        f"seed {entry.seed}",
    )
    return " ".join(words).lower()


def _budget(inspector: Inspector, entry: RunEntry) -> int | None:
    budget = RunFolder(inspector.runs_dir / entry.id).info().get("budget_env_steps")
    return budget if isinstance(budget, int) and not isinstance(budget, bool) else None


def _entry(entry: RunEntry, total_steps: int | None) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": entry.name,
        "env": entry.env,
        "variant": entry.variant,
        "algo": entry.algo,
        "seed": entry.seed,
        "status": entry.state,
        "live": entry.status == "running",
        "started": entry.created,
        "seconds": entry.seconds,
        "env_steps": entry.env_steps,
        "total_steps": total_steps,
        "best": entry.best_score,
        "last": entry.last_score,
        "solved": entry.solved,
        "notes": entry.reason or "",
    }


async def show_run(request: Request) -> Response:
    inspector = inspector_of(request)
    folder = inspector.run(request.path_params["run"])
    return answer(_details(inspector, await in_thread(api.run_details, folder)))


def _details(inspector: Inspector, details: RunDetails) -> dict[str, Any]:
    run, settings = details.run, plain(details.settings)
    return {
        "run": _entry(run, details.budget_env_steps),
        "checkpoints": [
            {
                "name": str(saved.env_steps),
                "env_steps": saved.env_steps,
                "score": saved.score,
                "reason": saved.reason,
                "created": saved.created,
                "damaged": saved.damaged,
                "is_best": saved.best,
                "is_last": saved.last,
            }
            for saved in details.checkpoints
        ],
        "settings": settings,
        "changed": {
            key: {"value": plain(value), "default": plain(default)}
            for key, (value, default) in details.changed.items()
        },
        "alerts": [
            {
                "id": alert.id,
                "severity": alert.severity,
                "metric": alert.metric,
                "count": alert.count,
                "first_step": alert.first_step,
                "last_step": alert.last_step,
                "message": alert.message,
                "advice": alert.advice,
            }
            for alert in details.alerts
        ],
        "videos": list(details.videos),
        "video_urls": {
            name: inspector.access.with_ticket(f"/api/runs/{run.id}/videos/{name}") for name in details.videos
        },
        "has_report": details.report is not None,
        "tasks": list(details.tasks),
        "gamma": _number(settings.get("algo.gamma")),
        "lam": _number(settings.get("algo.gae_lambda")),
        "seeds": None if details.seeds is None else asdict(details.seeds),
        "env_options": [plain(option.to_json()) for option in details.options],
        "problems": list(details.problems),
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


async def show_report(request: Request) -> Response:
    folder = inspector_of(request).run(request.path_params["run"])

    def read() -> str:
        try:
            return read_bytes(folder.report_path, _MOST_REPORT).decode(errors="replace")
        except FileNotFoundError:
            return api.read_report(folder.path).markdown()  # of a run that has not ended

    return PlainTextResponse(await in_thread(read), media_type="text/markdown")


async def show_video(request: Request) -> Response:
    """With ranges, so that a browser can seek."""
    folder = inspector_of(request).run(request.path_params["run"])
    video = (await in_thread(api.run_videos, folder)).get(request.path_params["name"])
    if video is None:
        raise Refused(404, f"run {folder.id} has no such video")
    return await in_thread(answer_ranges, request, video, "video/mp4")


async def control(request: Request) -> Response:
    folder = inspector_of(request).run(request.path_params["run"])
    action = (await read_json_object(request)).get("action")
    if action not in _ACTIONS:
        raise Refused(400, f"action is one of {', '.join(_ACTIONS)}, not {str(action)[:40]!r}")
    asks: dict[str, Callable[..., object]] = {
        "checkpoint": api.checkpoint_run,
        "evaluate": api.evaluate_run,
        "pause": api.pause_run,
        "resume": api.resume_paused_run,
        "stop": api.stop_run,
    }
    entry = await in_thread(api.run_state, folder)
    if entry.status != "running":
        raise Refused(409, f"run {folder.id} is not being trained: it is {entry.state}")
    # A paused run evaluates when it is resumed: nobody should wait for that.
    wait = not (action == "evaluate" and entry.paused)
    found = await in_thread(asks[action], folder, wait=wait, timeout=_CONTROL_SECONDS)
    entry = await in_thread(api.run_state, folder)
    score = found.score if isinstance(found, EvalPoint) else None
    return answer({"run": _entry(entry, None), "waited": wait, "score": score})


ROUTES = [
    Route("/api/runs", list_runs),
    Route("/api/runs/{run}", show_run),
    Route("/api/runs/{run}/report", show_report),
    Route("/api/runs/{run}/videos/{name}", show_video),
    Route("/api/runs/{run}/control", control, methods=["POST"]),
]
