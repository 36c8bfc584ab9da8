"""The player's page in a real browser: real key events, one holder of the controls."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gymnast import api

sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("av")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed"),
    pytest.mark.timeout(300),  # a machine that also runs other tests
]

Play = Callable[..., Any]
# Steps per second where a hand has to come in time, on a busy machine too: an untended pole falls soon.
SLOW = 2


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Callable[[str], Any]]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(60_000)
    faults: list[str] = []

    def open_tab(url: str) -> Any:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.goto(url)
        until(page, "document.getElementById('n-step').textContent !== '–'")
        return page

    yield open_tab
    context.close()
    assert [fault for fault in faults if "WebSocket" not in fault] == []


def until(page: Any, condition: str, seconds: float = 60) -> None:
    """Wait for something on the page. (Playwright's own waiting is stopped by the page's content policy.)"""
    give_up = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < give_up, f"{condition}; the page shows: {page.inner_text('body')}"
        time.sleep(0.01)


def number(page: Any, name: str) -> float:
    return float(page.inner_text(f"#n-{name}").replace(",", ""))


def until_step(page: Any, step: int) -> None:
    until(page, f"Number(document.getElementById('n-step').textContent) >= {step}")


def labels(trace: Any) -> list[str]:
    return [trace.labels[row] for row in trace.steps]


def drivers(trace: Any) -> list[str]:
    return [trace.infos[row]["driver"] for row in trace.steps]


def test_a_person_plays_an_episode_of_cartpole(play: Play, tab: Any, tmp_path: Path) -> None:
    playing = play("CartPole-v1:ppo", "--record", "pole", "--episodes", 1, "--seed", 3, "--fps", SLOW)
    page = tab(playing.url)
    assert "Press a key of the game" in page.inner_text("#veil")
    assert number(page, "step") == 0
    assert "token" not in page.url, "the token is not left in the address bar"
    page.keyboard.down("ArrowRight")
    until_step(page, 3)
    page.keyboard.up("ArrowRight")
    page.keyboard.down("ArrowLeft")
    code, printed = playing.finish()
    assert code == 0, printed
    trace = api.load_trace(tmp_path / "pole.trace")
    taken = labels(trace)
    turned = taken.index("left")
    assert turned >= 3
    assert taken == ["right"] * turned + ["left"] * (len(taken) - turned)
    assert set(drivers(trace)) == {"human"}
    assert trace.columns["terminated"].sum() == 1
    assert (tmp_path / "pole.mp4").stat().st_size > 1000
    assert "human" in printed


def test_taking_over_in_the_middle_and_handing_back(play: Play, tab: Any, runs: Path, tmp_path: Path) -> None:
    own = labels(api.record_trace("@last", seed=3, frames=False, runs_dir=runs))
    playing = play("@last", "--runs-dir", runs, "--record", "shared", "--seed", 3, "--fps", SLOW)
    page = tab(playing.url)
    until_step(page, 6)
    assert page.inner_text("#choices").count("%") == 2
    page.keyboard.down("ArrowLeft")
    page.keyboard.press("Tab")
    until(page, "document.body.dataset.driver === 'human'")
    until_step(page, number(page, "step") + 2)  # more would fell the pole
    page.keyboard.press("Tab")
    page.keyboard.up("ArrowLeft")
    until(page, "document.body.dataset.driver === 'policy'")
    until_step(page, number(page, "step") + 3)
    page.click("#quit")
    code, printed = playing.finish()
    assert code == 0, printed
    trace = api.load_trace(tmp_path / "shared.trace")
    who, taken = drivers(trace), labels(trace)
    first, last = who.index("human"), len(who) - 1 - who[::-1].index("human")
    assert who == ["policy"] * first + ["human"] * (last + 1 - first) + ["policy"] * (len(who) - 1 - last)
    assert first >= 6
    assert taken[:first] == own[:first]
    assert set(taken[first : last + 1]) == {"left"}
    assert len(who) - 1 - last >= 3
    chosen = trace.columns["probabilities"][trace.steps].argmax(1)
    assert [trace.meta.choices[index] for index in chosen[last + 1 :]] == taken[last + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "keys", "expected"),
    [
        ("ALE/Pong-v5:ppo-objects", ["ArrowUp"], "RIGHT"),
        ("VizDoom-DefendTheCenter-v0:ppo", ["ArrowLeft", "Space"], "TURN_LEFT+ATTACK"),
    ],
)
def test_taking_over_in_other_games(
    play: Play, tab: Any, tmp_path: Path, preset: str, keys: list[str], expected: str
) -> None:
    tiny = {"env.n_envs": 2, "algo.n_steps": 16, "algo.n_epochs": 1, "algo.batch_size": "all"}
    own_runs = tmp_path / "runs"
    api.train(preset, max_env_steps=32, overrides=tiny | {"eval.every": 0}, runs_dir=own_runs)
    own = labels(api.record_trace("@last", seed=3, max_steps=60, frames=False, runs_dir=own_runs))
    playing = play("@last", "--runs-dir", own_runs, "--record", "shared", "--seed", 3, "--fps", 8)
    page = tab(playing.url)
    until_step(page, 3)
    for key in keys:
        page.keyboard.down(key)
    page.keyboard.press("Tab")
    until(page, "document.body.dataset.driver === 'human'")
    until_step(page, number(page, "step") + 5)
    page.keyboard.press("Tab")
    until(page, "document.body.dataset.driver === 'policy'")
    until_step(page, number(page, "step") + 3)
    page.click("#quit")
    code, printed = playing.finish()
    assert code == 0, printed
    trace = api.load_trace(tmp_path / "shared.trace")
    who, taken = drivers(trace), labels(trace)
    first, last = who.index("human"), len(who) - 1 - who[::-1].index("human")
    assert 3 <= first < last < len(who) - 3
    assert taken[: min(first, 60)] == own[: min(first, 60)]
    assert set(taken[first : last + 1]) == {expected}
    assert set(who[last + 1 :]) == {"policy"}


def test_pause_single_step_speed_restart_seed_and_screenshot(play: Play, tab: Any, runs: Path) -> None:
    playing = play("@last", "--runs-dir", runs, "--seed", 3, "--fps", 8)
    page = tab(playing.url)
    until_step(page, 5)
    page.keyboard.press("Escape")
    page.wait_for_selector("#veil:not([hidden])")
    at = number(page, "step")
    page.wait_for_timeout(300)
    assert number(page, "step") == at
    page.keyboard.press("Period")
    until_step(page, int(at) + 1)
    page.wait_for_timeout(200)
    assert number(page, "step") == at + 1
    page.keyboard.press("Equal")
    until(page, "document.getElementById('speed').textContent === '2×'")
    with page.expect_download() as download:
        page.keyboard.press("F2")
    assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG"
    page.fill("#seed", "77")
    page.press("#seed", "Enter")
    until(page, "document.getElementById('n-episode').textContent === '2'")
    until(page, "document.getElementById('seed').value === '77'")
    page.fill("#seed", "seven")
    page.press("#seed", "Enter")
    until(page, "document.getElementById('notice').textContent.includes('whole number')")
    assert page.locator("#episodes li", has_text="left").count() == 1
    code, printed = playing.finish(signal.SIGINT)
    assert code == 0, printed
    assert "left before its end" in printed


def test_nothing_moves_when_an_episode_is_over(play: Play, tab: Any, runs: Path) -> None:
    playing = play("@last", "--runs-dir", runs, "--mode", "random", "--seed", 3)
    page = tab(playing.url)
    until_step(page, 2)
    places = (
        "[...document.querySelectorAll('aside .panel, #bar')].map((one) => one.getBoundingClientRect().top)"
    )
    first = page.evaluate(places)
    over = "!document.getElementById('veil').hidden && document.getElementById('veil-text').textContent"
    until(
        page, f"{over} === 'Episode over' && JSON.stringify({places}) === JSON.stringify({json.dumps(first)})"
    )
    assert playing.finish(signal.SIGINT)[0] == 0


def test_one_tab_has_the_controls_and_the_others_watch(play: Play, tab: Any, runs: Path) -> None:
    playing = play("@last", "--runs-dir", runs, "--seed", 3, "--fps", 8, "--speed", 0.5)
    first = tab(playing.url)
    second = tab(playing.url)
    until(second, "document.getElementById('role').textContent === 'watching'")
    assert second.is_disabled("#pause")
    second.keyboard.press("Escape")
    until(second, "document.getElementById('notice').textContent.includes('another tab')")
    assert second.is_hidden("#veil")
    first.close()
    second.click("#claim")
    until(second, "!document.getElementById('pause').disabled")
    second.keyboard.press("Escape")
    second.wait_for_selector("#veil:not([hidden])")
    assert playing.finish(signal.SIGINT)[0] == 0


def test_a_tab_that_loses_the_keyboard_pauses_the_game(play: Play, tab: Any) -> None:
    playing = play("MountainCar-v0:ppo", "--seed", 3)
    page = tab(playing.url)
    page.keyboard.down("ArrowLeft")
    until_step(page, 5)
    page.evaluate("window.dispatchEvent(new Event('blur'))")
    until(page, "document.getElementById('veil').textContent.includes('lost the keyboard')")
    page.keyboard.up("ArrowLeft")
    page.keyboard.down("ArrowRight")
    page.wait_for_selector("#veil", state="hidden")
    # A tab that hangs says nothing at all any more.
    page.evaluate("WebSocket.prototype.send = () => {}")
    until(page, "document.getElementById('veil').textContent.includes('not heard')")
    at = number(page, "step")
    page.wait_for_timeout(300)
    assert number(page, "step") == at
    assert playing.finish(signal.SIGINT)[0] == 0


@pytest.mark.slow
def test_closing_the_last_tab_ends_it_with_the_recording_complete(
    play: Play, tab: Any, runs: Path, tmp_path: Path
) -> None:
    playing = play("@last", "--runs-dir", runs, "--seed", 3, "--record", "closed", "--fps", 10)
    page = tab(playing.url)
    until_step(page, 10)
    page.close()
    code, printed = playing.finish(seconds=90)
    assert code == 0, printed
    trace = api.load_trace(tmp_path / "closed.trace")
    assert trace.columns["cut"].sum() == 1
    assert len(trace) > 10
    assert (tmp_path / "closed.mp4").exists()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_files_that_are_complete(
    play: Play, tab: Any, runs: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    playing = play("@last", "--runs-dir", runs, "--seed", 3, "--record", "stopped")
    until_step(tab(playing.url), 5)
    code, printed = playing.finish(stop)
    assert code == (0 if stop == signal.SIGINT else -signal.SIGTERM), printed
    assert len(api.load_trace(tmp_path / "stopped.trace")) > 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stopped.mp4", "stopped.trace"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "keys", "expected", "extra"),
    [
        ("ALE/Pong-v5:ppo", ["ArrowUp", "Space"], "RIGHTFIRE", ()),
        ("VizDoom-Basic-v0", ["ArrowLeft", "Space"], "MOVE_LEFT+ATTACK", ()),
        ("Retro/Airstriker-Genesis", ["ArrowRight", "KeyZ"], "RIGHT+B", ()),
        ("LunarLander-v3", ["ArrowUp"], "main engine", ()),
        ("Pendulum-v1", ["ArrowRight"], "torque +2.00", ()),
        ("CarRacing-v3", ["ArrowLeft", "ArrowUp"], "-1.00  +1.00  +0.00", ()),
    ],
)
def test_games_of_other_families_take_keys_held_together(
    play: Play,
    tab: Any,
    tmp_path: Path,
    reference: str,
    keys: list[str],
    expected: str,
    extra: tuple[str, ...],
) -> None:
    # Slowly, so that all keys are down long before the last steps.
    playing = play(reference, "--record", "held", "--max-steps", 25, "--seed", 3, "--fps", 6, *extra)
    page = tab(playing.url)
    for key in keys:
        page.keyboard.down(key)
    code, printed = playing.finish(seconds=110)
    assert code == 0, printed
    trace = api.load_trace(tmp_path / "held.trace")
    assert labels(trace)[-5:] == [expected] * 5, labels(trace)
    assert set(drivers(trace)) == {"human"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "keys"),
    [("MiniGrid-DoorKey-5x5-v0", "ArrowLeft ArrowRight ArrowUp"), ("Taxi-v4", "ArrowUp ArrowDown Space")],
)
def test_games_with_turns_wait_for_each_key(
    play: Play, tab: Any, tmp_path: Path, reference: str, keys: str
) -> None:
    playing = play(reference, "--record", "turns", "--max-steps", 3, "--seed", 3)
    page = tab(playing.url)
    for index, key in enumerate(keys.split()):
        page.wait_for_timeout(200)
        assert number(page, "step") == index, "nothing happens without a key"
        page.keyboard.press(key)
        if index < 2:
            until_step(page, index + 1)
    code, printed = playing.finish()
    assert code == 0, printed
    wanted = {
        "MiniGrid-DoorKey-5x5-v0": ["left", "right", "forward"],
        "Taxi-v4": ["north", "south", "pick up"],
    }
    assert labels(api.load_trace(tmp_path / "turns.trace")) == wanted[reference]
