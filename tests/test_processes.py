"""Our own processes: one way to start them, one message format, and which process a pid means."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.config.catalogue import entries
from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.processes import messages
from gymnast.processes.identity import ProcessIdentity, own_identity
from gymnast.processes.start import how_it_ended, start_child

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(st.tuples(plain, st.binary())), st.integers(0, 30))
def test_messages_arrive_as_sent_and_a_partial_one_is_left_out(
    sent: list[tuple[Any, bytes]], cut: int
) -> None:
    data = b"".join(messages.encode(message, attached) for message, attached in sent)
    assert list(messages.decode(data)) == [message for message, _ in sent]
    whole = list(messages.decode(data[: max(0, len(data) - cut)]))
    assert whole == [message for message, _ in sent[: len(whole)]]


def test_large_message_arrives_whole_through_a_pipe() -> None:
    reading, writing = os.pipe()
    attached = os.urandom(3_000_000)
    thread = threading.Thread(target=messages.send, args=(writing, {"a": [1.5, None]}, attached))
    thread.start()
    assert messages.receive_attached(reading) == ({"a": [1.5, None]}, attached)
    thread.join()
    assert not messages.has_arrived(reading)
    os.close(writing)
    assert messages.has_arrived(reading)
    with pytest.raises(EOFError):
        messages.receive(reading)
    os.close(reading)


CHILD = """
import os, time
from gymnast.processes.messages import receive, send

def echo(reading, writing, *words):
    send(writing, {"got": receive(reading), "words": words, "omp": os.environ.get("OMP_NUM_THREADS"),
                   "leader": os.getsid(0) == os.getpid()})

def sleep(writing):
    send(writing, os.getpid())
    time.sleep(600)
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_child.py").write_text(CHILD)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_child"


def test_child_finds_modules_of_the_parent_and_gets_its_arguments(own_module: str) -> None:
    (reading, order), (answer, writing) = os.pipe(), os.pipe()
    child = start_child(f"{own_module}:echo", (reading, writing), ["a b", "ö"], one_thread=True)
    os.close(reading)
    os.close(writing)
    messages.send(order, "hello")
    assert messages.receive(answer) == {"got": "hello", "words": ["a b", "ö"], "omp": "1", "leader": True}
    child.end(10)
    assert child.process.returncode == 0
    os.close(order)
    os.close(answer)


def test_child_ends_when_its_lifeline_does(own_module: str) -> None:
    answer, writing = os.pipe()
    child = start_child(f"{own_module}:sleep", (writing,))
    os.close(writing)
    assert messages.receive(answer) == child.process.pid
    child.release()
    assert child.process.wait(timeout=20) == 1
    os.close(answer)


def test_child_dies_with_a_killed_parent(own_module: str, tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "from gymnast.processes.start import start_child\n"
        f"child = start_child('{own_module}:sleep', (1,))\n"
        "time.sleep(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout is not None
    pid = messages.receive(parent.stdout.fileno())
    parent.kill()
    parent.wait()
    with parent.stdout:
        assert messages.has_arrived(parent.stdout.fileno(), 20), "the pipe closes with its last holder"
        assert parent.stdout.read() == b""
    assert not Path(f"/proc/{pid}").exists() or ProcessIdentity(pid, 0, own_identity().machine).is_dead()


def test_exit_codes_in_words() -> None:
    assert how_it_ended(3) == "ended with code 3"
    assert how_it_ended(-signal.SIGKILL) == "was killed by SIGKILL"
    assert how_it_ended(-64) in ("was killed by SIGRTMAX", "was killed by signal 64")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no start times")
def test_identity_distinguishes_processes_with_the_same_pid() -> None:
    own = own_identity()
    assert not own.is_dead()
    assert own.started is not None
    assert ProcessIdentity(own.pid, own.started - 1, own.machine).is_dead(), "an earlier one had this pid"
    assert not ProcessIdentity(own.pid, own.started - 1, "elsewhere").is_dead(), "unknown from here"
    assert not ProcessIdentity(own.pid).is_dead()
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    sleeping = ProcessIdentity(sleeper.pid, _started(sleeper.pid), own.machine)
    assert not sleeping.is_dead()
    sleeper.kill()
    end = time.monotonic() + 10
    while not sleeping.is_dead() and time.monotonic() < end:  # not waited for yet: a zombie
        time.sleep(0.01)
    assert sleeping.is_dead()
    sleeper.wait()
    assert sleeping.is_dead()


def _started(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@pytest.mark.parametrize(
    "reference", [e.name if not e.variants else f"{e.name}:{e.variants[0]}" for e in entries()]
)
def test_config_is_the_same_in_another_process(reference: str) -> None:
    config = load_config(reference).config
    (received,) = messages.decode(messages.encode(config.model_dump(mode="json")))
    assert Config.model_validate(received) == config


FORBIDDEN = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "multiprocessing"}


def test_source_imports_nothing_that_pickles(repository: Path) -> None:
    found = {}
    for path in (repository / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                whose = owner.id if isinstance(owner, ast.Name) else ""
                if (whose, node.func.attr) in {("torch", "load"), ("torch", "save")}:
                    found[str(path)] = f"{whose}.{node.func.attr}"
                if any(word.arg == "allow_pickle" for word in node.keywords):
                    found[str(path)] = "allow_pickle"
            if bad := {name.partition(".")[0] for name in names} & FORBIDDEN:
                found[str(path)] = str(bad)
    assert not found


def test_popen_of_our_own_code_is_in_one_place(repository: Path) -> None:
    """By processes/start.py alone; Doom's guard must run without site packages."""
    allowed = {
        "processes/start.py",
        "envs/families/doom/engine.py",
        "cli/program.py",
    }  # the last only prints it
    source = repository / "src" / "gymnast"
    starters = {
        str(path.relative_to(source)) for path in source.rglob("*.py") if "sys.executable" in path.read_text()
    }
    assert starters == allowed
