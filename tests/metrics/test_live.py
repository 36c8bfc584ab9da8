"""The live view is driven by the calls a loop makes, and looked at through a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import sys
import termios
import time
import timeit
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consoles import HEADER, KL_HIGH, ending, lines_of, row
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.sinks.live import LiveConsole
from gymnast.metrics.sinks.phases import Phases
from gymnast.metrics.sinks.sparkline import BARS
from gymnast.terminal.painter import Painter
from gymnast.training.report import Report, Timing

KEYS = "c checkpoint · e evaluate · p pause · q stop and save · h help"
COLLAPSED = Alert(
    "entropy.collapse",
    "critical",
    "train/entropy",
    "entropy is 0.004 of its maximum, below 0.01",
    "algo.entropy_coef is 0: try 0.01",
)
DEAD = Alert("units.dead", "warning", "net/dead/actor", "31 % of the units are dead", "try tanh")
METRICS = {
    "train/explained_variance": 0.9,
    "train/clip_fraction": 0.1,
    "train/loss/value": 0.5,
    "train/loss/policy": 0.01,
    "train/length/mean": 120.0,
    "opt/lr": 0.001,
    "opt/grad_norm": 0.5,
    "opt/gamma": 0.99,
    "env/reward/mean": 1.0,
    "env/reward/std": 0.1,
    "time/updates": 12.0,
}


def live(columns: int = 80, lines: int = 24, keys: str = KEYS, color: bool = False) -> LiveConsole:
    console = LiveConsole(Painter(io.StringIO(), size=(columns, lines), color=color), keys)
    console.started(HEADER)
    return console


def shown(console: LiveConsole, alerts: Sequence[Alert] = (), **more: float) -> list[str]:
    console.updated(row(50_000, **more) | METRICS, alerts)
    return lines_of(console)


SESSION = """
import sys, time
sys.path.insert(0, {folder!r})
from gymnast.metrics.sinks.console import build_console
from consoles import HEADER, KL_HIGH, ending, row
console = build_console(keys="c checkpoint · q stop")
console.started(HEADER)
for update in range(60):
    alerts = (KL_HIGH,) if update > 30 else ()
    score = 480.0 + update
    more = {{"eval__return__mean": score, "eval__best": score}} if update % 20 == 19 else {{}}
    console.updated(row(update * 8000, **more), alerts)
    time.sleep(0.01)
for done in range(40):
    console.evaluating(done, 40)
    time.sleep(0.02)
print("an env prints")
console.note("checkpoint saved")
console.note("the disk is nearly full", "warning")
console.paused(True)
console.paused(False)
console.suspend()
console.resume()
console.updated(row(490_000), (KL_HIGH,))
console.finished(ending())
console.close()
print("the end")
"""


def on_a_terminal(
    words: Sequence[str], columns: int, rows: int, interrupt_at: bytes = b"", **more: str
) -> str:
    """Everything that Python wrote to a terminal of that size; Ctrl-C is pressed once a text is there."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        environment |= {"TERM": "xterm-256color", "PYTHONUTF8": "1"} | more
        os.execve(sys.executable, [sys.executable, *words], environment)
    written = b""
    try:
        while chunk := os.read(fd, 65536):
            written += chunk
            if interrupt_at and interrupt_at in written:
                os.write(fd, b"\x03")
                interrupt_at = b""
    except OSError:  # raised by Linux when the other end is closed
        pass
    os.close(fd)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 3), written.decode()
    return written.decode()


def without_sequences(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(60, 24), (120, 50), (50, 15)])
def test_live_view_shows_the_run_and_leaves_a_clean_terminal(columns: int, rows: int) -> None:
    written = on_a_terminal(["-c", SESSION.format(folder=str(Path(__file__).parents[1]))], columns, rows)
    plain = without_sequences(written)
    lines = re.split(r"[\r\n]+", plain)
    assert max(len(line) for line in lines) <= columns
    assert "CartPole-v1:ppo" in plain
    assert "train return" in plain
    assert re.search(r"eval return +539\.00", plain)
    assert "paused: press p to continue" in plain
    assert "warning: the disk is nearly full" in plain
    assert "Taxi-v3 is called Taxi-v4 now" in plain
    assert "an env prints" in lines, "in a line of its own"
    if rows >= 24:
        assert "evaluating" in plain
        assert "checkpoint saved" in plain
        assert "⚠ KL is 0.31, above 0.05" in plain
        assert "algo.lr is 0.3: try 0.001" in " ".join(plain.split())
        assert ("solved at 475" if columns >= 80 else "goal 475") in plain
        assert "c checkpoint · q stop" in plain
        assert any(bar in plain for bar in BARS)
    assert "solved after 52,224 env steps" in " ".join(lines[-5:])
    assert lines[-2] == "the end"
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l"), "the cursor is visible again"


@pytest.mark.parametrize("columns", [60, 80, 110])
@pytest.mark.parametrize("lines", [10, 16, 24, 30, 50])
def test_frame_fits_and_never_loses_the_progress(columns: int, lines: int) -> None:
    frame = shown(live(columns, lines), [KL_HIGH, COLLAPSED, DEAD])
    assert len(frame) < lines
    assert max(map(len, frame)) < columns
    assert "━" in "".join(frame[:6])
    assert "50k/500k steps" in "".join(frame[:6])
    assert any("train return" in line for line in frame)
    if lines >= 16:
        assert "q stop and save" in frame[-1]
        assert frame[-1].endswith("h help")


def test_frame_fits_into_any_terminal() -> None:
    for columns in range(1, 130, 7):
        for lines in range(1, 60, 4):
            frame = shown(live(columns, lines), [KL_HIGH, COLLAPSED, DEAD])
            assert len(frame) <= max(1, lines - 1)
            assert max(map(len, frame)) <= columns


def test_rows_are_grouped_by_namespace_and_sorted_by_priority() -> None:
    frame = shown(live(80, 40))
    groups = [line.split()[0] for line in frame if re.match(r"(score|time|train|opt|env) ", line)]
    assert groups == ["score", "time", "train", "opt", "env"]
    order = [
        "train return", "eval return", "best", "steps / second", "updates", "entropy", "KL",
        "explained var.", "episode length", "value loss", "clip fraction", "policy loss",
        "learning rate", "gradient norm", "reward",
    ]  # fmt: skip
    labels = [line[8:26].strip() for line in frame]
    assert [label for label in labels if label in order] == order
    assert "gamma" not in labels, "only in files"


def test_short_terminal_shows_what_matters_most() -> None:
    labels = [line[8:26].strip() for line in shown(live(80, 16))]
    assert {"train return", "eval return", "best", "entropy", "KL", "learning rate"} <= set(labels)
    assert not {"policy loss", "updates"} & set(labels)


def test_change_is_coloured_by_what_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    console = live(80, 40, color=True)
    now = time.monotonic()
    monkeypatch.setattr("gymnast.metrics.sinks.live.time.monotonic", lambda: now)
    for step, value in enumerate((0.5, 0.7)):
        console.updated(row(1000 * (step + 1), **{"train/explained_variance": value, "train/kl": value}))
        console._frame()
    frame = {line[8:23].strip(): line for line in console._frame()}
    assert re.search(r"\x1b\[32m +\+0\.200", frame["explained var."]), "higher is better"
    assert re.search(r"\x1b\[31m +\+0\.20000", frame["KL"]), "lower is better"
    assert not re.search(r"\x1b\[3[0-7]m *\+", frame["entropy"])


def test_alert_is_in_the_row_of_its_metric() -> None:
    frame = shown(live(110, 40), [KL_HIGH])
    (line,) = [line for line in frame if "KL is 0.31, above 0.05 → algo.lr is 0.3: try 0.001" in line]
    assert line[8:10] == "KL"
    assert "0.01000" in line
    frame = shown(live(60, 40), [KL_HIGH])
    at = next(index for index, line in enumerate(frame) if line[8:10] == "KL")
    assert frame[at + 1].strip() == "⚠ KL is 0.31, above 0.05 → algo.lr is 0.3: try" or (
        "⚠ KL is 0.31, above 0.05" in frame[at] and "→ algo.lr is 0.3: try 0.001" in frame[at + 1]
    )


def test_alert_of_a_metric_without_a_row_gets_one_while_it_is_active() -> None:
    console = live(80, 40)
    assert not any("dead" in line for line in shown(console))
    frame = shown(
        console, [DEAD, replace(DEAD, id="score.plateau", metric="", message="no better", advice="")]
    )
    (line,) = [line for line in frame if "31 % of the units are dead" in line]
    assert line.startswith("net     dead/actor")
    (line,) = [line for line in frame if "no better" in line]
    assert line.startswith("alert   score.plateau")
    assert not any("dead" in line or "score.plateau" in line for line in shown(console))


def test_worst_alert_comes_first_and_the_rest_is_counted() -> None:
    many = [replace(DEAD, id=f"units.{n}", metric=f"net/dead/{n}", message=f"dead {n}") for n in range(30)]
    frame = shown(live(80, 16), [*many, COLLAPSED])
    assert any("✖ entropy is 0.004" in line for line in frame)
    assert re.search(r"\d+ more alerts?\b", "\n".join(frame))
    assert len(frame) == 15


def test_several_alerts_of_one_metric_are_all_shown() -> None:
    worse = replace(KL_HIGH, id="kl.spike", severity="critical", message="KL was 25 once", advice="")
    text = "\n".join(shown(live(80, 40), [KL_HIGH, worse]))
    assert text.index("✖ KL was 25 once") < text.index("⚠ KL is 0.31, above 0.05")


def test_time_by_phase_and_dropped_tracker_rows_are_shown() -> None:
    console = live(60, 30)
    for step in (1, 2, 3):
        report_row = row(1000 * step, time__seconds=0.1 * step, time__tracker_dropped=7.0)
        console.take(Report(1000 * step, step, report_row, timing=Timing(0.06, 0.03, 0.0)))
        console._frame()
    frame = lines_of(console)
    assert "collect 62%  learn 31%  evaluate 0%  other 7%  " in frame
    assert re.search(r"tracker drops +7", "\n".join(frame))
    assert "tracker drops" not in "\n".join(shown(console))


@given(st.lists(st.tuples(*[st.floats(0, 10)] * 3), min_size=1, max_size=20))
def test_shares_of_time_add_up_to_one(parts: list[tuple[float, float, float]]) -> None:
    phases, seconds = Phases(), 0.0
    for collect, learn, evaluate in parts:
        phases.add(Timing(collect, learn, evaluate))
        seconds += 1.1 * (collect + learn + evaluate)
        shares = phases.shares(seconds)
        assert not shares or sum(shares.values()) == pytest.approx(1.0)
        assert all(share >= 0 for share in shares.values())


def test_long_evaluation_has_a_bar_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    console = live()
    now = time.monotonic() + 10
    monkeypatch.setattr("gymnast.metrics.sinks.live.time.monotonic", lambda: now)
    console.evaluating(0, 20)
    assert "evaluating" not in "".join(lines_of(console)), "a short one would flicker"
    now += 5
    console.evaluating(5, 20)
    assert re.search(r"evaluating ━+─+ 5/20 episodes  0:15 left", "".join(lines_of(console)))


class Clock:
    """The time, as far as it has been told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for name in ("monotonic", "perf_counter"):
            monkeypatch.setattr(f"gymnast.metrics.sinks.live.time.{name}", lambda: self.now)


class SlowTerminal(io.StringIO):
    """Takes a while for every write."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.seconds = 0.01
        self.writes = 0

    def write(self, text: str) -> int:
        self.clock.now += self.seconds
        self.writes += 1
        return len(text)


def test_drawing_to_a_slow_terminal_takes_a_hundredth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    slow = SlowTerminal(clock)
    console = LiveConsole(Painter(slow, size=(80, 40)))
    console.started(HEADER)
    began, before = clock.now, slow.writes
    for _ in range(10_000):
        clock.now += 0.001
        console.updated(row(1000))
        console.collecting(3, 64)
    drawing = 0.01 * (slow.writes - before)
    assert 0.005 <= drawing / (clock.now - began) <= 0.0101


def test_drawing_that_was_held_up_once_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    slow = SlowTerminal(clock)
    console = LiveConsole(Painter(slow, size=(80, 40)))
    console.started(HEADER)
    clock.now += 60.0
    slow.seconds = 9.0
    console.updated(row(1000))
    assert console._next_draw - clock.now == pytest.approx(5.0)


def test_calls_that_draw_nothing_cost_microseconds_and_keep_little(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = LiveConsole(Painter(out, size=(80, 40)))
    console.started(HEADER)
    console.updated(row(0))
    drawn = len(out.getvalue())
    console._next_draw = time.monotonic() + 1e9
    rows = [row(update) | METRICS for update in range(1000)]

    def updates() -> None:
        for each in rows:
            console.updated(each)
            console.collecting(3, 64)

    assert min(timeit.repeat(updates, timer=time.process_time, number=1, repeat=5)) < 1000 * 20e-6
    assert len(out.getvalue()) == drawn
    assert len(console._figures._waiting) <= 16
    console._frame()
    assert max(len(figure.history.points) for figure in console._figures.by_key.values()) <= 48


def test_last_table_leaves_room_for_what_is_printed_after_it() -> None:
    out = io.StringIO()
    console = LiveConsole(Painter(out, size=(60, 24)), KEYS)
    console.started(HEADER)
    console.updated(row(50_000) | METRICS, [KL_HIGH])
    console._draw()
    before = len(out.getvalue())
    console.finished(ending())
    console.close()
    final = without_sequences(out.getvalue()[before:])
    lines = final.split("\r\n")
    assert len(lines) <= 24 - 4, "next steps and the shell's prompt fit below it"
    assert any("train return" in line for line in lines)
    assert any("⚠ KL is 0.31" in line for line in lines)
    assert "q stop and save" not in final
    assert "solved after" in lines[-3]


def gymnast(*words: str) -> list[str]:
    settings = ("algo.n_steps=64", "eval.every=1000", "eval.episodes=2")
    return ["-m", "gymnast", "train", "CartPole-v1:ppo", *settings, *words]


def test_plain_lines_on_a_terminal_when_asked_for() -> None:
    written = on_a_terminal(gymnast("--plain", "--max-env-steps", "2k"), 80, 24)
    assert "\x1b" not in written
    assert re.search(r"\d+%  [\d.]+k steps  return", written)


def test_colours_can_be_switched_off() -> None:
    written = on_a_terminal(gymnast("--max-env-steps", "2k"), 60, 24, NO_COLOR="1")
    assert "train return" in written
    assert not re.search(r"\x1b\[[0-9;]*(3|4|9|10)[0-7]m", written)


def test_last_table_stays_after_an_interruption() -> None:
    words = gymnast("eval.every=0", "--max-env-steps", "9M")
    written = on_a_terminal(words, 60, 24, interrupt_at=b"steps / second")
    assert re.search(r"\x1b\[3[0-7]m", written), "with colours"
    screen = without_sequences(written).split("\r\n")[-24:]
    assert any("train return" in line for line in screen)
    assert any(line.startswith("stopped by SIGINT and saved") for line in screen)
    assert any(line.startswith("resume ") for line in screen)
