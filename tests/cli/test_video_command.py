from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gymnast import api
from gymnast.cli.video import app
from gymnast.errors import GymnastError, MissingExtra
from gymnast.video import mp4 as encoder
from videos import SHORT_PPO

pytest.importorskip("av")

KEYS = {
    *("path", "run", "checkpoints", "returns", "lengths", "cut"),
    *("width", "height", "fps", "frames", "seconds"),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    runs = tmp_path_factory.mktemp("runs")
    return api.train("CartPole-v1:ppo", overrides=SHORT_PPO, max_env_steps=512, runs_dir=runs)


@pytest.fixture(autouse=True)
def _here(run: api.Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GYMNAST_RUNS_DIR", str(run.path.parent))
    monkeypatch.chdir(tmp_path)


def printed(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    if isinstance(result.exception, GymnastError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def printed_json(*words: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(printed(*words, "--json"))
    return read


def test_best_of_the_last_run_is_the_default(run: api.Run) -> None:
    video = printed_json("record", "--max-steps", "5")
    assert video.keys() == KEYS
    assert (video["run"], video["cut"], video["lengths"]) == (run.id, True, [5])
    assert Path(video["path"]).parent == run.folder.videos
    assert printed_json("record", f"{run.id}/128", "--max-steps", "2")["checkpoints"] == [128]
    assert printed_json("record", "@last/@last", "--max-steps", "2")["checkpoints"] == [512]


def test_options_reach_the_video(run: api.Run, tmp_path: Path) -> None:
    video = printed_json("record", "--episodes", "2", "--seed", "3", "--fps", "20", "--out", "mine.mp4")
    assert video["fps"] == 20
    assert len(video["returns"]) == 2
    assert (tmp_path / "mine.mp4").stat().st_size > 0
    text = printed("record", "--stochastic", "--max-steps", "3")
    assert "-stochastic.mp4" in text
    assert "cut off by the limit" in text


def test_progress(run: api.Run) -> None:
    video = printed_json("progress", "--checkpoints", "2", "--seconds", "0.5", "--fps", "10")
    assert video.keys() == KEYS
    assert video["checkpoints"] == [0, 512]
    assert Path(video["path"]) == run.folder.progress_video_path
    assert "checkpoint.keep" in printed(
        "progress", run.id, "--checkpoints", "2", "--seconds", "0.5", "--fps", "10"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["record", "nosuch"], "no run 'nosuch'"),
        (["record", "@last/17"], "no checkpoint at step 17; the nearest is 128"),
        (["record", "--out", "clip.avi"], r"videos are MP4; name it clip.mp4"),
        (["record", "--out", "."], "is a folder"),
        (["record", "--task", "moon"], "no task 'moon'; CartPole-v1 has no tasks"),
        (["progress", "nosuch"], "no run 'nosuch'"),
    ],
)
def test_wrong_input_is_one_message(words: list[str], message: str) -> None:
    with pytest.raises(GymnastError, match=message) as caught:
        printed(*words)
    assert caught.value.exit_code == 2


def test_a_missing_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    for command in ("record", "progress"):
        with pytest.raises(MissingExtra, match=r"pip install 'gymnast\[video\]'"):
            printed(command)
