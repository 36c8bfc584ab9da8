"""The consoles are driven by the calls a loop makes; the live one through a real pseudo-terminal."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console as Terminal

from gymnast.metrics.sinks.console import (
    Console,
    PlainConsole,
    QuietConsole,
    RunHeader,
    build_console,
    clock,
    number,
    seconds_left,
    short,
    summarise,
)
from gymnast.metrics.sinks.live import LiveConsole
from gymnast.metrics.sinks.sparkline import BARS, History, sparkline
from gymnast.training.run.outcome import Outcome, Status

HEADER = RunHeader(
    run_id="run-1",
    path="runs/run-1",
    name="CartPole-v1:ppo",
    env_id="CartPole-v1",
    algo="ppo",
    engine="numpy",
    backend="native",
    n_envs=8,
    parameters=9155,
    budget="500k env steps",
    budget_env_steps=500_000,
    solved_at=475.0,
    notices=("Taxi-v3 is called Taxi-v4 now",),
)


def ending(status: Status = "solved", reason: str = "", best_score: float | None = 500.0) -> Outcome:
    return Outcome(status, reason, 52_224, 1.25, best_score, best_score, status == "solved")


def row(steps: int, **more: float) -> dict[str, float | int | bool | None]:
    return {
        "time/env_steps": steps,
        "time/progress": steps / 500_000,
        "time/seconds": steps / 50_000,
        "time/fps": 50_000.0,
        "train/return/mean": 21.5,
        "train/return_plain/mean": 21.5,
        "train/kl": 0.01,
        "train/entropy": 0.6,
        **{key.replace("__", "/"): value for key, value in more.items()},
    }


def test_plain_lines_come_at_evaluations_and_after_some_seconds_without_colours() -> None:
    out = io.StringIO()
    console = PlainConsole(out, seconds=1000.0)
    console.started(HEADER)
    for update in range(1000):
        console.updated(row(update * 256))
    before = out.getvalue().splitlines()
    assert len(before) == 3, "only the header and the notice: no line is due yet"
    console.updated(row(256_000, eval__return__mean=480.0, eval__best=480.0))
    line = out.getvalue().splitlines()[3]
    assert "51%" in line
    assert "eval 480.00" in line
    assert "0:05 left" in line
    console.finished(ending())
    assert out.getvalue().splitlines()[-1] == (
        "solved after 52,224 env steps in 1.2 s, best score 500.00 (highest of its evaluations)"
    )
    assert "\x1b" not in out.getvalue()
    assert "\r" not in out.getvalue()


def test_each_task_of_a_mix_is_shown() -> None:
    from gymnast.metrics.sinks.live import LiveConsole
    from gymnast.terminal.screen import Screen as Terminal

    header = replace(HEADER, tasks=("heavy", "light"))
    scores = {"eval/task/heavy/return/mean": 251.25, "eval/task/light/return/mean": 254.0}
    now = row(256_000, eval__return__mean=252.6) | {"task/light/return_plain/mean": 199.5}
    out = io.StringIO()
    plain = PlainConsole(out, seconds=1000.0)
    plain.started(header)
    plain.updated(now | scores)
    assert "eval 252.60" in out.getvalue()
    assert "(heavy 251.25, light 254.00)" in out.getvalue()

    live = LiveConsole(Terminal(file=io.StringIO(), force_terminal=True, width=100))
    live.started(header)
    live.updated(now | scores)
    shown = live._frame().plain.splitlines()
    live.close()
    assert any(line.split()[:2] == ["light", "199.50"] for line in shown)
    assert any(line.split()[:3] == ["heavy", "eval", "251.25"] for line in shown)


def test_game_shows_its_own_score_and_the_shaped_return_beside_it() -> None:
    from gymnast.metrics.sinks.live import LiveConsole
    from gymnast.terminal.screen import Screen as Terminal

    same, clipped = row(1000), row(2000) | {"train/return_plain/mean": 328.75}
    out = io.StringIO()
    plain = PlainConsole(out, seconds=0.0)
    live = LiveConsole(Terminal(file=io.StringIO(), force_terminal=True, width=100))
    for console in (plain, live):
        console.started(HEADER)
        console.updated(same)
    assert "return 21.50" in out.getvalue()
    assert "shaped" not in out.getvalue() + live._frame().plain
    for console in (plain, live):
        console.updated(clipped)
    shown = [line.split()[:3] for line in live._frame().plain.splitlines()]
    live.close()
    assert "return 328.75  shaped 21.50" in out.getvalue()
    assert ["train", "return", "328.75"] in shown
    assert ["shaped", "return", "21.50"] in shown


def test_plain_lines_come_by_time() -> None:
    out = io.StringIO()
    console = PlainConsole(out, seconds=0.0)
    console.started(HEADER)
    console.collecting(10, 100)
    console.evaluating(3, 20)
    console.updated(row(1000))
    assert out.getvalue().splitlines()[3:5] == ["collecting 10/100 steps", "evaluating 3/20 episodes"]
    assert "1k steps" in out.getvalue().splitlines()[5]


def test_alert_is_reported_once_while_it_lasts_and_again_when_it_returns() -> None:
    out = io.StringIO()
    console = PlainConsole(out, seconds=1000.0)
    console.started(HEADER)
    alert = {"train/kl": "far above its target"}
    for alerts in (alert, alert, {}, alert):
        console.updated(row(1000), alerts)
    assert out.getvalue().splitlines()[3:] == ["alert: train/kl: far above its target"] * 2


def test_note_in_the_middle_of_a_write_waits_for_its_end() -> None:
    """A signal handler may call note() while the console is writing."""

    class Interrupted(io.StringIO):
        inside = False

        def write(self, text: str) -> int:
            if not self.inside and "one" in text:
                self.inside = True
                console.note("two")
            return super().write(text)

    out = Interrupted()
    console = PlainConsole(out)
    console.note("one")
    assert out.getvalue() == "one\ntwo\n"


class Gone(io.StringIO):
    """A terminal that hung up."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "gone")

    def isatty(self) -> bool:
        return True


def test_closed_terminal_does_not_stop_the_training() -> None:
    from gymnast.metrics.sinks.live import LiveConsole
    from gymnast.terminal.screen import Screen as Terminal

    gone = Gone()
    for console in (PlainConsole(gone, seconds=0.0), LiveConsole(Terminal(file=gone, force_terminal=True))):
        console.started(HEADER)
        console.updated(row(1000, eval__return__mean=1.0))
        console.note("careful", "warning")
        console.finished(ending())
        console.close()
    assert not isinstance(sys.stdout, Gone)


def test_quiet_console_writes_only_warnings_and_only_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    console = QuietConsole()
    console.started(HEADER)
    console.updated(row(1000, eval__return__mean=1.0))
    console.note("checkpoint saved")
    console.note("damaged checkpoint", "warning")
    console.finished(ending())
    assert capsys.readouterr() == ("", "warning: damaged checkpoint\n")


def test_console_depends_on_where_it_writes() -> None:
    assert isinstance(build_console(quiet=True), QuietConsole)
    assert isinstance(build_console(json=True), QuietConsole)
    assert isinstance(build_console(), PlainConsole), "pytest captures stdout: not a terminal"


def test_plain_output_does_not_import_rich() -> None:
    code = (
        "import sys; from gymnast.metrics.sinks.console import build_console; c = build_console(); "
        "c.updated({'eval/return/mean': 1.0}); print(sorted(m for m in sys.modules if m == 'rich'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


SESSION = """
import sys, time
sys.path.insert(0, {folder!r})
from gymnast.metrics.sinks.console import build_console
from test_console import HEADER, ending, row
console = build_console(keys="c checkpoint · q stop")
console.started(HEADER)
for update in range(60):
    alerts = {{"train/kl": "far above its target"}} if update > 30 else {{}}
    score = 480.0 + update
    more = {{"eval__return__mean": score, "eval__best": score}} if update % 20 == 19 else {{}}
    console.updated(row(update * 8000, **more), alerts)
    time.sleep(0.01)
for done in range(60):
    console.evaluating(done, 60)
    time.sleep(0.01)
console.note("checkpoint saved")
console.note("the disk is nearly full", "warning")
console.paused(True)
console.paused(False)
console.suspend()
console.resume()
console.updated(row(490_000))
console.finished(ending())
console.close()
print("the end")
"""


def on_a_terminal(script: str, columns: int, rows: int) -> str:
    """Everything the script wrote to a terminal of that size."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        environment |= {"TERM": "xterm-256color", "PYTHONUTF8": "1"}
        os.execve(sys.executable, [sys.executable, "-c", script], environment)
    written = b""
    try:
        while chunk := os.read(fd, 65536):
            written += chunk
    except OSError:  # raised by Linux when the other end is closed
        pass
    os.close(fd)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, written.decode()
    return written.decode()


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (140, 50), (50, 15)])
def test_live_view_shows_the_run_and_leaves_a_clean_terminal(columns: int, rows: int) -> None:
    written = on_a_terminal(SESSION.format(folder=str(Path(__file__).parent)), columns, rows)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    lines = re.split(r"[\r\n]+", plain)
    assert max(len(line) for line in lines) <= columns
    assert "CartPole-v1:ppo" in plain
    assert "train return" in plain
    assert re.search(r"eval return +499\.00", plain)
    assert "paused: press p to continue" in plain
    assert "warning: the disk is nearly full" in plain
    assert "Taxi-v3 is called Taxi-v4 now" in plain
    if rows >= 24:
        assert "evaluating" in plain
        assert "checkpoint saved" in plain
        assert "⚠ far above its target" in plain
        assert "solved at 475.00" in plain
        assert "c checkpoint · q stop" in plain
        assert any(bar in plain for bar in BARS)
    assert "solved after 52,224 env steps" in " ".join(lines[-4:])
    assert lines[-2] == "the end"
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l"), "the cursor is visible again"


def test_live_view_draws_rarely_and_keeps_little(monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnast.metrics.sinks.live import LiveConsole
    from gymnast.terminal.screen import Screen as Terminal

    out = io.StringIO()
    console = LiveConsole(Terminal(file=out, force_terminal=True, width=80, height=40))
    console.started(HEADER)
    console.updated(row(0))
    drawn = len(out.getvalue())
    monkeypatch.setattr("gymnast.metrics.sinks.live.time.monotonic", lambda: 0.0)
    for update in range(10_000):
        console.updated(row(update))
        console.collecting(update % 64, 64)
    assert len(out.getvalue()) == drawn, "not one more frame while the clock is stopped"
    assert max(len(figure.history.points) for figure in console._figures.values()) <= 48
    console.close()


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        ("finished", "budget spent", "finished (budget spent) after"),
        ("interrupted", "stopped by SIGINT", "stopped by SIGINT and saved after"),
        ("failed", "reward is NaN", "failed (reward is NaN) after"),
    ],
)
def test_summary_names_how_the_run_ended(status: Status, reason: str, text: str) -> None:
    assert summarise(ending(status, reason)).startswith(text)
    assert "best score" not in summarise(ending(status, reason, best_score=None))


def test_numbers_are_short_and_have_the_catalogues_precision() -> None:
    assert [short(v) for v in (0, 999, 999.6, 1234, 999_999, 5e6, 2e9)] == [
        "0", "999", "1k", "1.23k", "1M", "5M", "2B",
    ]  # fmt: skip
    assert [clock(v) for v in (0, 59.6, 61, 3700)] == ["0:00", "1:00", "1:01", "1:01:40"]
    assert number("train/kl", 0.0123456) == "0.01235"
    assert number("time/env_steps", 1_234_567) == "1,234,567"
    assert number("train/loss/value", 1.5e12) == "1.5e+12"
    assert seconds_left({"time/progress": 0.25, "time/seconds": 10.0}) == 30.0
    assert seconds_left({"time/progress": 0.0, "time/seconds": 10.0}) is None


def test_time_left_is_that_of_the_budget_spent_first() -> None:
    row = {"time/progress": 0.25, "time/seconds": 10.0}
    assert seconds_left(row, wall_time=15.0) == 5.0
    assert seconds_left(row, wall_time=100.0) == 30.0
    assert seconds_left({"time/progress": 0.0, "time/seconds": 10.0}, wall_time=15.0) == 5.0
    assert seconds_left(row, wall_time=9.0) == 0.0


@pytest.mark.parametrize("kind", ["plain", "live"])
def test_console_shows_the_time_left_of_the_wall_time(kind: str) -> None:
    row = {"time/progress": 0.25, "time/seconds": 100.0, "time/env_steps": 1000}
    stream = io.StringIO()
    console: Console = PlainConsole(stream, seconds=0.0)
    if kind == "live":
        console = LiveConsole(Terminal(file=stream, force_terminal=True, width=100, height=30))
    console.started(replace(HEADER, budget_seconds=142.0))
    console.updated(row)
    console.note("one more frame")
    console.close()
    assert "0:42 left" in stream.getvalue()


def test_sparkline_rises_with_its_values() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == BARS
    assert sparkline([5.0, 5.0, 5.0], 8) == BARS[3] * 3
    assert sparkline([1.0], 8) == ""
    assert sparkline([1.0, float("nan"), 2.0], 8) == BARS[0] + BARS[-1]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32)), st.integers(0, 40))
def test_any_values_fit_into_the_width(values: list[float], width: int) -> None:
    line = sparkline(values, width)
    assert len(line) <= width
    assert set(line) <= set(BARS)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=500))
def test_history_is_bounded_and_keeps_the_mean(values: list[float]) -> None:
    history = History(capacity=8)
    for value in values:
        history.add(value)
    assert len(history.points) < 8
    stride = history._stride
    covered = len(history.points) * stride
    assert len(values) - covered < stride, "only the unfinished last point is missing"
    if history.points:
        mean = sum(values[:covered]) / covered
        assert sum(history.points) / len(history.points) == pytest.approx(mean, rel=1e-9, abs=1e-6)


def test_names_tasks_and_notes_of_others_are_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    from gymnast.metrics.sinks.live import LiveConsole
    from gymnast.terminal.screen import Screen

    evil = "[/x][red]\x1b[2J\u202e\r\nnext\x07:smile:"
    header = replace(HEADER, name=evil, env_id=evil, path=evil, notices=(evil,))
    now = row(1000, eval__return__mean=1.0)
    plain_out, live_out = io.StringIO(), io.StringIO()
    live = LiveConsole(Screen(file=live_out, force_terminal=True, width=60, no_color=True))
    for console in (PlainConsole(plain_out, seconds=0.0), live, QuietConsole()):
        console.started(header)
        console.updated(now, {"train/kl": evil})
        console.note(evil, "warning")
        console.finished(replace(ending(), status="failed", reason=evil))
        console.close()
    for shown in (plain_out.getvalue(), live_out.getvalue(), capsys.readouterr().err):
        assert "[/x][red]\\x1b[2J\\u202e" in shown
        assert ":smile:" in shown
        assert "\x1b[2J" not in shown
        assert not set("\u202e\x07") & set(shown)
    assert "\\r\\nnext" in plain_out.getvalue()
