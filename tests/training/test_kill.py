"""`kill -9` at random moments, twenty times in a row, resuming each time: nothing is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gymnast import api
from gymnast.runs import registry
from training.kills import as_run, gymnast, train_whole_and_killed, typed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_run_killed_twenty_times_ends_as_if_never_killed(
    tmp_path: Path, assert_same_run: Callable[[api.Run, api.Run], None]
) -> None:
    whole, killed = train_whole_and_killed(tmp_path, "sync", "300k", kills=20, seed=11)
    assert_same_run(as_run(whole), as_run(killed))


@pytest.mark.slow
def test_run_aborted_by_a_second_signal_resumes_exactly(
    tmp_path: Path, assert_same_run: Callable[[api.Run, api.Run], None]
) -> None:
    # Updates of about a second, so that the second signal comes during one.
    words = (
        typed("sync", "32k")
        .replace("n_steps=32", "n_steps=1024")
        .replace("every=1k", "every=8k")
        .replace("n_epochs=2", "n_epochs=100")
    )
    process = gymnast(tmp_path / "stopped", words)
    end = time.monotonic() + 30
    while time.monotonic() < end and not list(tmp_path.glob("stopped/*/checkpoints/*.json")):
        time.sleep(0.02)
    time.sleep(0.2)  # the next update is under way
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    if process.returncode == 130:  # 3 where the update ended between the two
        (entry,) = registry.entries(tmp_path / "stopped")
        assert entry.status == "interrupted"
    else:
        assert process.returncode == 3
    for runs, typed_words in ((tmp_path / "stopped", "train --resume"), (tmp_path / "whole", words)):
        done = gymnast(runs, typed_words)
        _, stderr = done.communicate(timeout=60)
        assert done.returncode == 0, stderr
    assert_same_run(as_run(tmp_path / "whole"), as_run(tmp_path / "stopped"))
