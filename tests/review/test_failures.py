"""What goes wrong at the other end: one message with the way out, its exit code, nothing written."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.review.patience import Patience
from gymnast.runs.store import RunFolder
from gymnast.terminal.crash import crash_message
from hostile_folders import call
from llm_server import Handler, LLMServer, Turn, llm_server, silent, status, streamed, whole

from .conftest import HASTY, KEY

PROVIDERS = ("openai", "anthropic")


def ask(
    run: RunFolder, server: LLMServer, provider: str = "openai", patience: Patience = HASTY
) -> tuple[api.Review, list[str]]:
    notices: list[str] = []
    base = f"{server.url}/v1" if provider == "openai" else server.url
    endpoint = api.review_endpoint(model="smal-1", base_url=base, provider=provider)
    stream = api.stream_review(run.path, endpoint=endpoint, patience=patience, notify=notices.append)
    return stream.review, notices


def fails(run: RunFolder, *turns: Turn, provider: str = "openai") -> tuple[str, int]:
    """The message and the exit code; nothing may be left behind."""
    before = sorted(run.path.rglob("*"))
    with llm_server(*turns) as server, pytest.raises(GymnastError) as caught:
        ask(run, server, provider)
    assert sorted(run.path.rglob("*")) == before
    assert "\n" not in str(caught.value)
    return str(caught.value), caught.value.exit_code


def test_waits_as_long_as_it_is_asked_to(run: RunFolder) -> None:
    with llm_server(status(429, "slow down", retry_after="1"), streamed()) as server:
        began = time.monotonic()
        _, notices = ask(run, server)
    assert time.monotonic() - began >= 1.0
    assert len(server.questions) == 2
    assert notices == [f"{server.url[7:]} answers 429; trying again in 1 s"]


def test_a_date_to_wait_for(run: RunFolder) -> None:
    with llm_server(status(503, retry_after=formatdate(time.time() + 1.5)), whole()) as server:
        _, notices = ask(run, server)
    assert len(notices) == 1


@pytest.mark.parametrize("after", ["0", "-5", "nan", "soon"])
def test_is_polite_to_one_that_asks_for_no_wait(run: RunFolder, after: str) -> None:
    patience = replace(HASTY, first_wait=1.0)
    with llm_server(status(429, retry_after=after), whole()) as server:
        _, notices = ask(run, server, patience=patience)
    assert notices == [f"{server.url[7:]} answers 429; trying again in 1 s"]


def test_asked_to_wait_too_long(run: RunFolder) -> None:
    message, code = fails(run, status(429, retry_after="3600"))
    assert "asks to wait 3600 s: try again then" in message
    assert code == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_that_recovers(run: RunFolder, provider: str) -> None:
    with llm_server(status(500), status(529, "overloaded"), streamed()) as server:
        ask(run, server, provider)
    assert len(server.questions) == 3


def test_a_server_that_does_not(run: RunFolder) -> None:
    message, code = fails(run, status(500, "it broke"))
    assert "fails (500: some_error: it broke): try again later, or another model" in message
    assert code == 1
    message, code = fails(run, status(429, "busy"))
    assert "accepts no more requests for now" in message
    assert code == 1


def test_an_account_without_credit_is_asked_once(run: RunFolder) -> None:
    with llm_server(status(429, "check your plan", kind="insufficient_quota")) as server:
        with pytest.raises(api.ReviewFailed, match="insufficient_quota"):
            ask(run, server)
        assert len(server.questions) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("pieces", [0, 1, 30])
def test_a_stream_that_is_cut(run: RunFolder, provider: str, pieces: int) -> None:
    message, code = fails(run, streamed(cut_after=pieces), provider=provider)
    assert "ended in the middle of the answer: try again, or another model" in message
    assert code == 1


def test_an_error_in_the_middle(run: RunFolder) -> None:
    for provider in PROVIDERS:
        message, code = fails(run, streamed(error="Overloaded"), provider=provider)
        assert "broke off its answer: Overloaded" in message
        assert code == 1


@pytest.mark.parametrize(
    "answer",
    ["I would rather talk about the weather.", '{"summary": ', "[1, 2]", '{"a": 1}', '{"summary": 3}'],
)
def test_a_malformed_answer(run: RunFolder, answer: str) -> None:
    message, code = fails(run, streamed(answer))
    assert message.startswith(("the answer is not the JSON", "the answer has neither a summary nor findings"))
    assert code == 1


def test_an_empty_answer(run: RunFolder) -> None:
    assert "answered without a word" in fails(run, whole(""))[0]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("how", [streamed, whole])
def test_a_refusal(run: RunFolder, provider: str, how: type) -> None:
    if how is streamed:
        turn = streamed("", refusal="I cannot help with that")
    else:
        turn = whole("", stopped="refusal", refusal="I cannot help with that")
    message, code = fails(run, turn, provider=provider)
    assert message.startswith("smal-1 refused to review")
    assert code == 1


def test_an_answer_that_was_too_long_for_the_model(run: RunFolder) -> None:
    for provider, word in (("openai", "length"), ("anthropic", "max_tokens")):
        message, _ = fails(run, streamed(stopped=word), provider=provider)
        assert f"cut off before the end of its answer ({word}): name fewer runs, add --short" in message


@pytest.mark.parametrize("how", [streamed, whole])
def test_a_huge_answer(run: RunFolder, how: type) -> None:
    def endless(handler: Handler) -> None:
        handler.begin_stream()
        while True:
            handler.event({"choices": [{"delta": {"content": "very " * 4000}}]})

    turn = endless if how is streamed else whole('{"summary": "' + "very " * 100_000 + '"}')
    message, code = fails(run, turn)
    assert "has no end: the rest was not read after 400,000 characters" in message
    assert code == 1


def test_one_endless_event(run: RunFolder) -> None:
    def endless(handler: Handler) -> None:
        handler.begin_stream()
        handler.wfile.write(b"data: ")
        while True:
            handler.wfile.write(b"x" * 65536)

    assert "has no end" in fails(run, endless)[0]


def test_a_redirect_to_another_host_is_not_followed(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMNAST_LLM_API_KEY", KEY)
    with llm_server() as other:
        message, code = fails(run, status(307, location=f"{other.url}/v1/chat/completions"))
        assert other.requests == []
    assert f"redirects to {other.url[7:]}, which is not followed: nothing was sent there" in message
    assert code == 1


def test_a_slow_server(run: RunFolder) -> None:
    with llm_server(silent(30.0)) as server:
        endpoint = api.review_endpoint(model="m", base_url=f"{server.url}/v1")
        with pytest.raises(api.ReviewFailed, match=r"did not answer within 1 s: --timeout gives it longer"):
            api.review_runs(run.path, endpoint=endpoint, timeout=1)
        until = time.monotonic() + 60
        while not server.questions and time.monotonic() < until:  # on a busy machine it reads it later
            time.sleep(0.05)
        assert len(server.questions) == 1  # it stays slow


def test_a_server_that_falls_silent(run: RunFolder) -> None:
    with llm_server(streamed(stop_after=5, pause=100.0)) as server:
        endpoint = api.review_endpoint(model="m", base_url=f"{server.url}/v1")
        with pytest.raises(api.ReviewFailed, match=r"fell silent for 3 s in the middle of its answer"):
            api.review_runs(run.path, endpoint=endpoint, timeout=3)


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_a_server_that_drips(run: RunFolder, kind: str) -> None:
    """Never silent for long, and never done."""

    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.end_headers()
        while True:
            handler.wfile.write(b": \n" if "event" in kind else b" ")
            time.sleep(0.05)

    with llm_server(drip) as server:
        endpoint = api.review_endpoint(model="m", base_url=f"{server.url}/v1")
        stream = api.stream_review(run.path, endpoint=endpoint, patience=replace(HASTY, total=0.4))
        with pytest.raises(api.ReviewFailed, match=r"took more than 0\.4 s: try again, or another model"):
            list(stream)
    with pytest.raises(GymnastError, match="this review was not finished"):
        stream.review


def test_nobody_there(run: RunFolder) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    code, text = call(["review", run.id, "--model", "m", "--base-url", url, "--runs-dir", str(run.root)])
    assert code == 2
    assert "cannot be reached" in text
    assert "gymnast review --bundle needs neither" in text


def test_a_wrong_model_and_the_nearest(run: RunFolder) -> None:
    for provider in PROVIDERS:
        message, code = fails(
            run, status(404, "The model `smal-1` does not exist", kind="not_found_error"), provider=provider
        )
        assert "has no model 'smal-1'" in message
        assert "(did you mean 'small-1'?)" in message
        assert code == 2


def test_a_wrong_address(run: RunFolder) -> None:
    message, code = fails(run, lambda handler: handler.send_bytes(404, b"<html>no</html>", "text/html"))
    assert "check --base-url, which often ends in /v1" in message
    assert code == 2


def test_a_text_that_is_too_long(run: RunFolder) -> None:
    for code, text in ((400, "prompt is too long: 210000 tokens > 200000 maximum"), (413, "")):
        message, exit_code = fails(run, status(code, text), provider="anthropic")
        assert "the text is too long for smal-1" in message
        assert "add --short" in message
        assert exit_code == 2


def test_another_kind_of_server(run: RunFolder) -> None:
    page = b"<html>Log in to the hotel's network</html>"
    message, code = fails(run, lambda handler: handler.send_bytes(200, page, "text/html"))
    assert "sends something else than its API does" in message
    assert code == 1


def test_without_the_extra(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    code, text = call(
        ["review", run.id, "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--runs-dir", str(run.root)]
    )
    assert (code, text) == (2, "asking a language model needs the extra 'llm': pip install 'gymnast[llm]'")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_is_shown_nowhere(
    run: RunFolder,
    provider: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """Not even where the other end sends it back."""
    monkeypatch.setenv("GYMNAST_LLM_API_KEY", KEY)
    monkeypatch.setenv("GYMNAST_CACHE_DIR", str(tmp_path / "crashes"))
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "httpcore2")  # its DEBUG has the headers of answers, not those of requests
    review = {
        "summary": f"Your key is {KEY}",
        "findings": [{"severity": "info", "title": KEY, "detail": f"x{KEY}x", "evidence": [KEY]}],
        "proposals": [
            {"run": KEY, "title": KEY, "why": KEY, "overrides": [{"key": "algo.lr", "value": KEY}]},
            {"run": "", "title": "", "why": "", "overrides": [{"key": KEY, "value": KEY}]},
        ],
    }
    turns = [
        streamed(review), whole(review), status(401, f"wrong key {KEY}"), status(500, KEY),
        status(400, f"bad {KEY}"), streamed(f"no JSON but {KEY}"), streamed("", refusal=KEY),
        streamed(error=KEY), status(302, location=f"http://{KEY}.example/"),
    ]  # fmt: skip
    base = "/v1" if provider == "openai" else ""
    shown = ""
    for turn in turns:
        for more in ([], ["--json"]):
            with llm_server(turn) as server:
                monkeypatch.setattr("gymnast.review.client.time.sleep", lambda seconds: None)
                options = ["--provider", provider, "--base-url", f"{server.url}{base}", "--model", "m"]
                code, text = call(["review", run.id, *options, *more, "--runs-dir", str(run.root)])
            assert code in (0, 1, 2), text
            assert KEY in str(server.questions[0].headers)
            assert KEY not in str([sent.body for sent in server.requests])
            shown += text
    assert KEY not in shown
    assert KEY not in caplog.text
    endpoint = api.review_endpoint(model="m", base_url="http://127.0.0.1:9/v1")
    assert KEY not in repr(endpoint)
    assert KEY not in crash_message(RuntimeError(f"a fault of ours with {KEY}"))
    assert list((tmp_path / "crashes").rglob("*.txt"))  # its file is looked at below
    for folder, _, names in os.walk(tmp_path):
        for name in names:
            assert KEY.encode() not in Path(folder, name).read_bytes(), name
