"""Envs without a time limit: their evaluation ends, and says after how many steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.envs.spec import read_spec
from gymnast.training.evaluation_limit import DEFAULT_STEPS, limit_notice, with_episode_limit

Train = Callable[..., api.Run]
ENDLESS = "endless_envs:Endless"
pytestmark = pytest.mark.usefixtures("envs_importable")
NOTICE = "no time limit: evaluation episodes are cut after 10,000 steps"


@pytest.mark.parametrize("background", [False, True], ids=["inline", "background"])
def test_evaluation_of_an_endless_env_ends(train: Train, tmp_path: Path, background: bool) -> None:
    run = train(
        ENDLESS, tmp_path, updates=2, eval__every=2 * 64, eval__episodes=1, eval__background=background
    )
    row = run.metrics()[-1]
    assert row["eval/length/mean"] == row["eval/return/mean"] == DEFAULT_STEPS
    assert run.folder.log_path.read_text().count(NOTICE) == 1
    score = api.evaluate(run, episodes=1)
    assert (score.mean_length, score.mean_return) == (DEFAULT_STEPS, DEFAULT_STEPS)


def test_limit_of_an_evaluation_can_be_given(train: Train, tmp_path: Path) -> None:
    for reference, wrappers in ((ENDLESS, []), (ENDLESS, [{"name": "frame-skip", "skip": 4}])):
        run = train(
            reference,
            tmp_path,
            updates=2,
            eval__episodes=3,
            eval__max_episode_steps=50,
            env__wrappers=wrappers,
        )
        row = run.metrics()[-1]
        assert row["eval/length/mean"] == 50
        assert row["eval/return/mean"] == (200 if wrappers else 50)
        assert "no time limit" not in run.folder.log_path.read_text()
    run = train("CartPole-v1:ppo", tmp_path, updates=2, eval__max_episode_steps=3, env__backend="native")
    assert run.metrics()[-1]["eval/length/mean"] == 3


def test_no_evaluation_no_notice(train: Train, tmp_path: Path) -> None:
    run = train(ENDLESS, tmp_path, updates=1, eval__every=0)
    assert "no time limit" not in run.folder.log_path.read_text()


@pytest.mark.parametrize(
    ("reference", "limit"),
    [
        ("CartPole-v1:ppo", 500),
        ("gymnast/Bandit-v0:ppo", 100),
        ("gymnast/TMaze-v0:ppo-lstm", 44),
        ("MiniGrid-DoorKey-5x5-v0", 250),
        ("ALE/Pong-v5:ppo", 27_000),
        ("VizDoom-Basic-v0", 75),
    ],
)
def test_env_with_a_limit_of_its_own_is_evaluated_as_it_is(reference: str, limit: int) -> None:
    if reference.startswith("MiniGrid"):
        pytest.importorskip("minigrid")
    if reference.startswith("ALE"):
        pytest.importorskip("ale_py")
    if reference.startswith("VizDoom"):
        pytest.importorskip("vizdoom")
    config = load_config(reference).config
    spec = read_spec(config.env)
    assert spec.max_episode_steps == limit
    assert limit_notice(config, spec) is None
    assert with_episode_limit(config, spec) == config


def test_each_task_of_a_mix_keeps_its_own_limit(train: Train, tmp_path: Path) -> None:
    mix: list[dict[str, Any]] = [
        {"id": ENDLESS, "name": "endless"},
        {"id": ENDLESS, "name": "short", "max_episode_steps": 7},
    ]
    run = train(ENDLESS, tmp_path, updates=2, env__mix=mix, eval__episodes=1)
    row = run.metrics()[-1]
    assert row["eval/task/endless/length/mean"] == DEFAULT_STEPS
    assert row["eval/task/short/length/mean"] == 7
    assert f"endless has {NOTICE}" in run.folder.log_path.read_text()
