"""Console games in training: resumed to the frame, with their metrics; and really learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.states import decode
from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_metrics
from gymnast.spaces.plain import random_actions
from gymnast.training.run.keys import TerminalKeys

pytest.importorskip("stable_retro")
pytest.importorskip("torch")

AIRSTRIKER = "Retro/Airstriker-Genesis:ppo"
SMALL: dict[str, Any] = {
    "env__n_envs": 2,
    "env__backend": "workers",
    "env__retro__size": [36, 36],
    "env__retro__level": ["score"],  # a hit is a level: something happens in a few steps
    "env__retro__end_on_level": True,
    "algo__n_steps": 32,
    "algo__batch_size": 32,
    "algo__n_epochs": 1,
    "policy__encoder": "small",
    "policy__image": {"features": 16},
}
Train = Callable[..., api.Run]


@pytest.mark.slow
def test_resumed_run_equals_the_one_never_stopped(
    train: Train,
    tmp_path: Path,
    stop_after: Callable[[int], TerminalKeys],
    end_state: Callable[[api.Run], dict[str, Any]],
    first_difference: Callable[[Any, Any], str | None],
) -> None:
    whole = train(AIRSTRIKER, tmp_path, updates=4, eval__every=0, **SMALL)
    parts = train(AIRSTRIKER, tmp_path, updates=4, requests=stop_after(2), eval__every=0, **SMALL)
    assert parts.outcome.status == "interrupted"
    ends = [end_state(run) for run in (whole, api.resume(parts.id, runs_dir=tmp_path))]
    for end in ends:  # bytes of the emulator that mean nothing are never the same
        for env in end["state"]["source"]["envs"]["envs"]:
            assert len(decode(env["layers"][-1]["state"].pop("emulator"))) > 1000
    assert first_difference(*ends) is None


@pytest.mark.slow
def test_parts_of_the_reward_and_finished_levels_are_metrics(train: Train, tmp_path: Path) -> None:
    run = train(AIRSTRIKER, tmp_path, updates=3, eval__every=150, eval__episodes=2, **SMALL)
    rows = read_metrics(run.folder.metrics_path)
    assert {"env/reward_part/death", "env/reward_part/own_reward"} <= set(rows[-1])
    assert any(row.get("env/episode/level_complete") == 1.0 for row in rows)
    assert rows[-1]["eval/episode/level_complete"] in (0.0, 0.5, 1.0)


def test_evaluation_beside_a_game_in_the_same_process_is_refused(train: Train, tmp_path: Path) -> None:
    alone = {"env__backend": "sync", "env__n_envs": 1, "algo__n_steps": 64}
    with pytest.raises(GymnastError, match="evaluation needs another; use workers"):
        train(AIRSTRIKER, tmp_path, **SMALL | alone)
    assert not list(tmp_path.glob("*/config.yaml"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_airstriker_is_learned(tmp_path: Path) -> None:
    run = api.train(AIRSTRIKER, overrides={"seed": 1, "budget.env_steps": 50_000}, runs_dir=tmp_path)
    score = api.evaluate(run, episodes=16, seed=77).mean_return
    assert score > 1.25 * random_score(16)


def random_score(episodes: int) -> float:
    """Mean return of random actions, in games as evaluation plays them."""
    envs = build_envs(EnvConfig(id="Retro/Airstriker-Genesis"), n_envs=4, seed=7, training=False)
    random = np.random.default_rng(7)
    scores: list[float] = []
    totals = np.zeros(4)
    try:
        envs.reset()
        while len(scores) < episodes:
            step = envs.step(random_actions(envs.action_space, 4, random))
            totals += step.rewards
            over = step.terminated | step.truncated
            scores += totals[over].tolist()
            totals[over] = 0
    finally:
        envs.close()
    return float(np.mean(scores))
