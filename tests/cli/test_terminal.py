"""What reaches the terminal: escapes are shown, nothing of it is markup, and no fault is a traceback."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gymnast
from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs.registry import update
from gymnast.runs.store import RunFolder, create_run

SOURCE = Path(gymnast.__file__).parent
HOSTILE = "[/x] [reward-clip] \x1b[31mred\x1b]0;title\x07 \u202eover\r\nnext \x9b5m:smile:"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


def gymnast_command(*words: str, stdout: int | None = subprocess.PIPE, **environment: str):  # type: ignore[no-untyped-def]
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words],
        check=False, stdout=stdout, stderr=subprocess.PIPE, timeout=60, env=os.environ | environment,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def hostile() -> RunFolder:
    """A run of a stranger: every text that a listing shows was made to do harm."""
    root = Path(os.environ["GYMNAST_RUNS_DIR"])
    about = {"env": HOSTILE, "variant": HOSTILE, "algo": HOSTILE, "seed": 1, "command": ["gymnast", HOSTILE]}
    run = create_run(root, "x", f"seed: 1\nenv:\n  id: {json.dumps(HOSTILE)}\n", about)
    info = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(info | {"name": HOSTILE, "init_from": HOSTILE}))
    with Recorder(run.metrics_path) as recorder:
        recorder.write(dict.fromkeys(COUNTERS, 0) | {"time/env_steps": 5, "eval/return/mean": 1.0})
    update(root, run.id, status="failed", reason=HOSTILE + "z" * 9000, env_steps=5)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("words", ["runs", "runs show HOSTILE", "runs best", "runs compare HOSTILE OTHER"])
@pytest.mark.parametrize("columns", ["60", "160"])
def test_texts_of_a_stranger_are_shown_as_they_are(hostile: RunFolder, words: str, columns: str) -> None:
    root = hostile.path.parent
    other = create_run(root, "Pendulum-v1:ppo", "seed: 2\n", {"env": "Pendulum-v1"})
    update(root, other.id, status="finished", best_score=1.0)
    update(root, hostile.id, best_score=1.0)
    asked = words.replace("HOSTILE", hostile.id).replace("OTHER", other.id).split()
    done = gymnast_command(*asked, COLUMNS=columns)
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert not OBEYED.search(text)
    together = re.sub(r"\s", "", text)
    assert "[reward-clip]" in together
    assert "\\x1b[31mred" in together
    assert "\\r\\nnext" in together
    assert "z" * 400 not in together, "long values are cut"


def test_watched_run_of_a_stranger_is_shown_as_it_is(hostile: RunFolder) -> None:
    done = gymnast_command("runs", "watch", hostile.id, "--from-start")
    assert done.returncode == 1
    assert not OBEYED.search(done.stdout.decode())
    assert done.stdout.decode().startswith("[/x] [reward-clip] \\x1b[31mred")


def test_json_of_a_stranger_is_json_with_nothing_that_a_terminal_obeys(hostile: RunFolder) -> None:
    done = gymnast_command("runs", "--json")
    assert not OBEYED.search(done.stdout.decode())
    assert json.loads(done.stdout)[0]["name"] == HOSTILE


@pytest.mark.parametrize("words", [("runs", "show", HOSTILE), ("train", HOSTILE), ("wrappers", HOSTILE)])
def test_errors_quote_what_was_typed_without_obeying_it(words: tuple[str, ...]) -> None:
    done = gymnast_command(*words)
    assert done.returncode == 2
    assert not OBEYED.search(done.stderr.decode())
    assert "[reward-clip]" in done.stderr.decode()


@pytest.mark.parametrize(
    "words",
    [
        ("train", "CartPole-v1:ppo", "algo.lr=" + "x" * 10_000),
        ("train", "CartPole-v1:ppo", "seed=" + "x y " * 2_500),
        ("wrappers", "x" * 10_000),
        ("runs", "--status", "x" * 10_000),
        ("eval", "--episodes", "x" * 10_000),
        ("--" + "x" * 10_000,),
    ],
)
def test_long_values_in_errors_are_cut(words: tuple[str, ...]) -> None:
    done = gymnast_command(*words)
    assert done.returncode == 2
    assert len(done.stderr) < 1000
    if words[0] != "eval":  # its message does not quote the value
        assert re.search(r"xx|x y", done.stderr.decode())
        assert re.search(r"… \(1\d,0\d\d characters\)", done.stderr.decode())


# --- faults -------------------------------------------------------------------------------------

BROKEN = """
import sys
from gymnast.cli import app
def fail():
    {body}
app.fail = fail
app.COMMANDS["fail"] = ("gymnast.cli.app:fail", "Fails.")
app.main(["fail"])
"""


def broken_command(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BROKEN.format(body=body)],
        check=False, capture_output=True, text=True, timeout=60, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("raise KeyError('x')", "KeyError: 'x'"),
        ("raise BrokenPipeError(32, 'a worker is gone')", "BrokenPipeError"),
        ("raise OSError(28, 'No space left on device')", "OSError"),
        ("raise type('Panic', (BaseException,), {})('a library in Rust')", "Panic: a library in Rust"),
        ("raise ValueError('\\x1b[31m' + 'y' * 9999)", "ValueError: \\x1b[31my"),
    ],
)
def test_unexpected_exception_is_one_line_and_a_file(body: str, name: str, tmp_path: Path) -> None:
    done = broken_command(body, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: unexpected {name}")
    assert len(line) < 500
    file = Path(line.rpartition("the full traceback is in ")[2])
    assert file.parent == tmp_path / "cache/gymnast/crashes"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "Traceback (most recent call last)" in file.read_text()
    assert "in fail" in file.read_text()


def test_secrets_in_an_unexpected_exception_are_hidden(tmp_path: Path) -> None:
    secret = "hf_abcd1234efgh5678"
    line = broken_command(f"raise ValueError('refused {secret}')", XDG_CACHE_HOME=str(tmp_path)).stderr
    file = Path(line.strip().rpartition("the full traceback is in ")[2])
    assert "refused ***" in line
    assert secret not in line + file.read_text()


def test_traceback_goes_to_the_temporary_folder_where_the_cache_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    places = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    line = broken_command("raise KeyError('x')", **places).stderr
    assert Path(line.strip().rpartition(" is in ")[2]).parent == tmp_path


def test_only_some_tracebacks_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "gymnast/crashes"
    folder.mkdir(parents=True)
    for index in range(40):
        (folder / f"gymnast-20200101-0000{index:02d}-x.txt").touch()
    broken_command("raise KeyError('x')", XDG_CACHE_HOME=str(tmp_path))
    assert len(list(folder.iterdir())) == 20


def test_debug_raises_unexpected_exceptions() -> None:
    done = broken_command("raise KeyError('x')", GYMNAST_DEBUG="1")
    assert done.stderr.startswith("Traceback")


@pytest.mark.parametrize("words", [("metrics",), ("metrics", "--json"), ("--help",), ("runs", "--help")])
def test_full_device_is_one_message(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = gymnast_command(*words, stdout=full.fileno())
    assert done.returncode == 1
    assert done.stderr == b"error: the output could not be written: No space left on device\n"


@pytest.mark.parametrize("words", ["metrics", "--help", "train CartPole-v1:ppo --max-env-steps 1k"])
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_silent(words: str, closed: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m gymnast {words} 2>err {closed}"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "err").read_text() == ""


@pytest.mark.parametrize("words", [("metrics",), ("metrics", "--json"), ("runs",), ("--help",)])
def test_reader_that_leaves_is_not_an_error(hostile: RunFolder, words: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gymnast", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(timeout=60)


# --- the mechanism ------------------------------------------------------------------------------


def calls_and_imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            yield ast.unparse(node.func)


PRINTERS = {"print", "typer.echo", "typer.secho", "click.echo", "sys.stdout.write", "sys.stderr.write"}


def test_one_place_makes_what_rich_prints() -> None:
    for file in SOURCE.rglob("*.py"):
        if file != SOURCE / "terminal/screen.py":
            used = {name for name in calls_and_imports(file) if name.partition(".")[0] == "rich"}
            assert used <= {"rich.box"}, f"{file.name}: use gymnast.terminal.screen"


def test_one_place_prints() -> None:
    for file in SOURCE.rglob("*.py"):
        if file != SOURCE / "terminal/text.py":
            assert not PRINTERS & set(calls_and_imports(file)), f"{file.name}: use gymnast.terminal.text.echo"


# --- 60 columns ---------------------------------------------------------------------------------


def in_a_terminal(*words: str, columns: int = 60, **environment: str) -> str:
    """What a command shows on a terminal of so many columns."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "gymnast", *words],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color"} | environment,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    process.wait(timeout=60)
    return shown.decode()


@pytest.mark.parametrize(
    "words",
    [
        "runs",
        "runs show",
        "envs",
        "envs cart",
        "metrics",
        "wrappers",
        "config keys algo",
        "roms --help",
        "nonsense",
    ],
)
def test_sixty_columns_are_enough_without_colours(words: str) -> None:
    root = Path(os.environ["GYMNAST_RUNS_DIR"])
    run = create_run(root, "CartPole-v1:ppo", "seed: 1\n", {"env": "CartPole-v1", "command": ["gymnast"]})
    update(
        root, run.id, status="interrupted", reason="stopped by the user", best_score=475.0, env_steps=10**6
    )
    text = in_a_terminal(*words.split(), NO_COLOR="1")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", text), "colours"
    assert not re.search(r"\w…", plain), "something was cut off"
    wide = [line for line in plain.splitlines() if len(line) > 60 and " -m gymnast " not in line]
    assert wide == []
    for shown in {"runs": ("CartPole-v1:ppo", "interrupted"), "envs": ("classic control",)}.get(words, ()):
        assert shown in plain
