"""Declared and emitted metrics are the same set: small runs of every feature emit all that is declared.

The other direction, a key that is not declared, fails at once in any run (`Recorder.write`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.metrics import catalogue

_RULE = {"metric": "train/return/mean", "patience": 64, "setting": "lr", "multiply": 0.5, "revert_after": 64}
_TINY: dict[str, Any] = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "algo.n_steps": 16,
    "budget.env_steps": 256,
    "eval.every": 64,
    "eval.episodes": 2,
    "stop.eval_return": None,
}
_PPO = {"algo.batch_size": "all", "algo.n_epochs": 2}

# Together these switch on everything that reports something.
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "CartPole-v1:ppo-centred",
        _PPO
        | {
            "algo.critic_lr": 1e-3,
            "algo.value_clip_range": 0.2,
            "algo.target_kl": 1.0,
            "algo.normalize_reward": True,
            "algo.optimizer": {"name": "adam", "reset_on_lr_jump": 2.0},
            "policy.popart": True,
            "interventions": [_RULE],
        },
    ),
    ("CartPole-v1:ppo", _PPO | {"env.backend": "workers", "env.wrappers": ["episode-statistics"]}),
    ("CartPole-v1:ppo", _PPO | {"env.backend": "remote", "env.actors.count": 2}),
    ("CartPole-v1:ppo", _PPO | {"cluster.on": "local", "cluster.actors": 2}),
    ("CartPole-v1:reinforce", {"algo.baseline": "none", "sinks": ["tensorboard"]}),
    ("Blackjack-v1", _PPO),
    ("Pendulum-v1:ppo", _PPO),
    ("MountainCar-v0:ppo-rnd", _PPO),
    ("MinAtar/Mix:ppo", _PPO | {"algo.normalize_reward": True, "env.wrappers": ["episode-statistics"]}),
)


@pytest.mark.timeout(900)  # many short runs, which a busy machine needs minutes for
def test_every_declared_metric_is_emitted_by_some_run(tmp_path: Path) -> None:
    emitted: set[str] = set()
    for reference, changes in RUNS:
        run = api.train(reference, overrides=_TINY | changes, runs_dir=tmp_path)
        emitted |= {
            catalogue.declared_as(key) for row in run.metrics() for key in row if row[key] is not None
        }
    assert sorted({metric.key for metric in catalogue.all_metrics()} - emitted) == []
