"""Films that a run makes of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from films import SHORT_PPO, read_film
from gymnast import api
from gymnast.errors import GymnastError, MissingExtra
from gymnast.runs.checkpoint import best_checkpoint
from gymnast.video import mp4 as encoder

av = pytest.importorskip("av")


def train(tmp_path: Path, **changes: Any) -> api.Run:
    settings = {**SHORT_PPO, "video.max_steps": 10, **{k.replace("__", "."): v for k, v in changes.items()}}
    return api.train("CartPole-v1:ppo", overrides=settings, max_env_steps=512, runs_dir=tmp_path / "runs")


def films(run: api.Run) -> list[str]:
    return sorted(path.name for path in run.folder.videos.glob("*")) if run.folder.videos.exists() else []


def test_never_is_the_default(tmp_path: Path) -> None:
    assert films(train(tmp_path)) == []


def test_the_best_when_it_is_over(tmp_path: Path) -> None:
    run = train(tmp_path, video__record="best")
    best = best_checkpoint(run.folder)
    assert best is not None
    assert films(run) == [f"{best.env_steps:012d}.mp4", "best.mp4"]
    assert run.folder.best_video_path.readlink() == Path(f"{best.env_steps:012d}.mp4")


def test_every_evaluation(tmp_path: Path) -> None:
    run = train(tmp_path, video__record="every")
    assert films(run) == ["000000000256.mp4", "000000000512.mp4", "best.mp4"]
    best = best_checkpoint(run.folder)
    assert best is not None
    assert run.folder.best_video_path.readlink() == Path(f"{best.env_steps:012d}.mp4")


def test_filming_changes_nothing_that_is_learnt(tmp_path: Path) -> None:
    plain, filmed = train(tmp_path), train(tmp_path, video__record="every")
    ours, theirs = (api.load_policy(f"{run.path}/512").arrays() for run in (plain, filmed))
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_film_in_training_is_the_one_made_afterwards(tmp_path: Path) -> None:
    run = train(tmp_path, video__record="every")
    path = run.folder.videos / "000000000512.mp4"
    before = read_film(path)
    api.record_video(f"{run.path}/512", max_steps=10)
    after = read_film(path)
    assert len(after) == len(before)
    for ours, theirs in zip(before, after, strict=True):  # encoders may round differently, and no more
        assert np.abs(ours.astype(int) - theirs).max() <= 4


def test_a_film_that_fails_does_not_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnast.video.play import Stage

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("the projector burns")

    monkeypatch.setattr(Stage, "play", broken)
    for record in ("best", "every"):
        run = train(tmp_path, video__record=record)
        assert run.outcome.status == "finished"
        assert "there is no film of" in run.folder.log_path.read_text()
        assert "ZeroDivisionError: the projector burns" in run.folder.log_path.read_text()
        assert films(run) == []


def test_without_the_extra_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(tmp_path)
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"video.record: best needs the extra 'video'"):
        train(tmp_path / "new", video__record="best")
    assert not (tmp_path / "new").exists()
    with pytest.raises(MissingExtra):
        api.resume(run, overrides={"video.record": "every"}, max_env_steps=1024)
    train(tmp_path)  # who does not ask for films does not need it


def test_films_of_what_is_scored_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match=r"video.record: every records .* eval.background .* use best"):
        train(tmp_path, video__record="every", eval__background=True)


def test_a_run_without_films_does_not_import_the_encoder(tmp_path: Path) -> None:
    code = (
        "import sys; from gymnast import api;"
        f"api.train('CartPole-v1:ppo', overrides={SHORT_PPO!r}, max_env_steps=128, runs_dir='{tmp_path}');"
        "print([name for name in ('av', 'pygame') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
