"""`kill -9` at random moments, twenty times in a row, resuming each time: nothing is lost."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gymnast import api
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints, verify
from gymnast.runs.store import run_folders
from gymnast.training.run.outcome import Outcome

KILLS = 20
TYPED = (
    "train CartPole-v1:ppo env.backend=sync env.n_envs=8 policy.hidden=[16]"
    " algo.n_steps=32 algo.batch_size=all algo.n_epochs=2 eval.every=10k eval.episodes=3"
    " stop.eval_return=null checkpoint.every=1k checkpoint.keep=3 --max-env-steps 300k"
)


def gymnast(runs: Path, typed: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "gymnast", *typed.split(), "-q", "--runs-dir", str(runs)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def as_run(runs: Path) -> api.Run:
    (folder,) = run_folders(runs)
    return api.Run(folder, Outcome("finished", "", 0, 0.0, None, None, False))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_run_killed_twenty_times_ends_as_if_never_killed(
    tmp_path: Path, assert_same_run: Callable[[api.Run, api.Run], None]
) -> None:
    never_killed = gymnast(tmp_path / "whole", TYPED)
    _, stderr = never_killed.communicate(timeout=300)
    assert never_killed.returncode == 0, stderr
    training = as_run(tmp_path / "whole").metrics()[-1]["time/seconds"]
    # On any machine: from during the start-up to so late that twenty attempts do not finish the run.
    # The start-up is that of a second process: the first one may have compiled the source.
    began = time.perf_counter()
    gymnast(tmp_path / "start", TYPED.replace("300k", "256")).communicate(timeout=300)
    longest = time.perf_counter() - began + training / KILLS

    runs, draw = tmp_path / "killed", random.Random(11)
    kills = reached = 0
    while kills < KILLS:
        started = run_folders(runs)
        process = gymnast(runs, "train --resume" if started else TYPED)
        time.sleep(draw.uniform(0.3, longest))
        assert process.poll() is None, (process.communicate()[1], "it ended before all kills were done")
        process.kill()
        process.communicate()
        kills += 1

        if not run_folders(runs):
            continue  # killed before there was anything to lose
        (entry,) = registry.entries(runs)
        assert entry.status == "interrupted"
        run = as_run(runs)
        checkpoints = list_checkpoints(run.folder)
        for checkpoint in checkpoints:
            verify(checkpoint)
        newest = checkpoints[-1].env_steps if checkpoints else 0
        assert newest >= reached, "what was once saved is still there"
        reached = newest
        rows = read_metrics(run.folder.metrics_path) if run.folder.metrics_path.exists() else []
        assert [row["time/updates"] for row in rows] == list(range(1, len(rows) + 1))
        if rows and not checkpoints:  # killed within its first updates: a resume is refused
            shutil.rmtree(run.path)
            continue
        assert len(rows) >= newest // 256, "a checkpoint never knows more than the metrics"

    assert reached > 20_000, "most attempts made progress"
    last = gymnast(runs, "train --resume")
    _, stderr = last.communicate(timeout=300)
    assert last.returncode == 0, stderr
    assert_same_run(as_run(tmp_path / "whole"), as_run(runs))
    assert not list(runs.rglob("*.tmp"))


def test_run_aborted_by_a_second_signal_resumes_exactly(
    tmp_path: Path, assert_same_run: Callable[[api.Run, api.Run], None]
) -> None:
    # Updates of about a second, so that the second signal comes during one.
    typed = (
        TYPED.replace("n_steps=32", "n_steps=1024")
        .replace("300k", "32k")
        .replace("1k", "8k")
        .replace("n_epochs=2", "n_epochs=100")
    )
    process = gymnast(tmp_path / "stopped", typed)
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
    for runs, words in ((tmp_path / "stopped", "train --resume"), (tmp_path / "whole", typed)):
        done = gymnast(runs, words)
        _, stderr = done.communicate(timeout=60)
        assert done.returncode == 0, stderr
    assert_same_run(as_run(tmp_path / "whole"), as_run(tmp_path / "stopped"))
