"""What the page does for whoever chooses, records and reads: small things, missed when they are gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

from browsers import chromium, opened
from gymnast.web.server import PageServer
from stepping_page import choose, record

pytestmark = pytest.mark.timeout(300)  # browsers on a machine that also runs other tests


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: PageServer) -> Iterator[Page]:
    with opened(browser, server.url) as shown:
        yield shown


def test_a_form_that_is_filled_in_only_learns_of_new_checkpoints(page: Page, run: str) -> None:
    choose(page, run)
    page.click('[role="radio"] >> text=sampled')
    page.uncheck(".record-form input[type=checkbox]")
    page.fill('input[name="steps"]', "20000")
    page.fill('input[name="episodes"]', "100")
    page.fill('textarea[name="overrides"]', "env.max_episode_steps=100000")
    chosen = page.locator('select[name="checkpoint"]').input_value()
    page.click("form.record-form button[type=submit]")
    cancel = page.locator("form.record-form >> text=Cancel")
    expect(cancel).to_be_visible()
    page.evaluate(
        """() => {
          const { app } = window.gymnast; // as when a live run has saved one more
          const [first] = app.details.checkpoints;
          const more = { ...first, name: "999999", env_steps: 999999, is_best: false, is_last: true };
          app.emit("details", { ...app.details, checkpoints: [...app.details.checkpoints, more] });
        }"""
    )
    for name in ("checkpoint", "second"):
        expect(page.locator(f'select[name="{name}"] option[value="999999"]')).to_have_count(1)
    assert page.locator('select[name="checkpoint"]').input_value() == chosen
    assert page.locator('input[name="steps"]').input_value() == "20000"
    expect(page.locator('[role="radio"] >> text=sampled')).to_have_attribute("aria-checked", "true")
    expect(page.locator(".record-form input[type=checkbox]")).not_to_be_checked()
    expect(page.locator("form.record-form button[type=submit]")).to_be_disabled()
    cancel.click()
    expect(page.locator("form.record-form button[type=submit]")).to_be_enabled()


def test_the_best_checkpoint_is_chosen_until_another_is(page: Page, run: str) -> None:
    choose(page, run)
    checkpoint = page.locator('select[name="checkpoint"]')
    told = """(steps) => {
      const { app } = window.gymnast; // as when a live run has saved a better one
      const [first, ...rest] = app.details.checkpoints.map((one) => ({ ...one, is_best: false }));
      const better = { ...first, name: String(steps), env_steps: steps, is_best: true };
      app.emit("details", { ...app.details, checkpoints: [first, ...rest, better] });
    }"""
    was = checkpoint.input_value()
    page.evaluate(told, 111111)
    expect(checkpoint).to_have_value("111111")
    checkpoint.select_option(was)
    page.evaluate(told, 222222)
    expect(checkpoint).to_have_value(was)


def test_a_run_that_is_chosen_while_stepping_can_be_recorded(page: Page, run: str) -> None:
    record(page, run, 5)
    for tab in ("step", "network"):
        page.click(f"#tab-{tab}")
        if not page.locator("#runs").is_visible():
            page.keyboard.press("[")
        choose(page, run)
        expect(page.locator("#tab-record")).to_have_attribute("aria-selected", "true")
    page.click("#tab-step")
    expect(page.locator(".recording")).to_have_count(1)


def test_curves_have_the_ends_of_the_data_as_scale(page: Page, run: str) -> None:
    record(page, run, 30)
    rewards = page.locator(".strip", has_text="Reward")
    assert rewards.locator(".strip-scale").all_inner_texts() == ["1", "0"]  # bars stand on 0
    page.select_option('[aria-label="Add a curve of another column"]', "reward")
    only = page.locator(".strip").last
    assert only.locator(".strip-scale").all_inner_texts() == ["1", ""]  # a constant has one


def test_the_network_tab_says_what_it_explains(page: Page, run: str) -> None:
    record(page, run, 10)
    page.keyboard.press("ArrowRight")
    action, value = (page.locator(f'[data-figure="{name}"]').inner_text() for name in ("action", "value"))
    page.keyboard.press("3")
    head = page.locator(".network-head")
    expect(head).to_contain_text("CartPole-v1")
    expect(head).to_contain_text("step 1")
    expect(head.locator("strong")).to_have_text(action)
    expect(head).to_contain_text(f"value {value}")


def test_names_of_columns_are_offered_for_conditions(page: Page, run: str) -> None:
    record(page, run, 5)
    page.select_option('[aria-label="Breakpoint"]', "condition")
    names = page.locator("#columns-of-table option").evaluate_all("all => all.map(one => one.value)")
    assert {"reward", "td_error", "`obs/pole angle`"} <= set(names)
    condition = page.locator('[aria-label="Condition on columns of the table"]')
    for name in names:
        condition.fill(f"{name} != 0")
        assert page.locator(".said").inner_text() == "", name
