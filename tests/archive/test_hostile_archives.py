"""Archives that somebody laid out as a trap, or that were cut short: one message, and nothing is left."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.archive import contents
from gymnast.errors import GymnastError
from gymnast.runs.files import sha256

Change = Callable[[dict[str, bytes], dict[str, Any]], None]


@pytest.fixture
def members(packed: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(packed) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(members: dict[str, bytes], *more: tuple[zipfile.ZipInfo, bytes], method: int = 0) -> bytes:
    """A zip of these members, and of more as they are."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        for info, data in more:
            archive.writestr(info, data)
    return out.getvalue()


def listed(members: dict[str, bytes], **others: bytes) -> dict[str, bytes]:
    """The members with a manifest that fits them and the others."""
    manifest = json.loads(members["gymnast-run.json"])
    for name, data in others.items():
        manifest["files"][name] = {"sha256": sha256(data), "bytes": len(data)}
    return {**members, **others, "gymnast-run.json": json.dumps(manifest).encode()}


def refused(data: bytes, tmp_path: Path, message: str) -> None:
    file, runs = tmp_path / "trap.zip", tmp_path / "a" / "runs"
    file.write_bytes(data)
    before = {path for path in tmp_path.rglob("*") if path != file}
    with pytest.raises(GymnastError, match=message) as error:
        api.unpack_run(file, runs_dir=runs)
    assert len(str(error.value)) < 500
    assert {path for path in tmp_path.rglob("*") if path != file} == before, "something was left"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../escaped", "leads out"),
        ("checkpoints/../../../x.json", "leads out"),
        ("/etc/cron.d/x", "absolute name"),
        ("C:\\x", "absolute name"),
        ("\\\\host\\share", "absolute name"),
        ("..\\x", "leads out"),
        ("videos/", "not a plain file"),
        (".lock", "no run has"),
        ("mark.json", "no run has"),
        ("process.json", "no run has"),
        ("checkpoints/.000000000512.json.tmp", "no run has"),
        ("requests/1.json", "no run has"),
        ("wandb/x", "no run has"),
        ("RUN.JSON", "no run has"),
        ("recordings/0f3a9c2144/../../../x/recording.json", "leads out"),
        ("recordings/0f3a9c2144/trace/x.pkl", "no run has"),
        ("recordings/0f3a9c2144/trace/trace/trace.json", "no run has"),
        ("videos/\u202egp4.mp4", "no run has"),
        ("a" * 60_000, "no run has"),
    ],
)
def test_names(members: dict[str, bytes], tmp_path: Path, name: str, message: str) -> None:
    refused(written(listed(members, **{name: b"x"})), tmp_path, message)


def test_name_that_ends_early(members: dict[str, bytes], tmp_path: Path) -> None:
    data = written(listed(members, **{"videos/x.mp4!.mp4": b"x"}))
    refused(data.replace(b"videos/x.mp4!.mp4", b"videos/x.mp4\0.mp4"), tmp_path, "no run has")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR, stat.S_IFSOCK])
def test_kinds_of_member(members: dict[str, bytes], tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("videos/x.mp4")
    info.external_attr = (kind | 0o777) << 16
    info.create_system = 3
    whole = listed(members, **{"videos/x.mp4": b"/etc/passwd"})
    del whole["videos/x.mp4"]
    refused(written(whole, (info, b"/etc/passwd")), tmp_path, "is a link|not a plain file")


def test_duplicates(members: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        data = written(members, (zipfile.ZipInfo("run.json"), members["run.json"]))
    refused(data, tmp_path, "run.json twice")


def test_bomb(members: dict[str, bytes], tmp_path: Path) -> None:
    bomb = listed(members, **{"run.log": b"\0" * 50_000_000})
    data = written(bomb, method=zipfile.ZIP_DEFLATED)
    assert len(data) < 1_000_000
    refused(data, tmp_path, "compressed, which packed runs are not")


def test_overlapping_members_cannot_outgrow_the_file(packed: Path, tmp_path: Path) -> None:
    """A bomb without compression: all entries of the directory point to the same bytes."""
    data = bytearray(packed.read_bytes())
    start = data.index(b"PK\x01\x02")
    first = bytes(data[start : data.index(b"PK\x01\x02", start + 4)])
    name_length = struct.unpack("<H", first[28:30])[0]
    big = len(data) - 1000
    directory = b""
    for number in range(50):
        name = f"checkpoints/{number:012d}.steps.csv".encode()
        entry = bytearray(first[:46])
        entry[20:28] = struct.pack("<2L", big, big)
        entry[28:30] = struct.pack("<H", len(name))
        directory += bytes(entry) + name + first[46 + name_length :]
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 50, 50, len(directory), start, 0)
    refused(bytes(data[:start]) + directory + end, tmp_path, "overlap|damaged|twice|no gymnast-run")


def test_count(members: dict[str, bytes], tmp_path: Path) -> None:
    many = {f"checkpoints/{number:012d}.steps.csv": b"" for number in range(contents.MOST_FILES + 2)}
    refused(written(listed(members, **many)), tmp_path, r"members; a run has at most 5,000")


def test_directory_of_gigabytes_is_not_read(members: dict[str, bytes], tmp_path: Path) -> None:
    data = bytearray(written(members))
    data[-12:-8] = struct.pack("<H", 10)[:2] * 2
    data[-10:-6] = struct.pack("<L", 0x7FFFFFFF)
    refused(bytes(data), tmp_path, "at most 5,000")


def test_directory_that_hides_behind_the_form_for_large_files(
    members: dict[str, bytes], tmp_path: Path
) -> None:
    data = written(members)
    end, at = data[-22:], len(data) - 22
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 10**9, 10**9, 10**9, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    refused(data[:-22] + end64 + locator + end, tmp_path, "at most 5,000")


def test_encrypted(members: dict[str, bytes], tmp_path: Path) -> None:
    data = bytearray(written(members))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    refused(bytes(data), tmp_path, "encrypted")


def _without_manifest(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest.clear()


def _other_format(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["format"] = 99


def _climbing_id(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["run"] = "../../etc"


def _hidden_id(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["run"] = ".ssh"


def _wrong_checksum(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["files"]["run.log"]["sha256"] = "0" * 64


def _wrong_size(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["files"]["run.log"]["bytes"] += 1


def _negative_size(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["files"]["run.log"]["bytes"] = -1


def _huge_size(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["files"]["config.yaml"]["bytes"] = 10**12


def _one_more(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    files["console.log"] = b"not listed"


def _one_less(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    del files["metrics.csv"]


def _no_config(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    del files["config.yaml"], manifest["files"]["config.yaml"]


def _run_json(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    files["run.json"] = b"[" * 5000
    manifest["files"]["run.json"] = {"sha256": sha256(files["run.json"]), "bytes": 5000}


def _broken_checkpoint(files: dict[str, bytes], manifest: dict[str, Any]) -> None:
    name = next(name for name in files if name.endswith(".policy.safetensors"))
    files[name] = b"\x80\x04pickle."
    manifest["files"][name] = {"sha256": sha256(files[name]), "bytes": len(files[name])}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_manifest, "is not that of a run"),
        (_other_format, "format 99"),
        (_climbing_id, "is not the id of a run"),
        (_hidden_id, "is not the id of a run"),
        (_wrong_checksum, "does not match its checksum"),
        (_wrong_size, "does not fit what it holds"),
        (_negative_size, "no size and checksum"),
        (_huge_size, "more than the"),
        (_one_more, "does not fit what it holds"),
        (_one_less, "does not fit what it holds"),
        (_no_config, "not a whole run"),
        (_run_json, "run.json cannot be read"),
        (_broken_checkpoint, "a checkpoint is damaged"),
    ],
)
def test_manifests(members: dict[str, bytes], tmp_path: Path, change: Change, message: str) -> None:
    manifest = json.loads(members.pop("gymnast-run.json"))
    change(members, manifest)
    refused(written({**members, "gymnast-run.json": json.dumps(manifest).encode()}), tmp_path, message)


def test_zip_of_something_else(tmp_path: Path) -> None:
    refused(written({"config.yaml": b"seed: 0"}), tmp_path, "not a packed run: it has no gymnast-run.json")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_cut_file(packed: Path, tmp_path: Path, share: float) -> None:
    data = packed.read_bytes()
    refused(data[: int(len(data) * share)], tmp_path, "cut short|only its beginning")


def test_member_without_a_name(members: dict[str, bytes], tmp_path: Path) -> None:
    data = written(listed(members, **{"videos/x.mp4": b"x"}))
    nameless = data.replace(b"videos/x.mp4", b"\0" * len(b"videos/x.mp4"))
    refused(nameless, tmp_path, "no run has")


def test_member_that_lies_before_the_file(members: dict[str, bytes], tmp_path: Path) -> None:
    data = bytearray(written(members))
    end = len(data) - 22
    offset = struct.unpack("<L", data[end + 16 : end + 20])[0]
    data[end + 16 : end + 20] = struct.pack("<L", offset + 50_000)  # all members move by as much
    refused(bytes(data), tmp_path, "is damaged")


@settings(max_examples=40)
@given(st.data())
def test_any_damage_is_one_message(
    packed: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """One byte changed anywhere: refused, or it is in a part of the zip that says nothing."""
    content = bytearray(packed.read_bytes())
    directory = content.index(b"PK\x01\x02")
    first = data.draw(st.sampled_from([0, directory, directory]))  # most of it is content: rarely there
    at = data.draw(st.integers(first, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("damage")
    (folder / "run.zip").write_bytes(bytes(content))
    runs = folder / "runs"
    try:
        arrived = api.unpack_run(folder / "run.zip", runs_dir=runs)
    except GymnastError:
        assert not runs.exists()
    else:
        assert api.evaluate(arrived.run, episodes=1, runs_dir=runs).episodes == 1


def test_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match="a folder instead of a file"):
        api.unpack_run(tmp_path, runs_dir=tmp_path / "runs")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(GymnastError, match="a FIFO"):
        api.unpack_run(fifo, runs_dir=tmp_path / "runs")


def test_full_disk_leaves_nothing(packed: Path, tmp_path: Path) -> None:
    """The system refuses to write more than a few kB: as a full disk does, with another number."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        with pytest.raises(GymnastError, match="could not write") as error:
            api.unpack_run(packed, runs_dir=tmp_path / "runs")
        assert error.value.exit_code == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not (tmp_path / "runs").exists()
