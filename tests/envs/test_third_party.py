"""Envs that nobody here wrote: ids of any shape, packages that print, raise or break the rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ENV = """
import gymnasium as gym
import numpy as np

class Walk(gym.Env):
    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode=None, length=5):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = 0
        return self._seen(), {}

    def step(self, action):
        self.position += 1
        return self._seen(), float(action), self.position >= self.length, False, {}

    def _seen(self):
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)
"""
SHORT = ("--max-env-steps", "64", "env.n_envs=2", "algo.n_steps=16", "algo.batch_size=all", "eval.episodes=2")


def package(folder: Path, *ids: str, body: str = ENV, name: str = "their_games") -> None:
    """A package of someone else's, which registers its envs when it is imported."""
    (folder / name).mkdir()
    (folder / name / "envs.py").write_text(body)
    lines = [f'register("{env_id}", entry_point="{name}.envs:Walk", max_episode_steps=9)' for env_id in ids]
    (folder / name / "__init__.py").write_text("\n".join(["from gymnasium import register", *lines, ""]))


def gymnast(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "GYMNAST_RUNS_DIR": str(folder / "runs")}
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words],
        cwd=folder,
        env=settings,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one message of a command that failed on bad input."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["walk-fast-v0", "walk", "Walk-v3", "Their/walk_hard-v12"])
def test_a_registered_id_of_any_shape_trains_and_evaluates(tmp_path: Path, env_id: str) -> None:
    package(tmp_path, env_id)
    reference = f"their_games:{env_id}"
    done = gymnast(tmp_path, "train", reference, *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["env_steps"] == 64
    done = gymnast(tmp_path, "eval", "--episodes", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["episodes"] == 2


def test_an_algorithm_may_follow_such_an_id(tmp_path: Path) -> None:
    package(tmp_path, "Their/walk-v0")
    done = gymnast(tmp_path, "config", "show", "their_games:Their/walk-v0:a2c", "--json")
    assert done.returncode == 0, done.stderr
    message = refused(gymnast(tmp_path, "config", "show", "their_games:Their/walk-v0:a3c"))
    assert "'a2c'" in message


def test_a_class_path_trains(tmp_path: Path) -> None:
    package(tmp_path)
    done = gymnast(tmp_path, "train", "their_games.envs:Walk", *SHORT, "--json")
    assert done.returncode == 0, done.stderr


def test_workers_do_not_repeat_that_an_id_is_registered_again(tmp_path: Path) -> None:
    package(tmp_path, "walk-v0")
    words = ("env.backend=workers", "env.workers=2", "eval.every=0")
    done = gymnast(tmp_path, "train", "their_games:walk-v0", *SHORT, *words)
    assert done.returncode == 0, done.stderr
    (log,) = tmp_path.glob("runs/*/run.log")
    assert "Overriding" not in log.read_text() + done.stdout + done.stderr


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        ("their_games:wlak-v0", "'walk-v0'"),
        ("their_games:other-v0", "importing 'their_games' registers no environment of that name"),
        ("their_gmaes:walk-v0", "no module 'their_gmaes'"),
        ("their_games.py:Walk", "their_games:Walk"),
        ("walk-v0", "package:walk-v0"),
    ],
)
def test_a_wrong_one_is_answered_with_what_is_wrong(tmp_path: Path, reference: str, wanted: str) -> None:
    package(tmp_path, "walk-v0")
    assert wanted in refused(gymnast(tmp_path, "config", "show", reference))


RESET = "reset(seed=…, options=…) must return 2 values, an observation and an info dict"
NO_SPACES = """
import gymnasium as gym

class Walk(gym.Env):
    def reset(self, *, seed=None, options=None):
        return 0, {}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (NO_SPACES, "has no observation_space: it is not set"),
        (ENV.replace("gym.spaces.Discrete(2)", "None"), "has no action_space: it is None"),
        (ENV.replace("gym.spaces.Discrete(2)", "7"), "has no action_space: it is a builtins.int"),
        (
            ENV + "    @property\n    def action_space(self):\n        raise OSError('no robot')\n",
            "reading it raised OSError: no robot (envs.py:25)",
        ),
        (
            ENV.replace("self.length = length", "raise OSError('no robot')"),
            "could not be built: OSError: no robot (envs.py:10)",
        ),
        (
            ENV.replace("self.position = 0\n", "self.position = 1 / 0\n"),
            "raised ZeroDivisionError on reset: division by zero (envs.py:14)",
        ),
        (ENV.replace("uniform(-1, 1, 2)", "uniform(-1, 1, 3)"), "shape (3,)"),
        (
            ENV.replace("return self._seen(), {}", "return self._seen()"),
            RESET,
        ),
        (ENV.replace("*, seed=None, options=None", ""), RESET),
    ],
)
def test_an_env_that_breaks_the_rules_is_one_message_before_anything_is_written(
    tmp_path: Path, body: str, wanted: str
) -> None:
    package(tmp_path, "walk-v0", body=body)
    assert wanted in refused(gymnast(tmp_path, "train", "their_games:walk-v0", *SHORT))
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/run.json"))


@pytest.mark.parametrize("backend", ["sync", "workers"])
def test_an_exception_in_a_step_names_file_and_line_and_its_traceback_is_logged(
    tmp_path: Path, backend: str
) -> None:
    body = ENV.replace("self.position += 1", "self._move()") + (
        "\n    def _move(self):\n        raise ValueError('out of track')\n"
    )
    package(tmp_path, "walk-v0", body=body)
    done = gymnast(tmp_path, "train", "their_games:walk-v0", *SHORT, f"env.backend={backend}")
    assert done.returncode == 1
    line = body.splitlines().index("        raise ValueError('out of track')") + 1
    assert f"ValueError: out of track (envs.py:{line})" in done.stderr
    (log,) = tmp_path.glob("runs/*/run.log")
    assert "in _move" in log.read_text()


def test_a_step_in_the_older_form_is_explained(tmp_path: Path) -> None:
    package(tmp_path, "walk-v0", body=ENV.replace("self.position >= self.length, False, {}", "False, {}"))
    done = gymnast(tmp_path, "train", "their_games:walk-v0", *SHORT)
    assert "step must return 5 values" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sync", "workers"])
def test_a_close_that_raises_is_a_line_in_the_log(tmp_path: Path, backend: str) -> None:
    body = ENV + "\n    def close(self):\n        raise OSError('no robot')\n"
    package(tmp_path, "walk-v0", body=body)
    words = ("train", "their_games:walk-v0", *SHORT, "--json", f"env.backend={backend}")
    done = gymnast(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "finished"
    (log,) = tmp_path.glob("runs/*/run.log")
    assert f"close() of Walk raised OSError: no robot (envs.py:{len(body.splitlines())})" in log.read_text()
    assert gymnast(tmp_path, "eval", "--episodes", "2").returncode == 0
