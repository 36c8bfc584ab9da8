from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gymnast.runs.provenance import git_commit


def git(*words: str, cwd: Path) -> None:
    own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *own, *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One file, one commit, one submodule."""
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for folder in (inner, outer):
        folder.mkdir()
        git("init", "-q", ".", cwd=folder)
        (folder / "file").write_text("text\n")
        (folder / ".gitattributes").write_text(f"* filter={folder.name}\n")
        git("add", ".", cwd=folder)
        if folder == outer:
            git("submodule", "add", str(inner), "below", cwd=folder)
        git("commit", "-q", "-m", "first", cwd=folder)
    monkeypatch.chdir(outer)
    return outer


def test_programs_that_a_repository_names_are_not_run(repository: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path / "ran"}\ncat\n')
    program.chmod(0o755)
    for folder, name in ((repository, "outer"), (repository / "below", "inner")):
        git("config", "core.fsmonitor", f"{program} monitor", cwd=folder)
        git("config", f"filter.{name}.clean", f"{program} filter", cwd=folder)
        (folder / "file").touch()  # newer than git knows: it compares what is in it
    assert len(git_commit() or "") == 40
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def test_changes_are_reported(repository: Path) -> None:
    assert (git_commit() or "").endswith("-dirty") is False
    (repository / "file").write_text("other text\n")
    assert (git_commit() or "").endswith("-dirty")
