"""Whom to ask: the address, the model and the key. A key comes from the environment and stays in memory."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import urlsplit

from gymnast.errors import GymnastError, did_you_mean
from gymnast.redact import remember_secret

Provider = Literal["openai", "anthropic"]
PROVIDERS: tuple[str, ...] = get_args(Provider)
OWN_KEY, OWN_MODEL, OWN_BASE = "GYMNAST_LLM_API_KEY", "GYMNAST_LLM_MODEL", "GYMNAST_LLM_BASE_URL"
_BASES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_LONGEST_KEY = 4096


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address."""

    provider: Provider
    base_url: str  # without a slash at its end
    model: str
    key: str = field(default="", repr=False)  # never shown, never stored
    key_name: str = ""  # the variable that it was read from

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc

    @property
    def is_local(self) -> bool:
        """Whether what is sent stays on this machine."""
        return _is_loopback(urlsplit(self.base_url).hostname or "")

    @property
    def url(self) -> str:
        """Where questions go."""
        if self.provider == "openai":
            return f"{self.base_url}/chat/completions"
        return f"{self._versioned}/messages"

    @property
    def models_url(self) -> str:
        """Where the names of its models are."""
        return f"{self.base_url if self.provider == 'openai' else self._versioned}/models"

    @property
    def headers(self) -> dict[str, str]:
        """With the key: not to be shown."""
        if self.provider == "openai":
            return {"Authorization": f"Bearer {self.key}"} if self.key else {}
        version = {"anthropic-version": "2023-06-01"}
        return {**version, "x-api-key": self.key} if self.key else version

    @property
    def _versioned(self) -> str:
        return self.base_url if self.base_url.endswith("/v1") else f"{self.base_url}/v1"


def find_endpoint(
    *,
    model: str | None = None,
    base_url: str | None = None,
    provider: str | None = None,
    environment: Mapping[str, str] | None = None,
    need_key: bool = True,
) -> Endpoint:
    """From the arguments, else from the environment; GymnastError names what is missing.

    A key of OpenAI or Anthropic is sent to them alone. Any other address gets GYMNAST_LLM_API_KEY.
    """
    known = os.environ if environment is None else environment
    model = (model or known.get(OWN_MODEL, "")).strip()
    base_url = (base_url or known.get(OWN_BASE, "")).strip()
    chosen = _provider(provider, base_url, model, known)
    base = _checked(base_url or _BASES[chosen])
    if need_key and (not model or not model.isprintable()):
        raise GymnastError(f"name the model to ask: --model NAME, or {OWN_MODEL} in the environment")
    endpoint = Endpoint(chosen, base, model)
    name = next((name for name in _key_names(endpoint) if known.get(name, "").strip()), "")
    if not name:
        if need_key and not endpoint.is_local:
            raise GymnastError(_no_key(endpoint, known))
        return endpoint
    return Endpoint(chosen, base, model, _checked_key(name, known[name]), name)


def _provider(given: str | None, base_url: str, model: str, known: Mapping[str, str]) -> Provider:
    if given is not None and given not in PROVIDERS:
        raise GymnastError(
            f"--provider is {' or '.join(PROVIDERS)}, not {given!r}{did_you_mean(given, PROVIDERS)}"
        )
    if given is not None:
        return "anthropic" if given == "anthropic" else "openai"
    if base_url:
        return "anthropic" if f".{_host(base_url)}".endswith(".anthropic.com") else "openai"
    has_openai = bool(known.get(_KEYS["openai"]))
    only_anthropic = bool(known.get(_KEYS["anthropic"])) and not has_openai
    return (
        "anthropic"
        if model.startswith("claude") or (only_anthropic and not model.startswith("gpt"))
        else "openai"
    )


def _key_names(endpoint: Endpoint) -> tuple[str, ...]:
    """The variables whose key may go to this address."""
    own_host = _host(_BASES[endpoint.provider])
    return (OWN_KEY, _KEYS[endpoint.provider]) if _host(endpoint.base_url) == own_host else (OWN_KEY,)


def _no_key(endpoint: Endpoint, known: Mapping[str, str]) -> str:
    names = " or ".join(_key_names(endpoint))
    others = [name for name in _KEYS.values() if known.get(name, "").strip()]
    there = f" ({' and '.join(others)} is for its own service and is not sent there)" if others else ""
    return (
        f"no key to ask {endpoint.host}: put it into the environment as {names}{there}\n"
        "without a key: gymnast review --bundle prints the text for any chat,"
        " and --base-url http://127.0.0.1:PORT/v1 asks a model on this machine"
    )


def _checked(base_url: str) -> str:
    """An address that a key and a run may be sent to."""
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise GymnastError(f"--base-url {base_url!r} is not an address: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise GymnastError(f"--base-url must not have a name or password in it: use {OWN_KEY}")
    if parts.scheme not in ("http", "https") or not host or not base_url.isprintable() or " " in base_url:
        raise GymnastError(f"--base-url {base_url!r} is not an address: write for example {_BASES['openai']}")
    if parts.query or parts.fragment:
        raise GymnastError(f"--base-url {base_url!r}: leave out what follows the '?' or '#'")
    if parts.scheme == "http" and not _is_loopback(host):
        raise GymnastError(
            f"--base-url {base_url!r} is plain http, which anybody on the way can read: use https;"
            " only this machine itself (127.0.0.1, localhost) may be asked by http"
        )
    base = base_url.rstrip("/")
    for end in ("/chat/completions", "/messages"):  # the address of a question, as documentation gives it
        base = base.removesuffix(end)
    return base


def _checked_key(name: str, value: str) -> str:
    """The key, from now on hidden in all that is shown or written."""
    key = value.strip()
    if not key.isascii() or not key.isprintable() or " " in key or len(key) > _LONGEST_KEY:
        raise GymnastError(f"{name} does not look like a key: it has spaces or characters that no key has")
    remember_secret("api_key", key)
    return key


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
