"""What callers in a notebook pass: NumPy's numbers, paths, counts as on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError

SHORT: dict[str, Any] = {
    "env.n_envs": np.int64(4),
    "algo.n_steps": np.int32(32),
    "algo.lr": np.float32(0.0005),
    "algo.batch_size": "all",
    "algo.n_epochs": np.uint8(2),
    "policy.hidden": np.array([8, 8]),
    "eval": {"every": np.int64(128), "episodes": np.int64(2)},
    "stop.eval_return": None,
    "seed": np.int64(3),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def run(runs: Path) -> api.Run:
    return api.train("CartPole-v1:ppo", overrides=SHORT, max_env_steps=np.int64(256), runs_dir=str(runs))


def test_numpy_values_are_settings_like_any_other(run: api.Run, runs: Path) -> None:
    plain = SHORT | {
        key: SHORT[key].tolist() for key in SHORT if isinstance(SHORT[key], (np.generic, np.ndarray))
    }
    plain["eval"] = {"every": 128, "episodes": 2}
    same = api.train("CartPole-v1:ppo", overrides=plain, max_env_steps=256, runs_dir=runs)
    assert run.folder.config_text() == same.folder.config_text()
    shown = api.show_config("CartPole-v1:ppo", overrides={"seed": np.int64(7)})
    assert type(shown.config.seed) is int


def test_numpy_seeds_and_counts_are_taken(run: api.Run, runs: Path) -> None:
    score = api.evaluate(run, episodes=np.int64(2), seed=np.int64(5), n_envs=np.int32(2))  # type: ignore[arg-type]
    assert score == api.evaluate(run, episodes=2, seed=5, n_envs=2)
    json.dumps(score.to_json())


def test_budgets_may_be_written_as_on_the_command_line(runs: Path) -> None:
    short = SHORT | {"eval.every": 1000}
    run = api.train("CartPole-v1:ppo", overrides=short, max_env_steps="0.2k", wall_time="2m", runs_dir=runs)
    assert run.outcome.env_steps == 256
    assert "wall_time: 120" in run.folder.config_text()


@pytest.mark.parametrize("as_type", [str, Path])
def test_paths_name_runs_and_configs(as_type: Any, run: api.Run, tmp_path: Path) -> None:
    assert api.evaluate(as_type(run.path), episodes=1).run == run.id
    assert api.show_run(as_type(run.path)).run.id == run.id
    assert api.load_policy(as_type(run.path)).layout is not None
    (tmp_path / "mine.yaml").write_text("env: {id: CartPole-v1}\nseed: 11\n")
    assert api.show_config(as_type(tmp_path / "mine.yaml")).config.seed == 11
    assert api.show_config("mine", config_dirs=as_type(tmp_path)).config.seed == 11
    assert api.show_config("mine", config_dirs=[as_type(tmp_path)]).config.seed == 11


def test_config_folders_are_searched_for_what_is_trained(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("env: {id: CartPole-v1, n_envs: 4}\nalgo: {n_steps: 32}\n")
    run = api.train("mine", max_env_steps=128, overrides={"eval.every": 10_000}, config_dirs=str(tmp_path))
    assert run.folder.info()["env"] == "CartPole-v1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_env_steps": "many"}, r"max_env_steps must be a whole number: 'many' is not a count"),
        ({"max_env_steps": 1.5}, r"max_env_steps must be a whole number: 1.5 is not"),
        ({"max_env_steps": [3]}, r"max_env_steps must be a whole number: got \[3\]"),
        ({"wall_time": "soon"}, r"wall_time must be a duration: 'soon' is not"),
        ({"overrides": [("algo.lr", 1)]}, r"overrides are a map, .*; got \('algo.lr', 1\)"),
    ],
)
def test_wrong_arguments_are_one_message(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        api.train("CartPole-v1:ppo", **arguments)


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        (
            np.zeros(4, np.float32),
            r"a single observation of the shape \(4,\); a batch \(N, 4\) is expected: obs",
        ),
        (np.zeros((2, 5)), r"observations have the shape \(2, 5\); \(N, 4\) is expected"),
        (np.zeros((2, 1, 4)), r"observations have the shape \(2, 1, 4\); \(N, 4\) is expected"),
        (3.0, r"observations have the shape \(\); \(N, 4\) is expected"),
        ([[1, 2, 3, 4], [1, 2]], r"observations of different shapes; one array \(N, 4\) is expected"),
        ("left", r"observations must be numbers \(N, 4\), got 'left'"),
        ({"cart": 1}, r"observations must be numbers \(N, 4\), got \{'cart': 1\}"),
    ],
)
def test_predict_says_what_it_expects(run: api.Run, obs: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        api.load_policy(run).predict(obs)


def test_predict_takes_lists_and_any_number_type(run: api.Run) -> None:
    policy = api.load_policy(run)
    obs = gym.make("CartPole-v1").reset(seed=1)[0]
    assert (
        policy.predict([obs.tolist()]) == policy.predict(obs[None]) == policy.predict(obs[None].astype("f8"))
    )
