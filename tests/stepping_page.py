"""What tests of the inspector's page do with it: choose a run, record an episode, read what is shown."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def choose(page: Page, run: str) -> None:
    page.locator(f'[data-run="{run}"] .run-main').click()
    expect(page.locator("form.record-form")).to_be_visible()


def record(page: Page, run: str, steps: int = 60, **fields: str) -> None:
    """Record an episode of a run, and wait for its first frame and figures."""
    choose(page, run)
    page.fill('input[name="steps"]', str(steps))
    for name, value in fields.items():
        page.fill(f'input[name="{name}"]', value)
    page.click("form.record-form button[type=submit]")
    expect(page.locator('[data-view="steps"] [data-step="0"]').last).to_be_visible()


def shown_rows(page: Page) -> set[str | None]:
    """The row that each view of the recording shows."""
    views = ("actions", "observation", "info", "steps")
    found = {
        page.locator(f'[data-view="{view}"] .panel-body').first.get_attribute("data-row") for view in views
    }
    return found | {page.locator(".readout").first.get_attribute("data-row")}
