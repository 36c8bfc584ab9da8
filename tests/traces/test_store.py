"""Traces on disk: plain data that comes back as it was, or is refused with a reason."""

from __future__ import annotations

import dataclasses
import json
import os
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymnast.errors import GymnastError, RunFailed
from gymnast.runs.arrays import pack, unpack
from gymnast.runs.files import sha256
from gymnast.traces import store
from gymnast.traces.png import decode_png, encode_png
from gymnast.traces.store import load_trace, save_trace
from gymnast.traces.table import steps_table, to_csv
from gymnast.traces.trace import Trace, check_trace
from trace_steps import ARRAYS, same, traces

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@given(traces())
def test_a_trace_comes_back_as_it_was(trace: Trace) -> None:
    check_trace(trace)
    with tempfile.TemporaryDirectory() as folder:
        save_trace(trace, Path(folder) / "trace")
        loaded = load_trace(Path(folder) / "trace")
    assert loaded.meta == trace.meta
    assert same(loaded.columns, trace.columns)
    assert (loaded.labels, loaded.infos, loaded.pictures) == (trace.labels, trace.infos, trace.pictures)
    for ours, theirs in zip(trace.iter_steps(), loaded.iter_steps(), strict=True):
        for name in ("episode", "step", "picture", "obs", "seen", "info", "value", "total", "mask"):
            assert same(getattr(ours, name), getattr(theirs, name)), name


def use(trace: Trace) -> None:
    """Everything that is done with a trace."""
    to_csv(steps_table(trace, 0.9, 0.8))
    for _ in trace.iter_steps():
        pass
    for row in range(len(trace)):
        trace.stack(row)
    assert trace.returns


def loads_or_is_refused(folder: Path) -> bool:
    """Whether it can be read and used; anything but a GymnastError fails the test."""
    try:
        use(load_trace(folder))
    except GymnastError:
        return False
    return True


def files_of(folder: Path) -> dict[str, Path]:
    return {path.name.partition("-")[0].partition(".")[0]: path for path in folder.iterdir()}


def seal(folder: Path, body: dict[str, Any]) -> None:
    """Write a JSON whose checksum is right: what someone would who means harm."""
    body.pop("checksum", None)
    text = json.dumps({**body, "checksum": sha256(json.dumps(body, sort_keys=True).encode())})
    (folder / "trace.json").write_text(text)


def replace_arrays(folder: Path, data: bytes) -> None:
    """Other arrays, under the checksum that they have."""
    body = json.loads((folder / "trace.json").read_text())
    body["arrays"] = {"sha256": sha256(data), "bytes": len(data)}
    (folder / f"arrays-{sha256(data)[:16]}.safetensors").write_bytes(data)
    seal(folder, body)


def replace_frames(folder: Path, data: bytes) -> None:
    body = json.loads((folder / "trace.json").read_text())
    body["frames"] = {"sha256": sha256(data), "bytes": len(data)}
    (folder / f"frames-{sha256(data)[:16]}.png").write_bytes(data)
    seal(folder, body)


@given(traces(), st.data())
def test_a_changed_byte_is_found(trace: Trace, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = save_trace(trace, Path(name) / "trace")
        path = data.draw(st.sampled_from(sorted(folder.iterdir())))
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(content))
        assert not loads_or_is_refused(folder)
        path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content) - 1))]))
        assert not loads_or_is_refused(folder)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a JSON document."""
    found = [path] if path else []
    if isinstance(value, dict):
        found += [place for key, item in value.items() for place in places(item, (*path, key))]
    if isinstance(value, list):
        found += [place for index, item in enumerate(value) for place in places(item, (*path, index))]
    return found


@given(traces(), st.data())
def test_any_other_value_in_the_json_is_refused_or_harmless(trace: Trace, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = save_trace(trace, Path(name) / "trace")
        body = json.loads((folder / "trace.json").read_text())
        body.pop("checksum")
        way = data.draw(st.sampled_from(places(body)))
        inner = body
        for key in way[:-1]:
            inner = inner[key]
        if data.draw(st.booleans()):
            inner[way[-1]] = data.draw(JSON_VALUES)
        elif isinstance(inner, dict):
            del inner[way[-1]]
        seal(folder, body)
        loads_or_is_refused(folder)


@given(traces(), st.data())
def test_any_other_array_is_refused_or_harmless(trace: Trace, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = save_trace(trace, Path(name) / "trace")
        arrays = unpack(files_of(folder)["arrays"].read_bytes())
        chosen = data.draw(st.sampled_from(sorted(arrays)))
        if data.draw(st.booleans()):
            arrays[chosen] = data.draw(ARRAYS)
        else:  # of the right form, with any content
            own = arrays[chosen]
            size = own.nbytes
            content = data.draw(st.binary(min_size=size, max_size=size))
            content = bytes(b & 1 for b in content) if own.dtype == bool else content
            arrays[chosen] = np.frombuffer(content, own.dtype).reshape(own.shape)
        replace_arrays(folder, pack(arrays))
        with np.errstate(all="ignore"):
            loads_or_is_refused(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kept: list[Trace] = []

    @settings(max_examples=1, database=None, suppress_health_check=list(HealthCheck))
    @given(traces(frames=True, critic=True))
    def one(trace: Trace) -> None:
        kept[:] = [trace]

    one()
    return save_trace(kept[0], tmp_path / "trace")


def test_a_folder_that_is_not_a_trace_is_refused(tmp_path: Path, folder: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", folder / "trace.json"):
        with pytest.raises(GymnastError, match=r"cannot be read as a trace: there is no trace.json"):
            load_trace(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "[" * 100_000, '{"a": ' * 100_000, "9" * 10_000])
def test_broken_json_is_refused(folder: Path, text: str) -> None:
    (folder / "trace.json").write_text(text)
    with pytest.raises(GymnastError, match=r"trace.json"):
        load_trace(folder)


def test_files_of_other_sizes_are_not_read(folder: Path) -> None:
    with pytest.raises(GymnastError, match="more than the 10 allowed"):
        load_trace(folder, max_bytes=10)
    files_of(folder)["frames"].unlink()
    with pytest.raises(GymnastError, match=r"frames-.*No such file"):
        load_trace(folder)
    os.mkfifo(folder / "pipe")
    files_of(folder)["arrays"].unlink()
    body = json.loads((folder / "trace.json").read_text())
    (folder / f"arrays-{body['arrays']['sha256'][:16]}.safetensors").symlink_to("/dev/zero")
    with pytest.raises(GymnastError, match="is a link"):
        load_trace(folder)


def test_names_in_a_trace_are_never_paths(folder: Path) -> None:
    """Files are named by their checksums, and a checksum is 64 digits."""
    body = json.loads((folder / "trace.json").read_text())
    body["arrays"]["sha256"] = "../" * 21 + "a"
    seal(folder, body)
    with pytest.raises(GymnastError, match=r"arrays.sha256"):
        load_trace(folder)


def test_a_header_that_promises_too_much_is_refused(folder: Path) -> None:
    header = json.dumps(
        {"obs": {"dtype": "F64", "shape": [2**40, 2**20], "data_offsets": [0, 2**63]}}
    ).encode()
    replace_arrays(folder, struct.pack("<Q", len(header)) + header)
    with pytest.raises(GymnastError, match="its arrays cannot be read"):
        load_trace(folder)


def bomb(width: int, height: int, unpacked: int) -> bytes:
    """A PNG whose pixels unpack to another size than its header has."""
    picture = encode_png(np.zeros((1, 1, 3), np.uint8))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    body = zlib.compress(bytes(unpacked), 9)
    return picture[:8] + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [
        bomb(2, 2, 50_000_000),
        bomb(100_000, 100_000, 10),
        bomb(0, 5, 0),
        bomb(2, 2, 3),
        b"",
        b"\x89PNG\r\n\x1a\n",
    ],
)
def test_pictures_that_lie_about_their_size_are_refused(folder: Path, data: bytes) -> None:
    with pytest.raises(GymnastError, match="a picture is damaged"):
        decode_png(data)
    arrays = unpack(files_of(folder)["arrays"].read_bytes())
    arrays["$frame_ends"] = np.full(len(arrays["$frame_ends"]), len(data), np.int64)
    replace_arrays(folder, pack(arrays))
    replace_frames(folder, data)
    assert not loads_or_is_refused(folder)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**32))
def test_pictures_come_back_to_the_bit(height: int, width: int, seed: int) -> None:
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    assert np.array_equal(decode_png(encode_png(picture)), picture)


def test_other_programs_read_the_pictures(tmp_path: Path) -> None:
    pygame = pytest.importorskip("pygame")
    picture = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    (tmp_path / "one.png").write_bytes(encode_png(picture))
    shown = pygame.surfarray.array3d(pygame.image.load(tmp_path / "one.png"))
    assert np.array_equal(shown.swapaxes(0, 1), picture)


@settings(max_examples=15)
@given(traces(), traces())
def test_a_trace_replaces_the_one_before(first: Trace, second: Trace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "new" / "trace"
        save_trace(first, folder)
        save_trace(second, folder)
        assert load_trace(folder).meta == second.meta
        assert len(list(folder.iterdir())) == (3 if second.pictures else 2), "nothing is left of the first"


def test_a_failed_write_leaves_the_trace_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_trace(folder)
    after = dataclasses.replace(before, meta=before.meta.model_copy(update={"env_id": "Other-v0"}))
    real = store.write_atomic

    def failing(path: Path, *rest: Any, **more: Any) -> None:
        if path.name == "trace.json":
            raise RunFailed("the disk is full")
        real(path, *rest, **more)

    monkeypatch.setattr(store, "write_atomic", failing)
    with pytest.raises(RunFailed):
        save_trace(after, folder)
    assert load_trace(folder).meta.env_id == "Env-v0"


def test_a_trace_is_never_mixed_with_other_files(tmp_path: Path, folder: Path) -> None:
    trace = load_trace(folder)
    (tmp_path / "thesis.txt").write_text("mine")
    for place, message in ((tmp_path, "holds other files"), (tmp_path / "thesis.txt", "is a file")):
        with pytest.raises(GymnastError, match=message):
            save_trace(trace, place)
    with pytest.raises(RunFailed, match="could not write"):
        save_trace(trace, tmp_path / "thesis.txt" / "trace")
