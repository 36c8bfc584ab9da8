"""One short real run, and no key but those that a test sets."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gymnast import api
from gymnast.review.patience import Patience
from gymnast.runs.store import RunFolder

KEY = "unusual-key-0123456789-abcdef"
SMALL = {"algo.lr": 0.01, "budget.env_steps": 2048, "eval.every": 1024, "eval.episodes": 4}
HASTY = Patience(silence=60.0, attempts=3, first_wait=0.01)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GYMNAST_LLM_API_KEY", "GYMNAST_LLM_MODEL", "GYMNAST_LLM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("review")
    return api.train("CartPole-v1:ppo", overrides=SMALL, runs_dir=folder).folder


@pytest.fixture
def run(trained: RunFolder, tmp_path: Path) -> RunFolder:
    """The run in a folder of this test's own."""
    return RunFolder(Path(shutil.copytree(trained.path, tmp_path / "runs" / trained.id)))
