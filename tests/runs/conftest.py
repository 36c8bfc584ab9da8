from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast.runs.checkpoint import Checkpoint, save_checkpoint
from gymnast.runs.store import RunFolder, create_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def new_run(root: Path) -> Callable[..., RunFolder]:
    def make(env: str = "CartPole-v1", **info: Any) -> RunFolder:
        facts = {
            "env": env,
            "variant": "ppo",
            "algo": "ppo",
            "seed": 1,
            "command": ["gymnast", "train", env],
            **info,
        }
        return create_run(root, f"{env}:ppo", f"seed: 1\nenv:\n  id: {env}\nalgo:\n  lr: 0.001\n", facts)

    return make


@pytest.fixture
def run(new_run: Callable[..., RunFolder]) -> RunFolder:
    return new_run()


@pytest.fixture
def save() -> Callable[..., Checkpoint]:
    def write(
        run: RunFolder, env_steps: int, score: float | None = None, seed: int | None = None, **extra: Any
    ) -> Checkpoint:
        draw = np.random.default_rng(env_steps if seed is None else seed)
        return save_checkpoint(
            run,
            env_steps=env_steps,
            policy={"actor.weight": draw.normal(size=(8, 4)).astype(np.float32)},
            state={"adam": {"m": draw.normal(size=32)}, "rng": draw.bit_generator.state},
            counters={"updates": env_steps // 100},
            metrics={"time/env_steps": env_steps, "time/seconds": env_steps / 1000, **extra},
            score=score,
            reason="eval",
        )

    return write
