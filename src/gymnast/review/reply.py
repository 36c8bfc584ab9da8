"""Reading one answer, whole or as a stream: complete and within limits, or ReviewFailed."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymnast.redact import HIDDEN
from gymnast.reports.text import clean
from gymnast.review.endpoint import Endpoint
from gymnast.review.events import TooMuch, read_events
from gymnast.review.failures import ReviewFailed
from gymnast.review.patience import Patience
from gymnast.review.shapes import Heard, Shape
from gymnast.runs.files import parse_json

if TYPE_CHECKING:
    import httpx2

_MOST_BYTES = 32 << 20  # of a stream: each token comes in an envelope of 300 bytes
_MOST_TEXT = 400_000  # characters of an answer
_MOST_ERROR = 64 << 10


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    model: str  # as the endpoint names it
    input_tokens: int | None
    output_tokens: int | None
    structured: bool  # whether the endpoint was asked to hold the answer to our schema


def read_reply(
    response: httpx2.Response,
    shape: Shape,
    endpoint: Endpoint,
    patience: Patience,
    structured: bool,
) -> Generator[str, None, Reply]:
    """An answer, whole or streamed; ReviewFailed for one that is not complete."""
    import httpx2

    heard, parts, size = Heard(), list[str](), 0
    until = time.monotonic() + patience.total
    try:
        for piece in _pieces(_until(response.iter_bytes(), until), response, shape, heard):
            size += len(piece)
            if size > _MOST_TEXT:
                raise TooMuch
            if piece:
                parts.append(piece)
                yield piece
    except TooMuch:
        raise ReviewFailed(
            f"the answer of {endpoint.host} has no end: the rest was not read after {_MOST_TEXT:,}"
            " characters; try another model"
        ) from None
    except TimeoutError:
        raise ReviewFailed(
            f"the answer of {endpoint.host} took more than {patience.total:g} s: {_AGAIN_HINT}"
        ) from None
    except httpx2.TimeoutException:
        raise ReviewFailed(
            f"{endpoint.host} fell silent for {patience.silence:g} s in the middle of its answer: --timeout"
            " gives it longer"
        ) from None
    except httpx2.HTTPError:
        heard.done = bool(heard.stopped)  # cut, unless all of the text was there
    except ValueError:
        raise ReviewFailed(
            f"{endpoint.host} sends something else than its API does: check --provider"
        ) from None
    text = "".join(parts)
    if endpoint.key:  # nobody has a reason to send it back
        text = text.replace(endpoint.key, HIDDEN)
    _check_complete(heard, endpoint, text)
    return Reply(
        text,
        clean(heard.model or endpoint.model, 100),
        heard.input_tokens,
        heard.output_tokens,
        structured,
    )


_AGAIN_HINT = "try again, or another model"


def _check_complete(heard: Heard, endpoint: Endpoint, text: str) -> None:
    if heard.error:
        raise ReviewFailed(f"{endpoint.host} broke off its answer: {clean(heard.error, 200)}; {_AGAIN_HINT}")
    if heard.is_refused:
        why = f": {clean(heard.refusal, 200)}" if heard.refusal else ""
        raise ReviewFailed(
            f"{endpoint.model} refused to review{why}; try another model, or read the text with --dry-run"
        )
    if heard.is_cut_short:
        raise ReviewFailed(
            f"{endpoint.model} was cut off before the end of its answer ({clean(heard.stopped, 60)}):"
            " name fewer runs, add --short, or use a model with a larger context"
        )
    if not heard.done:
        raise ReviewFailed(
            f"the connection to {endpoint.host} ended in the middle of the answer: {_AGAIN_HINT}"
        )
    if not text.strip():
        raise ReviewFailed(f"{endpoint.host} answered without a word: {_AGAIN_HINT}")


def _pieces(chunks: Iterable[bytes], response: httpx2.Response, shape: Shape, heard: Heard) -> Iterable[str]:
    if "text/event-stream" not in response.headers.get("content-type", ""):
        answer = parsed_object(limited(chunks, _MOST_BYTES))
        yield shape.whole(answer, heard)
        return
    for data in read_events(chunks, _MOST_BYTES):
        if data.strip() == "[DONE]":
            heard.done = True
            return
        yield shape.piece(parsed_object(data), heard)
        if heard.done or heard.error:
            return
    # Some servers close the stream without [DONE]; the reason to stop is the end as well.
    heard.done = heard.done or bool(heard.stopped)


def parsed_object(data: bytes | str) -> dict[str, Any]:
    """JSON that must be a map; ValueError otherwise."""
    value = parse_json(data)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _until(chunks: Iterable[bytes], end: float) -> Iterable[bytes]:
    """For one that sends a byte now and then, for ever."""
    for chunk in chunks:
        if time.monotonic() > end:
            raise TimeoutError
        yield chunk


def limited(chunks: Iterable[bytes], most: int) -> bytes:
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > most:
            raise TooMuch
    return bytes(data)


def beginning(response: httpx2.Response) -> bytes:
    """Of what an endpoint says is wrong."""
    data = bytearray()
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > _MOST_ERROR:
            break
    return bytes(data[:_MOST_ERROR])
