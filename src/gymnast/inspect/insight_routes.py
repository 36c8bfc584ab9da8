"""POST /api/recordings/{rec}/insight: what a network sees at the steps of a recording."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gymnast import api
from gymnast.web.guard import read_json_object
from gymnast.web.wire import MIME, json_bytes

if TYPE_CHECKING:
    from gymnast.insight.subject import Subject

_KEPT = 3  # recordings whose networks stay in memory; those of a few panes side by side


class Insights:
    """Networks and recordings that were looked into last, and one question at a time.

    Questions are computed by torch on all cores: several at once would only take turns.
    """

    def __init__(self, runs_dir: str | Path | None) -> None:
        self._runs_dir = runs_dir
        self._kept: OrderedDict[str, Subject] = OrderedDict()
        self._lock = Lock()

    def answer(self, recording: str, question: dict[str, Any]) -> dict[str, Any] | bytes:
        """The answer, as JSON or as one binary."""
        with self._lock:
            return api.insight_answer(self._subject(recording), question)

    def forget(self, recording: str) -> None:
        """A recording was deleted."""
        with self._lock:
            self._kept.pop(recording, None)

    def _subject(self, recording: str) -> Subject:
        info = api.recording_info(recording, runs_dir=self._runs_dir)  # that it is still there
        if (known := self._kept.get(recording)) is not None:
            self._kept.move_to_end(recording)
            return known
        trace = api.load_recording(recording, runs_dir=self._runs_dir).trace
        subject = api.look_inside(trace, runs_dir=self._runs_dir, overrides=info.overrides)
        self._kept[recording] = subject
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return subject


def insight_routes(runs_dir: str | Path | None) -> list[Route]:
    """What the inspector's application adds to its routes."""
    insights = Insights(runs_dir)

    async def ask(request: Request) -> Response:
        question = await read_json_object(request)
        found = await run_in_threadpool(insights.answer, request.path_params["rec"], question)
        if isinstance(found, bytes):
            return Response(found, media_type=MIME)
        return Response(json_bytes(found), media_type="application/json")

    return [Route("/api/recordings/{rec}/insight", ask, methods=["POST"])]
