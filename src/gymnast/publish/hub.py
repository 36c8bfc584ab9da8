"""The Hugging Face Hub, with every way in which it can fail turned into one message."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from gymnast.errors import GymnastError, MissingExtra
from gymnast.redact import redact

_LOGIN = "log in with `hf auth login`, or set HF_TOKEN"


class HubError(GymnastError):
    """The Hub refused something, or could not be reached."""


def connect() -> Any:
    """The client. Raises MissingExtra where the library is not installed."""
    if find_spec("huggingface_hub") is None:
        raise MissingExtra("the Hugging Face Hub", "hub")
    os.environ.setdefault("HF_HUB_DISABLE_UPDATE_CHECK", "1")
    from huggingface_hub import HfApi
    from huggingface_hub.utils import disable_progress_bars, logging

    disable_progress_bars()
    logging.set_verbosity_error()  # what goes wrong is reported here, once
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)


def user_name(hub: Any) -> str:
    """Who is logged in."""
    from huggingface_hub import get_token

    if get_token() is None:
        raise HubError(f"not logged in to the Hugging Face Hub; {_LOGIN}")
    with explained("the login"):
        name = hub.whoami().get("name")
    if not isinstance(name, str) or not name:
        raise HubError(f"the Hub does not say whose token this is; {_LOGIN}")
    return name


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn errors of the library and of the network into a GymnastError about `what`."""
    from httpx2 import HTTPError
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalTokenNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GymnastError:
        raise
    except OfflineModeIsEnabled as error:
        raise HubError(f"{what}: HF_HUB_OFFLINE is set, so the Hub is not asked; unset it") from error
    except LocalTokenNotFoundError as error:
        raise HubError(f"not logged in to the Hugging Face Hub; {_LOGIN}") from error
    except GatedRepoError as error:
        raise HubError(f"{what}: its owner decides who may have it; ask for access on its page") from error
    except RepositoryNotFoundError as error:
        status = _status(error)
        raise HubError(
            f"{what}: the token was not accepted; {_LOGIN}" if status == 401 and _has_token()
            else f"{what}: there is no such repository, or it is private and not yours; check its name,"
            f" and if it is private {_LOGIN}"
        ) from error  # fmt: skip
    except RevisionNotFoundError as error:
        raise HubError(f"{what}: it has no such branch, tag or commit") from error
    except EntryNotFoundError as error:  # or the connection that would have shown it failed
        raise HubError(f"{what}: {_refusal(error.__cause__ or error)}") from error
    except (HfHubHTTPError, HTTPError) as error:
        raise HubError(f"{what}: {_refusal(error)}") from error
    except (OSError, ValueError, RuntimeError) as error:
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        raise HubError(f"{what}: {_refusal(cause)}") from error


def _refusal(error: BaseException) -> str:
    """Why the Hub said no, or was not there, with the way out."""
    status = _status(error)
    if status is None:
        import httpx2

        if isinstance(error, httpx2.TransportError):
            return (
                "the Hub could not be reached, or the connection was cut; check the network and try again"
                f" ({type(error).__name__})"
            )
        return _short(error)
    said = _short(error)
    if status == 401:
        return f"the token was not accepted; {_LOGIN}"
    if status == 403:
        return f"the token may not do this: it needs write access there; {_LOGIN} ({said})"
    if status in (402, 413, 507):
        return f"it is more than the account may store ({said}); make room there, or publish a smaller model"
    if status == 429:
        return "the Hub asks to slow down; try again in some minutes"
    if status == 409:
        return f"the name is taken, or someone else is writing there ({said})"
    if status >= 500:
        return f"the Hub has a problem of its own (status {status}); try again later"
    return said


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    return status if isinstance(status, int) else None


def _has_token() -> bool:
    from huggingface_hub import get_token

    return get_token() is not None


def _short(error: BaseException) -> str:
    """What the server said, in one line without secrets."""
    said = getattr(error, "server_message", None) or str(error)
    text = " ".join(str(said).split()) or type(error).__name__
    return redact(text if len(text) <= 240 else text[:239] + "…")
