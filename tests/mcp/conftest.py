"""Runs that the tools are tried on: they only read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from gymnast import api
from gymnast.mcp.serving import Serving


@dataclass(frozen=True)
class Trained:
    serving: Serving
    good: str  # ids
    bad: str


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Two runs of CartPole: one as it should be, one with a learning rate that ruins it."""
    folder: Path = tmp_path_factory.mktemp("mcp") / "runs"
    good = api.train("CartPole-v1:ppo", max_env_steps=12_000, runs_dir=folder)
    wrong = {"algo.lr": 0.9, "seed": 1}
    bad = api.train("CartPole-v1:ppo", overrides=wrong, max_env_steps=12_000, runs_dir=folder)
    return Trained(Serving(runs_dir=folder), good.id, bad.id)
