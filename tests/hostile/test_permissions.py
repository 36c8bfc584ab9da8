"""Folders that may not be read or written: the other runs are served, and there is one message."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostile_folders import ID, OTHER, call, make_template

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
NOBODY = 65534


@pytest.fixture
def root() -> Iterator[Path]:
    """Not below pytest's own folder, which only its owner may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    root = make_template(folder)
    for args in (["runs"], ["runs", "show", OTHER], ["eval", OTHER, "--episodes", "1"]):
        assert call([*args, "--runs-dir", str(root)])[0] == 0  # imports all that they need
    yield root
    for path in (root, root / ID):
        path.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def without_privileges() -> Iterator[None]:
    """The superuser may do anything, so be somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_not_be_read_hides_no_other_run(root: Path) -> None:
    (root / "registry.json").unlink()
    (root / ID).chmod(0)
    with without_privileges():
        for args in (
            ["runs"],
            ["runs", "best"],
            ["runs", "show", "@last"],
            ["eval", "@last", "--episodes", "1"],
        ):
            code, output = call([*args, "--runs-dir", str(root)])
            assert code == 0, output
            assert OTHER in output
        for args in (
            ["runs", "show", ID],
            ["eval", ID],
            ["train", "--resume", ID],
            ["runs", "rm", ID, "--yes"],
        ):
            code, output = call([*args, "--runs-dir", str(root)])
            assert code in (0, 1, 2), output  # not a traceback
            assert "ermission" in output


def test_a_read_only_runs_folder_can_be_looked_at(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with without_privileges():
            for args in (["runs"], ["runs", "show", ID], ["runs", "best"], ["eval", ID, "--episodes", "1"]):
                code, output = call([*args, "--runs-dir", str(root)])
                assert code == 0, output
            for args in (
                ["train", "--resume", ID, "budget.env_steps=384"],
                ["train", "CartPole-v1:ppo", "budget.env_steps=256"],
                ["runs", "rm", ID, "--yes"],
                ["video", "progress", ID],
            ):
                code, output = call([*args, "--runs-dir", str(root)])
                assert code in (1, 2), output
                assert "permission" in output
    finally:
        for path in [root, *root.rglob("*")]:
            path.chmod(0o755)
