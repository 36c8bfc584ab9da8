"""What counts as damage, what does not, and that nothing is ever deleted for it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError, RunFailed
from gymnast.runs import registry
from gymnast.runs.arrays import pack, pack_state, unpack, unpack_state
from gymnast.runs.checkpoint import (
    Checkpoint,
    DamagedCheckpoint,
    latest_intact,
    list_checkpoints,
    load_checkpoint,
    load_policy_arrays,
    prune,
    rewind,
)
from gymnast.runs.files import sha256
from gymnast.runs.references import resolve
from gymnast.runs.store import RunFolder

Save = Callable[..., Checkpoint]
SMALL = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "algo.n_steps": 16,
    "algo.batch_size": "all",
    "algo.n_epochs": 1,
    "policy.hidden": [4],
    "budget.env_steps": 4 * 64,
    "eval.every": 2 * 64,
    "eval.episodes": 2,
    "stop.eval_return": None,
    "checkpoint.every": 64,
    "checkpoint.keep": 99,
}


@pytest.fixture
def trained(root: Path) -> api.Run:
    return api.train("CartPole-v1:ppo", overrides=SMALL, runs_dir=root)


def names(run: RunFolder) -> set[str]:
    return {path.name for path in run.checkpoints.iterdir()}


def forge(checkpoint: Checkpoint, **changes: Any) -> None:
    """Change the JSON and give it the right checksum."""
    document = json.loads(checkpoint.json_path.read_text())
    del document["checksum"]
    for key, value in changes.items():
        if value is ...:
            del document[key]
        else:
            document[key] = value
    text = json.dumps(document, indent=1, sort_keys=True)
    document["checksum"] = sha256(text.encode())
    checkpoint.json_path.write_text(json.dumps(document, indent=1, sort_keys=True))


def forge_part(checkpoint: Checkpoint, part: str, data: bytes) -> None:
    sidecar = checkpoint.sidecar()
    checkpoint.arrays_path(part, sidecar.copy).write_bytes(data)
    forge(checkpoint, files=sidecar.files | {part: {"sha256": sha256(data), "bytes": len(data)}})


@pytest.mark.parametrize(
    "changes",
    [
        {"env_steps": "200"},
        {"env_steps": 100},
        {"env_steps": 10**30},
        {"env_steps": True},
        {"created": 5},
        {"score": "high"},
        {"score": 10**400},
        {"score": [1.0]},
        {"counters": []},
        {"counters": {"updates": {"deep": 1}}},
        {"metrics": None},
        {"metrics": {"a": "text"}},
        {"files": {}},
        {"files": {"policy": {"sha256": "x", "bytes": 3}, "state": {"sha256": "x", "bytes": 3}}},
        {"files": {"policy": 3, "state": 4}},
        {"copy": 7},
        {"copy": -1},
        {"config": "../../etc/passwd"},
        {"scores_from": None},
        {"format": "1"},
        {"files": ...},
        {"metrics": {"$array": "no such"}},
        {"score": {"$float": "many"}},
    ],
    ids=str,
)
def test_malformed_json_under_a_right_checksum_is_passed_over(
    changes: dict[str, Any], run: RunFolder, save: Save, caplog: pytest.LogCaptureFixture
) -> None:
    save(run, 100, score=1.0)
    newest = save(run, 200, score=2.0)
    forge(newest, **changes)
    with pytest.raises(DamagedCheckpoint, match=r"checkpoint 200 of run .* is damaged"):
        newest.sidecar()
    for reference in (None, "@best", "@last"):
        caplog.clear()
        assert resolve(run, reference).env_steps == 100
        assert "checkpoint 200 of run" in caplog.text
    warnings: list[str] = []
    assert latest_intact(run, warnings.append).env_steps == 100
    assert len(warnings) == 1
    assert [info.env_steps for info in summary(run) if info.damaged] == [200]
    assert registry.entries(run.root)[0].best_score == 1.0


def summary(run: RunFolder) -> tuple[Any, ...]:
    return api.show_run(run.id, runs_dir=run.root).checkpoints


def test_later_fields_are_ignored(run: RunFolder, save: Save) -> None:
    saved = save(run, 100, score=1.0)
    forge(saved, field_of_a_later_version={"a": [1, 2]})
    assert resolve(run, "@best") == saved


def safetensors(header: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


NOT_ARRAYS = {
    "junk": b"junk",
    "empty": b"",
    "huge header": (2**62).to_bytes(8, "little") + b"{}",
    "huge shape": safetensors({"w": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 4]}}, b"1234"),
    "unknown type": safetensors({"w": {"dtype": "Q99", "shape": [1], "data_offsets": [0, 4]}}, b"1234"),
}


@pytest.mark.parametrize("part", ["policy", "state"])
@pytest.mark.parametrize("content", NOT_ARRAYS)
def test_malformed_arrays_under_a_right_checksum_are_passed_over(
    content: str, part: str, run: RunFolder, save: Save, caplog: pytest.LogCaptureFixture
) -> None:
    save(run, 100, score=1.0)
    newest = save(run, 200, score=2.0)
    forge_part(newest, part, NOT_ARRAYS[content])
    warnings: list[str] = []
    assert latest_intact(run, warnings.append).env_steps == 100
    assert f"checkpoint 200 of run {run.id} is damaged: its {part} is malformed" in warnings[0]
    for reference in (None, "@best", "@last"):
        assert resolve(run, reference).env_steps == (100 if part == "policy" else 200)
    if part == "state":
        assert load_policy_arrays(newest)[0], "what it plays with is intact"
    assert ("is damaged" in caplog.text) == (part == "policy")


def test_weights_of_another_shape_under_a_right_checksum_are_passed_over(trained: api.Run) -> None:
    *_, before, newest = list_checkpoints(trained.folder)
    arrays, _ = load_policy_arrays(newest)
    forge_part(newest, "policy", pack({name: array[..., None] for name, array in arrays.items()}))
    result = api.evaluate(f"{trained.path}/@last", episodes=1)
    assert result.env_steps == before.env_steps


def rewritten(change: Callable[[dict[str, Any]], object]) -> Callable[[Checkpoint], None]:
    def damage(checkpoint: Checkpoint) -> None:
        sidecar = checkpoint.sidecar()
        state = unpack_state(checkpoint.arrays(sidecar, "state"))
        change(state)
        forge_part(checkpoint, "state", pack_state(state))

    return damage


def without_a_weight(checkpoint: Checkpoint) -> None:
    arrays = unpack(checkpoint.arrays(checkpoint.sidecar(), "policy"))
    del arrays["value_head.bias"]
    forge_part(checkpoint, "policy", pack(arrays))


def another_shape(checkpoint: Checkpoint) -> None:
    arrays = unpack(checkpoint.arrays(checkpoint.sidecar(), "policy"))
    forge_part(checkpoint, "policy", pack({name: array[None] for name, array in arrays.items()}))


MALFORMED: dict[str, Callable[[Checkpoint], None]] = {
    "no counters": rewritten(lambda state: state.pop("counters")),
    "counters of text": rewritten(lambda state: state["counters"].update(env_steps="many")),
    "another step": rewritten(lambda state: state["counters"].update(env_steps=10**9)),
    "negative updates": rewritten(lambda state: state["counters"].update(updates=-3)),
    "nan seconds": rewritten(lambda state: state["counters"].update(seconds=float("nan"))),
    "no generator": rewritten(lambda state: state.update(rng={})),
    "learner of another type": rewritten(lambda state: state.update(learner=[1, 2])),
    "optimizer of another shape": rewritten(
        lambda state: state["learner"]["optimizer"].update(m=np.zeros((3, 3), np.float32))
    ),
    "envs of another type": rewritten(lambda state: state["source"].update(envs="none")),
    "episodes of another type": rewritten(lambda state: state["counters"].update(recent=[[1]])),
    "a list": lambda checkpoint: forge_part(
        checkpoint, "state", pack({"$structure": np.frombuffer(b"[1, 2]", np.uint8)})
    ),
    "no value head": without_a_weight,
    "weights of another shape": another_shape,
}


@pytest.mark.parametrize("damage", MALFORMED)
def test_resume_passes_over_what_makes_no_sense_and_deletes_nothing(damage: str, trained: api.Run) -> None:
    newest = list_checkpoints(trained.folder)[-1]
    MALFORMED[damage](newest)
    before = names(trained.folder)
    resumed = api.resume(trained.id, max_env_steps=5 * 64, runs_dir=trained.path.parent)
    assert (resumed.outcome.status, resumed.outcome.env_steps) == ("finished", 5 * 64)
    log = resumed.folder.log_path.read_text()
    assert f"checkpoint 256 of run {trained.id} is damaged" in log
    assert "resumes from step 192" in log
    after = names(trained.folder)
    assert {name for name in before if f"{name}.damaged-1" not in after} <= after
    assert {f"{name}.damaged-1" for name in before if name.startswith("000000000256")} <= after
    assert [row["time/updates"] for row in resumed.metrics()] == [1, 2, 3, 4, 5]


def test_checkpoint_whose_state_alone_is_damaged_still_evaluates(trained: api.Run) -> None:
    for checkpoint in list_checkpoints(trained.folder):
        os.truncate(checkpoint.arrays_path("state", checkpoint.sidecar().copy), 100)
    before = names(trained.folder)
    for reference in ("256", "@last", "@best"):
        evaluation = api.evaluate(f"{trained.id}/{reference}", episodes=2, runs_dir=trained.path.parent)
        assert evaluation.episodes == 2
    with pytest.raises(RunFailed, match=r"every checkpoint of run .* is damaged"):
        api.resume(trained.id, max_env_steps=5 * 64, runs_dir=trained.path.parent)
    assert names(trained.folder) == before


def test_refused_resume_sets_nothing_aside(trained: api.Run) -> None:
    newest = list_checkpoints(trained.folder)[-1]
    os.truncate(newest.arrays_path("state", newest.sidecar().copy), 100)
    before = names(trained.folder)
    with pytest.raises(GymnastError, match="give it more"):
        api.resume(trained.id, overrides={"budget.env_steps": 64}, runs_dir=trained.path.parent)
    assert names(trained.folder) == before


@pytest.mark.parametrize("part", ["json", "policy", "state", "config"])
def test_file_that_cannot_be_read_stops_and_nothing_is_changed(part: str, trained: api.Run) -> None:
    """Reading the memory of a process at address 0 is an I/O error, as on a broken disk."""
    if not Path("/proc/self/mem").exists():
        pytest.skip("needs /proc")
    newest = list_checkpoints(trained.folder)[-1]
    path = newest.json_path
    if part == "config":
        (path,) = trained.folder.checkpoints.glob("config-*")
        trained.folder.config_path.write_text(trained.folder.config_text() + "\n")
    elif part != "json":
        path = newest.arrays_path(part, newest.sidecar().copy)
    kept = path.with_name("kept")
    path.rename(kept)
    path.symlink_to("/proc/self/mem")
    before = names(trained.folder)
    for act in (
        lambda: api.resume(trained.id, max_env_steps=5 * 64, runs_dir=trained.path.parent),
        lambda: api.evaluate(f"{trained.id}/@last", episodes=1, runs_dir=trained.path.parent),
    ):
        if (part, act.__code__.co_names[1]) in (("state", "evaluate"), ("config", "resume")):
            continue  # neither needs it
        with pytest.raises(GymnastError, match="cannot be read") as caught:
            act()
        assert not isinstance(caught.value, DamagedCheckpoint)
        assert names(trained.folder) == before
    api.show_run(trained.id, runs_dir=trained.path.parent)
    path.unlink()
    kept.rename(path)
    assert api.resume(trained.id, max_env_steps=5 * 64, runs_dir=trained.path.parent).outcome.env_steps == 320


def test_file_without_permission_stops_and_nothing_is_changed(trained: api.Run) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    newest = list_checkpoints(trained.folder)[-1]
    newest.arrays_path("state", newest.sidecar().copy).chmod(0)
    before = names(trained.folder)
    with pytest.raises(GymnastError, match="Permission denied"):
        api.resume(trained.id, max_env_steps=5 * 64, runs_dir=trained.path.parent)
    assert names(trained.folder) == before


def test_damaged_checkpoints_are_renamed_when_training_passes_them(run: RunFolder, save: Save) -> None:
    for step in (100, 200, 300):
        save(run, step, score=1.0)
    newest = resolve(run, 300)
    junk = b"\0junk"
    newest.json_path.write_bytes(junk)
    policy = newest.arrays_path("policy", 0).read_bytes()
    rewind(run, resolve(run, 200))
    assert (run.checkpoints / "000000000300.json.damaged-1").read_bytes() == junk
    assert (run.checkpoints / "000000000300.policy.safetensors.damaged-1").read_bytes() == policy
    again = save(run, 300, score=2.0)
    again.json_path.write_bytes(junk)
    rewind(run, resolve(run, 200))
    assert (run.checkpoints / "000000000300.json.damaged-2").read_bytes() == junk
    assert load_checkpoint(save(run, 300))[2].env_steps == 300


def test_arrays_whose_json_is_lost_are_set_aside(run: RunFolder, save: Save) -> None:
    save(run, 100)
    lost = save(run, 200)
    lost.json_path.unlink()
    save(run, 300)
    assert "000000000200.policy.safetensors.damaged-1" in names(run)
    assert "000000000200.state.safetensors.damaged-1" in names(run)


def test_damaged_old_checkpoint_is_not_pruned_away(run: RunFolder, save: Save) -> None:
    for step in (100, 200, 300):
        save(run, step)
    resolve(run, 100).json_path.write_text("{")
    prune(run, keep=1)
    assert [c.env_steps for c in list_checkpoints(run)] == [300]
    assert "000000000100.policy.safetensors.damaged-1" in names(run)
    assert not any(name.startswith("000000000200") for name in names(run))


def test_unreadable_run_does_not_hide_the_others(trained: api.Run) -> None:
    other = api.train("CartPole-v1:ppo", overrides=SMALL, runs_dir=trained.path.parent)
    for path in (trained.folder.status_path, trained.folder.metrics_path):
        path.unlink()
        path.mkdir()
    (trained.path.parent / "registry.json").unlink()
    assert {entry.id for entry in api.list_runs(runs_dir=trained.path.parent)} == {trained.id, other.id}
    assert api.best_runs(runs_dir=trained.path.parent)
