"""The inspector's page in Chromium: how soon it is there, and how many frames a second it draws.

Part of `python benchmarks/inspector.py`. The browser is headless and draws without a GPU.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

STEPS = 1000
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]

# Plays the open recording from its first row to its last, and notes each animation frame and each row drawn.
_PLAY = """speed => new Promise((resolve) => {
  const { app, transport } = window.gymnast;
  const canvas = document.querySelector(".frame-canvas");
  const store = app.group.active;
  const [times, rows] = [[], new Set()];
  store.setStep(0);
  transport.player.setSpeed(speed);
  transport.player.play();
  const look = (time) => {
    times.push(time);
    rows.add(canvas.dataset.row);
    if (transport.player.playing) requestAnimationFrame(look);
    else resolve({ times, drawn: rows.size, rows: store.rows });
  };
  requestAnimationFrame(look);
})"""


def chromium_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_path(), args=_FLAGS)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def page_of(started: Any, url: str) -> Iterator[tuple[Any, float]]:
    """A page without anything cached, and the seconds until its first run is to be seen."""
    context = started.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.set_default_timeout(120_000)
        began = time.perf_counter()
        page.goto(url)
        page.locator(".run").first.wait_for()
        yield page, time.perf_counter() - began
    finally:
        context.close()


def seconds_to_open(url: str, count: int = 5) -> list[float]:
    """Until the list of runs is to be seen, each time in a context of its own."""
    times = []
    with browser() as started:
        for _ in range(count):
            with page_of(started, url) as (_, seconds):
                times.append(seconds)
    return times


def recorded_and_played(url: str, run: str) -> dict[str, Any]:
    """Seconds from the button to the first frame, and frames a second while 1,000 steps are played."""
    with browser() as started, page_of(started, url) as (page, _):
        record(page, run, 0)  # loads the policy once
        times = [record(page, run, seed) for seed in (1, 2, 3)]
        slow, fast = page.evaluate(_PLAY, 60), page.evaluate(_PLAY, 240)
    return {"recorded": times, "at 60 steps a second": frames(slow), "at 240 steps a second": frames(fast)}


def record(page: Any, run: str, seed: int) -> float:
    page.click("#tab-record")
    page.locator(f'[data-run="{run}"] .run-main').click()
    page.locator("form.record-form").wait_for()
    page.evaluate("[...gymnast.app.group.stores].forEach(store => gymnast.app.close(store))")
    for name, value in (("steps", STEPS), ("episodes", 100), ("seed", seed)):
        page.fill(f'input[name="{name}"]', str(value))
    began = time.perf_counter()
    page.click("form.record-form button[type=submit]")
    page.locator('.frame-canvas[data-row="0"]').wait_for()
    page.locator('[data-view="steps"] [data-step="0"]').last.wait_for()
    return time.perf_counter() - began


def frames(played: dict[str, Any]) -> dict[str, float]:
    times = played["times"]
    gaps = sorted(after - before for before, after in pairwise(times))
    return {
        "frames a second": 1000 * len(gaps) / (times[-1] - times[0]),
        "the slowest of 100 frames, ms": gaps[int(0.99 * (len(gaps) - 1))],
        "rows drawn": played["drawn"],
        "rows": played["rows"],
    }
