"""What every route shares: where runs are, whether they are trusted, recordings under way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from gymnast.errors import GymnastError
from gymnast.inspect.jobs import Jobs
from gymnast.inspect.loaded import LoadedRecordings
from gymnast.runs.ids import RUN_ID
from gymnast.runs.store import open_run
from gymnast.web.security import Access, Refused
from gymnast.web.wire import json_bytes

if TYPE_CHECKING:
    from gymnast.runs.store import RunFolder

T = TypeVar("T")


@dataclass(slots=True)
class Inspector:
    """One server's own."""

    runs_dir: Path
    trust: bool
    access: Access
    jobs: Jobs
    loaded: LoadedRecordings

    def run(self, run_id: str) -> RunFolder:
        """The run with exactly this id; 404 for anything else. No path is made of what is not an id."""
        if RUN_ID.fullmatch(run_id) is None:
            raise Refused(404, f"there is no run {run_id[:40]!r}")
        try:
            return open_run(self.runs_dir, run_id)
        except GymnastError:
            raise Refused(404, f"there is no run {run_id!r}") from None


def inspector_of(request: Request) -> Inspector:
    inspector: Inspector = request.app.state.inspector
    return inspector


async def in_thread(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Off the event loop: reading files, packing arrays."""
    return await run_in_threadpool(function, *arguments, **options)


def answer(value: Any, status: int = 200) -> Response:
    """JSON, without NaN."""
    return Response(json_bytes(value), status, media_type="application/json")


def number_in(request: Request, name: str, default: int, least: int = 0, most: int = 10**9) -> int:
    """A whole number of the query."""
    text = request.query_params.get(name)
    if text is None or text == "":
        return default
    try:
        value = int(text) if len(text) < 20 else most + 1
    except ValueError:
        raise Refused(400, f"{name} is a whole number, not {text[:40]!r}") from None
    if not least <= value <= most:
        raise Refused(400, f"{name} is from {least} to {most}, not {value}")
    return value


def share_in(request: Request, name: str) -> float | None:
    """A number from 0 to 1 of the query; None if it is not there."""
    text = request.query_params.get(name)
    if text is None or text == "":
        return None
    try:
        value = float(text)
    except ValueError:
        raise Refused(400, f"{name} is a number, not {text[:40]!r}") from None
    if not 0.0 <= value <= 1.0:
        raise Refused(400, f"{name} is from 0 to 1, not {text[:40]}")
    return value


def plain(value: Any) -> Any:
    """A value of a config as JSON has it."""
    return json.loads(json.dumps(value, default=str))
