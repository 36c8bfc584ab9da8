"""Secrets in the settings of a run: given by environment variables, used as they are, and stored nowhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.config.values import from_environment
from gymnast.errors import GymnastError

MODULE = '''
import logging
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv

class Door(CartPoleEnv):
    """Opens with the right token alone: one with another pays nothing."""
    def __init__(self, token="", url="", fails="", render_mode=None):
        super().__init__(render_mode=render_mode)
        if fails == "build":
            raise RuntimeError(f"the server refused {token} at {url}")
        self.token, self.url, self.fails, self.at = token, url, fails, 0
        logging.getLogger("gymnast").warning("connected to %s with %s", url, token)
    def step(self, action):
        self.at += 1
        if self.fails == "step" and self.at == 10:
            raise RuntimeError(f"lost {self.url}: token={self.token}")
        obs, _, *rest = super().step(action)
        return obs, float(self.token.startswith("right")), *rest

class Locked(gym.Wrapper):
    def __init__(self, env, password=""):
        super().__init__(env)
        assert password == "open sesame", password
'''
TINY = {
    "env.n_envs": 2,
    "env.backend": "sync",
    "env.max_episode_steps": 8,
    "algo.n_steps": 8,
    "algo.batch_size": 16,
    "eval.every": 0,
    "budget.env_steps": 32,
}


@pytest.fixture(autouse=True)
def _door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "door_env.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


def files_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_bytes().decode(errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"env.kwargs": {"token": "right"}}, "env.kwargs.token"),
        ({"env.kwargs.url": "https://ann:sesame@example.org"}, "env.kwargs.url"),
        ({"env.kwargs.url": "hf_" + "aB" * 17}, "env.kwargs.url"),
        (
            {"env.wrappers": [{"name": "door_env:Locked", "password": "open sesame"}]},
            "env.wrappers.0.password",
        ),
        ({"sinks": [{"name": "metrics", "api_key": "abc"}]}, "sinks.0.api_key"),
    ],
)
def test_training_with_a_secret_is_refused_and_nothing_is_stored(
    tmp_path: Path, changes: dict[str, Any], key: str
) -> None:
    with pytest.raises(
        GymnastError, match=rf"^{re.escape(key)}: looks like a secret.*{re.escape(key)}='\$"
    ) as refused:
        api.train("door_env:Door", overrides=TINY | changes, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    for secret in ("right", "sesame", "aBaB", "abc"):
        assert secret not in str(refused.value)


def test_secret_from_the_environment_is_used_everywhere_and_stored_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOOR_TOKEN", "right-0815-4711")
    monkeypatch.setenv("DOOR_PASSWORD", "open sesame")
    changes = {
        "env.kwargs": {"token": "${DOOR_TOKEN}", "url": "https://ann:${DOOR_TOKEN}@example.org"},
        "env.wrappers": [{"name": "door_env:Locked", "password": "${DOOR_PASSWORD}"}],
    }
    run = api.train("door_env:Door", overrides=TINY | changes, runs_dir=tmp_path / "runs")
    score = api.evaluate(run, episodes=3, n_envs=1).mean_return
    assert score > 0
    api.resume(run, max_env_steps=64)
    for name, text in files_of(tmp_path / "runs").items():
        assert "0815" not in text, name
        assert "sesame" not in text, name
    assert "${DOOR_TOKEN}" in run.folder.config_text()
    assert "connected to https://ann:***@example.org with ***" in run.folder.log_path.read_text()
    # A value may be given again, for once.
    assert api.evaluate(run, episodes=3, n_envs=1, overrides=["env.kwargs.token=wrong"]).mean_return == 0
    assert api.record_trace(run, overrides={"env.kwargs.token": "wrong"}).returns == [0]
    monkeypatch.delenv("DOOR_TOKEN")
    for use in (api.evaluate, api.load_policy, lambda run: api.resume(run, max_env_steps=96)):
        with pytest.raises(GymnastError, match=r"env\.kwargs\.token .*no environment variable DOOR_TOKEN"):
            use(run)
    assert api.evaluate(
        run, episodes=1, n_envs=1, overrides={"env.kwargs": {"token": "right", "url": ""}}
    ).mean_return


@pytest.mark.parametrize("backend", ["sync", "workers"])
def test_failed_run_keeps_no_secret_of_its_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv("DOOR_TOKEN", "right-0815")
    changes = {
        "env.backend": backend,
        "env.kwargs": {"token": "${DOOR_TOKEN}", "url": "${DOOR_URL}", "fails": "step"},
    }
    monkeypatch.setenv("DOOR_URL", "ftp://ann:tellnobody@example.org")
    with pytest.raises(GymnastError):
        api.train("door_env:Door", overrides=TINY | changes, runs_dir=tmp_path / "runs")
    files = files_of(tmp_path / "runs")
    assert any("failed" in text and "lost ***: token=***" in text for text in files.values())
    for name, text in files.items():
        assert "0815" not in text, name
        assert "tellnobody" not in text, name


@pytest.mark.parametrize("fails", ["", "step"])
def test_detached_run_keeps_no_secret_in_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    monkeypatch.setenv("DOOR_TOKEN", "right-0815")
    kwargs = {"env.kwargs": {"token": "${DOOR_TOKEN}", "fails": fails}}
    run = api.start_detached("door_env:Door", overrides=TINY | kwargs, runs_dir=tmp_path / "runs")
    list(api.watch_run(run.id, runs_dir=tmp_path / "runs"))
    files = files_of(tmp_path / "runs")
    assert "connected to" in files[f"{run.id}/console.log"]
    assert ("token=***" in files[f"{run.id}/run.log"]) == bool(fails)
    for name, text in files.items():
        assert "0815" not in text, name


def test_error_of_an_env_that_cannot_be_built_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOOR_TOKEN", "right-0815")
    changes = {"env.kwargs": {"token": "${DOOR_TOKEN}", "fails": "build"}}
    with pytest.raises(GymnastError, match=r"the server refused \*\*\* at"):
        api.train("door_env:Door", overrides=TINY | changes)


@pytest.mark.slow
@pytest.mark.parametrize("run", [(), ("@last",)], ids=["no run", "a run"])
@pytest.mark.parametrize("command", ["eval", "video record", "video progress"])
def test_commands_take_settings_again(tmp_path: Path, command: str, run: tuple[str, ...]) -> None:
    if "video" in command:
        pytest.importorskip("av")
    kwargs = {"env.kwargs": {"token": "${DOOR_TOKEN}"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOOR_TOKEN", "right")
        api.train("door_env:Door", overrides=TINY | kwargs, runs_dir=tmp_path / "runs")
    options = ("--episodes", "2") if command == "eval" else ("--out", str(tmp_path / "x.mp4"))
    words = (*command.split(), *run, "env.kwargs.token=wrong", "seed=3", *options, "--json")
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", *words, "--runs-dir", str(tmp_path / "runs")],
        check=False, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["returns"]) == {0.0}


TOKENS = st.one_of(
    st.text("abcdefABCDEF", min_size=34, max_size=34).map(lambda x: f"hf_{x}"),
    st.text("0123456789ABCDEF", min_size=16, max_size=16).map(lambda x: f"AKIA{x}"),
    st.text("0123456789abcdefXYZ", min_size=36, max_size=36).map(lambda x: f"ghp_{x}"),
    st.text("0123456789abcdefXYZ", min_size=30, max_size=48).map(lambda x: f"sk-{x}"),
    st.text("0123456789abcdef-_", min_size=12, max_size=20).map(lambda x: f"eyJ{x}.{x}.{x}"),
)


@settings(max_examples=10)
@given(token=TOKENS, fails=st.sampled_from(["", "step"]))
def test_drawn_secret_is_in_no_file_of_a_run(token: str, fails: str) -> None:
    """Whether the run ends well or not; also where the env itself made the secret known in a message."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOMETHING", token)
        patch.setattr(
            "sys.argv", ["gymnast", "train", "door_env:Door", f"env.kwargs={{url: {token}}}", token]
        )
        changes = {"env.kwargs": {"url": "${SOMETHING}", "fails": fails}}
        try:
            api.train("door_env:Door", overrides=TINY | changes, runs_dir=folder)
        except GymnastError:
            assert fails
        files = files_of(Path(folder))
        assert any(json.loads(text)["command"] for name, text in files.items() if name.endswith("run.json"))
        for name, text in files.items():
            assert token[-12:] not in text, name


def test_variables_are_replaced_at_any_depth_and_escaped_by_two_dollars(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_1", "x")
    given = {"a": ["${A_1}", ("${A_1}y${A_1}", 3, None)], "b": {"c": "$${A_1} $A_1 ${} ${1}"}, "d": 2.5}
    assert from_environment(given, "k") == {
        "a": ["x", ("xyx", 3, None)],
        "b": {"c": "${A_1} $A_1 ${} ${1}"},
        "d": 2.5,
    }
    with pytest.raises(GymnastError, match=r"k\.a\.0 is '\$\{NOT_SET\}', but there is no .* NOT_SET"):
        from_environment({"a": ["${NOT_SET}"]}, "k")
