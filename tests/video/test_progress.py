"""The video of how a run learnt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs.checkpoint import list_checkpoints, prune
from gymnast.runs.store import create_run
from gymnast.video.curve import Curve, draw_curve, read_curve
from gymnast.video.progress import choose_chapters
from videos import SHORT_PPO, read_video

NO_CURVE = Curve(np.array([]), np.array([]), "return in evaluation")


def test_chapters_lie_evenly_over_the_run(trained: api.Run) -> None:
    steps = [c.env_steps for c in list_checkpoints(trained.folder)]
    assert steps == list(range(128, 1025, 128))
    curve = read_curve(trained.folder, 475)
    chosen = choose_chapters(trained.folder, curve, 5)
    assert [c.env_steps for c in chosen] == [0, 256, 512, 768, 1024]
    assert chosen[0].checkpoint is None
    assert chosen[0].lines[0] == "before training"
    assert all(c.score is not None for c in chosen[1:])
    assert [c.env_steps for c in choose_chapters(trained.folder, curve, 1)] == [1024]
    assert [c.env_steps for c in choose_chapters(trained.folder, curve, 100)] == [0, *steps]


def test_few_checkpoints_are_enough(tmp_path: Path) -> None:
    run = api.train("CartPole-v1:ppo", overrides=SHORT_PPO, max_env_steps=512, runs_dir=tmp_path)
    with run.folder.lock():
        prune(run.folder, 1)
    kept = [c.env_steps for c in list_checkpoints(run.folder)]
    assert len(kept) <= 2
    chosen = choose_chapters(run.folder, NO_CURVE, 5)
    assert [c.env_steps for c in chosen] == [0, *kept]


def test_a_run_without_checkpoints(tmp_path: Path) -> None:
    run = create_run(tmp_path, "CartPole-v1:ppo", "env: {id: CartPole-v1}\n", {"env": "CartPole-v1"})
    with pytest.raises(GymnastError, match="no checkpoint yet"):
        choose_chapters(run, NO_CURVE, 5)


def test_a_run_that_began_with_other_weights_has_no_untrained_policy(
    trained: api.Run, tmp_path: Path
) -> None:
    run = api.train(
        "CartPole-v1:ppo",
        overrides=SHORT_PPO,
        max_env_steps=256,
        init_from=str(trained.path),
        runs_dir=tmp_path,
    )
    first = choose_chapters(run.folder, NO_CURVE, 3)[0]
    assert first.env_steps == 0
    assert first.checkpoint is not None


def test_the_curve_shows_evaluations_or_else_training(trained: api.Run, tmp_path: Path) -> None:
    curve = read_curve(trained.folder, 475)
    assert curve.name == "return in evaluation"
    assert curve.steps.tolist() == [256, 512, 768, 1024]
    assert curve.at(255) is None
    assert curve.at(600) == curve.returns[1]
    changes = {**SHORT_PPO, "eval.every": 0}
    blind = api.train("CartPole-v1:ppo", overrides=changes, max_env_steps=512, runs_dir=tmp_path)
    assert read_curve(blind.folder, None).name == "return in training"


def test_the_curve_grows() -> None:
    curve = Curve(np.array([0.0, 50, 100]), np.array([1.0, 5, 2]), "return in evaluation", solved_at=4)
    drawn = [
        draw_curve(curve, 400, 300, upto=upto, last=100, lines=("CartPole-v1", ""))
        for upto in (0, 30, 60, 100)
    ]
    blue = [int((np.abs(picture.astype(int) - (88, 166, 255)).sum(2) < 40).sum()) for picture in drawn]
    assert blue == sorted(blue)
    assert blue[0] < blue[1] < blue[2] < blue[3]
    draw_curve(NO_CURVE, 400, 300, upto=5, last=0, lines=("nothing known", ""))


def test_the_video_shows_every_chapter(trained: api.Run) -> None:
    pytest.importorskip("av")
    video = api.progress_video(trained, checkpoints=3, seconds=1.5, fps=10)
    assert video.path == trained.folder.progress_video_path
    assert video.checkpoints == (0, 512, 1024)
    assert len(video.returns) == 3
    assert all(length <= 15 for length in video.lengths)
    frames = read_video(video.path)
    assert len(frames) == video.frames == sum(video.lengths) + 3 * (1 + 8 + 16)
    assert frames[0].shape == (video.height, video.width, 3)
    panels = [frame[:, -400:].astype(int) for frame in (frames[0], frames[-1])]
    assert np.abs(panels[0] - panels[1]).mean() > 0.5, "the curve has grown"


def test_video_of_a_run_whose_env_and_network_were_changed_on_a_resume(tmp_path: Path) -> None:
    run = api.train("CartPole-v1:ppo", overrides=SHORT_PPO, max_env_steps=256, runs_dir=tmp_path)
    run = api.resume(
        run.id,
        overrides={
            "env.max_episode_steps": 5,
            "env.wrappers": [{"name": "observation-noise", "std": 0.0}],
            "policy.activation": "relu",
        },
        max_env_steps=512,
        runs_dir=tmp_path,
    )
    data = bytearray(run.folder.metrics_path.read_bytes())
    data[-20] = 0xFF
    run.folder.metrics_path.write_bytes(data)
    newest = list_checkpoints(run.folder)[-1]
    newest.json_path.write_text("{")
    video = api.progress_video(run.id, checkpoints=4, seconds=2, fps=10, runs_dir=tmp_path)
    assert video.checkpoints[0] == 0
    assert newest.env_steps not in video.checkpoints
    before = [length for at, length in zip(video.checkpoints, video.lengths, strict=True) if at <= 256]
    after = [length for at, length in zip(video.checkpoints, video.lengths, strict=True) if at > 256]
    assert after
    assert set(after) == {5}, "each plays in the env it was trained in"
    assert min(before) > 5
