"""A run that is packed and unpacked is the same run, and works as it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gymnast import api
from gymnast.errors import GymnastError, UntrustedRun
from gymnast.recordings.store import load_recording, save_recording
from gymnast.runs.files import sha256
from gymnast.runs.registry import entries
from gymnast.runs.store import RunFolder


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *map(str, words)],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


def test_run_arrives_byte_for_byte_without_what_is_the_machines(
    trained: RunFolder, packed: Path, runs: Path
) -> None:
    arrived = api.unpack_run(packed, runs_dir=runs)
    own = {".lock", "mark.json"}
    before = {name: digest for name, digest in content(trained.path).items() if name not in own}
    after = content(arrived.path)
    assert after.pop("origin.json")
    assert after == before
    assert len(after) > 8
    assert arrived.run == trained.id
    assert [entry.id for entry in entries(runs)] == [trained.id]
    assert [path.name for path in runs.iterdir() if path.name.startswith((".new", ".gone"))] == []


def test_archive_is_stored_and_lists_its_checksums(trained: RunFolder, packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        manifest = json.loads(archive.read("gymnast-run.json"))
        assert manifest["run"] == trained.id
        for name, facts in manifest["files"].items():
            assert sha256(archive.read(name)) == facts["sha256"]
        assert set(manifest["files"]) == set(archive.namelist()) - {"gymnast-run.json"}


def test_unpacked_run_is_evaluated_recorded_and_resumed(packed: Path, runs: Path) -> None:
    run = api.unpack_run(packed, runs_dir=runs).run
    assert api.evaluate(run, episodes=2, runs_dir=runs).episodes == 2
    assert len(api.record_trace(run, runs_dir=runs, frames=False)) > 0
    resumed = api.resume(run, runs_dir=runs, max_env_steps=1536)
    assert resumed.outcome.env_steps >= 1536
    started = api.train(
        "CartPole-v1:ppo", init_from=run, runs_dir=runs, overrides={"env.n_envs": 8}, max_env_steps=256
    )
    assert started.outcome.status == "finished"


def test_id_that_is_taken_is_refused_and_has_two_ways_out(packed: Path, runs: Path) -> None:
    first = api.unpack_run(packed, runs_dir=runs)
    before = content(first.path)
    with pytest.raises(GymnastError, match="--new-id to keep both, or --force to replace it"):
        api.unpack_run(packed, runs_dir=runs)
    assert content(first.path) == before
    other = api.unpack_run(packed, new_id=True, runs_dir=runs)
    assert other.run != first.run
    (first.path / "run.log").write_text("changed since")
    again = api.unpack_run(packed, force=True, runs_dir=runs)
    assert again.run == first.run
    assert "changed since" not in (first.path / "run.log").read_text()
    assert {entry.id for entry in entries(runs)} == {first.run, other.run}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_there_and_no_run_is_not_replaced(
    trained: RunFolder, packed: Path, runs: Path, force: bool, kind: str
) -> None:
    there = runs / trained.id
    if kind == "folder":
        there.mkdir(parents=True)
    else:
        runs.mkdir(parents=True)
    mine = there / "notes.txt" if kind == "folder" else there
    mine.write_text("mine")
    with pytest.raises(GymnastError, match="something of that name is there and not a run; move it away"):
        api.unpack_run(packed, force=force, runs_dir=runs)
    assert mine.read_text() == "mine"
    assert list(runs.iterdir()) == [there]


def test_replaced_run_is_listed_as_it_is_now(packed: Path, runs: Path, copied: RunFolder) -> None:
    first = api.unpack_run(packed, runs_dir=runs)
    status = json.loads((copied.path / "status.json").read_text())
    (copied.path / "status.json").write_text(json.dumps({**status, "best_score": 321.0}))
    changed = api.pack_run(copied.path, copied.path.parent / "changed.zip").path
    api.unpack_run(changed, force=True, runs_dir=runs)
    assert [entry.best_score for entry in entries(runs) if entry.id == first.run] == [321.0]


def test_run_that_trains_is_refused(copied: RunFolder, tmp_path: Path) -> None:
    with copied.lock(), pytest.raises(GymnastError, match=f"still training.*runs stop {copied.id}"):
        api.pack_run(copied.path, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_run_that_trains_is_not_replaced(packed: Path, runs: Path) -> None:
    first = api.unpack_run(packed, runs_dir=runs)
    before = content(first.path)
    with RunFolder(first.path).lock(), pytest.raises(GymnastError, match="is being trained"):
        api.unpack_run(packed, force=True, runs_dir=runs)
    after = content(first.path)
    after.pop(".lock")
    assert after == before
    assert [path.name for path in runs.iterdir() if path.name.startswith(".new")] == []


@pytest.mark.parametrize("lost", ["config.yaml", "checkpoints/*.policy.safetensors", "run.json"])
def test_half_copied_run_is_refused(copied: RunFolder, tmp_path: Path, lost: str) -> None:
    next(copied.path.glob(lost)).unlink()
    with pytest.raises(GymnastError, match=r"damaged|has no|is not a run folder"):
        api.pack_run(copied.path, tmp_path / "x.zip")
    assert list(tmp_path.glob("*x.zip*")) == []


def test_config_that_is_not_understood_here_is_named(copied: RunFolder, tmp_path: Path, runs: Path) -> None:
    copied.config_path.write_text(copied.config_path.read_text() + "of_a_newer_version: 1\n")
    path = api.pack_run(copied.path, tmp_path / "x.zip").path
    arrived = api.unpack_run(path, runs_dir=runs)
    assert arrived.needs_trust == ()
    assert "of_a_newer_version" in (arrived.problem or "")


def test_renamed_folder_names_its_id(copied: RunFolder, tmp_path: Path) -> None:
    renamed = copied.path.rename(copied.path.with_name("my lander"))
    with pytest.raises(GymnastError, match=f"rename it to {copied.id}"):
        api.pack_run(renamed, tmp_path / "x.zip")


def test_same_run_makes_the_same_file(copied: RunFolder, tmp_path: Path) -> None:
    first = api.pack_run(copied.path, tmp_path / "1.zip").path.read_bytes()
    assert api.pack_run(copied.path, tmp_path / "2.zip").path.read_bytes() == first


def test_foreign_files_and_links_stay_behind(copied: RunFolder, tmp_path: Path, runs: Path) -> None:
    (copied.path / "notes.txt").write_text("mine")
    (copied.path / "report").mkdir(exist_ok=True)
    secret = tmp_path / "secret.png"
    secret.write_text("not yours")
    (copied.path / "report/leak.png").symlink_to(secret)
    done = api.pack_run(copied.path, tmp_path / "x.zip")
    assert set(done.left_out) >= {"notes.txt", "report/leak.png"}
    arrived = api.unpack_run(done.path, runs_dir=runs)
    assert not (arrived.path / "notes.txt").exists()
    assert not os.path.lexists(arrived.path / "report/leak.png")


def test_recordings_travel_and_open_under_the_id_that_the_run_gets(
    copied: RunFolder, tmp_path: Path, runs: Path
) -> None:
    trace = api.record_trace(copied.path, frames=True)
    kept = save_recording(
        copied, trace, tuple(trace.pictures), "image/png", bounds={}, overrides={"env.max_steps": 9}
    )
    (copied.recordings / ".new-0f3a9c2144").mkdir()  # of a process that was killed
    done = api.pack_run(copied.path, tmp_path / "x.zip")
    assert done.left_out == ()
    arrived = api.unpack_run(done.path, runs_dir=runs)
    (found,) = api.list_recordings(arrived.run, runs_dir=runs)
    assert (found.id, found.steps) == (kept.id, kept.steps)
    again = api.unpack_run(done.path, runs_dir=runs, new_id=True)
    (moved,) = api.list_recordings(again.run, runs_dir=runs)
    assert moved.run == again.run != copied.id
    opened = load_recording(RunFolder(again.path), moved.id.rpartition("-")[2])
    assert opened.pictures == tuple(trace.pictures)
    assert opened.trace.returns == trace.returns


def test_config_that_names_code_is_not_trusted_once_unpacked(copied: RunFolder, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "foreign_env.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    config = copied.config_path.read_text().replace("id: CartPole-v1", "id: foreign_env:Trap")
    for path in (copied.config_path, *copied.checkpoints.glob("config-*.yaml")):
        path.write_text(config)
    for sidecar in copied.checkpoints.glob("*.json"):  # as an attacker would: with fitting checksums
        document = json.loads(sidecar.read_text())
        document.pop("checksum")
        document["config"] = sha256(config.encode())
        text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
        document["checksum"] = sha256(text)
        sidecar.write_text(json.dumps(document, indent=1, sort_keys=True, allow_nan=False))
    kept = copied.checkpoints / f"config-{sha256(config.encode())[:16]}.yaml"
    kept.write_text(config)
    path = api.pack_run(copied.path, tmp_path / "x.zip").path
    arrived = api.unpack_run(path, runs_dir=tmp_path / "there")
    assert "foreign_env:Trap" in arrived.needs_trust[0]
    with pytest.raises(UntrustedRun):
        api.evaluate(arrived.run, runs_dir=tmp_path / "there")
    with pytest.raises(UntrustedRun):
        api.resume(arrived.run, runs_dir=tmp_path / "there")
    assert not ran.exists()


def test_commands(trained: RunFolder, tmp_path: Path) -> None:
    target = tmp_path / "a b.zip"
    done = command("pack", trained.path, target, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"] == trained.id
    again = command("pack", trained.path, target)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "--force" in again.stderr
    shown = command("unpack", target, "--runs-dir", tmp_path / "there")
    assert shown.returncode == 0
    assert f"eval {trained.id} --runs-dir" in shown.stdout
    missing = command("unpack", tmp_path / "nowhere.zip")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no file" in missing.stderr
