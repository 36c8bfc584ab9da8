"""A review asked for in a real browser, of a model that a local server plays."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

from browsers import chromium, opened
from gymnast import api
from gymnast.runs.store import RunFolder
from gymnast.web.server import PageServer
from llm_server import REVIEW, Handler, LLMServer, llm_server, status
from pages import wait_until

pytestmark = pytest.mark.timeout(300)  # browsers on a machine that also runs other tests
ATTACK = '<img src=x onerror="window.hacked=1">'
ANSWER: dict[str, Any] = {
    "summary": f"{REVIEW['summary']} {ATTACK}",
    "findings": [
        *REVIEW["findings"],
        {"severity": "info", "title": ATTACK, "detail": "", "evidence": [ATTACK]},
    ],
    "proposals": [
        {
            "run": "",
            "title": "A faster optimiser",
            "why": "It is slow.",
            "overrides": [{"key": "algo.learning_rate", "value": "1e-3"}],
        },
        {
            "run": "",
            "title": "Another seed",
            "why": "One seed says little.",
            "overrides": [{"key": "seed", "value": "7"}, {"key": "budget.env_steps", "value": "1024"}],
        },
    ],
}


class Gate:
    """A model that stops in the middle of its answer until it may continue; `left`: nobody listens."""

    def __init__(self) -> None:
        self.open, self.left = threading.Event(), threading.Event()

    def turn(self, handler: Handler) -> None:
        text = json.dumps(ANSWER)
        handler.begin_stream()
        handler.event({"model": "small-1", "choices": [{"delta": {"content": text[:40]}}]})
        handler.connection.settimeout(0.1)
        while not self.open.is_set():
            try:
                if handler.connection.recv(1) == b"":
                    self.left.set()
                    return
            except TimeoutError:
                continue
        handler.connection.settimeout(None)
        handler.event({"choices": [{"delta": {"content": text[40:]}}]})
        handler.event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        handler.event("[DONE]")


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def model(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMServer]:
    with llm_server(gate.turn) as started:
        monkeypatch.setenv("GYMNAST_LLM_BASE_URL", f"{started.url}/v1")
        monkeypatch.setenv("GYMNAST_LLM_MODEL", "small-1")
        monkeypatch.delenv("GYMNAST_LLM_API_KEY", raising=False)
        yield started
        gate.open.set()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: PageServer, run: str) -> Iterator[Page]:
    with opened(browser, f"{server.url}&run={run}") as shown:
        expect(shown.locator(".run-heading strong")).to_be_visible()
        shown.click("#tab-training")
        yield shown


def open_review(page: Page) -> None:
    page.click(".subtabs >> text=Review")
    expect(page.locator(".review-facts")).to_contain_text("kB")


@pytest.mark.slow
def test_ask_read_and_start(page: Page, run: str, runs: Path, model: LLMServer, gate: Gate) -> None:
    open_review(page)
    facts = page.locator(".review-facts")
    expect(facts).to_contain_text(model.url.removeprefix("http://"))
    expect(facts).to_contain_text("small-1")
    assert model.requests == []  # only shown so far
    page.click(".review-form button[type=submit]")
    live = page.locator(".review-live")
    expect(live).to_contain_text("The run improves")  # while the model still writes
    assert page.locator(".review-done").count() == 0
    expect(page.locator(".review-form >> text=Cancel")).to_be_visible()
    gate.open.set()
    done = page.locator(".review-done")
    expect(done.locator(".review-summary")).to_contain_text(REVIEW["summary"])
    expect(live).to_be_hidden()
    warning = done.locator('[data-severity="warning"]')
    expect(warning).to_contain_text("The budget is too small")
    expect(warning.locator(".evidence li").nth(0)).not_to_have_class("not-found")
    expect(warning.locator(".evidence li.not-found")).to_have_text(
        "a line that nobody wrotenot in what was sent"
    )
    refused, ready = done.locator('[data-proposal="1"]'), done.locator('[data-proposal="2"]')
    expect(refused.locator(".chip.rejected")).to_be_visible()
    expect(refused.locator(".problem")).to_contain_text("unknown key")
    assert refused.locator("button, .command").count() == 0
    expect(ready.locator(".command")).to_contain_text("gymnast train CartPole-v1:ppo")
    assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("window.hacked") is None
    ready.locator("button").click()
    link = ready.locator("a")
    expect(link).to_be_visible()
    started = RunFolder(runs / link.inner_text())
    try:
        wait_until(lambda: not started.is_locked())
        assert api.run_state(started).status == "finished"
        assert started.id in [entry.id for entry in api.list_runs(runs_dir=runs)]
        link.click()
        expect(page.locator(".run-heading")).to_contain_text(started.id)
        expect(page.locator(".training-head .figures")).to_contain_text("7")  # its seed
        expect(page.locator(".review-done")).to_have_count(0)  # it has no review of its own
        page.locator(f'[data-run="{run}"] .run-main').click()  # the first run has kept its review
        expect(page.locator(".review-done .review-summary")).to_contain_text(REVIEW["summary"])
        expect(page.locator('[data-proposal="2"] button')).to_be_visible()
        assert len(model.questions) == 1
    finally:
        api.delete_runs([started.id], runs_dir=runs)


def test_to_close_the_panel_cancels(page: Page, model: LLMServer, gate: Gate) -> None:
    open_review(page)
    page.click(".review-form button[type=submit]")
    expect(page.locator(".review-live")).to_contain_text("The run")
    page.click(".subtabs >> text=Settings")
    assert gate.left.wait(60)


@pytest.mark.slow
def test_to_cancel_and_to_leave_the_page(
    browser: Browser, server: PageServer, run: str, model: LLMServer, gate: Gate
) -> None:
    with opened(browser, f"{server.url}&run={run}") as page:
        expect(page.locator(".run-heading strong")).to_be_visible()
        page.click("#tab-training")
        open_review(page)
        ask = page.locator(".review-form button[type=submit]")
        ask.click()
        expect(page.locator(".review-live")).to_contain_text("The run")
        page.click(".review-form >> text=Cancel")
        expect(page.locator(".review-form [role=status]")).to_contain_text("cancelled")
        assert gate.left.wait(60)
        gate.left.clear()
        ask.click()
        expect(page.locator(".review-live")).to_contain_text("The run")
        assert not gate.left.is_set()
    assert gate.left.wait(60)  # the tab was closed


@pytest.mark.slow
def test_a_failure_is_said_and_can_be_asked_again(page: Page, model: LLMServer, gate: Gate) -> None:
    model.turns.insert(0, status(401, "who are you?"))
    open_review(page)
    ask = page.locator(".review-form button[type=submit]")
    ask.click()
    expect(page.locator(".review .problem")).to_contain_text("wants a key")
    gate.open.set()
    page.fill('.review-form input[name="model"]', "large-2")
    expect(page.locator(".review-facts")).to_contain_text("large-2")
    ask.click()
    expect(page.locator(".review-done")).to_be_visible()
    assert [sent.body["model"] for sent in model.questions] == ["small-1", "large-2"]
    expect(page.locator(".review .problem")).to_be_hidden()


def test_without_a_key_the_text_is_offered(
    page: Page, run: str, runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GYMNAST_LLM_API_KEY", "GYMNAST_LLM_BASE_URL", "GYMNAST_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    open_review(page)
    missing = page.locator(".review-missing")
    expect(missing).to_contain_text("OPENAI_API_KEY")
    expect(missing).to_contain_text("GYMNAST_LLM_MODEL")
    expect(page.locator(".review-form button[type=submit]")).to_be_disabled()
    page.fill('.review-form input[name="model"]', "claude-sonnet-4-5")
    expect(missing).to_contain_text("ANTHROPIC_API_KEY")
    expect(page.locator(".review-facts")).to_contain_text("api.anthropic.com")
    text = api.review_bundle(run, runs_dir=runs).chat
    page.click("text=The text for any chat")
    expect(page.locator(".review-text")).to_contain_text(text.splitlines()[0][:60])
    with page.expect_download() as waiting:
        page.click('.review-chat >> role=button[name="Download"]')
    waiting.value.save_as(tmp_path / "text.md")
    assert (tmp_path / "text.md").read_text() == text
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click('.review-chat >> role=button[name="Copy"]')  # the text itself may have that word
    expect(page.locator(".notice")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == text
