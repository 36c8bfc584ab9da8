"""One short real run that every test here reads, and a folder for runs that arrive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gymnast import api
from gymnast.runs.store import RunFolder

OVERRIDES = {
    "env.n_envs": 8,
    "algo.n_steps": 32,
    "budget.env_steps": 1024,
    "eval.every": 512,
    "eval.episodes": 4,
    "stop.eval_return": None,
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = api.train("CartPole-v1:ppo", overrides=OVERRIDES, runs_dir=tmp_path_factory.mktemp("travel"))
    return run.folder


@pytest.fixture
def copied(trained: RunFolder, tmp_path: Path) -> RunFolder:
    """The run in a folder of this test's own."""
    return RunFolder(Path(shutil.copytree(trained.path, tmp_path / "copied" / trained.id)))


@pytest.fixture(scope="session")
def packed(trained: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return api.pack_run(trained.path, tmp_path_factory.mktemp("packed") / "run.zip").path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where runs arrive."""
    return tmp_path / "arrived"
