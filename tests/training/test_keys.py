"""Keys are driven through a real pseudo-terminal: a child process has it as its controlling terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gymnast.training.requests import AnyOf, Request
from gymnast.training.run.keys import TerminalKeys

LISTEN = """
import sys, termios, time
from gymnast.training.run.keys import TerminalKeys

def modes():
    flags = termios.tcgetattr(0)[3]
    return "single" if not flags & (termios.ICANON | termios.ECHO) else "lines"

with TerminalKeys(on_help=lambda text: print("HELP", text.splitlines()[0], flush=True),
             on_suspend=lambda: print("suspending", flush=True),
             on_resume=lambda: print("resumed", flush=True)) as requests:
    print("before", modes(), flush=True)
    requests.poll()
    print("while", modes(), flush=True)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        commands = requests.poll()
        if commands:
            print("GOT", *sorted(c.name for c in commands), modes(), flush=True)
        if any(c.name == "STOP" for c in commands):
            break
        time.sleep(0.005)
print("after", modes(), flush=True)
"""

# A shell in miniature: it starts the script as a job in the foreground, and says when the job stops.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, sys.argv[1]])
while True:
    _, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    os.tcsetpgrp(0, os.getpgrp())
    import termios
    flags = termios.tcgetattr(0)[3]
    print("STOPPED", "lines" if flags & termios.ICANON else "single", flush=True)
    input()
    os.tcsetpgrp(0, child)
    os.killpg(child, signal.SIGCONT)
"""


class Terminal:
    def __init__(self, *argv: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(sys.executable, [sys.executable, *argv])
        self.seen = ""

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def expect(self, text: str, seconds: float = 10.0) -> str:
        """What came on the screen up to and with `text`."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} did not come; the screen has {self.seen!r}"
            try:
                self.seen += os.read(self.fd, 4096).decode()
            except OSError:
                pytest.fail(f"{text!r} did not come before the end; the screen has {self.seen!r}")
        upto, self.seen = self.seen.split(text, 1)
        return upto + text

    def close(self) -> None:
        os.close(self.fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "listen.py").write_text(LISTEN)
    return str(tmp_path / "listen.py")


@pytest.fixture
def terminal(script: str) -> Iterator[Terminal]:
    terminal = Terminal(script)
    yield terminal
    terminal.close()


def test_each_key_is_its_request_and_the_terminal_is_restored(terminal: Terminal) -> None:
    terminal.expect("before lines")  # untouched until the first poll
    terminal.expect("while single")
    for key, name in (("c", "CHECKPOINT"), ("e", "EVALUATE"), ("p", "PAUSE"), ("P", "PAUSE")):
        terminal.press(key)
        terminal.expect(f"GOT {name} single")
    terminal.press("q")
    terminal.expect("GOT STOP")
    terminal.expect("after lines")


def test_help_is_shown_and_other_keys_and_arrows_do_nothing(terminal: Terminal) -> None:
    terminal.expect("while single")
    terminal.press("h")
    terminal.expect("HELP c  save a checkpoint now")
    terminal.press("\x1b[C")  # arrow right ends in a C
    terminal.press("xyz1 \n")
    time.sleep(0.2)
    terminal.press("q")
    assert "GOT" not in terminal.expect("GOT STOP").removesuffix("GOT STOP")


def test_p_pressed_twice_at_once_changes_nothing(terminal: Terminal) -> None:
    terminal.expect("while single")
    terminal.press("ppc")
    terminal.expect("GOT CHECKPOINT single")


def test_p_resumes_a_pause_and_an_evaluation_asked_for_meanwhile_happens_after_it(tmp_path: Path) -> None:
    script = tmp_path / "pause.py"
    script.write_text(
        "import time\n"
        "from gymnast.training.requests import AnyOf, Request\n"
        "from gymnast.training.run.keys import TerminalKeys\n"
        "with AnyOf(TerminalKeys()) as requests:\n"
        "    requests.poll(); print('paused', flush=True)\n"
        "    seen = set()\n"
        "    while Request.RESUME not in seen: seen |= requests.wait(5.0)\n"
        "    time.sleep(0.1)\n"
        "    print(*sorted(c.name for c in seen), 'then', *(c.name for c in requests.poll()), 'end')\n"
        "    time.sleep(0.1)\n"
        "    assert requests.poll() == set()\n"
    )
    terminal = Terminal(str(script))
    try:
        terminal.expect("paused")
        terminal.press("c")
        time.sleep(0.1)
        terminal.press("ep")
        assert terminal.expect("end").strip() == "CHECKPOINT EVALUATE RESUME then EVALUATE end"
    finally:
        terminal.close()


def test_ctrl_z_gives_the_shell_its_terminal_and_fg_takes_the_keys_again(script: str, tmp_path: Path) -> None:
    shell = tmp_path / "shell.py"
    shell.write_text(SHELL)
    terminal = Terminal(str(shell), script)
    try:
        terminal.expect("while single")
        for _ in range(2):
            terminal.press("\x1a")
            terminal.expect("suspending")
            terminal.expect("STOPPED lines")
            terminal.press("\n")
            terminal.expect("resumed")
            time.sleep(0.15)
            terminal.press("e")
            terminal.expect("GOT EVALUATE single")
        terminal.press("q")
        terminal.expect("after lines")
    finally:
        terminal.close()


def test_terminal_is_restored_after_an_exception(tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(
        "import termios\n"
        "from gymnast.training.run.keys import TerminalKeys\n"
        "try:\n"
        "    with TerminalKeys() as requests:\n"
        "        requests.poll()\n"
        "        assert not termios.tcgetattr(0)[3] & termios.ICANON\n"
        "        raise ZeroDivisionError\n"
        "except ZeroDivisionError:\n"
        "    print('lines' if termios.tcgetattr(0)[3] & termios.ICANON else 'single')\n"
    )
    terminal = Terminal(str(script))
    try:
        assert terminal.expect("s\r\n").strip() == "lines"
    finally:
        terminal.close()


def test_hang_up_ends_the_keys_not_the_training(tmp_path: Path) -> None:
    script = tmp_path / "hangup.py"
    out = tmp_path / "out"
    script.write_text(
        "import os, signal, time\n"
        "from gymnast.training.run.keys import TerminalKeys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with TerminalKeys() as requests:\n"
        "    requests.poll(); os.write(1, b'ready')\n"
        "    end = time.monotonic() + 10\n"
        "    while requests.listening and time.monotonic() < end:\n"
        "        requests.poll(); time.sleep(0.01)\n"
        f"open({str(out)!r}, 'w').write('deaf' if not requests.listening else 'listening')\n"
    )
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, str(script)])
    read = b""
    while b"ready" not in read:
        read += os.read(fd, 100)
    os.close(fd)
    os.waitpid(pid, 0)
    assert out.read_text() == "deaf"


def test_keys_without_a_terminal_do_nothing() -> None:
    code = (
        "from gymnast.training.run.keys import TerminalKeys\n"
        "requests = TerminalKeys()\n"
        "print(requests.listening, requests.poll(), requests.wait(0.01))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="cepq", capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False set() set()"


def test_background_job_is_not_stopped_and_reads_no_keys(tmp_path: Path) -> None:
    script = tmp_path / "background.py"
    script.write_text(
        "import os, termios, time\n"
        "from gymnast.training.run.keys import TerminalKeys\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.setpgid(0, 0)\n"
        "    with TerminalKeys() as requests:\n"
        "        for _ in range(5):\n"
        "            assert requests.poll() == set()\n"
        "            assert requests.wait(0.03) == set()\n"
        "    os._exit(7)\n"
        "_, status = os.waitpid(child, os.WUNTRACED)\n"
        "mode = 'lines' if termios.tcgetattr(0)[3] & termios.ICANON else 'single'\n"
        "print(os.WIFSTOPPED(status), os.waitstatus_to_exitcode(status), mode, 'end')\n"
    )
    terminal = Terminal(str(script))
    try:
        terminal.press("qq\n")
        assert "False 7 lines end" in terminal.expect("end")
    finally:
        terminal.close()


def test_terminal_of_another_session_is_left_alone() -> None:
    master, slave = pty.openpty()
    try:
        os.write(master, b"q")
        with TerminalKeys(fd=slave) as requests:
            assert requests.poll() == set()
    finally:
        os.close(master)
        os.close(slave)


def test_sources_are_polled_together_and_all_are_left() -> None:
    class Source:
        def __init__(self, *asked: Request) -> None:
            self.asked, self.entered = set(asked), 0

        def poll(self) -> set[Request]:
            return self.asked

        def wait(self, seconds: float) -> set[Request]:
            return self.asked

        def __enter__(self) -> Source:
            self.entered += 1
            return self

        def __exit__(self, *_: object) -> None:
            self.entered -= 1

    one, other = Source(Request.STOP), Source(Request.CHECKPOINT)
    with AnyOf(one, other) as requests:
        assert requests.poll() == {Request.STOP, Request.CHECKPOINT}
        assert (one.entered, other.entered) == (1, 1)
    assert (one.entered, other.entered) == (0, 0)
    with AnyOf() as nobody:
        assert nobody.poll() == nobody.wait(0.001) == set()


def test_source_that_cannot_be_entered_leaves_the_others_as_they_were() -> None:
    class Broken(TerminalKeys):
        def __enter__(self) -> Broken:
            raise ZeroDivisionError

    left: list[bool] = []

    class First(TerminalKeys):
        def close(self) -> None:
            left.append(True)

    with pytest.raises(ZeroDivisionError), AnyOf(First(), Broken()):
        pass
    assert left == [True]
