"""POST /api/recordings/{recording}/insight: what a network sees at the steps of a recording."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gymnast import api
from gymnast.inspect.context import Inspector, answer, in_thread, inspector_of
from gymnast.inspect.recording_routes import loaded_recording
from gymnast.inspect.wishes import checked_overrides
from gymnast.web.guard import read_json_object
from gymnast.web.wire import MIME

if TYPE_CHECKING:
    from gymnast.api import Recording
    from gymnast.insight.subject import Subject

_KEPT = 3  # recordings whose networks stay in memory: those of a few columns side by side


class Insights:
    """The networks that were looked into last, and one question at a time: others may need the cores too."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Subject] = OrderedDict()
        self._lock = Lock()

    def ask(self, inspector: Inspector, recording: Recording, question: dict[str, Any]) -> Any:
        """The answer, as JSON or as one binary."""
        with self._lock:
            return api.insight_answer(self._subject(inspector, recording), question)

    def _subject(self, inspector: Inspector, recording: Recording) -> Subject:
        info = recording.info
        known = self._kept.get(info.id)
        if known is not None and known.trace is recording.trace:
            self._kept.move_to_end(info.id)
            return known
        overrides = checked_overrides(info.overrides, trusted=inspector.trust)
        subject = api.look_inside(
            recording.trace, runs_dir=inspector.runs_dir, overrides=overrides, trust=inspector.trust
        )
        self._kept[info.id] = subject
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return subject


def insight_routes() -> list[Route]:
    """What the inspector's application adds to its routes."""
    insights = Insights()

    async def ask(request: Request) -> Response:
        question = await read_json_object(request)
        recording = await loaded_recording(request)  # 404 if it was deleted
        found = await in_thread(insights.ask, inspector_of(request), recording, question)
        return Response(found, media_type=MIME) if isinstance(found, bytes) else answer(found)

    return [Route("/api/recordings/{recording}/insight", ask, methods=["POST"])]
