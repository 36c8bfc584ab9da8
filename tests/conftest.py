"""What every test gets: no test writes into the checkout, opens a window or hangs on a slow machine."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
# One key for the whole session: a run of one fixture is used by many tests.
os.environ["GYMNAST_STATE_DIR"] = tempfile.mkdtemp(prefix="gymnast-tests-state-")
atexit.register(shutil.rmtree, os.environ["GYMNAST_STATE_DIR"], ignore_errors=True)
sys.path.append(str(Path(__file__).parent))  # modules of envs, which worker processes import too

# Tests in the background of a shell or under nohup inherit signals that are ignored, and hand that on to the
# programs which they start and interrupt; a handler of their own they do not hand on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# The machine may be busy with something else: an example's wall time means nothing.
settings.register_profile("default", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and remembered measurements go to a folder of this test alone, in subprocesses too."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("GYMNAST_RUNS_DIR", str(folder / "runs"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for name in ("GYMNAST_CONFIG_DIR", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def unused_port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parent.parent
