from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest
import typer

from gymnast import __version__
from gymnast.cli import app as cli
from gymnast.cli.app import COMMANDS, main
from gymnast.errors import GymnastError, MissingExtra, RunFailed


def gymnast(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words],
        check=False, capture_output=True, text=True, timeout=60, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("--version",), ("train", "--help"), ("eval", "-h")])
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    code = (
        "import sys\n"
        "from gymnast.cli.app import main\n"
        "try:\n"
        f"    main({list(words)!r})\n"
        "except SystemExit as end:\n"
        "    assert end.code in (0, None), end.code\n"
        "heavy = {'numpy', 'gymnasium', 'torch', 'rich', 'ruamel', 'safetensors', 'pydantic'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Typer itself reads a command's own options with pydantic; the top help must not need it.
    allowed = ["heavy: []"] if words[0].startswith("-") else ["heavy: []", "heavy: ['pydantic']"]
    assert done.stdout.splitlines()[-1] in allowed


def test_the_top_help_names_every_command_and_shows_examples() -> None:
    done = gymnast("--help")
    assert done.returncode == 0
    for name, (_, about) in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert about in done.stdout
    assert "gymnast train CartPole-v1:ppo" in done.stdout


def test_the_version_is_printed() -> None:
    assert gymnast("--version").stdout == f"gymnast {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_table_loads_and_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    assert f"Usage: gymnast {name}" in capsys.readouterr().out


def test_an_unknown_command_names_the_nearest() -> None:
    done = gymnast("trian")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[0].startswith("error: no command 'trian' (did you mean 'train'")


def test_an_unknown_option_is_a_usage_error() -> None:
    done = gymnast("wrappers", "--jsno")
    assert done.returncode == 2
    assert "--json" in done.stderr


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """A command that raises what the test puts into the list."""
    errors: list[BaseException] = []

    def fail() -> None:
        raise errors[0]

    module = import_module("gymnast.cli.app")
    monkeypatch.setattr(module, "fail", fail, raising=False)
    monkeypatch.setitem(cli.COMMANDS, "fail", ("gymnast.cli.app:fail", "Fails."))
    monkeypatch.delenv("GYMNAST_DEBUG", raising=False)
    return errors


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (GymnastError("no run 'x'\ntry @last"), 2, "error: no run 'x'\ntry @last\n"),
        (RunFailed("the reward is NaN"), 1, "error: the reward is NaN\n"),
        (
            MissingExtra("Atari", "atari"),
            2,
            "error: Atari needs the extra 'atari': pip install 'gymnast[atari]'\n",
        ),
        (KeyboardInterrupt(), 130, ""),
        (typer.Exit(3), 3, ""),
    ],
)
def test_errors_are_a_line_and_a_code(
    command: list[BaseException],
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    text: str,
) -> None:
    command.append(error)
    with pytest.raises(SystemExit) as end:
        main(["fail"])
    assert end.value.code == code
    assert capsys.readouterr() == ("", text)


def test_debug_shows_where_an_error_came_from(
    command: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    command.append(GymnastError("no run 'x'"))
    monkeypatch.setenv("GYMNAST_DEBUG", "1")
    with pytest.raises(GymnastError, match="no run 'x'"):
        main(["fail"])


def test_closed_pipe_is_silent() -> None:
    """`gymnast metrics --markdown | head -1`"""
    process = subprocess.Popen(
        [sys.executable, "-m", "gymnast", "metrics", "--markdown"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(timeout=30)


def test_a_terminal_without_unicode_gets_question_marks_not_a_traceback() -> None:
    done = gymnast("metrics", "--markdown", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stderr == ""


def test_wrappers_lists_all_and_finds_some(capsys: pytest.CaptureFixture[str]) -> None:
    from gymnast.envs.wrappers import WRAPPERS

    listed = json.loads(printed(capsys, "wrappers", "--json"))
    assert [entry["name"] for entry in listed] == sorted(WRAPPERS)
    assert all(entry["help"] for entry in listed)
    shaping = next(entry for entry in listed if entry["name"] == "mountaincar-shaping")
    assert shaping["training_only"] is True
    assert "weight" in shaping["arguments"]
    found = printed(capsys, "wrappers", "mountaincar")
    assert "mountaincar-shaping  " in found
    assert "cartpole-centring" not in found


def test_unknown_wrapper_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["wrappers", "mountancar-shaping"])
    assert end.value.code == 2
    assert "did you mean 'mountaincar-shaping'" in capsys.readouterr().err


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    return capsys.readouterr().out
