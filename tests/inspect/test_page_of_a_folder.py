"""The inspector's page on folders of its own: empty, of one run, of a run that trains, of a trace alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, expect

from browsers import chromium, opened
from gymnast import api
from gymnast.recordings.opened import open_trace
from pages import serving, wait_until
from stepping_page import choose, record, shown_rows

pytestmark = pytest.mark.timeout(300)  # browsers on a machine that also runs other tests
SMALL = {"eval.episodes": 2, "env.backend": "sync"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.slow
def test_an_image_policy_shows_its_stacked_frames(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    overrides = {
        "env.n_envs": 2,
        "algo.n_steps": 16,
        "algo.n_epochs": 1,
        "algo.batch_size": "all",
        "eval.every": 0,
    }
    folder = tmp_path / "runs"
    run = api.train("ALE/Pong-v5:ppo", max_env_steps=32, runs_dir=folder, overrides=overrides).id
    with serving(api.inspector_server(folder, port=0)) as server, opened(browser, server.url) as page:
        record(page, run, 12)
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        frames = page.locator('[data-view="seen"] figure')
        assert frames.count() == 4
        labels = page.evaluate(
            "[2, 3, 4, 5].map(r => 'after ' + gymnast.app.group.active.recording.label(r))"
        )
        assert frames.locator("figcaption").all_inner_texts() == labels
        bright = frames.last.locator("canvas").evaluate(
            "c => Math.max(...c.getContext('2d').getImageData(0, 0, c.width, c.height).data"
            ".filter((_, i) => i % 4 < 3))"
        )
        assert bright > 100


def test_an_empty_folder_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with (
        serving(api.inspector_server(tmp_path / "runs", port=0)) as server,
        opened(browser, server.url) as page,
    ):
        for place in (".run-list", "#page-record"):
            expect(page.locator(place)).to_contain_text("gymnast train CartPole-v1:ppo")
        # The first run appears by itself, and the page says to choose it.
        run = api.train(
            "gymnast/Bandit-v0:ppo", max_env_steps=500, runs_dir=tmp_path / "runs", overrides=SMALL
        )
        expect(page.locator(f'[data-run="{run.id}"]')).to_be_visible()
        expect(page.locator("#page-record")).to_contain_text("Choose a run on the left")


def test_a_trace_of_a_game_without_a_run_is_opened(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("av")
    api.play("CartPole-v1", mode="random", where="headless", max_steps=6, seed=4, record=tmp_path / "played")
    recording = open_trace(tmp_path / "played.trace")
    server = api.inspector_server(tmp_path / "runs", port=0, opened=[recording])
    with serving(server), opened(browser, server.url) as page:
        expect(page.locator(".recording-title")).to_contain_text("seed 4 · random actions")
        page.keyboard.press("ArrowRight")
        assert shown_rows(page) == {"1"}
        expect(page.locator(".frame-canvas")).to_have_attribute("data-row", "1")
        page.keyboard.press("3")
        expect(page.locator("#page-network")).to_contain_text("policy")  # there is none to look into
        with page.expect_download() as waiting:
            page.click("#tab-step")
            page.click("text=CSV")
        assert waiting.value.path().read_bytes() == api.recording_csv(recording).encode()


def test_text_of_a_run_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    run = api.train("gymnast/Bandit-v0:ppo", max_env_steps=500, runs_dir=folder, overrides=SMALL)
    attack = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    status = json.loads((run.path / "status.json").read_text())
    (run.path / "status.json").write_text(json.dumps(status | {"reason": attack}))
    (run.path / "report.md").write_text(
        f"# {attack}\n\n[go](javascript:window.hacked=1)\n\n| a |\n| - |\n| {attack} |\n"
    )
    alert = {
        "id": attack,
        "severity": "warning",
        "metric": attack,
        "count": 1,
        "first_step": 1,
        "last_step": 2,
    }
    (run.path / "alerts.json").write_text(
        json.dumps({"alerts": [alert | {"message": attack, "advice": attack}]})
    )
    with serving(api.inspector_server(folder, port=0)) as server, opened(browser, server.url) as page:
        choose(page, run.id)
        page.click("#tab-training")
        page.click(".subtabs >> text=Report")
        expect(page.locator(".markdown h2")).to_contain_text("<img src=x")
        assert page.locator(".markdown img, .markdown script, .markdown a").count() == 0
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("window.hacked") is None


@pytest.mark.slow
def test_a_live_run_grows_and_is_controlled(browser: Browser, tmp_path: Path) -> None:
    # Long enough; of a much longer budget distributions are kept more rarely than a test can wait.
    long = {"budget.env_steps": 10_000_000, "stop.eval_return": None, "eval.every": 0, "env.n_envs": 4}
    folder = tmp_path / "runs"
    run = api.start_detached(
        "CartPole-v1:ppo",
        runs_dir=folder,
        overrides=long | {"env.backend": "sync", "algo.batch_size": "all"},
    )
    try:
        with serving(api.inspector_server(folder, port=0)) as server, opened(browser, server.url) as page:
            expect(page.locator(".run .live-dot")).to_be_visible()
            page.locator(f'[data-run="{run.id}"] .run-main').click()
            page.click("#tab-training")
            steps = page.locator(".budget strong")
            expect(steps).to_contain_text("env steps")
            before = steps.inner_text()
            expect(steps).not_to_have_text(before)
            expect(page.locator('[data-metric="train/kl"] .scatterlayer path').first).to_be_attached()
            expect(page.locator('[data-action="resume"]')).to_be_hidden()
            page.click('[data-action="checkpoint"]')
            expect(page.locator(".notice", has_text="A checkpoint was saved.")).to_be_visible()
            page.click('[data-action="evaluate"]')
            expect(page.locator(".notice", has_text="Evaluated: score ")).to_be_visible()
            page.click(".subtabs >> text=Distributions")
            expect(page.locator(".heatmaplayer image").first).to_be_attached()
            columns = "document.querySelector('[data-distribution=\"return\"] .plot').data[0].x.length"
            before = page.evaluate(columns)
            wait_until(lambda: page.evaluate(columns) > before)
            page.click(".subtabs >> text=Curves")
            page.click('[data-action="pause"]')
            expect(page.locator('[data-action="resume"]')).to_be_visible()
            page.click('[data-action="resume"]')
            expect(page.locator('[data-action="pause"]')).to_be_visible()
            page.on("dialog", lambda dialog: dialog.accept())
            page.click('[data-action="stop"]')
            expect(page.locator(".figures")).to_contain_text("interrupted")
            expect(page.locator('[data-action="stop"]')).to_be_hidden()
    finally:
        if api.run_state(api.find_run(run.id, runs_dir=folder)).status == "running":
            api.stop_run(run.id, runs_dir=folder)
