"""One small run, and the inspector's real server over the folder that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from gymnast import api
from gymnast.web.server import PageServer
from pages import client_of, serving


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspected") / "runs"
    api.train("CartPole-v1:ppo", max_env_steps=4000, runs_dir=folder, overrides={"eval.episodes": 5})
    return folder


@pytest.fixture(scope="module")
def run(runs: Path) -> str:
    return api.list_runs(runs_dir=runs)[0].id


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[PageServer]:
    with serving(api.inspector_server(runs, port=0)) as started:
        yield started


@pytest.fixture(scope="module")
def client(server: PageServer) -> Iterator[httpx2.Client]:
    with client_of(server) as opened:
        yield opened
