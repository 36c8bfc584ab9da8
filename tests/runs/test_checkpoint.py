from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gymnast.errors import GymnastError, RunFailed
from gymnast.runs import checkpoint as checkpoints
from gymnast.runs.checkpoint import (
    Checkpoint,
    DamagedCheckpoint,
    best_checkpoint,
    latest_intact,
    list_checkpoints,
    load_checkpoint,
    load_policy_arrays,
    prune,
    rewind,
    save_checkpoint,
    verify,
)
from gymnast.runs.references import resolve
from gymnast.runs.store import RunFolder

Save = Callable[..., Checkpoint]


def steps(run: RunFolder) -> list[int]:
    return [checkpoint.env_steps for checkpoint in list_checkpoints(run)]


def files(run: RunFolder) -> list[Path]:
    """Those in use: what was set aside is left out."""
    return [path for path in run.checkpoints.iterdir() if ".damaged" not in path.name]


def policy_path(checkpoint: Checkpoint) -> Path:
    return checkpoint.arrays_path("policy", checkpoint.sidecar().copy)


def state_path(checkpoint: Checkpoint) -> Path:
    return checkpoint.arrays_path("state", checkpoint.sidecar().copy)


def test_everything_comes_back(run: RunFolder) -> None:
    draw = np.random.default_rng(3)
    policy = {"w": draw.normal(size=(3, 2)).astype(np.float32), "count": np.array(12, dtype=np.int64)}
    state = {
        "adam": [draw.normal(size=5)],
        "rng": draw.bit_generator.state,
        "obs": np.zeros((0, 4)),
        "x": float("inf"),
    }
    metrics = {"train/kl": float("nan"), "time/env_steps": np.int64(256), "eval/solved": True}
    saved = save_checkpoint(
        run,
        env_steps=256,
        policy=policy,
        state=state,
        counters={"updates": 1},
        metrics=metrics,
        score=1.5,
        reason="eval",
    )
    assert sorted(path.name for path in run.checkpoints.iterdir()) == [
        "000000000256.json", "000000000256.policy.safetensors", "000000000256.state.safetensors",
    ]  # fmt: skip
    policy_back, state_back, sidecar = load_checkpoint(saved)
    np.testing.assert_array_equal(policy_back["w"], policy["w"])
    assert policy_back["count"].shape == ()
    np.testing.assert_array_equal(state_back["adam"][0], state["adam"][0])
    assert state_back["rng"] == state["rng"]
    assert state_back["x"] == float("inf")
    assert (sidecar.counters, sidecar.score, sidecar.reason) == ({"updates": 1}, 1.5, "eval")
    assert np.isnan(sidecar.metrics["train/kl"])
    assert sidecar.metrics["time/env_steps"] == 256
    assert load_policy_arrays(saved)[0].keys() == policy.keys()
    assert str(saved) == f"{run.id}/256"

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    json.loads(saved.json_path.read_text(), parse_constant=no_constant)


def test_arrays_among_metrics_are_refused(run: RunFolder) -> None:
    with pytest.raises(GymnastError, match=r"plain numbers, not arrays: metrics/a"):
        save_checkpoint(
            run,
            env_steps=1,
            policy={},
            state={},
            counters={},
            metrics={"a": np.zeros(2)},
            score=None,
            reason="x",  # type: ignore[dict-item]
        )
    assert [path.name for path in run.checkpoints.iterdir()] == []


def test_references(run: RunFolder, save: Save) -> None:
    with pytest.raises(GymnastError, match=r"has no checkpoint yet"):
        resolve(run)
    save(run, 100)
    assert resolve(run).env_steps == 100
    with pytest.raises(GymnastError, match=f"never evaluated, so it has no @best; use {run.id}/@last"):
        resolve(run, "@best")
    save(run, 200, score=9.0)
    save(run, 300, score=float("nan"))
    save(run, 400, score=3.0)
    assert resolve(run).env_steps == resolve(run, "@best").env_steps == 200
    assert resolve(run, "@last").env_steps == 400
    assert resolve(run, "000000000300") == resolve(run, 300)
    with pytest.raises(GymnastError, match=r"no checkpoint at step 240; the nearest is 200"):
        resolve(run, "240")
    with pytest.raises(GymnastError, match=r"did you mean '@best'"):
        resolve(run, "@bset")
    with pytest.raises(GymnastError, match=r"use @last, @best or an env step"):
        resolve(run, "../../x")


def test_latest_of_equal_scores_is_best(run: RunFolder, save: Save) -> None:
    for step in (100, 200, 300):
        save(run, step, score=500.0 if step < 300 else 1.0)
    best = best_checkpoint(run)
    assert best is not None
    assert best.env_steps == 200


def test_solved_mix_with_a_lower_mean_beats_an_unsolved_one(run: RunFolder, save: Save) -> None:
    for step, score, solved in ((100, 745.0, False), (200, 744.0, True), (300, 760.0, False)):
        save(run, step, score=score, **{"eval/solved": solved, "eval/task/a/return/mean": 80.0})
        prune(run, keep=1)
    assert resolve(run, "@best").env_steps == 200
    assert steps(run) == [200, 300], "the one that solved was not pruned"


def test_prune_keeps_the_newest_and_the_best(run: RunFolder, save: Save) -> None:
    for step in range(100, 1000, 100):
        save(run, step, score=9.0 if step == 300 else 1.0)
        prune(run, keep=2)
    assert steps(run) == [300, 800, 900]
    assert len(list(run.checkpoints.iterdir())) == 9
    for checkpoint in list_checkpoints(run):
        verify(checkpoint)


def test_the_same_step_twice(run: RunFolder, save: Save) -> None:
    save(run, 100, score=5.0, seed=1)
    save(run, 100, seed=1)  # the same weights: their score is still theirs
    assert resolve(run).sidecar().score == 5.0
    second = save(run, 100, seed=2)
    assert second.sidecar().score is None
    np.testing.assert_array_equal(
        load_policy_arrays(second)[0]["actor.weight"],
        np.random.default_rng(2).normal(size=(8, 4)).astype(np.float32),
    )
    assert len(list(run.checkpoints.iterdir())) == 3


def test_the_same_step_twice_survives_a_kill_at_any_write(
    run: RunFolder, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = save(run, 100, score=5.0, seed=1)
    real = checkpoints.write_atomic
    for failing in range(3):
        calls = 0

        def dies(*args: object, **options: object) -> None:
            nonlocal calls
            if calls == failing:  # noqa: B023
                raise KeyboardInterrupt
            calls += 1
            real(*args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(checkpoints, "write_atomic", dies)
        with pytest.raises(KeyboardInterrupt):
            save(run, 100, seed=2)
        assert verify(first).score == 5.0
        monkeypatch.setattr(checkpoints, "write_atomic", real)
        rewind(run, first)
        assert len(list(run.checkpoints.iterdir())) == 3


def truncate(checkpoint: Checkpoint) -> None:
    os.truncate(policy_path(checkpoint), 40)


def flip_policy(checkpoint: Checkpoint) -> None:
    flip(policy_path(checkpoint), -3)


def flip_state(checkpoint: Checkpoint) -> None:
    flip(state_path(checkpoint), 20)


def flip_score(checkpoint: Checkpoint) -> None:
    text = checkpoint.json_path.read_text()
    assert '"score": 2.0' in text
    checkpoint.json_path.write_text(text.replace('"score": 2.0', '"score": 9.0'))


def drop_state(checkpoint: Checkpoint) -> None:
    state_path(checkpoint).unlink()


def junk_json(checkpoint: Checkpoint) -> None:
    checkpoint.json_path.write_bytes(b"\x00\xffjunk")


def other_json(checkpoint: Checkpoint) -> None:
    checkpoint.json_path.write_text('["not", "an", "object"]')


def empty_json(checkpoint: Checkpoint) -> None:
    checkpoint.json_path.write_text("")


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


DAMAGES = [truncate, flip_policy, flip_state, flip_score, drop_state, junk_json, other_json, empty_json]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_falls_back_with_a_warning(
    run: RunFolder, save: Save, damage: Callable[[Checkpoint], None]
) -> None:
    save(run, 100, score=1.0)
    newest = save(run, 200, score=2.0)
    damage(newest)
    warnings: list[str] = []
    assert latest_intact(run, warnings.append).env_steps == 100
    assert len(warnings) == 1
    assert f"checkpoint 200 of run {run.id} is damaged" in warnings[0]
    with pytest.raises(DamagedCheckpoint, match=r"is damaged"):
        load_checkpoint(newest)
    rewind(run, resolve(run, 100))
    assert steps(run) == [100]
    save(run, 200, score=2.0)
    assert latest_intact(run, warnings.append).env_steps == 200
    assert len(files(run)) == 6


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_step_can_be_saved_again(
    run: RunFolder, save: Save, damage: Callable[[Checkpoint], None]
) -> None:
    damage(save(run, 200, score=2.0))
    verify(save(run, 200, score=3.0))
    save(run, 300)
    assert len(files(run)) == 6


def test_all_damaged(run: RunFolder, save: Save) -> None:
    with pytest.raises(GymnastError, match=r"has no checkpoint yet"):
        latest_intact(run, print)
    for step in (100, 200):
        truncate(save(run, step))
    warnings: list[str] = []
    with pytest.raises(RunFailed, match=f"every checkpoint of run {run.id} is damaged"):
        latest_intact(run, warnings.append)
    assert len(warnings) == 2


def test_checkpoint_of_a_later_format_is_refused_with_the_reason(
    run: RunFolder, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = save(run, 100)
    monkeypatch.setattr(checkpoints, "FORMAT", 0)
    with pytest.raises(DamagedCheckpoint, match=r"has format 1, this version reads 0"):
        saved.sidecar()


def test_leftovers_of_a_killed_save_are_cleaned_by_the_next(run: RunFolder, save: Save) -> None:
    (run.checkpoints / "000000000050.policy.safetensors").write_bytes(b"arrays without their JSON")
    (run.checkpoints / ".000000000050.changing.tmp").write_bytes(b"")
    (run.checkpoints / ".000000000050.state.safetensors.tmp").write_bytes(b"half")
    (run.checkpoints / "notes.txt").write_text("a user's own file stays")
    save(run, 100)
    assert len(list(run.checkpoints.iterdir())) == 4
    assert (run.checkpoints / "notes.txt").exists()


def test_a_full_disk_stops_the_save_and_keeps_the_last(run: RunFolder, save: Save) -> None:
    first = save(run, 100, score=1.0)
    code = (
        "import resource, sys; from pathlib import Path; import numpy as np\n"
        "from gymnast.errors import RunFailed\n"
        "from gymnast.runs.checkpoint import save_checkpoint; from gymnast.runs.store import RunFolder\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n"
        "    save_checkpoint(RunFolder(Path(sys.argv[1])), env_steps=200, policy={}, counters={},\n"
        "        state={'m': np.zeros(100_000)}, metrics={}, score=None, reason='time')\n"
        "except RunFailed as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(run.path)], capture_output=True, text=True, check=True
    )
    assert "could not write" in done.stdout
    assert "000000000200.state.safetensors: the file would grow past" in done.stdout
    warnings: list[str] = []
    assert latest_intact(run, warnings.append) == first
    assert not warnings
    rewind(run, first)
    assert len(list(run.checkpoints.iterdir())) == 3
