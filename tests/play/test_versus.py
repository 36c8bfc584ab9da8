"""Pong for two: the policy on its own side, a person on the other."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from gymnast import api
from gymnast.api.run import find_checkpoint
from gymnast.config.load import load_config
from gymnast.envs.single import make_env
from gymnast.play.session import Session
from gymnast.runs.trust import load_run_config

pytest.importorskip("pettingzoo")
pytest.importorskip("multi_agent_ale_py")
pytest.importorskip("ale_py")
ConnectionClosed = pytest.importorskip("websockets.exceptions").ConnectionClosed
versus = pytest.importorskip("gymnast.play.versus")
OBJECTS = {
    "env.n_envs": 2,
    "env.backend": "sync",
    "eval.every": 0,
    "algo.n_steps": 32,
    "algo.batch_size": 64,
    "budget.env_steps": 64,
}


@pytest.fixture(scope="module")
def pong_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pong") / "runs"
    api.train("ALE/Pong-v5:ppo-objects", overrides=OBJECTS, runs_dir=folder)
    return folder


def test_the_policy_sees_what_it_saw_in_training() -> None:
    config = load_config("ALE/Pong-v5:ppo", {"env.atari.sticky": 0, "env.atari.noop_max": 0}).config
    alone, two = make_env(config.env, training=False), versus.VersusGame(config.env)
    assert two.observation_space == alone.observation_space
    assert two.action_space == alone.action_space
    assert two.action_labels == alone.unwrapped.action_labels
    alone.reset(seed=1)
    two.reset(seed=1)
    for _ in range(15):
        one, *_ = alone.step(0)
        other, *_ = two.step(0)
    assert (one != other).mean() < 0.03, "but for the paddles and the ball"
    alone.close()
    two.close()


def test_a_person_moves_the_left_paddle_and_the_policy_the_right(pong_runs: Path) -> None:
    checkpoint = find_checkpoint("@last", pong_runs)
    config = load_run_config(checkpoint.run, file=checkpoint.config_path())
    game = versus.build_versus(config, checkpoint, seed=3)
    session = Session(game, "policy")
    labels = game.env.actions.choices

    def left_paddle() -> float:
        screen = session.moment.picture
        assert screen is not None
        court = screen[34:194, 10:25].astype(int)
        rows = np.flatnonzero((court != court[0, -1]).any(-1).any(1))
        return float(rows.mean())

    assert game.rival is not None
    places = {}
    for label, key in (("RIGHT", "up"), ("LEFT", "down")):
        action = game.keymap.action([key])
        assert action is not None
        assert labels[int(action[0])] == label
        game.rival(action)
        for _ in range(12):
            session.act()
        places[label] = left_paddle()
        assert session.moment.info["rival"] == label
    assert places["RIGHT"] < places["LEFT"] - 30, "up is up"
    assert session.driver == "policy"
    session.close()
    game.close()


def test_keys_of_the_page_reach_the_other_side(pong_runs: Path, play: Any, tmp_path: Path) -> None:
    pytest.importorskip("av")
    connect = pytest.importorskip("websockets.sync.client").connect
    words = ("@last", "--runs-dir", pong_runs, "--versus", "--record", "duel", "--max-steps", 20, "--seed", 3)
    playing = play(*words)
    parts = urlsplit(playing.url)
    with connect(f"ws://{parts.netloc}/api/play", origin=f"http://{parts.netloc}", open_timeout=60) as socket:
        socket.send(json.dumps({"token": parts.fragment.removeprefix("token=")}))
        hello = json.loads(socket.recv(timeout=60))["hello"]
        assert hello["versus"]
        assert "console" in hello["note"], "it says that the policy is off its distribution"
        while playing.process.poll() is None:  # as the page does, every 50 ms
            try:
                socket.send(json.dumps({"keys": ["ArrowUp"]}))
            except ConnectionClosed:
                break
            time.sleep(0.05)
    code, printed = playing.finish()
    assert code == 0, printed
    trace = api.load_trace(tmp_path / "duel.trace")
    assert [info["rival"] for info in trace.infos[-5:]] == ["RIGHT"] * 5
    assert {info["driver"] for info in trace.infos} == {"policy"}


def test_against_the_policy_nobody_else_drives(pong_runs: Path) -> None:
    from gymnast.errors import GymnastError

    checkpoint = find_checkpoint("@last", pong_runs)
    config = load_run_config(checkpoint.run, file=checkpoint.config_path())
    game = versus.build_versus(config, checkpoint, seed=3)
    session = Session(game, "policy")
    with pytest.raises(GymnastError, match="you play against it"):
        session.set_driver("human")
    session.close()
    game.close()
