"""The inspector's page in a real browser, on real runs of every kind of policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

from browsers import chromium, opened
from gymnast import api
from gymnast.runs.store import RunFolder
from gymnast.runs.trust import load_run_config
from gymnast.training.evaluator import held_out_seed
from gymnast.web.server import PageServer
from pages import serving, wait_until
from stepping_page import choose, record, shown_rows

pytestmark = pytest.mark.timeout(300)  # browsers on a machine that also runs other tests
SMALL = {"eval.episodes": 2, "env.backend": "sync"}
RUNS: dict[str, tuple[str, int, dict[str, object]]] = {
    "cartpole": ("CartPole-v1:ppo", 8000, {"eval.every": 4000, "eval.episodes": 2}),
    "recurrent": ("CartPole-v1:ppo-lstm", 2000, SMALL),
    "continuous": ("Pendulum-v1:ppo", 1000, SMALL),
    "bandit": ("gymnast/Bandit-v0:ppo", 500, SMALL),
    "masked": ("Taxi-v4:ppo-masked", 500, SMALL),
}
LINEAR = "masked"  # without a hidden layer


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page") / "runs"


@pytest.fixture(scope="module")
def ids(runs: Path) -> dict[str, str]:
    """Small runs by their kind."""
    return {
        kind: api.train(preset, max_env_steps=steps, runs_dir=runs, overrides=overrides).id
        for kind, (preset, steps, overrides) in RUNS.items()
    }


@pytest.fixture(scope="module")
def server(runs: Path, ids: dict[str, str]) -> Iterator[PageServer]:
    with serving(api.inspector_server(runs, port=0)) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: PageServer) -> Iterator[Page]:
    with opened(browser, server.url) as shown:
        yield shown


def figure(page: Page, name: str) -> str:
    return page.locator(f'[data-figure="{name}"]').first.inner_text()


def test_the_token_leaves_the_address_bar_and_is_needed(browser: Browser, server: PageServer) -> None:
    with opened(browser, server.url) as page:
        expect(page.locator(".run").first).to_be_visible()
        assert "token" not in page.url
    with opened(browser, server.address) as page:
        expect(page.locator(".notice.error")).to_contain_text("token")


def test_stepping_moves_every_view_without_a_request(page: Page, ids: dict[str, str], runs: Path) -> None:
    record(page, ids["cartpole"], 1000)
    canvas = page.locator(".frame-canvas")
    expect(canvas).to_have_attribute("data-row", "0")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    first = canvas.evaluate("c => c.toDataURL()")
    for row in range(1, 6):
        page.keyboard.press("ArrowRight")
        assert shown_rows(page) == {str(row)}
    expect(canvas).to_have_attribute("data-row", "5")
    assert canvas.evaluate("c => c.toDataURL()") != first
    selected = page.locator('.table-line[aria-selected="true"]')
    assert selected.get_attribute("data-step") == "5"
    assert figure(page, "place") == "0 · 5"
    # the same numbers as in the table, and probabilities that sum to one
    cells = selected.locator("[role=gridcell]").all_inner_texts()
    assert figure(page, "value") in cells
    assert figure(page, "action") in cells
    shares = page.locator('[data-view="actions"] .bar > .number').all_inner_texts()
    assert sum(float(share.removesuffix(" %")) for share in shares) == pytest.approx(100, abs=0.2)
    page.keyboard.press("End")
    assert figure(page, "action").startswith("ended: ")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    assert shown_rows(page) == {"10"}
    # a click on a curve, and on a line of the table
    box = page.locator(".strip-area").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 10)
    middle = int(page.locator(".readout").get_attribute("data-row") or 0)
    rows = page.evaluate("gymnast.app.group.active.rows")
    assert abs(middle - rows / 2) <= rows / 50 + 1
    assert shown_rows(page) == {str(middle)}
    line = page.locator(".table-lines .table-line:not(.shown):visible").nth(1)
    step = line.get_attribute("data-step")
    line.click()
    assert shown_rows(page) == {step}
    page.locator('[role="grid"]').focus()
    page.keyboard.press("ArrowDown")
    assert shown_rows(page) == {str(int(step or 0) + 1)}
    polled = [url for url in requests if "/api/runs?" not in url]  # the list of runs is looked at by itself
    assert polled == []


def test_the_csv_is_the_checkpoints_own(page: Page, ids: dict[str, str], runs: Path, tmp_path: Path) -> None:
    own = api.rollout_table(f"{ids['cartpole']}/@best", runs_dir=runs)
    seed = held_out_seed(load_run_config(RunFolder(runs / ids["cartpole"])))
    record(page, ids["cartpole"], 1000, seed=str(seed))
    expect(page.locator(f'#known-seeds option[value="{seed}"]')).to_have_count(1)
    with page.expect_download() as waiting:
        page.click("text=CSV")
    waiting.value.save_as(tmp_path / "steps.csv")
    assert (tmp_path / "steps.csv").read_bytes() == Path(own).read_bytes()


def test_another_discount_changes_the_table_and_keeps_the_step(page: Page, ids: dict[str, str]) -> None:
    record(page, ids["cartpole"], 100)
    page.keyboard.press("ArrowRight")
    before = figure(page, "togo")
    page.fill('input[name="gamma"].number >> visible=true', "0.5")
    page.keyboard.press("Tab")
    expect(page.locator('[data-figure="togo"]')).not_to_have_text(before)
    assert figure(page, "place") == "0 · 1"
    assert float(figure(page, "togo")) == pytest.approx(2.0, abs=0.01)  # 1 + 0.5 + 0.25 + …


def test_breakpoints_run_to_conditions_and_say_what_is_wrong(page: Page, ids: dict[str, str]) -> None:
    record(page, ids["cartpole"], 100)
    page.select_option('[aria-label="Breakpoint"]', "condition")
    condition = page.locator('[aria-label="Condition on columns of the table"]')
    condition.fill("return_so_far >= 7 and reward != 0")
    condition.press("Enter")
    assert figure(page, "place") == "0 · 6"
    condition.fill("valeu < 3")
    expect(page.locator(".said")).to_contain_text("did you mean “value”")
    page.select_option('[aria-label="Breakpoint"]', "event")
    page.click('[aria-label="To the next one (N)"]')
    row = page.evaluate("gymnast.app.group.active.step")
    assert page.evaluate(f"gymnast.app.group.active.recording.ended({row})") in (
        "terminated",
        "truncated",
        "cut",
    )
    page.select_option('[aria-label="Breakpoint"]', "reward")
    page.click('[aria-label="First step (Home)"]')
    page.check("text=pause there")
    page.keyboard.press("Escape")
    page.click('[aria-label="Play (space)"]')
    expect(page.locator('[aria-label="Play (space)"]')).to_be_visible()
    assert figure(page, "place") == "0 · 1"  # CartPole pays at every step


@pytest.mark.slow
def test_playing_draws_a_thousand_steps(page: Page, ids: dict[str, str]) -> None:
    record(page, ids["cartpole"], 1000, episodes="100")
    assert page.evaluate("gymnast.app.group.active.recording.steps") == 1000
    page.select_option('[aria-label="Steps per second"]', "60")
    page.evaluate(
        """() => {
          window.seen = []; // when which step was shown
          gymnast.app.group.active.subscribe((step) => window.seen.push([performance.now() / 1000, step]));
        }"""
    )
    page.click('[aria-label="Play (space)"]')
    wait_until(lambda: page.evaluate("gymnast.app.group.active.step") > 200)
    page.keyboard.press("Space")
    step = page.evaluate("gymnast.app.group.active.step")
    expect(page.locator(".frame-canvas")).to_have_attribute("data-row", str(step))
    # A free machine draws 60 a second. One that also runs other tests skips frames and does not fall behind;
    # only where it stood still for more than a quarter of a second the playing waits too.
    seen = page.evaluate("window.seen")
    leaps = [then - first for (_, first), (_, then) in pairwise(seen)]
    assert max(leaps) <= 15
    ran = sum(min(now - before, 0.25) for (before, _), (now, _) in pairwise(seen))
    assert sum(leaps) > 0.8 * 60 * ran - 15


def test_two_checkpoints_side_by_side_step_together_or_alone(page: Page, ids: dict[str, str]) -> None:
    choose(page, ids["cartpole"])
    page.fill('input[name="steps"]', "50")
    page.fill('input[name="seed"]', "3")
    values = page.locator('select[name="second"] option').evaluate_all("all => all.map(o => o.value)")
    chosen = page.locator('select[name="checkpoint"]').input_value()
    other = next(value for value in values if value not in ("", chosen))
    page.select_option('select[name="second"]', other)
    page.click("form.record-form button[type=submit]")
    expect(page.locator(".recording")).to_have_count(2)
    titles = page.locator(".recording-title p").all_inner_texts()
    assert all("seed 3" in title for title in titles)
    assert titles[0] != titles[1]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    places = page.locator('[data-figure="place"]')
    assert places.all_inner_texts() == ["0 · 2", "0 · 2"]
    page.click("text=together")
    page.keyboard.press("ArrowRight")
    assert places.all_inner_texts() == ["0 · 2", "0 · 3"]
    page.locator(".recording").first.locator(".recording-title").click()
    page.keyboard.press("Home")
    assert places.all_inner_texts() == ["0 · 0", "0 · 3"]
    page.locator('[aria-label="Close this recording"]').first.click()
    expect(page.locator(".recording")).to_have_count(1)


# Where everything is that shows a step, in whole pixels.
PLACES = """() => {
  const all = ".view, .figure, .strip, .bar, .component, .gaussian, .footer";
  const boxes = [...document.querySelectorAll(all)].map((one) => one.getBoundingClientRect());
  return boxes.map((box) => [box.x, box.y, box.width, box.height].map(Math.round));
}"""


@pytest.mark.parametrize("kind", ["cartpole", "continuous", "bandit", "masked"])
def test_nothing_moves_while_stepping(page: Page, ids: dict[str, str], kind: str) -> None:
    record(page, ids[kind], 20)
    first = page.evaluate(PLACES)
    assert len(first) > 15
    for key in ["ArrowRight"] * 4 + ["Shift+ArrowRight", "End"]:
        page.keyboard.press(key)
        assert page.evaluate(PLACES) == first, key
    assert figure(page, "action").startswith("ended: ")
    expect(page.locator('[data-view="actions"] header')).to_contain_text("nothing was decided")


def test_a_recurrent_policy_shows_its_state(page: Page, ids: dict[str, str]) -> None:
    record(page, ids["recurrent"])
    expect(page.locator('[data-view="curves"]')).to_contain_text("Recurrent state (norms)")


def test_a_continuous_policy_shows_mean_and_spread(page: Page, ids: dict[str, str]) -> None:
    record(page, ids["continuous"])
    expect(page.locator(".gaussian")).to_contain_text("torque")
    before = page.locator(".gaussian").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".gaussian").inner_text() != before
    expect(page.locator('[data-view="observation"]')).to_contain_text("angular velocity")


def test_a_bandit_and_masked_actions(page: Page, ids: dict[str, str]) -> None:
    record(page, ids["bandit"])
    assert page.locator('[data-view="actions"] .bar').count() == 10
    page.keyboard.press("1")
    record(page, ids["masked"], 20)
    assert page.locator('[data-view="actions"] .bar.masked').count() > 0
    assert "masked" in page.locator('[data-view="actions"] .bar.masked').first.inner_text()


def test_an_unknown_run_is_named_in_words(browser: Browser, server: PageServer) -> None:
    with opened(browser, server.url + "&run=zzzzzzzz") as page:
        expect(page.locator("#page-record")).to_contain_text("This run cannot be opened")
        expect(page.locator("#page-record [role=alert]")).to_contain_text("zzzzzzzz")


def test_the_checkpoint_in_the_address_is_chosen(
    browser: Browser, server: PageServer, ids: dict[str, str], runs: Path
) -> None:
    run = ids["cartpole"]
    saved = sorted((runs / run / "checkpoints").glob("*.json"))
    steps = {json.loads(one.read_text())["env_steps"] for one in saved}
    assert len(steps) > 1
    for at in steps:
        with opened(browser, f"{server.url}&run={run}&checkpoint={at}") as page:
            expect(page.locator('select[name="checkpoint"]')).to_have_value(str(at))
            assert page.url.endswith(f"#run={run}")


def test_wrong_wishes_are_answered_in_words(page: Page, ids: dict[str, str]) -> None:
    choose(page, ids["cartpole"])
    page.fill('textarea[name="overrides"]', "gravity")
    page.click("form.record-form button[type=submit]")
    expect(page.locator("form .problem")).to_contain_text("key=value")
    page.fill('textarea[name="overrides"]', "env.kwargs.gravty=3")
    page.click("form.record-form button[type=submit]")
    expect(page.locator("form .problem")).to_contain_text("gravty")
    expect(page.locator("form.record-form button[type=submit]")).to_be_enabled()


def test_a_network_without_hidden_layers_says_so(page: Page, ids: dict[str, str]) -> None:
    record(page, ids[LINEAR], 5)
    page.keyboard.press("3")
    expect(page.locator(".insight-layers .insight-line")).to_contain_text("no hidden layer")
    expect(page.locator(".insight-mosaic")).to_be_hidden()


def test_a_recording_is_cancelled(page: Page, ids: dict[str, str]) -> None:
    choose(page, ids["recurrent"])
    page.fill('input[name="steps"]', "20000")
    page.fill('input[name="episodes"]', "100")
    page.click("form.record-form button[type=submit]")
    page.click("form.record-form >> text=Cancel")
    expect(page.locator(".notice")).to_contain_text("cancelled")
    expect(page.locator("form.record-form button[type=submit]")).to_be_enabled()
    assert page.locator(".recording").count() == 0


def test_a_recording_without_frames_says_so(page: Page, ids: dict[str, str]) -> None:
    choose(page, ids["cartpole"])
    page.uncheck(".record-form input[type=checkbox]")
    page.fill('input[name="steps"]', "5")
    page.click("form.record-form button[type=submit]")
    expect(page.locator('[data-view="frame"]')).to_contain_text("There are no frames")


def test_recordings_are_kept_listed_and_deleted(page: Page, ids: dict[str, str]) -> None:
    record(page, ids["bandit"], 5)
    page.click("#tab-record")
    lines = page.locator(".kept-line")
    expect(lines.first).to_be_visible()
    count = lines.count()
    lines.first.locator(".kept-main").click()
    expect(page.locator(".recording")).to_have_count(1)
    page.click("#tab-record")
    lines.first.locator('[aria-label="Delete this recording"]').click()
    expect(lines).to_have_count(count - 1)


def test_training_curves_settings_and_report(page: Page, ids: dict[str, str]) -> None:
    choose(page, ids["cartpole"])
    page.click("#tab-training")
    expect(page.locator('[data-metric="train/return/mean"] .scatterlayer path').first).to_be_attached()
    other = page.locator(f'[data-run="{ids["recurrent"]}"]')
    other.hover()
    other.locator(".run-compare").click()
    expect(page.locator('[data-metric="train/return/mean"] .scatterlayer .trace')).to_have_count(2)
    for axis in ("vectorised steps", "env steps", "updates", "seconds"):
        page.click(f".segmented >> text={axis}")
        expect(page.locator('[data-metric="train/return/mean"] .xtitle')).to_have_text(axis)
    page.click(".subtabs >> text=Distributions")
    expect(page.locator(".heatmaplayer image").first).to_be_attached()
    page.click(".subtabs >> text=Settings")
    expect(page.locator(".training-body")).to_contain_text("Differences between 2 runs")
    expect(page.locator(".training-body")).to_contain_text("policy.memory")
    page.click(".subtabs >> text=Videos")
    expect(page.locator(".training-body")).to_contain_text(f"gymnast video record {ids['cartpole']}")
    page.click(".subtabs >> text=Report")
    expect(page.locator(".markdown h2").first).to_contain_text("CartPole-v1:ppo")


def test_keys_help_theme_and_search(page: Page, ids: dict[str, str]) -> None:
    expect(page.locator(".run").first).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("dialog.help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.keyboard.press("/")
    page.keyboard.type("pendulum")
    expect(page.locator(".run")).to_have_count(1)
    page.locator('[aria-label="Search runs"]').fill("nothing like this")
    expect(page.locator(".run-list")).to_contain_text("No run matches")
    page.keyboard.press("Escape")
    expect(page.locator(".run")).to_have_count(len(ids))
    page.keyboard.press("2")
    expect(page.locator("#page-step")).to_contain_text("No recording is open")
