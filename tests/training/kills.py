"""`kill -9` at random moments of a real training, with a resume after each; what must hold every time."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from gymnast import api
from gymnast.config.values import parse_count
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints, verify
from gymnast.runs.store import run_folders
from gymnast.training.run.outcome import Outcome

STEPS_PER_UPDATE = 256


def typed(backend: str, env_steps: str) -> str:
    """A training of many short updates, with a checkpoint every few of them."""
    return (
        f"train CartPole-v1:ppo env.backend={backend} env.n_envs=8 policy.hidden=[16]"
        " algo.n_steps=32 algo.batch_size=all algo.n_epochs=2 eval.every=10k eval.episodes=3"
        f" stop.eval_return=null checkpoint.every=1k checkpoint.keep=3 --max-env-steps {env_steps}"
    )


def gymnast(runs: Path, words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "gymnast", *words.split(), "-q", "--runs-dir", str(runs)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr


def as_run(runs: Path) -> api.Run:
    (folder,) = run_folders(runs)
    return api.Run(folder, Outcome("finished", "", 0, 0.0, None, None, False))


def train_whole_and_killed(
    folder: Path, backend: str, env_steps: str, kills: int, seed: int
) -> tuple[Path, Path]:
    """Two runs folders: of a training that was never killed, and of one that was, `kills` times."""
    words = typed(backend, env_steps)
    whole, killed = folder / "whole", folder / "killed"
    finish(gymnast(whole, words))
    training = as_run(whole).metrics()[-1]["time/seconds"]
    # From during the start-up to some updates later. The start-up is that of a second process: the first one
    # may have compiled the source.
    began = time.perf_counter()
    finish(gymnast(folder / "start", typed(backend, str(STEPS_PER_UPDATE))))
    longest = time.perf_counter() - began + training / kills

    draw, reached = random.Random(seed), 0
    for attempt in range(kills):
        process = gymnast(killed, "train --resume" if run_folders(killed) else words)
        # A machine that is busy now and idle later must not finish the run before all kills are done.
        enough = (attempt + 1) / (kills + 2) * parse_count(env_steps)
        until = time.perf_counter() + draw.uniform(0.3, longest)
        while time.perf_counter() < until and _trained(killed) < enough:
            time.sleep(0.01)
        assert process.poll() is None, (process.communicate()[1], "it ended before all kills were done")
        process.kill()
        process.communicate()
        reached = _nothing_lost(killed, reached)
    assert reached > 20_000, "most attempts made progress"
    finish(gymnast(killed, "train --resume"))
    assert not list(killed.rglob("*.tmp"))
    return whole, killed


def _trained(runs: Path) -> int:
    """Env steps of the newest checkpoint, by its name alone: the process that writes it is still at work."""
    return max((point.env_steps for run in run_folders(runs) for point in list_checkpoints(run)), default=0)


def _nothing_lost(runs: Path, reached: int) -> int:
    """Check all that is on disk after a kill; the step of the newest checkpoint."""
    if not run_folders(runs):
        return reached  # killed before there was anything to lose
    (entry,) = registry.entries(runs)
    assert entry.status == "interrupted"
    run = as_run(runs)
    checkpoints = list_checkpoints(run.folder)
    for checkpoint in checkpoints:
        verify(checkpoint)
    newest = checkpoints[-1].env_steps if checkpoints else 0
    assert newest >= reached, "what was once saved is still there"
    rows = read_metrics(run.folder.metrics_path) if run.folder.metrics_path.exists() else []
    assert [row["time/updates"] for row in rows] == list(range(1, len(rows) + 1))
    if rows and not checkpoints:  # killed within its first updates: a resume is refused
        shutil.rmtree(run.path)
        return reached
    assert len(rows) >= newest // STEPS_PER_UPDATE, "a checkpoint never knows more than the metrics"
    return newest
