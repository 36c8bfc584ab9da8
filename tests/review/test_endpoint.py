"""Whom to ask, and with which key."""

from __future__ import annotations

import pytest

from gymnast.errors import GymnastError
from gymnast.review.endpoint import Endpoint, find_endpoint

OPENAI, ANTHROPIC, OWN = "key-of-openai", "key-of-anthropic", "key-of-mine"


def find(
    model: str | None = "m",
    base_url: str | None = None,
    provider: str | None = None,
    need_key: bool = True,
    **environment: str,
) -> Endpoint:
    return find_endpoint(
        model=model, base_url=base_url, provider=provider, need_key=need_key, environment=environment
    )


def test_the_provider_is_found_by_key_model_and_address() -> None:
    assert find(OPENAI_API_KEY=OPENAI).url == "https://api.openai.com/v1/chat/completions"
    assert find(ANTHROPIC_API_KEY=ANTHROPIC).url == "https://api.anthropic.com/v1/messages"
    both = {"OPENAI_API_KEY": OPENAI, "ANTHROPIC_API_KEY": ANTHROPIC}
    assert find("claude-x", **both).key == ANTHROPIC
    assert find("gpt-x", **both).key == OPENAI
    assert find(provider="anthropic", **both).key == ANTHROPIC
    assert (
        find(base_url="https://api.anthropic.com/v1/", **both).url == "https://api.anthropic.com/v1/messages"
    )
    assert find(base_url="https://notanthropic.com", GYMNAST_LLM_API_KEY=OWN).provider == "openai"


def test_settings_from_the_environment() -> None:
    found = find(
        None,
        GYMNAST_LLM_MODEL="mine",
        GYMNAST_LLM_BASE_URL="https://models.example/v1/",
        GYMNAST_LLM_API_KEY=f" {OWN}\n",
    )
    assert (found.model, found.base_url, found.key) == ("mine", "https://models.example/v1", OWN)
    assert OWN not in repr(found)


def test_a_service_never_gets_the_key_of_another() -> None:
    keys = {"OPENAI_API_KEY": OPENAI, "ANTHROPIC_API_KEY": ANTHROPIC}
    for url in (
        "https://models.example/v1",
        "https://api.openai.com.evil.example/v1",
        "https://evil-api.openai.com/v1",
        "https://api.anthropic.com.evil.example",
    ):
        with pytest.raises(GymnastError, match="no key to ask") as caught:
            find(base_url=url, **keys)
        assert "is not sent there" in str(caught.value)
        assert find(base_url=url, **keys, GYMNAST_LLM_API_KEY=OWN).key == OWN
    with pytest.raises(GymnastError, match=r"no key to ask api\.openai\.com"):
        find(provider="openai", ANTHROPIC_API_KEY=ANTHROPIC)
    assert find(base_url="http://127.0.0.1:8080/v1", **keys).key == ""  # and needs none


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/v1",
        "http://localhost:8080",
        "http://[::1]:8080/v1",
        "http://127.1.2.3",
        "https://a.b",
    ],
)
def test_addresses_that_are_fine(url: str) -> None:
    assert find(base_url=url, GYMNAST_LLM_API_KEY=OWN).base_url == url


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://models.example/v1", "plain http, which anybody on the way can read: use https"),
        ("http://localhost.evil.example/v1", "plain http"),
        ("http://127.0.0.1.evil.example/v1", "plain http"),
        ("http://10.0.0.1/v1", "plain http"),
        ("http://127.0.0.1@evil.example/v1", "must not have a name or password"),
        ("https://me:secret@models.example/v1", "must not have a name or password"),
        ("ftp://models.example", "is not an address"),
        ("file:///etc/passwd", "is not an address"),
        ("models.example/v1", "is not an address"),
        ("https://", "is not an address"),
        ("https://models.example:port/v1", "is not an address"),
        ("https://models .example/v1", "is not an address"),
        ("https://models.example/v1?x=1", "leave out what follows"),
    ],
)
def test_addresses_that_are_refused(url: str, problem: str) -> None:
    with pytest.raises(GymnastError) as caught:
        find(base_url=url, GYMNAST_LLM_API_KEY=OWN)
    assert problem in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_whole_address_of_the_api_is_understood() -> None:
    local = find(base_url="http://127.0.0.1:1/v1/chat/completions")
    assert local.url == "http://127.0.0.1:1/v1/chat/completions"
    local = find(base_url="http://127.0.0.1:1/v1/messages", provider="anthropic")
    assert local.url == "http://127.0.0.1:1/v1/messages"


def test_what_is_missing() -> None:
    with pytest.raises(GymnastError, match="name the model to ask: --model NAME, or GYMNAST_LLM_MODEL"):
        find(None, OPENAI_API_KEY=OPENAI)
    with pytest.raises(GymnastError, match="GYMNAST_LLM_API_KEY or OPENAI_API_KEY") as caught:
        find()
    assert "gymnast review --bundle" in str(caught.value)
    with pytest.raises(GymnastError, match=r"is openai or anthropic, not 'antropic' \(did you mean"):
        find(provider="antropic")
    assert find(None, need_key=False).host == "api.openai.com"


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "x" * 5000])
def test_a_key_that_is_none(key: str) -> None:
    with pytest.raises(GymnastError, match="OPENAI_API_KEY does not look like a key") as caught:
        find(OPENAI_API_KEY=key)
    assert key not in str(caught.value)
