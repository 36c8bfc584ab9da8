"""What can go wrong at the other end, each as one message with the way out."""

from __future__ import annotations

from typing import Any

from gymnast.errors import GymnastError, did_you_mean
from gymnast.reports.text import clean
from gymnast.review.endpoint import OWN_KEY, Endpoint
from gymnast.runs.files import parse_json

_TOO_LONG = (
    "context_length", "context length", "context size", "context window", "exceed_context",
    "prompt is too long", "maximum context", "too many tokens", "request too large", "request_too_large",
)  # fmt: skip
_NO_MODEL = (
    "not found", "not_found", "does not exist", "unknown model", "invalid model", "no such model",
    "not a valid model",
)  # fmt: skip
_FORMAT = (
    "response_format",
    "json_schema",
    "output_config",
    "stream_options",
    "max_completion_tokens",
    "max_tokens",
)


class ReviewFailed(GymnastError):
    """The endpoint could not be asked, or its answer is not usable; nothing was written."""

    exit_code = 1


def error_text(body: bytes) -> str:
    """What an endpoint says is wrong, as one line that may be shown."""
    try:
        found: Any = parse_json(body)
    except ValueError:
        return clean(body[:400].decode(errors="replace").strip(), 150)
    if isinstance(found, dict):
        found = found.get("error", found)
    if isinstance(found, dict):
        parts = [found.get(key) for key in ("code", "type", "message", "detail")]
        words = [part for part in parts if isinstance(part, str) and part]
        found = ": ".join(dict.fromkeys(words)) or found
    return clean(found, 300)


def is_about_format(status: int, text: str) -> bool:
    """Whether a plainer request may be understood: an endpoint without structured output says 400 or 422."""
    if status not in (400, 422, 501):
        return False
    return not is_too_long(status, text) and not _is_about_model(status, text)


def is_too_long(status: int, text: str) -> bool:
    lower = text.lower()
    return status == 413 or (status in (400, 422) and any(word in lower for word in _TOO_LONG))


def _is_about_model(status: int, text: str) -> bool:
    """Whether there is no such model; one that lacks structured output says so with 400 too."""
    lower = text.lower()
    if status not in (400, 404, 422) or any(word in lower for word in _FORMAT):
        return False
    return "model" in lower and any(word in lower for word in _NO_MODEL)


def is_final(status: int, text: str) -> bool:
    """Whether to try again is of no use although the status says so: an account without credit."""
    return status == 429 and any(word in text.lower() for word in ("insufficient_quota", "billing", "credit"))


def failure(endpoint: Endpoint, status: int, text: str, models: tuple[str, ...] = ()) -> GymnastError:
    """The error for an answer other than 200, after all attempts."""
    host, said = endpoint.host, f"{status}{f': {text}' if text else ''}"
    if status in (401, 403):
        if not endpoint.key:
            return GymnastError(f"{host} wants a key ({said}): put it into the environment as {OWN_KEY}")
        return GymnastError(
            f"{host} refuses the key in {endpoint.key_name} ({said}): check it, and its rights"
        )
    if is_too_long(status, text):
        return GymnastError(
            f"the text is too long for {endpoint.model} ({said}): name fewer runs, add --short,"
            " or use a model with a larger context"
        )
    if _is_about_model(status, text):
        shown = did_you_mean(endpoint.model, models)
        if not shown and models:
            shown = f"; there are {', '.join(clean(model, 60) for model in models[:8])}"
        return GymnastError(f"{host} has no model {endpoint.model!r} ({said}){clean(shown, 400)}")
    if status in (404, 405):
        return GymnastError(
            f"nothing at {endpoint.url} answers ({said}): check --base-url, which often ends in /v1,"
            " and --provider"
        )
    if status == 429:
        return ReviewFailed(
            f"{host} accepts no more requests for now ({said}): try again later, or another model"
        )
    if status >= 500 or status == 408:
        return ReviewFailed(f"{host} fails ({said}): try again later, or another model")
    return ReviewFailed(f"{host} refuses the request ({said})")
