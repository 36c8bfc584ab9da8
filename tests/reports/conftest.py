"""One short real run that every test here reads; those that change it take a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gymnast import api
from gymnast.runs.store import RunFolder

OVERRIDES = {
    "env.n_envs": 8,
    "algo.n_steps": 32,
    "algo.lr": 0.3,  # sick: it raises alerts
    "budget.env_steps": 3072,
    "eval.every": 512,
    "eval.episodes": 4,
    "checkpoint.every": 512,
    "checkpoint.keep": 2,
    "stop.eval_return": None,
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = api.train("CartPole-v1:ppo", overrides=OVERRIDES, runs_dir=tmp_path_factory.mktemp("report"))
    return run.folder


@pytest.fixture
def copied(trained: RunFolder, tmp_path: Path) -> RunFolder:
    """The run in a folder of this test's own."""
    return RunFolder(Path(shutil.copytree(trained.path, tmp_path / "runs" / trained.id)))
