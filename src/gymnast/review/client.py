"""One question over HTTP, without any SDK: polite retries, an answer in pieces, hard limits.

The key is in a header of the request and nowhere else. Redirects are not followed: they could lead a key and
a run elsewhere.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gymnast import __version__
from gymnast.errors import GymnastError, MissingExtra
from gymnast.redact import redact
from gymnast.reports.text import clean
from gymnast.review.bundle import Bundle
from gymnast.review.endpoint import Endpoint
from gymnast.review.events import TooMuch, read_events
from gymnast.review.failures import ReviewFailed, error_text, failure, is_about_format, is_final
from gymnast.review.shapes import Heard, Shape, shape_of
from gymnast.runs.files import parse_json

if TYPE_CHECKING:
    import httpx2

_AGAIN = frozenset({408, 409, 425, 429, *range(500, 600)})
_MOST_BYTES = 32 << 20  # of a stream: each token comes in an envelope of 300 bytes
_MOST_TEXT = 400_000  # characters of an answer
_MOST_ERROR = 64 << 10
_MODELS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, and how often to try."""

    silence: float = 120.0  # seconds without a byte
    total: float = 1800.0  # seconds of one answer
    attempts: int = 4
    first_wait: float = 1.0  # doubled each time, unless the endpoint says how long
    longest_wait: float = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    model: str  # as the endpoint names it
    input_tokens: int | None
    output_tokens: int | None
    structured: bool  # whether the endpoint was asked to hold the answer to our schema
    attempts: int


Notice = Callable[[str], None]


def ask(
    endpoint: Endpoint, bundle: Bundle, patience: Patience, notice: Notice = lambda text: None
) -> Generator[str, None, Reply]:
    """Yields the text of the answer as it arrives and returns the whole; `notice` is given each wait."""
    try:
        import httpx2
    except ImportError:
        raise MissingExtra("asking a language model", "llm") from None

    shape, plain, wait = shape_of(endpoint), False, patience.first_wait
    timeout = httpx2.Timeout(patience.silence, connect=min(15.0, patience.silence))
    # A proxy from the environment is for the world outside, and would read what goes to this machine by http.
    with httpx2.Client(timeout=timeout, follow_redirects=False, trust_env=not endpoint.is_local) as client:
        attempt = 1
        while True:
            request = shape.request(endpoint, bundle, plain=plain)
            asked = client.stream("POST", endpoint.url, json=request, headers=_headers(endpoint))
            try:
                with asked as response:
                    if response.status_code == 200:
                        return (yield from _read(response, shape, endpoint, patience, not plain, attempt))
                    status, said = (
                        response.status_code,
                        error_text(_limited(response.iter_bytes(), _MOST_ERROR)),
                    )
                    after = response.headers.get("retry-after", "")
                    if 300 <= status < 400:
                        raise _redirected(endpoint, response.headers.get("location", ""))
            except httpx2.HTTPError as error:
                problem = _no_connection(endpoint, error, patience)
                if attempt >= patience.attempts or not _worth_another(endpoint, error):
                    raise problem from None
                notice(f"{endpoint.host} cannot be reached; trying again in {wait:.0f} s")
                time.sleep(wait)
            else:
                if not plain and is_about_format(status, said):
                    plain = True  # the instructions ask for JSON anyway
                    continue
                if status not in _AGAIN or is_final(status, said) or attempt >= patience.attempts:
                    models = _models(client, endpoint) if status in (400, 404) else ()
                    raise failure(endpoint, status, said, models)
                pause = _pause(after, wait)
                if pause > patience.longest_wait:
                    raise ReviewFailed(
                        f"{endpoint.host} answers {status} and asks to wait {pause:.0f} s: try again then"
                    )
                notice(f"{endpoint.host} answers {status}; trying again in {pause:.0f} s")
                time.sleep(pause)
            attempt, wait = attempt + 1, min(2 * wait, patience.longest_wait)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    return {
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",  # what is small on the way cannot become huge here
        "User-Agent": f"gymnast/{__version__}",
        **endpoint.headers,
    }


def _read(
    response: httpx2.Response,
    shape: Shape,
    endpoint: Endpoint,
    patience: Patience,
    structured: bool,
    attempt: int,
) -> Generator[str, None, Reply]:
    """An answer, whole or streamed; ReviewFailed for one that is not complete."""
    import httpx2

    heard, parts, size = Heard(), list[str](), 0
    until = time.monotonic() + patience.total
    try:
        for piece in _pieces(response, shape, heard):
            size += len(piece)
            if size > _MOST_TEXT:
                raise TooMuch
            if time.monotonic() > until:
                raise ReviewFailed(
                    f"the answer of {endpoint.host} took more than {patience.total:.0f} s: {_AGAIN_HINT}"
                )
            if piece:
                parts.append(piece)
                yield piece
    except TooMuch:
        raise ReviewFailed(
            f"the answer of {endpoint.host} has no end: more than {_MOST_TEXT:,} characters were not read;"
            " try another model"
        ) from None
    except httpx2.TimeoutException:
        raise ReviewFailed(
            f"{endpoint.host} fell silent for {patience.silence:g} s in the middle of its answer: --timeout"
            " gives it longer"
        ) from None
    except httpx2.HTTPError:
        heard.done = False
    except ValueError:
        raise ReviewFailed(
            f"{endpoint.host} sends something else than its API does: check --provider"
        ) from None
    text = redact("".join(parts))
    _check_complete(heard, endpoint, text)
    return Reply(
        text,
        clean(heard.model or endpoint.model, 100),
        heard.input_tokens,
        heard.output_tokens,
        structured,
        attempt,
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


def _pieces(response: httpx2.Response, shape: Shape, heard: Heard) -> Iterable[str]:
    if "text/event-stream" not in response.headers.get("content-type", ""):
        answer = parse_json(_limited(response.iter_bytes(), _MOST_BYTES))
        yield shape.whole(_object(answer), heard)
        return
    for data in read_events(response.iter_bytes(), _MOST_BYTES):
        if data.strip() == "[DONE]":
            heard.done = True
            return
        yield shape.piece(_object(parse_json(data)), heard)
        if heard.done or heard.error:
            return
    # Some servers close the stream without [DONE]; the reason to stop is the end as well.
    heard.done = heard.done or bool(heard.stopped)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _limited(chunks: Iterable[bytes], most: int) -> bytes:
    data = b""
    for chunk in chunks:
        data += chunk
        if len(data) > most:
            if most == _MOST_ERROR:
                break
            raise TooMuch
    return data


def _redirected(endpoint: Endpoint, location: str) -> ReviewFailed:
    target = urlsplit(location).netloc or "another address of its own"
    return ReviewFailed(
        f"{endpoint.host} redirects to {clean(target, 100)}, which is not followed: nothing was sent there;"
        " if that is right, give it as --base-url"
    )


def _no_connection(endpoint: Endpoint, error: httpx2.HTTPError, patience: Patience) -> GymnastError:
    import httpx2

    if isinstance(
        error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol | httpx2.ProxyError
    ):
        return GymnastError(
            f"{endpoint.host} cannot be reached ({clean(error, 120)}): check the network and --base-url;"
            " gymnast review --bundle needs neither"
        )
    if isinstance(error, httpx2.TimeoutException):
        return ReviewFailed(
            f"{endpoint.host} did not answer within {patience.silence:g} s: --timeout gives it longer"
        )
    return ReviewFailed(f"the connection to {endpoint.host} failed ({clean(error, 120)}): {_AGAIN_HINT}")


def _worth_another(endpoint: Endpoint, error: httpx2.HTTPError) -> bool:
    """A server of this machine that is not there will not be in a second, and one that is slow stays so."""
    import httpx2

    if isinstance(error, httpx2.ReadTimeout | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return False
    return not (endpoint.is_local and isinstance(error, httpx2.ConnectError))


def _pause(after: str, wait: float) -> float:
    """What `Retry-After` says, as seconds or as a date, else a growing time that differs between callers."""
    try:
        return max(0.0, float(after))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(after)
        return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return wait * random.uniform(0.75, 1.25)


def _models(client: httpx2.Client, endpoint: Endpoint) -> tuple[str, ...]:
    """The names of the models there are, for a message; none if that cannot be found out."""
    import httpx2

    try:
        with client.stream(
            "GET", endpoint.models_url, headers=_headers(endpoint), timeout=_MODELS_SECONDS
        ) as response:
            if response.status_code != 200:
                return ()
            found = _object(parse_json(_limited(response.iter_bytes(), 1 << 20)))
    except (httpx2.HTTPError, ValueError, TooMuch):
        return ()
    data = found.get("data")
    names = [item.get("id") for item in data if isinstance(item, dict)] if isinstance(data, list) else []
    return tuple(name[:100] for name in names[:500] if isinstance(name, str) and name.isprintable())
