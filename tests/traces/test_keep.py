"""Traces of checkpoints: their metadata, the cap on their size, and videos written from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies.build import build_policy
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.files import sha256
from gymnast.traces.checkpoint import record_trace_of_checkpoint
from gymnast.traces.keep import LEAST_BYTES, record_trace
from gymnast.traces.store import load_trace, save_trace
from gymnast.traces.table import steps_table, to_csv
from gymnast.traces.trace import Trace, check_trace
from gymnast.training.evaluator import evaluation_seed
from videos import SHORT_PPO, read_video


class Noise(gym.Env[Any, Any]):
    """Pictures that nothing compresses, numbers that nothing does either, and no end."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    action_space = gym.spaces.Discrete(2)
    render_mode = "rgb_array"

    def __init__(self, numbers: int = 10, side: int = 60, length: int = 10**9) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (numbers,), np.float32)
        self.side, self.length, self.t = side, length, 0

    def _obs(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, self.observation_space.shape or ()).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self._obs(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        if self.t > 5 and self.length == 5:
            raise ValueError("played on after its end")
        return self._obs(), 1.0, self.t == self.length, False, {"t": self.t}

    def render(self) -> np.ndarray:
        shape = (self.side, self.side, 3)
        return np.random.default_rng(self.t).integers(0, 256, shape, dtype=np.uint8)  # type: ignore[return-value]


def policy_for(env: gym.Env[Any, Any]) -> Policy:
    return build_policy(PolicyConfig(hidden=(8,)), "numpy", env.observation_space, env.action_space, 0)


def size_of(trace: Trace, folder: Path) -> int:
    check_trace(trace)
    save_trace(trace, folder)
    assert load_trace(folder).meta == trace.meta
    return sum(path.stat().st_size for path in folder.iterdir())


def record(env: Noise, **settings: Any) -> Trace:
    return record_trace(policy_for(env), env, seed=0, **settings)


def test_a_trace_that_fits_keeps_everything(tmp_path: Path) -> None:
    trace = record(Noise(), max_steps=50, max_bytes=LEAST_BYTES)
    assert trace.meta.cut == ("max_steps",)
    assert len(trace.pictures) == len(trace) == 51
    assert trace.columns["cut"].tolist() == [False] * 49 + [True, False]
    assert size_of(trace, tmp_path / "trace") <= LEAST_BYTES


def test_frames_are_dropped_first(tmp_path: Path) -> None:
    trace = record(Noise(), max_steps=1000, max_bytes=LEAST_BYTES)
    assert trace.meta.cut == ("frames", "max_steps")
    assert not trace.meta.frames
    assert len(trace.steps) == 1000
    assert size_of(trace, tmp_path / "trace") <= LEAST_BYTES
    with pytest.raises(GymnastError, match="a trace without frames"):
        from gymnast.video.write import write_video

        write_video(tmp_path / "video.mp4", trace.iter_steps(), 10, 1)


@pytest.mark.parametrize("numbers", [50, 1000, 50_000])
def test_then_the_recording_is_cut(tmp_path: Path, numbers: int) -> None:
    trace = record(Noise(numbers, side=200), max_steps=10_000, max_bytes=LEAST_BYTES)
    assert trace.meta.cut == ("frames", "size")
    size = size_of(trace, tmp_path / "trace")
    assert size <= LEAST_BYTES
    assert size > LEAST_BYTES / 2, "the room is used"
    assert trace.columns["cut"].sum() == 1
    assert np.isfinite(trace.columns["value"][-1]), "to bootstrap from"
    assert steps_table(trace)["cut"][-1]


def test_a_trace_may_be_cut_between_episodes(tmp_path: Path) -> None:
    for length in range(1, 6):
        trace = record(Noise(2000, length=length), frames=False, episodes=10**6, max_bytes=LEAST_BYTES)
        assert trace.meta.cut == ("size",)
        assert size_of(trace, tmp_path / f"trace{length}") <= LEAST_BYTES
        whole = trace.columns["terminated"].sum()
        assert len(trace.returns) == whole + trace.columns["cut"].sum()


def test_a_step_that_is_larger_than_the_cap_is_refused() -> None:
    with pytest.raises(GymnastError, match=r"max_bytes: one step takes [\d,]+ bytes"):
        record(Noise(500_000), max_bytes=LEAST_BYTES)


class Failing(Noise):
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        raise ZeroDivisionError("broken")


def test_an_env_that_fails_is_reported() -> None:
    with pytest.raises(RunFailed, match=r"Failing: env 0 \(seed \d+\) raised ZeroDivisionError: broken"):
        record(Failing())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    runs = tmp_path_factory.mktemp("runs")
    changes = {**SHORT_PPO, "algo.gamma": 0.9, "algo.gae_lambda": 0.8, "env.max_episode_steps": 30}
    return api.train("CartPole-v1:ppo", overrides=changes, max_env_steps=512, runs_dir=runs)


def test_the_trace_of_a_checkpoint_names_its_source(run: api.Run, tmp_path: Path) -> None:
    checkpoint = list_checkpoints(run.folder)[-1]
    trace = record_trace_of_checkpoint(checkpoint, episodes=2)
    meta = trace.meta
    assert (meta.run, meta.checkpoint, meta.env_id) == (run.id, checkpoint.env_steps, "CartPole-v1")
    assert meta.config_sha256 == sha256(run.folder.config_path.read_bytes())
    assert (meta.gamma, meta.gae_lambda, meta.sampled) == (0.9, 0.8, False)
    assert meta.choices == ("left", "right")
    names = meta.observation_names
    assert len(names) == 4
    assert {f"obs/{name}" for name in names} <= steps_table(trace).keys()
    seed = evaluation_seed(load_config(str(run.folder.config_path)).config)
    scored = api.evaluate(f"{run.path}/{checkpoint.env_steps}", episodes=2, n_envs=1, seed=seed)
    assert trace.returns == pytest.approx(scored.returns)
    given, stated = steps_table(trace), steps_table(trace, 0.9, 0.8)
    assert np.array_equal(given["advantage"], stated["advantage"])
    to_csv(given, tmp_path / "steps.csv")
    assert (tmp_path / "steps.csv").read_bytes() == to_csv(given).encode()


def test_sampled_actions_follow_from_the_seed(run: api.Run) -> None:
    checkpoint = list_checkpoints(run.folder)[-1]
    first, second, other = (
        record_trace_of_checkpoint(checkpoint, stochastic=True, seed=seed, frames=False) for seed in (4, 4, 5)
    )
    assert first.meta.sampled
    assert first.columns["obs"].tobytes() == second.columns["obs"].tobytes()
    assert first.columns["obs"].tobytes() != other.columns["obs"].tobytes()


def test_a_video_of_a_trace_is_the_video_of_its_checkpoint(run: api.Run, tmp_path: Path) -> None:
    pytest.importorskip("av")
    from gymnast.video.write import write_video

    checkpoint = list_checkpoints(run.folder)[-1]
    direct = api.record_video(f"{run.path}/{checkpoint.env_steps}", episodes=2, out=tmp_path / "direct.mp4")
    trace = record_trace_of_checkpoint(checkpoint, episodes=2)
    loaded = load_trace(save_trace(trace, tmp_path / "trace"))
    video = write_video(tmp_path / "traced.mp4", loaded.iter_steps(), loaded.meta.fps, 2)
    assert (tuple(video.played.returns), video.frames) == (direct.returns, direct.frames)
    ours, theirs = read_video(video.path), read_video(direct.path)
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
