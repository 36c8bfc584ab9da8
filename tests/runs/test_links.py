"""No write or delete follows a link out of a run folder, and only regular files within a limit are read."""

from __future__ import annotations

import json
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.errors import GymnastError
from gymnast.runs import files, registry
from gymnast.runs.files import (
    MOST_DEPTH,
    UnsafeFile,
    list_folder,
    make_folder,
    open_append,
    open_new,
    open_read,
    open_update,
    parse_json,
    read_bytes,
    read_json,
    remove,
    remove_leftovers,
    remove_tree,
    write_atomic,
)
from gymnast.runs.references import find_run
from gymnast.runs.store import RunFolder, delete_run, open_run, run_folders
from gymnast.runs.trainer import Announced, ask
from gymnast.traces.store import load_trace
from gymnast.training.run.log import RunLog

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes FIFOs and links")
NewRun = Callable[..., RunFolder]


@pytest.fixture
def sentinel(tmp_path: Path) -> Path:
    """A file outside that nothing may touch."""
    path = tmp_path / "outside" / "sentinel"
    path.parent.mkdir()
    path.write_text("not yours\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    return path


def test_a_temporary_name_that_is_a_link_is_replaced(folder: Path, sentinel: Path) -> None:
    (folder / ".status.json.tmp").symlink_to(sentinel)
    (folder / "status.json").symlink_to(sentinel)
    write_atomic(folder / "status.json", "new")
    assert sentinel.read_text() == "not yours\n"
    assert not (folder / "status.json").is_symlink()
    assert read_bytes(folder / "status.json") == b"new"
    assert os.listdir(folder) == ["status.json"]  # noqa: PTH208


def test_a_left_temporary_file_is_replaced(folder: Path) -> None:
    (folder / ".x.tmp").write_text("of a killed process, and longer")
    write_atomic(folder / "x", "new")
    assert (folder / "x").read_text() == "new"


@pytest.mark.parametrize(
    "use",
    [
        open_append,
        lambda path: open_update(path, 100),
        lambda path: open_read(path, 100),
        read_bytes,
        RunLog,
        lambda path: write_atomic(path / "inside", "x"),
        lambda path: open_new(path / "inside"),
        lambda path: remove(path / "sentinel"),
        list_folder,
        make_folder,
        remove_leftovers,
    ],
)
@pytest.mark.parametrize("dangling", [False, True])
def test_links_are_refused(
    folder: Path, sentinel: Path, use: Callable[[Path], object], dangling: bool
) -> None:
    link = folder / "link"
    for target in (sentinel, sentinel.parent):
        link.symlink_to(target.with_name("nothing") if dangling else target)
        with pytest.raises(UnsafeFile, match="is a link, and links inside a run folder are not followed"):
            use(link)
        link.unlink()
    assert sentinel.read_text() == "not yours\n"
    assert [path.name for path in sentinel.parent.iterdir()] == ["sentinel"]


def test_only_regular_files_of_a_bearable_size_are_read(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "large").write_bytes(b"x" * 101)
    for name, message in (
        ("fifo", "is a FIFO instead of a file"),
        ("folder", "is a folder instead of a file"),
        ("large", "has 101 bytes, more than the 100 that are read"),
    ):
        with pytest.raises(UnsafeFile, match=message):
            read_bytes(folder / name, 100)
        assert read_json(folder / name, 100) is None
    with pytest.raises(UnsafeFile, match="FIFO"):
        open_append(folder / "fifo")
    with pytest.raises(FileNotFoundError):
        read_bytes(folder / "missing")


def test_reading_takes_the_memory_of_the_file_not_of_the_limit(folder: Path) -> None:
    (folder / "small").write_bytes(b"small")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), limits[1]))
    try:
        assert read_bytes(folder / "small", files.MOST_ARRAYS) == b"small"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_new_files_have_the_usual_permissions(folder: Path) -> None:
    write_atomic(folder / "ours", "x")
    (folder / "usual").write_text("x")
    open_append(folder / "log").close()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert len(modes) == 1


def test_trees_are_removed_without_what_they_link_to(folder: Path, sentinel: Path) -> None:
    (folder / "inside").symlink_to(sentinel.parent)
    (folder / "file").symlink_to(sentinel)
    remove_tree(folder)
    assert not folder.exists()
    folder.symlink_to(sentinel.parent)
    remove_tree(folder)
    assert not folder.is_symlink()
    assert sentinel.read_text() == "not yours\n"


def test_deleting_a_run_leaves_what_it_links_to(new_run: NewRun, sentinel: Path, root: Path) -> None:
    run = new_run()
    run.checkpoints.rmdir()
    run.checkpoints.symlink_to(sentinel.parent)
    (root / f".gone-{run.id}").symlink_to(sentinel.parent)
    run.lock_path.symlink_to(sentinel)
    delete_run(run)
    assert not run.path.exists()
    assert sentinel.read_text() == "not yours\n"


def test_a_linked_run_folder_is_refused(new_run: NewRun, root: Path, tmp_path: Path) -> None:
    run = new_run()
    elsewhere = tmp_path / "elsewhere"
    run.path.rename(elsewhere)
    run.path.symlink_to(elsewhere)
    assert run_folders(root) == []
    assert registry.entries(root) == []
    for use in (
        lambda: open_run(root, run.id),
        lambda: find_run(root, run.id),
        lambda: find_run(root, str(run.path)),
        lambda: delete_run(run),
    ):
        with pytest.raises(GymnastError, match="is a link; name the"):
            use()
    assert (elsewhere / "run.json").exists()


def test_a_linked_runs_folder_is_the_users_choice(new_run: NewRun, root: Path, tmp_path: Path) -> None:
    run = new_run()
    link = tmp_path / "linked"
    link.symlink_to(root)
    assert registry.update(link, run.id, status="finished").status == "finished"
    assert [entry.id for entry in registry.entries(link)] == [run.id]
    assert find_run(link, str(link / run.id)).path == run.path.resolve()
    delete_run(open_run(link, run.id))
    assert registry.entries(link) == []


def test_requests_of_a_linked_folder_are_neither_taken_nor_removed(run: RunFolder, sentinel: Path) -> None:
    run.requests.symlink_to(sentinel.parent)
    with run.lock():
        announced = Announced(run)
        assert announced.take() == []
        announced.done()
        announced.withdraw()
    with pytest.raises(GymnastError, match="is a link"):
        ask(run, "token", "stop")
    assert [path.name for path in sentinel.parent.iterdir()] == ["sentinel"]


@pytest.mark.parametrize("name", [".lock", "../.registry.lock"])
def test_a_linked_lock_is_not_opened(run: RunFolder, sentinel: Path, name: str) -> None:
    lock = run.path / name
    lock.unlink(missing_ok=True)
    lock.symlink_to(sentinel)
    assert not run.is_locked()
    with pytest.raises(GymnastError, match="is not a regular file; remove it"), run.lock():
        registry.rebuild(run.root)
    assert sentinel.read_text() == "not yours\n"


def test_a_trace_is_not_read_through_links(tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    folder.mkdir()
    (folder / "trace.json").symlink_to("/dev/zero")
    with pytest.raises(GymnastError, match="is a link"):
        load_trace(folder)


def test_numbers_that_no_run_has_are_left_out(new_run: NewRun, root: Path) -> None:
    run = new_run()
    status = {"status": "finished", "env_steps": 10**200, "seconds": float("nan"), "best_score": float("inf")}
    run.status_path.write_text(json.dumps(status))
    (entry,) = registry.entries(root)
    assert (entry.env_steps, entry.seconds, entry.best_score) == (0, 0.0, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "nested more than 64 deep"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested more than 64 deep"),
        ("9" * 5000, "a number with 5000 digits"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ('{"a": 1,}', "property name"),
        ("\ufeff{}", "BOM"),
        (b"\xff\xfe\x00", "decode"),
    ],
)
def test_json_from_anywhere_is_limited(text: str | bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_json(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**50), 10**50) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    )
)
def test_json_of_ours_reads_back(value: object) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.integers(1, 2 * MOST_DEPTH))
def test_json_nests_up_to_the_limit(depth: int) -> None:
    text = "[" * depth + "]" * depth
    if depth <= MOST_DEPTH:
        parse_json(text)
    else:
        with pytest.raises(ValueError, match="deep"):
            parse_json(text)
