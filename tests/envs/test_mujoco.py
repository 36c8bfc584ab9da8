"""MuJoCo's envs are built without a word and carried exactly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gymnast.envs import states as carrying
from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig

pytest.importorskip("mujoco")


def test_building_prints_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_env(EnvConfig(id="HalfCheetah-v5")).close()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


# Ant and Humanoid read positions before they step that lie one step behind the state.
@pytest.mark.parametrize("env_id", ["Hopper-v5", "Ant-v5", "Humanoid-v5", "Reacher-v5"])
def test_a_state_continues_exactly(env_id: str) -> None:
    ours, theirs = make_env(EnvConfig(id=env_id)), make_env(EnvConfig(id=env_id))
    ours.reset(seed=1)
    theirs.reset(seed=2)
    random = np.random.default_rng(0)
    space = ours.action_space
    actions = random.uniform(space.low, space.high, (40, *space.shape)).astype(np.float32)
    for action in actions[:7]:
        ours.step(action)
    assert carrying.can_carry(ours)
    carrying.set_env_state(theirs, json.loads(json.dumps(carrying.env_state(ours))))
    for action in actions[7:]:
        here, there = ours.step(action), theirs.step(action)
        assert here[0].tobytes() == there[0].tobytes()
        assert here[1:4] == there[1:4]


def test_a_picture_without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "egl")
    pytest.importorskip("OpenGL.EGL", reason="there is no EGL here", exc_type=Exception)
    env = make_env(EnvConfig(id="Hopper-v5"), render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    env.close()
    assert (picture.shape, picture.dtype) == ((480, 480, 3), np.uint8)
    assert picture.std() > 10
