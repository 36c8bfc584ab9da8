"""Videos of checkpoints: the episodes that were evaluated, whoever plays them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs.checkpoint import best_checkpoint, list_checkpoints, load_policy_arrays
from gymnast.traces.checkpoint import build_recorded_env, player_of
from gymnast.traces.recorder import iter_steps
from gymnast.video.overlay import BAR
from videos import SHORT, SHORT_PPO, read_video

pytest.importorskip("av")

PLAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("CartPole-v1:ppo", SHORT_PPO),
    "memory": ("CartPole-v1:ppo-lstm", SHORT_PPO),
    "frames": ("CartPole-v1:ppo", {**SHORT_PPO, "policy.frame_stack": 3}),
    "running statistics": (
        "Pendulum-v1:ppo",
        {**SHORT_PPO, "policy.normalize_obs": "running", "env.max_episode_steps": 50},
    ),
    "masks": ("Taxi-v4:ppo-masked", {**SHORT_PPO, "env.max_episode_steps": 30}),
    "no critic": ("CartPole-v1:reinforce", {**SHORT, "algo.baseline": "mean"}),
}


@pytest.mark.parametrize("name", PLAYERS)
def test_every_policy_plays_as_when_it_is_evaluated(name: str, tmp_path: Path) -> None:
    reference, changes = PLAYERS[name]
    run = api.train(reference, overrides={**changes, "eval.every": 0}, max_env_steps=256, runs_dir=tmp_path)
    video = api.record_video(run, seed=6)
    scored = api.evaluate(run, episodes=1, n_envs=1, seed=6)
    assert video.returns == pytest.approx(scored.returns, rel=1e-5)
    assert video.lengths == (scored.mean_length,)
    assert not video.cut
    assert len(read_video(video.path)) == video.frames > video.lengths[0]


def test_the_video_shows_the_last_step_of_an_episode(trained: api.Run) -> None:
    video = api.record_video(trained, episodes=2, seed=3, fps=10)
    frames = read_video(video.path)
    shown = 1 + video.lengths[0]
    held = round(0.8 * video.fps)
    ends = frames[shown - 1 : shown + held]
    assert len(ends) == held + 1
    # It is held, then the next episode begins, in another place.
    assert all(np.abs(frame.astype(int) - ends[0]).mean() < 1 for frame in ends)
    assert np.abs(frames[shown + held].astype(int) - ends[0])[:-BAR].mean() > 0.1
    assert video.frames == sum(video.lengths) + 2 + 2 * held


def test_videos_are_named_by_what_they_show(trained: api.Run, tmp_path: Path) -> None:
    folder = trained.folder
    best = best_checkpoint(folder)
    assert best is not None
    video = api.record_video(trained)
    assert video.path == folder.videos / f"{best.env_steps:012d}.mp4"
    assert video.checkpoints == (best.env_steps,)
    link = folder.best_video_path
    assert link.is_symlink()
    assert link.readlink() == Path(video.path.name), "relative: the folder may be moved"
    assert link.read_bytes() == video.path.read_bytes()
    other = api.record_video(trained, seed=5)
    assert other.path.name == f"{best.env_steps:012d}-seed5.mp4"
    assert api.record_video(trained, stochastic=True).path.name == f"{best.env_steps:012d}-stochastic.mp4"
    elsewhere = api.record_video(trained, out=tmp_path / "new" / "mine.mp4", max_steps=3)
    assert elsewhere.path == tmp_path / "new" / "mine.mp4"
    assert elsewhere.path.stat().st_size
    assert link.readlink() == Path(video.path.name), "only the usual video of the best is linked"


def test_another_checkpoint_is_not_the_best(trained: api.Run) -> None:
    best = best_checkpoint(trained.folder)
    worse = next(c for c in list_checkpoints(trained.folder) if c != best)
    api.record_video(trained)
    before = trained.folder.best_video_path.readlink()
    video = api.record_video(f"{trained.path}/{worse.env_steps}", max_steps=3)
    assert video.checkpoints == (worse.env_steps,)
    assert trained.folder.best_video_path.readlink() == before


def test_without_links_the_best_is_a_copy(trained: api.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    video = api.record_video(trained)
    assert not trained.folder.best_video_path.is_symlink()
    assert trained.folder.best_video_path.read_bytes() == video.path.read_bytes()


def test_a_long_video_is_cut(trained: api.Run) -> None:
    video = api.record_video(trained, episodes=3, max_steps=4, fps=10)
    assert video.cut
    assert video.lengths == (4,)
    assert (video.fps, video.frames) == (10, 5 + 8)


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"max_steps": 0}, {"task": "moon"}])
def test_what_cannot_be_recorded_is_refused(trained: api.Run, wrong: dict[str, Any]) -> None:
    with pytest.raises(GymnastError, match=r"at least 1|no task 'moon'") as caught:
        api.record_video(trained, **wrong)
    assert caught.value.exit_code == 2


def test_values_are_in_the_envs_own_rewards(tmp_path: Path) -> None:
    """A critic that learns scaled rewards estimates in that scale; a video shows rewards of the env."""
    run = api.train(
        "Pendulum-v1:ppo",
        overrides={**SHORT_PPO, "algo.normalize_reward": True, "eval.every": 0},
        max_env_steps=512,
        runs_dir=tmp_path,
    )
    checkpoint = list_checkpoints(run.folder)[-1]
    scale = load_policy_arrays(checkpoint)[1].metrics["env/reward_scale"]
    assert scale > 2
    from gymnast.config.load import load_config

    config = load_config(str(run.folder.config_path)).config
    env = build_recorded_env(config, None)
    player = player_of(env, config, checkpoint, stochastic=False, seed=None)
    first = next(iter_steps(env, player, episodes=1, max_steps=10))
    expected = float(player.policy.values(env.envs.reset())[0]) * scale
    assert first.value == pytest.approx(expected)
    untrained = player_of(env, config, None, stochastic=False, seed=None)
    assert next(iter_steps(env, untrained, episodes=1, max_steps=10)).value is None, "it has learnt nothing"
    env.close()


def test_a_task_of_a_mix_is_recorded(tmp_path: Path) -> None:
    run = api.train(
        "LunarLander-v3:ppo-two-moons",
        overrides={**SHORT_PPO, "eval.every": 0, "env.max_episode_steps": 20},
        max_env_steps=256,
        runs_dir=tmp_path,
    )
    from gymnast.config.load import load_config

    names = [task.name for task in load_config(str(run.folder.config_path)).config.env.tasks]
    videos = [api.record_video(run, task=name) for name in names]
    assert len({video.path for video in videos}) == len(names) == 2
    assert videos[0].returns != videos[1].returns
    assert api.record_video(run).returns == videos[0].returns
