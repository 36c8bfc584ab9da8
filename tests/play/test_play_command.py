"""`gymnast play` on the command line: numbers, JSON, Ctrl-C, and one message for what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError, MissingExtra
from gymnast.recordings.opened import is_trace, open_trace

Play = Callable[..., Any]


def command(*words: Any, **environment: str) -> tuple[int, str, str]:
    without = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", "play", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**without, **environment},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_headless_prints_every_episode_and_json(runs: Path) -> None:
    code, printed, _ = command("--runs-dir", runs, "--headless", "--episodes", 2, "--seed", 5)
    assert code == 0
    assert printed.count("return ") == 2
    assert "mean " in printed
    code, printed, _ = command("--runs-dir", runs, "--headless", "--episodes", 2, "--seed", 5, "--json")
    told = json.loads(printed)
    assert code == 0
    assert [episode["ended"] for episode in told["episodes"]] == ["terminated"] * 2
    assert told["mean_return"] == sum(e["return"] for e in told["episodes"]) / 2
    assert told["run"] == api.list_runs(runs_dir=runs)[0].id


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuchrun"], "there is no run 'nosuchrun' here, and it is an unknown environment"),
        (["@nosuch"], "unknown run '@nosuch'"),
        (["CartPole-v1:ppo", "--mode", "human", "--headless"], "a person needs a picture"),
        (["CartPole-v1:ppo", "--mode", "polici"], "did you mean 'policy'"),
        (["CartPole-v1:ppo", "--mode", "policy"], "there is no policy"),
        (["CartPole-v1:ppo", "--window"], "there is no display"),
        (["CartPole-v1:ppo", "--window", "--headless"], "exclude each other"),
        (["CartPole-v1:ppo", "--headless", "--versus"], "a person needs a picture"),
        (["CartPole-v1:ppo", "--versus"], "name a run"),
        (["CartPole-v1:ppo", "play.keys.left=tab"], "is taken"),
        (["CartPole-v1:ppo", "play.keys.jump=x"], "there is no action 'jump'"),
        (["CartPole-v1:ppo", "play.turns=sometimes"], "play.turns"),
        (["Pendulum-v1:ppo", "play.turns=wait"], "use real-time"),
        (["CartPole-v1:ppo", "--host", "0.0.0.0"], "password"),
        (["CartPole-v1:ppo", "--record", "/proc/nowhere/x"], "/proc/nowhere"),
    ],
)
def test_what_is_wrong_gets_one_message(words: list[str], said: str) -> None:
    code, printed, error = command(*words)
    assert code == 2, error
    assert said in " ".join(error.split())
    assert "Traceback" not in error
    assert printed == ""


def test_a_missing_extra_is_named(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name in ("starlette", "pettingzoo") else real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(MissingExtra, match=r"gymnast\[play\]"):
        api.play("CartPole-v1:ppo")


def test_versus_is_for_games_of_two(runs: Path) -> None:
    with pytest.raises(GymnastError, match="is not a game for two"):
        api.play("@last", versus=True, runs_dir=runs)


@pytest.mark.parametrize("record", [False, True])
def test_ctrl_c_shows_what_was_played_and_exits_with_130(
    play: Play, runs: Path, tmp_path: Path, record: bool
) -> None:
    if record:
        pytest.importorskip("av")
    words = [
        "@last",
        "--runs-dir",
        runs,
        "--headless",
        "--episodes",
        100_000,
        *(["--record", "cut"] if record else []),
    ]
    playing = play(*words, browser=False)
    assert "return " in playing.process.stdout.readline(), "an episode is shown as soon as it is over"
    code, printed = playing.finish(signal.SIGINT)
    assert code == 130, printed
    assert "CartPole-v1: policy, greedy" in printed
    if record:
        trace = api.load_trace(tmp_path / "cut.trace")
        assert len(trace.returns) == trace.columns["episode"].max() + 1
        assert (tmp_path / "cut.mp4").exists()


def test_the_inspector_finds_a_recording_of_a_run(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("av")
    made = {"where": "headless", "max_steps": 6, "seed": 4, "record": tmp_path / "kept", "runs_dir": runs}
    played = api.play("@last", mode="random", **made)
    assert played.recording is not None
    recording = api.load_recording(played.recording, runs_dir=runs)
    assert (recording.info.player, recording.info.steps) == ("random", 6)
    assert len(recording.pictures) == 7
    assert api.recording_binary(recording)
    assert api.play("CartPole-v1:ppo", **{**made, "record": tmp_path / "alone"}).recording is None
    assert is_trace(tmp_path / "alone.trace")  # which is opened by its path
    recording = open_trace(tmp_path / "alone.trace")
    assert (recording.info.player, recording.info.steps, recording.info.run) == ("random", 6, "")
    assert api.recording_binary(recording)


def test_a_recording_goes_into_a_folder_and_never_over_another(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("av")
    for _ in range(2):
        api.play("@last", where="headless", max_steps=5, seed=4, record=tmp_path, runs_dir=runs)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        "CartPole-v1-4-2.mp4",
        "CartPole-v1-4-2.trace",
        "CartPole-v1-4.mp4",
        "CartPole-v1-4.trace",
    ]
