"""From a run on disk: the api, both engines, a mix of tasks, and the inspector's page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.web.server import PageServer
from gymnast.web.wire import unpack
from pages import client_of, serving

pytestmark = pytest.mark.timeout(300)  # browsers on a machine that also runs other tests
SMALL = {"eval.episodes": 1, "eval.every": 0}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("insight") / "runs"


@pytest.fixture(scope="module")
def cartpole(runs: Path) -> str:
    return api.train("CartPole-v1:ppo", max_env_steps=2000, runs_dir=runs, overrides=SMALL).id


@pytest.fixture(scope="module")
def pong(runs: Path) -> str:
    pytest.importorskip("ale_py")
    tiny = SMALL | {"env.n_envs": 2, "algo.n_steps": 16, "algo.n_epochs": 1, "algo.batch_size": "all"}
    return api.train("ALE/Pong-v5:ppo", max_env_steps=32, runs_dir=runs, overrides=tiny).id


def test_a_checkpoint_of_the_numpy_engine(runs: Path, cartpole: str) -> None:
    policy = api.load_policy(cartpole, runs_dir=runs)
    assert type(policy.network).__name__ == "NumpyNetwork"
    trace = api.record_trace(cartpole, runs_dir=runs, frames=False, max_steps=30)
    inside = api.look_inside(trace, runs_dir=runs)
    found = api.integrated_gradients(inside, row=5, target="value")
    assert found.parts[0].part.components == trace.meta.observation_names
    assert found.score == pytest.approx(trace.columns["value"][5], rel=1e-4)
    assert found.gap == pytest.approx(0, abs=1e-3 * abs(found.score - found.baseline_score) + 1e-4)
    given = api.look_inside(trace, policy)
    np.testing.assert_array_equal(
        api.integrated_gradients(given, row=5, target="value").parts[0].values, found.parts[0].values
    )
    assert [one.name for one in api.dead_units(inside)] == ["actor.0", "actor.1", "critic.0", "critic.1"]
    with pytest.raises(GymnastError, match="no memory"):
        api.memory_states(inside)


def test_a_trace_without_a_run_needs_its_policy(runs: Path, cartpole: str) -> None:
    trace = api.record_trace(cartpole, runs_dir=runs, frames=False, max_steps=5)
    from dataclasses import replace

    lost = replace(trace, meta=trace.meta.model_copy(update={"run": None}))
    with pytest.raises(GymnastError, match="names no run and checkpoint: give the policy"):
        api.look_inside(lost, runs_dir=runs)


def test_a_task_of_a_mix_with_heads_of_their_own(runs: Path) -> None:
    pytest.importorskip("minatar")
    tiny = SMALL | {"algo.n_steps": 8, "algo.n_epochs": 1, "algo.batch_size": "all"}
    run = api.train("MinAtar/Mix:ppo", max_env_steps=64, runs_dir=runs, overrides=tiny)
    tasks = ["asterix", "breakout"]
    for task in tasks:
        trace = api.record_trace(run, task=task, stochastic=True, frames=False, max_steps=8)
        inside = api.look_inside(trace, runs_dir=runs)
        for target, column in (("action", "log_prob"), ("value", "value")):
            found = api.occlusion(inside, 3, target)
            assert found.score == pytest.approx(trace.columns[column][3], rel=1e-3, abs=1e-4), (task, target)
        taken = int(trace.columns["action"][3, 0])
        assert api.occlusion(inside, 3, f"choice:{taken}").score == pytest.approx(
            trace.columns["log_prob"][3], rel=1e-3, abs=1e-4
        )


@pytest.fixture(scope="module")
def recurrent(runs: Path) -> str:
    settings = SMALL | {"policy.memory": "lstm"}
    return api.train("gymnast/TMaze-v0:ppo", max_env_steps=500, runs_dir=runs, overrides=settings).id


@pytest.fixture(scope="module")
def bandit(runs: Path) -> str:
    return api.train("gymnast/Bandit-v0:ppo", max_env_steps=500, runs_dir=runs, overrides=SMALL).id


@pytest.fixture(scope="module")
def server(runs: Path, cartpole: str, pong: str, recurrent: str, bandit: str) -> Iterator[PageServer]:
    with serving(api.inspector_server(runs, port=0)) as started:
        yield started


def test_the_route(runs: Path, server: PageServer, cartpole: str) -> None:
    info = api.record_checkpoint(cartpole, runs_dir=runs, max_steps=12, frames=False)
    path = f"/api/recordings/{info.id}/insight"
    with client_of(server) as client:
        about = client.post(path, json={"kind": "about"})
        assert about.status_code == 200
        assert about.json()["rows"] == 13
        found = client.post(path, json={"kind": "integrated_gradients", "step": 2, "target": "value"})
        header, arrays = unpack(found.content)
        assert header["texts"]["components/"] == list(
            api.load_recording(info.id, runs_dir=runs).trace.meta.observation_names
        )
        assert arrays["values/"].shape == (4,)
        wrong = client.post(path, json={"kind": "occlusion", "step": 99})
        assert (wrong.status_code, wrong.json()["error"]) == (
            400,
            "no row 99: the recording has rows 0 to 12",
        )
        assert client.post(path, content=b"[]").status_code == 400
        assert client.get(path).status_code == 404
        for other in ("nothing", f"{cartpole}-0000000000", "..%2f..%2fetc", f"{cartpole}-..%2f.."):
            answer = client.post(f"/api/recordings/{other}/insight", json={"kind": "about"})
            assert answer.status_code in (404, 405), other  # no such recording, or no such address
            assert set(answer.json()) == {"error"}
        api.delete_recording(info.id, runs_dir=runs)
        assert client.post(path, json={"kind": "about"}).status_code == 404
    with client_of(server, None) as stranger:
        assert stranger.post(path, json={"kind": "about"}).status_code == 401


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright.sync_api")
    from browsers import chromium

    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Any, server: PageServer) -> Iterator[Any]:
    from browsers import opened

    with opened(browser, server.url) as shown:
        yield shown


def open_network(page: Any, recording: str, run: str) -> None:
    page.locator(f'[data-run="{run}"] .run-main').click()
    page.locator(".kept-main").first.click()
    page.locator('[data-view="steps"] [data-step="0"]').last.wait_for()
    page.get_by_role("tab", name="Network").click()
    page.locator(".insight-hint").wait_for()


def test_the_page_on_an_image_policy(page: Any, runs: Path, pong: str) -> None:
    from playwright.sync_api import expect

    info = api.record_checkpoint(pong, runs_dir=runs, max_steps=24)
    open_network(page, info.id, pong)
    expect(page.locator(".insight-hint")).to_contain_text("A hint, not an explanation")
    frame = page.locator(".insight-frame")
    expect(frame).to_have_attribute("data-row", "0")

    def picture(locator: Any) -> Any:
        return locator.evaluate("canvas => canvas.toDataURL()")

    # Grad-CAM follows the step without the server.
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.post_data or "") if "insight" in request.url else None
    )
    first = picture(frame)
    page.keyboard.press("ArrowRight")
    expect(frame).to_have_attribute("data-row", "1")
    assert picture(frame) != first
    assert not any("grad_cam" in question for question in asked)

    before = picture(frame)
    page.get_by_label("Opacity of the overlay").fill("0")
    assert picture(frame) != before
    page.get_by_label("Opacity of the overlay").fill("0.8")

    page.get_by_label("What is explained").select_option("value")
    page.get_by_role("radio", name="Integrated gradients").click()
    expect(page.locator(".insight-frames button")).to_have_count(5)  # all, and each of four frames
    expect(page.locator(".insight-attribution .insight-line").last).to_contain_text("of the baseline")
    page.locator(".insight-frames button").nth(1).click()
    expect(page.locator(".insight-frames button").nth(1)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("radio", name="Occlusion").click()
    expect(page.locator(".insight-frames button")).to_have_count(0)

    mosaic = page.locator(".insight-mosaic")
    expect(mosaic).to_have_attribute("data-row", "1")
    page.get_by_label("Layer", exact=True).select_option("encoder.4")
    expect(page.locator(".insight-layers .insight-line")).to_contain_text("64 filters of 7 × 7 places")
    activations = picture(mosaic)
    page.get_by_role("radio", name="Filters").click()
    expect(page.locator(".insight-layers .insight-line")).to_contain_text("64 filters of 3 × 3")
    assert picture(mosaic) != activations
    mosaic.click(position={"x": 12, "y": 12})
    expect(page.locator(".insight-patches h4")).to_contain_text("What excites filter 0 of encoder.4")
    patch = page.locator(".patch").first
    row = patch.get_attribute("data-row")
    patch.click()  # goes there, and shows what the unit saw
    expect(page.locator(".insight-attribution .insight-line").first).to_contain_text("of encoder.4 sees rows")
    expect(mosaic).to_have_attribute("data-row", str(row))
    frame.click(position={"x": 200, "y": 120})
    expect(page.locator(".insight-attribution .insight-line").first).to_contain_text("strongest there")
    expect(page.locator(".insight-units-table tbody tr")).to_have_count(4)
    # Nothing was decided at the episode's last row: its picture is plain, and nothing is asked in vain.
    page.get_by_label("What is explained").select_option("action")
    refused: list[int] = []
    page.on("response", lambda answer: refused.append(answer.status) if answer.status >= 400 else None)
    page.keyboard.press("End")
    expect(page.locator(".insight-attribution .nothing")).to_contain_text("The episode ended here")
    expect(frame).to_have_attribute("data-row", str(info.steps))
    expect(page.locator(".insight-legend")).to_be_hidden()
    assert refused == []
    expect(page.locator(".insight-absent")).to_contain_text("the policy has no memory")


def test_the_page_on_numbers(page: Any, runs: Path, cartpole: str) -> None:
    from playwright.sync_api import expect

    info = api.record_checkpoint(cartpole, runs_dir=runs, max_steps=12)
    open_network(page, info.id, cartpole)
    bars = page.locator(".attribution-bar[data-component]")
    expect(bars).to_have_count(4)
    expect(page.get_by_role("radio", name="Grad-CAM")).to_be_disabled()
    expect(page.locator(".insight-why")).to_contain_text("Grad-CAM: the network reads no image")
    page.get_by_label("What is explained").select_option("value")
    inside = api.look_inside(api.load_recording(info.id, runs_dir=runs).trace, runs_dir=runs)
    for row in (0, 1):
        wanted = api.integrated_gradients(inside, row, "value").parts[0]
        shown = dict(zip(wanted.part.components, wanted.values.tolist(), strict=True))
        strongest = max(shown, key=lambda name: abs(shown[name]))
        expect(bars.first).to_have_attribute("data-component", strongest)
        expect(bars.first).to_have_attribute("data-value", repr_js(shown[strongest]))
        page.keyboard.press("ArrowRight")
    expect(page.locator(".insight-rendered .frame-canvas")).to_have_attribute("data-row", "2")


def test_the_page_on_a_memory(page: Any, runs: Path, recurrent: str) -> None:
    from playwright.sync_api import expect

    info = api.record_checkpoint(recurrent, runs_dir=runs, max_steps=20, stochastic=True)
    open_network(page, info.id, recurrent)
    states = page.locator(".insight-states")
    expect(states).to_have_attribute("data-row", "0")
    page.keyboard.press("ArrowRight")
    expect(states).to_have_attribute("data-row", "1")
    # Both at one moment: panels move while others are filled.
    page.wait_for_function(
        """() => {
          const bottom = (name) => document.querySelector(name).getBoundingClientRect().bottom;
          return bottom(".insight-states") < bottom(".panel.insight-memory");
        }"""
    )
    canvas = states.bounding_box()
    assert canvas is not None
    states.click(position={"x": canvas["width"] - 2, "y": 20})  # goes to the last row
    expect(states).to_have_attribute("data-row", str(info.steps))
    # Where no action was taken there is none to explain; the value is there.
    expect(page.locator(".insight-attribution .nothing")).to_contain_text("The episode ended here")
    expect(page.locator(".insight-attribution .insight-state")).to_have_text("")
    page.get_by_label("What is explained").select_option("value")
    expect(page.locator(".attribution-bar[data-component]").first).to_be_visible()


def test_the_page_on_a_bandit_says_why_not(page: Any, runs: Path, bandit: str) -> None:
    from playwright.sync_api import expect

    info = api.record_checkpoint(bandit, runs_dir=runs, max_steps=10)
    open_network(page, info.id, bandit)
    expect(page.locator(".insight-attribution .nothing")).to_contain_text("The observation is the same")
    for method in ("Grad-CAM", "Integrated gradients", "Occlusion"):
        expect(page.get_by_role("radio", name=method)).to_be_disabled()
    expect(page.locator(".insight-units .nothing")).to_contain_text("never changes")


def repr_js(value: float) -> str:
    """A float32 as JavaScript writes the double that it is."""
    return repr(float(np.float32(value)))
