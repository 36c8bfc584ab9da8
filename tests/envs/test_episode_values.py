"""What an env tells of an episode: from its info to the step, the episode, the score and the metrics."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from gymnast import api
from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
from gymnast.rollout.evaluate import Score
from gymnast.rollout.source import Episode
from gymnast.training.state import TrainState

CONFIG = EnvConfig(id="sample_envs:Tells", workers=2, wrappers=("sample_envs:CountsOnes",))


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
def test_every_layer_may_tell_and_the_rows_that_finished_hold_it(backend: str) -> None:
    envs = build_envs(CONFIG, n_envs=3, seed=0, backend=backend)
    try:
        assert envs.reward_parts == ("bonus",)
        assert envs.episode_values == ("level_complete", "score", "ones")
        envs.reset()
        told = []
        for _ in range(5):  # an episode of two steps, then one of three
            step = envs.step(np.array([0, 1, 1]))
            np.testing.assert_array_equal(step.reward_parts["bonus"], 0.5)
            if step.final_obs is not None:
                assert step.terminated.all()
                told.append({name: values.tolist() for name, values in step.episode_values.items()})
        first, second = told
        assert first["level_complete"] == [0, 0, 0]
        assert second["level_complete"] == [1, 1, 1]
        assert all(map(math.isnan, first["score"]))
        assert second["score"] == [20, 20, 20]
        assert (first["ones"], second["ones"]) == ([0, 2, 2], [0, 3, 3])
    finally:
        envs.close()


def test_an_env_that_tells_nothing_has_no_values() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1"), n_envs=2, seed=0, backend="sync")
    assert envs.episode_values == ()
    envs.reset()
    assert envs.step(np.zeros(2, np.int64)).episode_values == {}


def test_means_are_over_the_episodes_that_reported_a_value() -> None:
    state = TrainState()
    state.recent.extend(
        [Episode(1.0, 1.0, 2), Episode(1.0, 1.0, 2, {"won": 1.0}), Episode(1.0, 1.0, 2, {"won": 0.0})]
    )
    assert state.metrics()["env/episode/won"] == 0.5
    restored = TrainState()
    restored.load_json(json.loads(json.dumps(state.to_json())))
    assert restored == state


def test_the_score_has_their_means() -> None:
    score = Score((1.0, 2.0), (3, 4), 0.1, {"won": (1.0, math.nan), "never": (math.nan, math.nan)})
    metrics = score.metrics()
    assert metrics["eval/episode/won"] == 1.0
    assert "eval/episode/never" not in metrics


@pytest.mark.parametrize("background", [False, True])
def test_they_are_metrics_of_a_run(background: bool, tmp_path: Path) -> None:
    changes = {
        "env.n_envs": 2,
        "env.backend": "sync",
        "env.wrappers": ["sample_envs:CountsOnes"],
        "algo.n_steps": 20,
        "algo.batch_size": "all",
        "budget.env_steps": 80,
        "eval.every": 80,
        "eval.episodes": 2,
        "eval.n_envs": 1,
        "eval.background": background,
    }
    run = api.train("sample_envs:Tells", overrides=changes, runs_dir=tmp_path)
    last = run.metrics()[-1]
    # Twenty steps of each env in turns of five: an episode of two steps and one of three.
    assert last["env/episode/level_complete"] == 0.5
    assert 0 <= last["env/episode/ones"] <= 3
    assert last["env/reward_part/bonus"] == 0.5
    assert last["eval/episode/level_complete"] == 0.5
    assert last["eval/episode/score"] == 20  # of the second of the two alone
