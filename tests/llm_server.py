"""A local HTTP server that plays both APIs of language models, well and badly, for tests.

A test gives it a list of turns; each request takes the next, the last again and again. All that it is sent is
kept in `requests`. By hand:

    python tests/llm_server.py 8099        # answers with a fixed review until it is stopped
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REVIEW: dict[str, Any] = {
    "summary": "The run improves but its budget ends before it is solved.",
    "findings": [
        {
            "severity": "warning",
            "title": "The budget is too small",
            "detail": "The score still rises at the last evaluation.",
            "evidence": ["threshold 475 not reached", "a line that nobody wrote"],
        },
        {"severity": "good", "title": "Stable updates", "detail": "KL stays low.", "evidence": []},
    ],
    "proposals": [
        {
            "run": "",
            "title": "Train with a lower learning rate",
            "why": "The value loss does not fall.",
            "overrides": [{"key": "algo.lr", "value": "2.5e-3"}, {"key": "seed", "value": "3"}],
        }
    ],
}


@dataclass(frozen=True)
class Sent:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Turn = Callable[["Handler"], None]


@dataclass
class LLMServer:
    """What a test sees of the server."""

    url: str
    turns: list[Turn]
    requests: list[Sent] = field(default_factory=list)
    models: list[str] = field(default_factory=lambda: ["small-1", "large-2"])

    @property
    def questions(self) -> list[Sent]:
        return [sent for sent in self.requests if sent.method == "POST"]


class Handler(BaseHTTPRequestHandler):
    server_state: LLMServer

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._note({})
        self.send_json(200, {"data": [{"id": name} for name in self.server_state.models]})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._note(json.loads(data))
        turns = self.server_state.turns
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        try:
            turn(self)
        except OSError:  # the client has left
            self.close_connection = True

    def _note(self, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server_state.requests.append(Sent(self.command, self.path, headers, body))

    @property
    def is_messages(self) -> bool:
        return self.path.endswith("/messages")

    def send_json(self, status: int, value: Any, **headers: str) -> None:
        self.send_bytes(status, json.dumps(value).encode(), "application/json", **headers)

    def send_bytes(self, status: int, data: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, data: Any, name: str = "") -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        lines = f"event: {name}\n" if name else ""
        self.wfile.write(f"{lines}data: {text}\n\n".encode())
        self.wfile.flush()


def text_of(answer: Any) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


def whole(answer: Any = REVIEW, *, stopped: str | None = None, **message: Any) -> Turn:
    """An answer in one piece."""

    def turn(handler: Handler) -> None:
        text = text_of(answer)
        if handler.is_messages:
            usage = {"input_tokens": 4321, "output_tokens": 99}
            blocks = [{"type": "text", "text": text}]
            reason = stopped or "end_turn"
            handler.send_json(
                200, {"model": "small-1-dated", "content": blocks, "stop_reason": reason, "usage": usage}
            )
            return
        usage = {"prompt_tokens": 4321, "completion_tokens": 99}
        choice = {"message": {"content": text, **message}, "finish_reason": stopped or "stop"}
        handler.send_json(200, {"model": "small-1-dated", "choices": [choice], "usage": usage})

    return turn


def streamed(
    answer: Any = REVIEW,
    *,
    stopped: str | None = None,
    cut_after: int | None = None,
    pause: float = 0.0,
    stop_after: int | None = None,
    error: str = "",
    refusal: str = "",
) -> Turn:
    """An answer in small pieces, `pause` seconds between them, from the one numbered `stop_after` on. Before
    the one numbered `cut_after` the connection ends. `error` comes in place of the end."""

    def turn(handler: Handler) -> None:
        text = text_of(answer)
        handler.begin_stream()
        if handler.is_messages:
            start = {"model": "small-1-dated", "usage": {"input_tokens": 4321, "output_tokens": 1}}
            handler.event({"type": "message_start", "message": start}, "message_start")
            handler.event({"type": "ping"}, "ping")
        for number, begin in enumerate(range(0, len(text), 7)):
            if number == cut_after:
                return
            if stop_after is None or number >= stop_after:
                time.sleep(pause)
            piece = text[begin : begin + 7]
            if handler.is_messages:
                delta = {"type": "text_delta", "text": piece}
                handler.event(
                    {"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta"
                )
            else:
                handler.event({"model": "small-1-dated", "choices": [{"delta": {"content": piece}}]})
        if error:
            handler.event({"type": "error", "error": {"type": "overloaded_error", "message": error}}, "error")
        elif handler.is_messages:
            end = {"stop_reason": "refusal" if refusal else stopped or "end_turn"}
            handler.event(
                {"type": "message_delta", "delta": end, "usage": {"output_tokens": 99}}, "message_delta"
            )
            handler.event({"type": "message_stop"}, "message_stop")
        else:
            if refusal:
                handler.event({"choices": [{"delta": {"refusal": refusal}}]})
            handler.event({"choices": [{"delta": {}, "finish_reason": stopped or "stop"}]})
            handler.event({"choices": [], "usage": {"prompt_tokens": 4321, "completion_tokens": 99}})
            handler.event("[DONE]")

    return turn


def status(code: int, message: str = "", *, kind: str = "some_error", **headers: str) -> Turn:
    """An error as both APIs send it."""
    return lambda handler: handler.send_json(code, {"error": {"type": kind, "message": message}}, **headers)


def without_structured_output(handler: Handler) -> None:
    """A server that knows nothing of schemas, and answers with a fenced block among prose."""
    if {"response_format", "output_config"} & set(handler.server_state.requests[-1].body):
        handler.send_json(400, {"error": "unknown field: response_format"})
    else:
        streamed(f"Here is my review.\n```json\n{json.dumps(REVIEW, indent=1)}\n```\nGood luck!")(handler)


def silent(seconds: float) -> Turn:
    """No byte for so long."""
    return lambda handler: time.sleep(seconds)


@contextmanager
def llm_server(*turns: Turn, port: int = 0) -> Iterator[LLMServer]:
    """A server on loopback, as long as the context lasts."""
    state = LLMServer("", list(turns) or [streamed()])
    handler = type("Playing", (Handler,), {"server_state": state})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    with llm_server(streamed(pause=0.03), port=int(sys.argv[1])) as running:
        print(running.url, flush=True)
        threading.Event().wait()
