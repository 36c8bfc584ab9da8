"""The Sweeps tab in a real browser, of a real sweep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, expect

from browsers import chromium, opened
from gymnast import api
from pages import client_of, serving

pytestmark = pytest.mark.timeout(300)  # browsers on a machine that also runs other tests


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, api.Sweep]:
    root = tmp_path_factory.mktemp("runs")
    small = {"budget.env_steps": 4000, "eval.every": 2000, "eval.episodes": 3}
    options = {"trials": 4, "workers": 2, "method": "random", "race_seeds": 0, "test_seeds": 0}
    return root, api.sweep("CartPole-v1:ppo", overrides=small, runs_dir=root, **options)  # type: ignore[arg-type]


def test_lines_slices_and_table(browser: Browser, swept: tuple[Path, api.Sweep]) -> None:
    root, sweep = swept
    with serving(api.inspector_server(root, port=0)) as server, opened(browser, server.url) as page:
        page.click("#tab-sweeps")
        expect(page.locator(".sweep-entry")).to_contain_text(sweep.id)
        expect(page.locator(".sweep-lines .scatterlayer .trace")).to_have_count(4)
        settings = len(sweep.state.plan.space.dimensions)
        expect(page.locator(".sweep-slice .scatterlayer")).to_have_count(settings)
        expect(page.locator(".sweep-shown tbody tr")).to_have_count(4)
        page.click(".sweep-shown tbody tr:first-child button")
        expect(page.locator("#tab-training")).to_have_attribute("aria-selected", "true")


def test_what_is_not_a_sweep_is_not_found(swept: tuple[Path, api.Sweep]) -> None:
    with serving(api.inspector_server(swept[0], port=0)) as server, client_of(server) as client:
        for wanted in ("nothing", "..%2f..%2fetc", "@last"):
            assert client.get(f"/api/sweeps/{wanted}").status_code == 404, wanted
        assert client.get("/api/sweeps").json()["total"] == 1
