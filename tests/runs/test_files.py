from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gymnast.errors import RunFailed
from gymnast.runs.files import read_json, remove_leftovers, write_atomic


def test_replaces_whole_files_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomic(path, "one")
    write_atomic(path, b"two", durable=False)
    assert path.read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"could not write .*the folder is gone"):
        write_atomic(tmp_path / "no" / "a.json", "x")


def test_a_full_disk_keeps_the_old_file_and_no_half_one(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_atomic(path, b"old")
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from gymnast.errors import RunFailed\n"
        "from gymnast.runs.files import write_atomic\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_atomic(Path(sys.argv[1]), b'x' * 100_000)\n"
        "except RunFailed as error: print(error, error.exit_code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "a.bin: the file would grow past the size limit of this process 1" in done.stdout
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.json.tmp").write_bytes(b"half")
    (tmp_path / "a.json").write_bytes(b"whole")
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_json_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert read_json(tmp_path / "x.json") is None
    assert read_json(tmp_path / "absent.json") is None
