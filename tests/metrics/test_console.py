"""The consoles are driven by the calls a loop makes; the live one through a real pseudo-terminal."""

from __future__ import annotations

import errno
import io
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consoles import HEADER, KL_HIGH, ending, lines_of, row
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.sinks.console import (
    Console,
    QuietConsole,
    build_console,
    clock,
    number,
    seconds_left,
    short,
    summarise,
)
from gymnast.metrics.sinks.live import LiveConsole
from gymnast.metrics.sinks.plain import PlainConsole
from gymnast.metrics.sinks.sparkline import BARS, History, sparkline
from gymnast.terminal.painter import Painter
from gymnast.training.run.outcome import Status


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
    header = replace(HEADER, tasks=("heavy", "light"))
    scores = {"eval/task/heavy/return/mean": 251.25, "eval/task/light/return/mean": 254.0}
    now = row(256_000, eval__return__mean=252.6) | {"task/light/return_plain/mean": 199.5}
    out = io.StringIO()
    plain = PlainConsole(out, seconds=1000.0)
    plain.started(header)
    plain.updated(now | scores)
    assert "eval 252.60" in out.getvalue()
    assert "(heavy 251.25, light 254.00)" in out.getvalue()

    live = LiveConsole(Painter(io.StringIO(), size=(100, 40)))
    live.started(header)
    live.updated(now | scores)
    shown = [line.split()[:3] for line in lines_of(live)]
    live.close()
    assert ["light", "199.50"] in shown
    assert ["heavy", "eval", "251.25"] in shown


def test_game_shows_its_own_score_and_the_shaped_return_beside_it() -> None:
    same, clipped = row(1000), row(2000) | {"train/return_plain/mean": 328.75}
    out = io.StringIO()
    plain = PlainConsole(out, seconds=0.0)
    live = LiveConsole(Painter(io.StringIO(), size=(100, 40)))
    for console in (plain, live):
        console.started(HEADER)
        console.updated(same)
    assert "return 21.50" in out.getvalue()
    assert "shaped" not in out.getvalue() + "".join(lines_of(live))
    for console in (plain, live):
        console.updated(clipped)
    shown = [" ".join(line.split()) for line in lines_of(live)]
    live.close()
    assert "return 328.75  shaped 21.50" in out.getvalue()
    assert any("train return 328.75" in line for line in shown)
    assert any("shaped return 21.50" in line for line in shown)


def test_plain_lines_come_by_time() -> None:
    out = io.StringIO()
    console = PlainConsole(out, seconds=0.0)
    console.started(HEADER)
    console.collecting(10, 100)
    console.evaluating(3, 20)
    console.updated(row(1000))
    assert out.getvalue().splitlines()[3:5] == ["collecting 10/100 steps", "evaluating 3/20 episodes"]
    assert "1k steps" in out.getvalue().splitlines()[5]


def test_plain_alert_is_printed_when_it_is_raised_and_over_at_most_once_per_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, now = io.StringIO(), 1000.0
    monkeypatch.setattr("gymnast.metrics.sinks.plain.time.monotonic", lambda: now)
    console = PlainConsole(out, seconds=1e9)
    console.started(HEADER)
    raised = "alert (warning) kl.high: KL is 0.31, above 0.05 → algo.lr is 0.3: try 0.001"
    worse = raised.replace("warning", "critical")

    def printed(*alerts: Alert) -> list[str]:
        before = len(out.getvalue())
        console.updated(row(1000), alerts)
        return out.getvalue()[before:].splitlines()

    assert printed(KL_HIGH) == [raised]
    assert printed(replace(KL_HIGH, message="KL is 0.32, above 0.05", count=2)) == []
    assert printed() == [], "it may come back"
    assert printed(KL_HIGH) == []
    assert printed(replace(KL_HIGH, severity="critical")) == [worse], "worse is new"
    now += 61
    assert printed() == ["alert over: kl.high"]
    assert printed(KL_HIGH) == []
    now += 61
    assert printed(KL_HIGH) == [raised]


def test_plain_lines_tell_what_is_going_on_at_evaluations() -> None:
    out = io.StringIO()
    console = PlainConsole(out, seconds=1e9)
    console.started(HEADER)
    for update in range(100):
        console.updated(row(update * 1000, train__return_plain__mean=20.0 + 2 * update))
    scores = {"train__return_plain__mean": 220.0, "eval__return__mean": 200.0, "eval__best": 200.0}
    console.updated(row(100_000, time__tracker_dropped=3, **scores))
    progress, sentence = out.getvalue().splitlines()[3:]
    assert "eval 200.00" in progress
    assert "trackers dropped 3 rows" in progress
    assert re.fullmatch(r" +learning steadily; at this slope 475 in a few seconds", sentence)


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
    gone = Gone()
    for console in (PlainConsole(gone, seconds=0.0), LiveConsole(Painter(gone, size=(80, 24)))):
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


@pytest.mark.parametrize("console", ["build_console()", "QuietConsole()", "LiveConsole()"])
def test_consoles_do_not_import_rich(console: str) -> None:
    code = (
        "import sys; from gymnast.metrics.sinks.console import build_console, QuietConsole;"
        + ("from gymnast.metrics.sinks.live import LiveConsole;" if console == "LiveConsole()" else "")
        + f"c = {console}; c.updated({{'eval/return/mean': 1.0}}); print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


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
    assert number("train/explained_variance", -0.0001) == "0.000"
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
        console = LiveConsole(Painter(stream, size=(100, 30)))
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
    evil = "[/x][red]\x1b[2J\u202e\r\nnext\x07:smile:"
    header = replace(HEADER, name=evil, env_id=evil, path=evil, notices=(evil,))
    now = row(1000, eval__return__mean=1.0)
    plain_out, live_out = io.StringIO(), io.StringIO()
    live = LiveConsole(Painter(live_out, size=(60, 24), color=False))
    for console in (PlainConsole(plain_out, seconds=0.0), live, QuietConsole()):
        console.started(header)
        console.updated(now, (replace(KL_HIGH, message=evil, advice=evil),))
        console.note(evil, "warning")
        console.finished(replace(ending(), status="failed", reason=evil))
        console.close()
    for shown in (plain_out.getvalue(), live_out.getvalue(), capsys.readouterr().err):
        assert "[/x][red]\\x1b[2J\\u202e" in shown
        assert ":smile:" in shown
        assert "\x1b[2J" not in shown
        assert not set("\u202e\x07") & set(shown)
    assert "\\r\\nnext" in plain_out.getvalue()
