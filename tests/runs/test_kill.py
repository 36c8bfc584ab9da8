"""kill -9 at any moment: every checkpoint that can be named is whole, and the registry reads."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gymnast.metrics.csv_file import read_metrics
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs import registry
from gymnast.runs.checkpoint import latest_intact, list_checkpoints, load_checkpoint, rewind, verify
from gymnast.runs.store import RunFolder

TRAINING = """
import sys
from pathlib import Path
import numpy as np
from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs import registry
from gymnast.runs.checkpoint import latest_intact, load_checkpoint, list_checkpoints, prune, rewind
from gymnast.runs.checkpoint import save_checkpoint
from gymnast.runs.store import RunFolder

run = RunFolder(Path(sys.argv[1]))
with run.lock():
    updates = 0
    recorder = Recorder(run.metrics_path)
    if list_checkpoints(run):
        start = latest_intact(run, lambda text: sys.exit("damaged: " + text))
        rewind(run, start)
        updates = load_checkpoint(start)[2].counters["updates"]
        recorder.truncate_after(updates)
    registry.update(run.root, run.id, status="running", env_steps=updates * 10)
    print("ready", flush=True)
    while True:
        updates += 1
        row = dict.fromkeys(COUNTERS, 0) | {"time/updates": updates, "time/env_steps": updates * 10}
        if updates % 5 == 0:
            row["eval/return/mean"] = float(updates)
        recorder.write(row)
        for score in (None, float(updates)):  # the same step twice, as an evaluation at the end would
            save_checkpoint(run, env_steps=updates * 10, policy={"w": np.full(2000, updates, np.float32)},
                state={"m": np.full(4000, updates)}, counters={"updates": updates}, metrics=row, score=score,
                reason="every")
        prune(run, keep=3)
        registry.update(run.root, run.id, env_steps=updates * 10, last_score=float(updates))
"""


def test_killed_at_random_moments(run: RunFolder, root: Path, new_run: Callable[..., RunFolder]) -> None:
    quiet = new_run()
    draw = random.Random(5)
    reached = 0
    kills = 0
    while kills < 10 or (reached <= 10 and kills < 100):  # on a busy machine each gets less far
        kills += 1
        training = subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(run.path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert training.stdout is not None
        assert training.stderr is not None
        assert training.stdout.readline() == "ready\n", training.stderr.read()
        time.sleep(draw.uniform(0.0, 0.15))
        assert training.poll() is None, training.stderr.read()
        training.kill()
        training.communicate()

        entries = {entry.id: entry for entry in registry.entries(root)}
        assert entries.keys() == {run.id, quiet.id}
        assert entries[run.id].status == "interrupted"
        for checkpoint in list_checkpoints(run):
            verify(checkpoint)
        if not list_checkpoints(run):
            continue
        newest = latest_intact(run, lambda text: (_ for _ in ()).throw(AssertionError(text)))
        policy, state, sidecar = load_checkpoint(newest)
        updates = sidecar.counters["updates"]
        assert updates >= reached
        assert updates * 10 == newest.env_steps
        assert set(policy["w"].tolist()) == set(state["m"].tolist()) == {updates}
        # Rows are written before their checkpoint, so none up to it may be missing.
        assert [row["time/updates"] for row in read_metrics(run.metrics_path)][:updates] == list(
            range(1, updates + 1)
        )
        reached = updates
    assert reached > 10
    newest = latest_intact(run, print)
    rewind(run, newest)
    with Recorder(run.metrics_path) as recorder:
        recorder.truncate_after(reached)
    assert [row["time/updates"] for row in read_metrics(run.metrics_path)] == list(range(1, reached + 1))
    assert len(list(run.checkpoints.iterdir())) == 3 * len(list_checkpoints(run))
