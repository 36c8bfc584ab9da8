"""One short real run, and a Hub on loopback that this process talks to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from gymnast import api
from gymnast.runs.store import RunFolder
from hub_server import HubServer, hub_server

OVERRIDES = {
    "env.n_envs": 8,
    "algo.n_steps": 32,
    "budget.env_steps": 1024,
    "eval.every": 512,
    "eval.episodes": 4,
    "checkpoint.keep": 3,
    "checkpoint.every": 512,
    "stop.eval_return": None,
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = api.train("CartPole-v1:ppo", overrides=OVERRIDES, runs_dir=tmp_path_factory.mktemp("publish"))
    return run.folder


@pytest.fixture
def copied(trained: RunFolder, tmp_path: Path) -> RunFolder:
    """The run in a folder of this test's own."""
    return RunFolder(Path(shutil.copytree(trained.path, tmp_path / "copied" / trained.id)))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """The library reads most of its environment when it is imported, which another test may have done."""
    from huggingface_hub import constants
    from huggingface_hub.utils import _http

    with hub_server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
        waiting = SimpleNamespace(
            sleep=lambda seconds: None, time=_http.time.time, monotonic=_http.time.monotonic
        )
        monkeypatch.setattr(_http, "time", waiting)  # it tries again for half a minute
        yield server
