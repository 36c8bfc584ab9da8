from __future__ import annotations

import pytest

from gymnast import api
from videos import SHORT_PPO


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """A short run with a checkpoint every 128 steps up to 1024."""
    return api.train(
        "CartPole-v1:ppo", overrides=SHORT_PPO, max_env_steps=1024, runs_dir=tmp_path_factory.mktemp("runs")
    )
