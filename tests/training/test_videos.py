"""Videos that a run makes of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError, MissingExtra
from gymnast.runs.checkpoint import best_checkpoint
from gymnast.video import mp4 as encoder
from videos import SHORT_PPO, read_video

av = pytest.importorskip("av")


def train(tmp_path: Path, **changes: Any) -> api.Run:
    settings = {**SHORT_PPO, "video.max_steps": 10, **{k.replace("__", "."): v for k, v in changes.items()}}
    return api.train("CartPole-v1:ppo", overrides=settings, max_env_steps=512, runs_dir=tmp_path / "runs")


def videos(run: api.Run) -> list[str]:
    return sorted(path.name for path in run.folder.videos.glob("*")) if run.folder.videos.exists() else []


def test_never_is_the_default(tmp_path: Path) -> None:
    assert videos(train(tmp_path)) == []


def test_best_is_recorded_at_the_end(tmp_path: Path) -> None:
    run = train(tmp_path, video__record="best")
    best = best_checkpoint(run.folder)
    assert best is not None
    assert videos(run) == [f"{best.env_steps:012d}.mp4", "best.mp4"]
    assert run.folder.best_video_path.readlink() == Path(f"{best.env_steps:012d}.mp4")


def test_every_evaluation_is_recorded(tmp_path: Path) -> None:
    run = train(tmp_path, video__record="every")
    assert videos(run) == ["000000000256.mp4", "000000000512.mp4", "best.mp4"]
    best = best_checkpoint(run.folder)
    assert best is not None
    assert run.folder.best_video_path.readlink() == Path(f"{best.env_steps:012d}.mp4")


def test_recording_changes_nothing_that_is_learnt(tmp_path: Path) -> None:
    plain, recorded = train(tmp_path), train(tmp_path, video__record="every")
    ours, theirs = (api.load_policy(f"{run.path}/512").arrays() for run in (plain, recorded))
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_video_made_in_training_equals_one_made_afterwards(tmp_path: Path) -> None:
    run = train(tmp_path, video__record="every")
    path = run.folder.videos / "000000000512.mp4"
    before = read_video(path)
    api.record_video(f"{run.path}/512", max_steps=10)
    after = read_video(path)
    assert len(after) == len(before)
    for ours, theirs in zip(before, after, strict=True):  # encoders may round differently, and no more
        assert np.abs(ours.astype(int) - theirs).max() <= 4


def test_a_video_that_fails_does_not_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnast.video import record as recording

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("the projector burns")

    monkeypatch.setattr(recording, "iter_steps", broken)
    for record in ("best", "every"):
        run = train(tmp_path, video__record=record)
        assert run.outcome.status == "finished"
        assert "there is no video of" in run.folder.log_path.read_text()
        assert "ZeroDivisionError: the projector burns" in run.folder.log_path.read_text()
        assert videos(run) == []


def test_without_the_extra_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(tmp_path)
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"video.record: best needs the extra 'video'"):
        train(tmp_path / "new", video__record="best")
    assert not (tmp_path / "new").exists()
    with pytest.raises(MissingExtra):
        api.resume(run, overrides={"video.record": "every"}, max_env_steps=1024)
    train(tmp_path)  # without videos it is not needed


def test_videos_of_background_evaluations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match=r"video.record: every records .* eval.background .* use best"):
        train(tmp_path, video__record="every", eval__background=True)


def test_a_run_without_videos_does_not_import_the_encoder(tmp_path: Path) -> None:
    code = (
        "import sys; from gymnast import api;"
        f"api.train('CartPole-v1:ppo', overrides={SHORT_PPO!r}, max_env_steps=128, runs_dir='{tmp_path}');"
        "print([name for name in ('av', 'pygame') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
