"""/api/runs/{run}/review: what would be sent to a language model, its answer as it comes, and starting what
it proposes.

Whom to ask is in the environment of the server; the page may choose the model, and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.inspect.context import Inspector, answer, in_thread, inspector_of
from gymnast.inspect.reviewer import Reviewer
from gymnast.review.client import require_httpx
from gymnast.review.endpoint import OWN_BASE, OWN_MODEL, find_endpoint
from gymnast.runs.store import RunFolder
from gymnast.web.guard import read_json_object
from gymnast.web.security import Refused
from gymnast.web.wire import json_bytes

_MOST_AT_ONCE = 4  # questions under way
_MOST_MODEL = 200  # characters
_MOST_OVERRIDES = 20
_OPTIONS = {
    "--base-url": OWN_BASE,
    "--timeout": "`gymnast review --timeout`",
    "add --short": "use `gymnast review --short`",
}


async def show_preview(request: Request) -> Response:
    """What would be sent to whom, and what is missing for it. Nothing is sent."""
    folder = inspector_of(request).run(request.path_params["run"])
    model = _model(request.query_params.get("model"))
    return answer(await in_thread(_preview, inspector_of(request), folder, model))


def _preview(inspector: Inspector, folder: RunFolder, model: str | None) -> dict[str, Any]:
    bundle = api.review_bundle(folder.id, runs_dir=inspector.runs_dir)
    size = {"bytes": bundle.size, "estimated_tokens": bundle.tokens}
    missing, whom = [], {"host": "", "model": model or "", "provider": "", "is_local": False}
    try:
        require_httpx()
    except GymnastError as error:
        missing.append(str(error))
    try:
        endpoint = find_endpoint(model=model, need_key=False)
        whom = {
            "host": endpoint.host,
            "model": endpoint.model,
            "provider": endpoint.provider,
            "is_local": endpoint.is_local,
        }
        if not endpoint.model:
            missing.append(f"name the model to ask here, or as {OWN_MODEL} in the environment")
        find_endpoint(model=endpoint.model or "any")  # the key alone is in doubt
    except GymnastError as error:
        missing.append(_said(error).partition("\n")[0])
    return {**size, **whom, "missing": missing}


async def show_bundle(request: Request) -> Response:
    """The text for any chat."""
    folder = inspector_of(request).run(request.path_params["run"])
    bundle = await in_thread(api.review_bundle, folder.id, runs_dir=inspector_of(request).runs_dir)
    return PlainTextResponse(bundle.chat, media_type="text/markdown")


async def show_kept(request: Request) -> Response:
    """The newest review of a run, its proposals checked again: {"review": …} or null."""
    folder = inspector_of(request).run(request.path_params["run"])
    if not folder.review_json_path.exists():
        return answer({"review": None})
    return answer(await _reviewer(request, folder, do="kept").answer())


async def start_proposal(request: Request) -> Response:
    """Train a run's settings with those that a model changed. They are checked as in a review: what a model
    may not set is not set from here either."""
    inspector = inspector_of(request)
    folder = inspector.run(request.path_params["run"])
    words = (await read_json_object(request)).get("overrides")
    if not isinstance(words, list) or not all(isinstance(word, str) and "=" in word for word in words):
        raise Refused(400, "overrides is a list of key=value")
    if len(words) > _MOST_OVERRIDES:
        raise Refused(400, f"a proposal has at most {_MOST_OVERRIDES} settings")
    start = (await _reviewer(request, folder, do="check", overrides=words).answer())["start"]
    run = await in_thread(
        api.start_detached,
        start["reference"],
        overrides=start["overrides"],
        runs_dir=inspector.runs_dir,
        command=("gymnast", "train", start["reference"], *start["overrides"]),
    )
    return answer({"run": run.id}, 201)


def _reviewer(request: Request, folder: RunFolder, **order: Any) -> Reviewer:
    return Reviewer({"run": folder.id, "runs_dir": str(inspector_of(request).runs_dir), **order})


def _model(given: Any) -> str | None:
    """As the page has it; None: that of the environment."""
    if given is None or given == "":
        return None
    if not isinstance(given, str) or len(given) > _MOST_MODEL or not given.isprintable():
        raise Refused(400, f"model is a name of at most {_MOST_MODEL} characters")
    return given


class _Asking(StreamingResponse):
    """Events while a process asks. However this ends (the page is closed, the server stops), so does that."""

    def __init__(self, asked: Asked, reviewer: Reviewer) -> None:
        super().__init__(_events(reviewer), media_type="text/event-stream")
        self._asked, self._reviewer = asked, reviewer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._asked.under_way -= 1
            self._reviewer.end()


async def _events(reviewer: Reviewer) -> AsyncIterator[bytes]:
    """`text` and `notice` as they come, then `review`, or `error` with one sentence."""
    try:
        async for message in reviewer.messages():
            for name in ("text", "notice", "review"):
                if name in message:
                    yield _event(name, message)
    except GymnastError as error:
        yield _event("error", {"error": _said(error)})


def _said(error: GymnastError) -> str:
    """In words of the page, where the message speaks of options of the command."""
    text = str(error)
    for option, words in _OPTIONS.items():
        text = text.replace(option, words)
    return text


def _event(name: str, value: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), json_bytes(value))


class Asked:
    """How many questions are under way."""

    under_way = 0


def review_routes() -> list[Route]:
    """What the inspector's application adds to its routes."""
    asked = Asked()

    async def ask(request: Request) -> Response:
        folder = inspector_of(request).run(request.path_params["run"])
        wish = await read_json_object(request)
        model = _model(wish.get("model"))
        require_httpx()
        endpoint = find_endpoint(model=model)
        if wish.get("host") != endpoint.host:
            raise Refused(409, f"this would be sent to {endpoint.host}: look at what is sent, and ask again")
        if asked.under_way >= _MOST_AT_ONCE:
            raise Refused(409, f"{_MOST_AT_ONCE} reviews are being written already: wait for one")
        reviewer = _reviewer(request, folder, do="ask", model=endpoint.model)
        asked.under_way += 1
        return _Asking(asked, reviewer)

    return [
        Route("/api/runs/{run}/review", show_preview),
        Route("/api/runs/{run}/review", ask, methods=["POST"]),
        Route("/api/runs/{run}/review/bundle", show_bundle),
        Route("/api/runs/{run}/review/kept", show_kept),
        Route("/api/runs/{run}/review/start", start_proposal, methods=["POST"]),
    ]
