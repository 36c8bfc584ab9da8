"""One question over HTTP, without any SDK: polite retries, an answer in pieces, hard limits.

The key is in a header of the request and nowhere else. Redirects are not followed: they could lead a key and
a run elsewhere.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gymnast import __version__
from gymnast.errors import GymnastError, MissingExtra
from gymnast.reports.text import clean
from gymnast.review.bundle import Bundle
from gymnast.review.endpoint import Endpoint
from gymnast.review.events import TooMuch
from gymnast.review.failures import ReviewFailed, error_text, failure, is_about_format, is_final
from gymnast.review.patience import Patience
from gymnast.review.reply import Reply, beginning, limited, parsed_object, read_reply
from gymnast.review.shapes import shape_of

if TYPE_CHECKING:
    import httpx2

_AGAIN = frozenset({408, 409, 425, 429, *range(500, 600)})
_MODELS_SECONDS = 5.0


Notice = Callable[[str], None]


def ask(
    endpoint: Endpoint, bundle: Bundle, patience: Patience, notice: Notice = lambda text: None
) -> Generator[str, None, Reply]:
    """Yields the text of the answer as it arrives and returns the whole; `notice` is given each wait."""
    httpx2 = require_httpx()
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
                        return (yield from read_reply(response, shape, endpoint, patience, not plain))
                    status, said = response.status_code, error_text(beginning(response))
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


def require_httpx() -> ModuleType:
    """The library that is asked with; MissingExtra without it."""
    try:
        import httpx2
    except ImportError:
        raise MissingExtra("asking a language model", "llm") from None
    return httpx2


def _headers(endpoint: Endpoint) -> dict[str, str]:
    return {
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",  # what is small on the way cannot become huge here
        "User-Agent": f"gymnast/{__version__}",
        **endpoint.headers,
    }


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
    return ReviewFailed(
        f"the connection to {endpoint.host} failed ({clean(error, 120)}): try again, or another model"
    )


def _worth_another(endpoint: Endpoint, error: httpx2.HTTPError) -> bool:
    """A server of this machine that is not there will not be in a second, and one that is slow stays so."""
    import httpx2

    if isinstance(error, httpx2.ReadTimeout | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return False
    return not (endpoint.is_local and isinstance(error, httpx2.ConnectError))


def _pause(after: str, wait: float) -> float:
    """As long as `Retry-After` says, and never less than a growing time that differs between callers: an
    endpoint that says 0 is as busy as one that says nothing."""
    return max(_retry_after(after), wait * random.uniform(0.75, 1.25))


def _retry_after(text: str) -> float:
    """Seconds, from a number or a date; 0 without either."""
    with suppress(ValueError):
        return max(0.0, float(text))
    with suppress(TypeError, ValueError, OverflowError):
        moment = parsedate_to_datetime(text)
        return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    return 0.0


def _models(client: httpx2.Client, endpoint: Endpoint) -> tuple[str, ...]:
    """The names of the models there are, for a message; none if that cannot be found out."""
    import httpx2

    try:
        with client.stream(
            "GET", endpoint.models_url, headers=_headers(endpoint), timeout=_MODELS_SECONDS
        ) as response:
            if response.status_code != 200:
                return ()
            found = parsed_object(limited(response.iter_bytes(), 1 << 20))
    except (httpx2.HTTPError, ValueError, TooMuch):
        return ()
    data = found.get("data")
    names = [item.get("id") for item in data if isinstance(item, dict)] if isinstance(data, list) else []
    return tuple(name[:100] for name in names[:500] if isinstance(name, str) and name.isprintable())
