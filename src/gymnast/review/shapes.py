"""The two APIs that are spoken: OpenAI's chat completions, which most servers have, and Anthropic's messages.

Each builds the request, and reads an answer whole or in pieces. Nothing here is sent anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from gymnast.review.bundle import Bundle
from gymnast.review.endpoint import Endpoint
from gymnast.review.prompt import ANSWER_SCHEMA

MOST_TOKENS = 16_000  # of an answer, reasoning included
Message = dict[str, Any]


@dataclass(slots=True)
class Heard:
    """What an answer has told so far, beside its text."""

    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    stopped: str = ""  # why the model ended, in the API's own word; empty: it has not
    refusal: str = ""
    done: bool = False
    error: str = ""  # an error that arrived after the answer had begun

    @property
    def is_refused(self) -> bool:
        return bool(self.refusal) or self.stopped in ("refusal", "content_filter")

    @property
    def is_cut_short(self) -> bool:
        """Whether the model wanted to write more than it may."""
        return self.stopped in ("length", "max_tokens", "model_context_window_exceeded")


class Shape(Protocol):
    """One API."""

    def request(self, endpoint: Endpoint, bundle: Bundle, *, plain: bool) -> Message:
        """What is posted; `plain` without all that some servers do not know."""
        ...

    def piece(self, event: Message, heard: Heard) -> str:
        """The text in one event of a stream."""
        ...

    def whole(self, answer: Message, heard: Heard) -> str:
        """The text of an answer that came in one piece."""
        ...


class ChatCompletions:
    """OpenAI's, and what vLLM, llama.cpp, Ollama and most services speak."""

    def request(self, endpoint: Endpoint, bundle: Bundle, *, plain: bool) -> Message:
        roles = (("system", bundle.system), ("user", bundle.user))
        request: Message = {
            "model": endpoint.model,
            "messages": [{"role": role, "content": text} for role, text in roles],
            "stream": True,
        }
        if plain:
            return request
        schema = {"name": "review", "strict": True, "schema": ANSWER_SCHEMA}
        limit = "max_completion_tokens" if endpoint.host == "api.openai.com" else "max_tokens"
        return request | {
            limit: MOST_TOKENS,
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_schema", "json_schema": schema},
        }

    def piece(self, event: Message, heard: Heard) -> str:
        return self._read(event, heard, "delta")

    def whole(self, answer: Message, heard: Heard) -> str:
        text = self._read(answer, heard, "message")
        heard.done = True
        return text

    def _read(self, found: Message, heard: Heard, where: str) -> str:
        heard.model = _text(found, "model") or heard.model
        usage = _map(found, "usage")
        heard.input_tokens = _count(usage, "prompt_tokens", heard.input_tokens)
        heard.output_tokens = _count(usage, "completion_tokens", heard.output_tokens)
        heard.error = _error(found) or heard.error
        choice = next(iter(_maps(found, "choices")), {})
        heard.stopped = _text(choice, "finish_reason") or heard.stopped
        message = _map(choice, where)
        heard.refusal += _text(message, "refusal")
        content = message.get("content")
        if isinstance(content, list):  # some servers answer in parts
            return "".join(_text(part, "text") for part in _maps(message, "content"))
        return content if isinstance(content, str) else ""


class Messages:
    """Anthropic's."""

    def request(self, endpoint: Endpoint, bundle: Bundle, *, plain: bool) -> Message:
        request: Message = {
            "model": endpoint.model,
            "max_tokens": MOST_TOKENS,
            "system": bundle.system,
            "messages": [{"role": "user", "content": bundle.user}],
            "stream": True,
        }
        if plain:
            return request
        return request | {"output_config": {"format": {"type": "json_schema", "schema": ANSWER_SCHEMA}}}

    def piece(self, event: Message, heard: Heard) -> str:
        kind = event.get("type")
        if kind == "message_start":
            self._note(_map(event, "message"), heard)
        elif kind == "message_delta":
            self._note({**_map(event, "delta"), "usage": event.get("usage")}, heard)
        elif kind == "message_stop":
            heard.done = True
        elif kind == "error":
            heard.error = _error(event) or "an error without a text"
        elif kind == "content_block_start":
            return _text(_map(event, "content_block"), "text")
        elif kind == "content_block_delta":
            delta = _map(event, "delta")
            return _text(delta, "text") if delta.get("type") == "text_delta" else ""  # not thinking
        return ""

    def whole(self, answer: Message, heard: Heard) -> str:
        self._note(answer, heard)
        heard.error = _error(answer)
        heard.done = True
        blocks = _maps(answer, "content")
        return "".join(_text(block, "text") for block in blocks if block.get("type") == "text")

    def _note(self, message: Message, heard: Heard) -> None:
        heard.model = _text(message, "model") or heard.model
        heard.stopped = _text(message, "stop_reason") or heard.stopped
        usage = _map(message, "usage")
        heard.input_tokens = _count(usage, "input_tokens", heard.input_tokens)
        heard.output_tokens = _count(usage, "output_tokens", heard.output_tokens)


def shape_of(endpoint: Endpoint) -> Shape:
    return Messages() if endpoint.provider == "anthropic" else ChatCompletions()


# An endpoint may send anything: what has another form than it should counts as missing.


def _map(found: Message, key: str) -> Message:
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def _maps(found: Message, key: str) -> list[Message]:
    value = found.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(found: Message, key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def _count(found: Message, key: str, otherwise: int | None) -> int | None:
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _error(found: Message) -> str:
    error = found.get("error")
    if isinstance(error, dict):
        return _text(error, "message") or _text(error, "type")
    return error if isinstance(error, str) else ""
