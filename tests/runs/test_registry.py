from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from gymnast.errors import GymnastError
from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs import registry
from gymnast.runs.checkpoint import Checkpoint
from gymnast.runs.registry import RunEntry, entries, entry_of, rebuild, update
from gymnast.runs.store import RunFolder, delete_run

NewRun = Callable[..., RunFolder]
Save = Callable[..., Checkpoint]


def write_evals(run: RunFolder, scores: dict[int, float], budget: int) -> None:
    with Recorder(run.metrics_path) as recorder:
        for step, score in scores.items():
            row = dict.fromkeys(COUNTERS, 0) | {"time/env_steps": step, "time/progress": step / budget}
            recorder.write({**row, "eval/return/mean": score})


def test_newest_first_and_updated(root: Path, new_run: NewRun) -> None:
    first, second = new_run(seed=1), new_run("Pendulum-v1", seed=2)
    update(
        root, first.id, status="finished", solved=True, best_score=np.float32(500), env_steps=np.int64(1000)
    )
    found = entries(root)
    assert [entry.id for entry in found] == [second.id, first.id]
    entry = found[1]
    assert (entry.name, entry.env, entry.variant, entry.algo, entry.seed) == (
        "CartPole-v1:ppo",
        "CartPole-v1",
        "ppo",
        "ppo",
        1,
    )
    assert (entry.status, entry.solved, entry.best_score, entry.env_steps) == ("finished", True, 500.0, 1000)
    update(root, first.id, last_score=400.0)
    assert entry_of(first).best_score == 500.0
    assert entry_of(first).last_score == 400.0
    document = json.loads((root / "registry.json").read_text())
    assert [item["id"] for item in document["runs"]] == [second.id, first.id]


def test_bad_fields(root: Path, run: RunFolder) -> None:
    with pytest.raises(GymnastError, match=r"no field 'best_scor' .did you mean 'best_score'"):
        update(root, run.id, best_scor=1)
    with pytest.raises(GymnastError, match=r"a run is running, finished, interrupted, failed, not 'done'"):
        update(root, run.id, status="done")
    with pytest.raises(GymnastError, match=r"not a run id"):
        update(root, "../x", status="failed")


def test_a_killed_run_is_listed_as_interrupted(root: Path, run: RunFolder) -> None:
    with run.lock():
        update(root, run.id, status="running")
        assert entries(root)[0].status == "running"
    assert entries(root)[0].status == "interrupted"
    assert entries(root)[0].reason == "killed"
    with run.lock():
        update(root, run.id, status="interrupted", reason="Ctrl-C")
        update(root, run.id, status="running")
        assert entry_of(run).reason is None  # it was resumed


def test_nan_scores_are_none(root: Path, run: RunFolder) -> None:
    update(root, run.id, status="failed", last_score=float("nan"))
    assert "NaN" not in (root / "registry.json").read_text()
    (root / "registry.json").unlink()
    assert entries(root)[0].last_score is None


@pytest.mark.parametrize(
    "damage",
    [None, "", "{", "[]", '{"runs": 3}', '{"runs": [{"id": 1}]}', '{"runs": [{"identity": "x"}]}',
     '{"runs": [{"id": "kaaaaaaa", "env_steps": "many"}]}'],
)  # fmt: skip
def test_a_lost_or_damaged_index_is_rebuilt_the_same(
    root: Path, new_run: NewRun, save: Save, damage: str | None
) -> None:
    for seed in range(3):
        run = new_run(seed=seed, budget_env_steps=400)
        save(run, 100, score=seed)
        write_evals(run, {100: seed, 200: 2.0 * seed}, 400)
        update(
            root,
            run.id,
            status="finished",
            solved=seed == 2,
            best_score=2.0 * seed,
            last_score=0.0,
            env_steps=200,
            seconds=1.5,
        )
    before = entries(root)
    text = (root / "registry.json").read_text()
    if damage is None:
        (root / "registry.json").unlink()
    else:
        (root / "registry.json").write_text(damage)
    assert entries(root) == before
    assert (root / "registry.json").read_text() == text
    assert rebuild(root) == before


def test_a_lost_status_is_rebuilt_from_checkpoints_and_metrics(
    root: Path, run: RunFolder, save: Save
) -> None:
    save(run, 100, score=7.0, **{"eval/solved": 1})
    save(run, 200, score=5.0)
    save(run, 300)
    write_evals(run, {100: 7.0, 200: 5.0}, 400)
    for junk in (None, "junk"):
        if junk:
            run.status_path.write_text(junk)
        entry = entries(root)[0]
        assert (entry.status, entry.env_steps, entry.best_score, entry.last_score) == (
            "interrupted",
            300,
            7.0,
            5.0,
        )
        assert entry.solved
        assert entry.seconds == 0.3
        assert entry.score_auc is not None


def test_wrong_types_in_a_runs_own_files_do_not_break_the_list(root: Path, run: RunFolder) -> None:
    run.info_path.write_text('{"created": 5, "env": ["x"], "seed": true, "extra": 1}')
    run.status_path.write_text('{"status": "dancing", "best_score": "high", "solved": 1, "env_steps": 7}')
    entry = entries(root)[0]
    assert entry == RunEntry(id=run.id, status="interrupted", reason="killed", env_steps=7)


def test_gone_folders_leave_and_new_ones_enter(root: Path, new_run: NewRun) -> None:
    first, second = new_run(), new_run()
    assert {entry.id for entry in entries(root)} == {first.id, second.id}
    delete_run(first)
    third = new_run()
    assert {entry.id for entry in entries(root)} == {second.id, third.id}
    assert {item["id"] for item in json.loads((root / "registry.json").read_text())["runs"]} == {
        second.id,
        third.id,
    }


def test_listing_creates_nothing(root: Path) -> None:
    assert entries(root) == []
    assert not root.exists()


def test_a_stale_index_is_caught_up(root: Path, run: RunFolder) -> None:
    update(root, run.id, status="running", env_steps=10)
    behind = (root / "registry.json").read_text()
    update(root, run.id, status="finished", env_steps=20)
    (root / "registry.json").write_text(behind)  # as if killed between the two writes
    assert entries(root)[0].status == "finished"
    assert entries(root)[0].env_steps == 20


def test_many_processes_update_at_once(root: Path, new_run: NewRun) -> None:
    runs = [new_run(seed=seed) for seed in range(4)]
    code = (
        "import sys; from pathlib import Path; from gymnast.runs.registry import update\n"
        "root, run_id = Path(sys.argv[1]), sys.argv[2]\n"
        "for step in range(1, 26): update(root, run_id, status='finished', env_steps=step)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(root), run.id], stderr=subprocess.PIPE)
        for run in runs
    ]
    for writer in writers:
        _, errors = writer.communicate()
        assert writer.returncode == 0, errors.decode()
    stored = json.loads((root / "registry.json").read_text())["runs"]
    assert {item["id"]: item["env_steps"] for item in stored} == {run.id: 25 for run in runs}
    assert stored == [asdict(entry) for entry in entries(root)]


def test_every_field_of_an_entry_has_a_known_type() -> None:
    assert set(asdict(RunEntry("x"))) == set(registry._TYPES)
