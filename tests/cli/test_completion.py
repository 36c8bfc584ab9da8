"""The Tab key, in a real bash with the script that `gymnast --show-completion bash` prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gymnast.runs.registry import update
from gymnast.runs.store import create_run

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with the command `gymnast` in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gymnast").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gymnast "$@"\n')
    (folder / "gymnast").chmod(0o755)
    return folder


def offered(program: Path, *words: str, **environment: str) -> list[str]:
    """What bash offers for the last of the words, which come split at : = and @ as bash splits them."""
    script = (
        'eval "$(gymnast --show-completion bash)"\n'
        f"COMP_WORDS=({' '.join(repr(word) for word in words)})\nCOMP_CWORD={len(words) - 1}\n"
        '_gymnast_completion gymnast\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True, text=True, check=True, timeout=60,
        env=os.environ | {"PATH": f"{program}:{os.environ['PATH']}"} | environment,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_are_offered_without_loading_them(program: Path, tmp_path: Path) -> None:
    from gymnast.cli.app import COMMANDS

    assert offered(program, "gymnast", "") == list(COMMANDS)
    assert offered(program, "gymnast", "t") == ["train", "tune", "tune-envs"]
    assert offered(program, "gymnast", "--vers") == ["--version"]
    code = (
        "import sys, os\n"
        "os.environ.update(_GYMNAST_COMPLETE='complete_bash', COMP_WORDS='gymnast\\nt', COMP_CWORD='1')\n"
        "from gymnast.cli.app import main\n"
        "try:\n    main([])\n"
        "except SystemExit:\n    print(sorted({'numpy', 'torch', 'gymnasium', 'rich'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[-2] == "[]"


def test_subcommands_are_offered(program: Path) -> None:
    assert offered(program, "gymnast", "runs", "") == (
        [
            "list",
            "show",
            "compare",
            "best",
            "rm",
            "export",
            "stop",
            "pause",
            "resume",
            "checkpoint",
            "evaluate",
            "watch",
        ]
    )


def test_presets_and_their_variants_are_offered(program: Path, tmp_path: Path) -> None:
    assert offered(program, "gymnast", "train", "CartP") == ["CartPole-v1"]
    assert {"ppo", "reinforce"} <= set(offered(program, "gymnast", "train", "CartPole-v1", ":"))
    assert offered(program, "gymnast", "config", "show", "CartPole-v1", ":", "rein") == ["reinforce"]
    (tmp_path / "Mine.yaml").write_text("env: {id: CartPole-v1}\n")
    assert offered(program, "gymnast", "train", "--config-dir", str(tmp_path), "Mine") == ["Mine"]


def test_runs_and_their_checkpoints_are_offered(program: Path) -> None:
    root = Path(os.environ["GYMNAST_RUNS_DIR"])
    run = create_run(root, "CartPole-v1:ppo", "seed: 1\n", {})
    update(root, run.id, status="finished")
    for words in (("runs", "show"), ("eval",), ("train", "--resume"), ("runs", "rm", "other")):
        assert offered(program, "gymnast", *words, "") == ["@last", "@best", run.id]
    assert offered(program, "gymnast", "eval", run.id[:3]) == [run.id]
    assert offered(program, "gymnast", "eval", "@", "la") == ["@last"]
    assert offered(program, "gymnast", "video", "record", "@", "last/", "@", "b") == ["@best"]


def test_what_is_wrong_already_offers_nothing_and_prints_nothing(program: Path) -> None:
    assert offered(program, "gymnast", "eval", "nosuch/", GYMNAST_RUNS_DIR="/nonexistent") == []
    assert offered(program, "gymnast", "train", "Nosuch", ":", "x") == []
