"""The window, on a display of its own and with real key events."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gymnast import api

pytest.importorskip("av")
pytestmark = [
    pytest.mark.skipif(
        shutil.which("Xvfb") is None or shutil.which("xdotool") is None,
        reason="Xvfb or xdotool is not installed",
    ),
    pytest.mark.timeout(300),  # a machine that also runs other tests
]

Play = Callable[..., Any]
# Steps per second where a hand has to come in time, on a busy machine too: an untended pole falls soon.
SLOW = 2


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    """A screen that nobody sees. The server chooses its number, so that tests may run side by side."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as number:
        shown = number.readline().strip()
    yield f":{shown}"
    server.terminate()
    server.wait(60)


def keys(display: str, *words: str) -> str:
    done = subprocess.run(
        ["xdotool", *words],
        env={**os.environ, "DISPLAY": display},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout.strip()


def opened(display: str, playing: Any) -> str:
    """The id of the window, once it is there and has the keyboard."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = keys(display, "search", "--onlyvisible", "--pid", str(playing.process.pid)).split()
        if found:
            keys(display, "windowfocus", "--sync", found[0])
            time.sleep(0.3)
            return found[0]
        assert playing.process.poll() is None, playing.finish()
        time.sleep(0.1)
    raise AssertionError("no window was opened")


def until(display: str, window: str, state: str, step: int = 0) -> int:
    """Wait for the title to say so: its step."""
    give_up = time.monotonic() + 60
    while True:
        title = keys(display, "getwindowname", window)
        found = re.search(r" · (\w+) · step (\d+) ", title)
        if found and found[1] == state and int(found[2]) >= step:
            return int(found[2])
        assert time.monotonic() < give_up, title
        time.sleep(0.05)


def labels(path: Path) -> tuple[list[str], list[str]]:
    trace = api.load_trace(path)
    return [trace.labels[row] for row in trace.steps], [trace.infos[row]["driver"] for row in trace.steps]


def test_a_person_plays_an_episode_in_a_window(play: Play, display: str, tmp_path: Path) -> None:
    words = ("CartPole-v1:ppo", "--window", "--record", "pole", "--episodes", 1, "--seed", 3, "--fps", 10)
    playing = play(*words, display=display, browser=False)
    opened(display, playing)
    keys(display, "keydown", "Left")
    code, printed = playing.finish()
    keys(display, "keyup", "Left")
    assert code == 0, printed
    taken, who = labels(tmp_path / "pole.trace")
    assert set(taken) == {"left"}
    assert set(who) == {"human"}
    assert len(taken) > 5


@pytest.mark.slow
def test_taking_over_in_a_window_and_closing_it(play: Play, display: str, runs: Path, tmp_path: Path) -> None:
    trace = api.record_trace("@last", seed=3, frames=False, runs_dir=runs)
    own = [trace.labels[row] for row in trace.steps]
    words = ("@last", "--runs-dir", runs, "--window", "--record", "shared", "--seed", 3, "--fps", SLOW)
    playing = play(*words, display=display, browser=False)
    window = opened(display, playing)
    until(display, window, "policy", 3)
    keys(display, "keydown", "Right", "key", "Tab")
    at = until(display, window, "human")
    until(display, window, "human", at + 2)  # more would fell the pole
    keys(display, "key", "Tab", "keyup", "Right")
    at = until(display, window, "policy")
    until(display, window, "policy", at + 2)
    keys(display, "key", "F2")
    until(display, window, "policy", at + 4)
    ask_to_close(display, window)
    code, printed = playing.finish()
    assert code == 0, printed
    taken, who = labels(tmp_path / "shared.trace")
    first, last = who.index("human"), len(who) - 1 - who[::-1].index("human")
    assert taken[:first] == own[:first]
    assert set(taken[first : last + 1]) == {"right"}
    assert 0 < first < last < len(who) - 2
    assert [path.read_bytes()[:4] for path in tmp_path.glob("CartPole-v1-3-*.png")] == [b"\x89PNG"]


class ClientMessage(ctypes.Structure):
    """XClientMessageEvent, as large as an XEvent."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
        ("rest", ctypes.c_long * 24),
    ]


def ask_to_close(display: str, window: str) -> None:
    """What a window manager sends when its button is clicked. (Debian's xdotool cannot.)"""
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype, x11.XInternAtom.restype = ctypes.c_void_p, ctypes.c_ulong
    opened = ctypes.c_void_p(x11.XOpenDisplay(display.encode()))
    assert opened.value is not None
    message = ClientMessage(type=33, window=int(window), format=32)
    message.message_type = x11.XInternAtom(opened, b"WM_PROTOCOLS", 0)
    message.data[0] = x11.XInternAtom(opened, b"WM_DELETE_WINDOW", 0)
    assert x11.XSendEvent(opened, ctypes.c_ulong(int(window)), 0, ctypes.c_long(0), ctypes.byref(message))
    x11.XCloseDisplay(opened)


def test_losing_the_focus_pauses_a_person(play: Play, display: str, tmp_path: Path) -> None:
    words = ("MountainCar-v0:ppo", "--window", "--record", "lost", "--seed", 3)
    playing = play(*words, display=display, browser=False)
    window = opened(display, playing)
    until(display, window, "paused")
    keys(display, "keydown", "Left")
    until(display, window, "human", 5)
    keys(display, "windowfocus", keys(display, "search", "--maxdepth", "0", ".*").split()[0])
    at = until(display, window, "paused", 5)
    time.sleep(0.5)
    assert until(display, window, "paused") == at, "though the key is still down"
    keys(display, "windowfocus", "--sync", window)
    keys(display, "keyup", "Left", "keydown", "Right")
    until(display, window, "human", at + 2)
    keys(display, "keyup", "Right")
    code, printed = playing.finish(signal.SIGINT)
    assert code == 0, printed
    taken, _ = labels(tmp_path / "lost.trace")
    assert taken[at - 1] == "push left"
    assert "push right" in taken[at:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "held", "expected"),
    [
        ("ALE/Breakout-v5", ["Left"], "LEFT"),
        ("ALE/Pong-v5:ppo", ["Up", "space"], "RIGHTFIRE"),
        ("VizDoom-Basic-v0", ["Left", "space"], "MOVE_LEFT+ATTACK"),
    ],
)
def test_other_games_in_a_window(
    play: Play, display: str, tmp_path: Path, reference: str, held: list[str], expected: str
) -> None:
    # Slowly, so that all keys are down long before the last steps.
    words = (reference, "--window", "--record", "held", "--max-steps", 25, "--seed", 3, "--fps", 6)
    playing = play(*words, display=display, browser=False)
    opened(display, playing)
    for key in held:
        keys(display, "keydown", key)
    code, printed = playing.finish(seconds=100)
    for key in held:
        keys(display, "keyup", key)
    assert code == 0, printed
    taken, who = labels(tmp_path / "held.trace")
    assert taken[-5:] == [expected] * 5
    assert set(who) == {"human"}
