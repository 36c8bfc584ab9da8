from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from gymnast.training.run.signals import catch_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_first_signal_is_a_request_and_is_announced(number: signal.Signals) -> None:
    notices: list[str] = []
    with catch_signals(notices.append) as stop:
        assert stop.requested is None
        os.kill(os.getpid(), number)
        assert stop.requested == number.name
    assert len(notices) == 1
    assert "finishing this update, then saving" in notices[0]
    assert "Ctrl-C again" in notices[0]


def test_second_signal_aborts_at_once() -> None:
    with catch_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested == "SIGTERM"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_old_handlers_are_restored_also_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def crash() -> None:
        with catch_signals():
            assert signal.getsignal(signal.SIGINT) is not before[0]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crash()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_lost_terminal_under_nohup_changes_nothing() -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with catch_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.requested is None
    finally:
        signal.signal(signal.SIGHUP, old)


def test_handlers_are_left_alone_in_another_thread() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with catch_signals() as stop:
            seen.append((signal.getsignal(signal.SIGINT), stop.requested))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, None)]


LOOP = """
import sys, time
from gymnast.training.run.signals import catch_signals
with catch_signals(lambda text: print(text, flush=True)) as stop:
    print("running", flush=True)
    while stop.requested is None:
        time.sleep(0.01)
    print("saved after", stop.requested, flush=True)
sys.exit(3)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_process_saves_and_exits_with_its_own_code(number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(number)
    rest, _ = process.communicate(timeout=10)
    assert rest.splitlines()[-1] == f"saved after {number.name}"
    assert process.returncode == 3
