"""PPO learns from every kind of observation: each part of it holds a part of the answer.

Bugs put in on purpose that made these (and tests/policies/test_encoders.py) fail: pixels turned to zeros
before the encoder; channels last not transposed; all but one part of a Dict left out of what is joined;
one-hots of a MultiDiscrete without their offsets; choices that do not count from 0 used as they are; frames
kept between episodes, looked up newest first, or looked up across the end of an episode; frames, batch norm's
statistics or the noise wrappers' generator left out of the checkpoint; dropout not seeded by the run, or
active when acting; previous actions kept across a reset.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.algorithms.table import ALGORITHMS
from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
from observation_envs import SPACES, Cue, Delayed

SETTINGS = {
    "env.n_envs": 8,
    "env.backend": "sync",
    "algo.n_steps": 32,
    "algo.n_epochs": 4,
    "algo.lr": 0.004,
    "algo.normalize_reward": False,
    "policy.hidden": [32],
    "policy.image.features": 32,
    "eval.every": 0,
}


def train(env: str, steps: int, runs: Path, **overrides: Any) -> api.Run:
    given = {key.replace("__", "."): value for key, value in overrides.items()}
    return api.train(
        f"observation_envs:{env}", overrides=SETTINGS | given, max_env_steps=steps, runs_dir=runs
    )


@pytest.mark.parametrize("kind", [kind for kind in SPACES if not kind.startswith("image")])
def test_ppo_learns_from_numbers_and_choices(kind: str, tmp_path: Path) -> None:
    run = train("Cue", 8192, tmp_path, env__kwargs={"kind": kind}, algo__lr=0.01)
    assert api.evaluate(run, episodes=50).mean_return == 4.0  # chance: 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("algo", [name for name in ALGORITHMS if name != "ppo"])
def test_every_algorithm_learns_from_every_observation(algo: str, kind: str, tmp_path: Path) -> None:
    settings = {key: value for key, value in SETTINGS.items() if key != "algo.n_epochs"}
    settings |= {"env.kwargs": {"kind": kind}, "algo.name": algo, "algo.n_steps": 16, "algo.lr": 0.01}
    run = api.train("observation_envs:Cue", overrides=settings, max_env_steps=24_576, runs_dir=tmp_path)
    assert api.evaluate(run, episodes=50).mean_return > 3.6  # chance: 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["image", "image_chw", "image_dict"])
def test_ppo_learns_from_images(kind: str, tmp_path: Path) -> None:
    run = train("Cue", 3072, tmp_path, env__kwargs={"kind": kind})
    assert api.evaluate(run, episodes=50).mean_return > 3.6
    policy = api.load_policy(run)
    env = Cue(kind)
    seen, wanted = [], []
    for seed in range(8):
        seen.append(env.reset(seed=seed)[0])
        wanted.append(env.cue)
    whole = kind != "image_dict"
    batch = np.stack(seen) if whole else {key: np.stack([obs[key] for obs in seen]) for key in seen[0]}
    assert (policy.predict(batch) == wanted).mean() >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        {"policy__encoder": "impala", "policy__image": {"channels": [8], "features": 32}},
        {"policy__encoder": "mlp", "engine": "numpy"},
        {"policy__encoder": "own_encoders:OwnEncoder", "policy__encoder_kwargs": {"width": 24}},
        {"policy__shared_encoder": False, "policy__batch_norm": True, "policy__dropout": 0.1},
    ],
    ids=["impala", "mlp", "own", "separate with batch norm and dropout"],
)
def test_every_encoder_learns_from_an_image(overrides: dict[str, Any], tmp_path: Path) -> None:
    run = train("Cue", 3072, tmp_path, env__kwargs={"kind": "image"}, **overrides)
    assert api.evaluate(run, episodes=50).mean_return > 3.2


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"engine": "torch"}, {"env__kwargs": {"image": True}}])
def test_stacked_frames_carry_what_is_no_longer_shown(settings: dict[str, Any], tmp_path: Path) -> None:
    run = train("Delayed", 6144, tmp_path, policy__frame_stack=3, **settings)
    assert api.evaluate(run, episodes=60).mean_return > 0.95


def test_too_few_stacked_frames_stay_at_chance(tmp_path: Path) -> None:
    run = train("Delayed", 6144, tmp_path, policy__frame_stack=2)
    assert api.evaluate(run, episodes=200).mean_return < 0.65


def test_frames_stacked_by_the_env_work_as_well(tmp_path: Path) -> None:
    run = train("Delayed", 6144, tmp_path, env__wrappers=[{"name": "frame-stack", "k": 3}])
    assert api.evaluate(run, episodes=60).mean_return > 0.95


def test_loaded_policy_stacks_frames_with_a_state_of_its_own(tmp_path: Path) -> None:
    run = train("Delayed", 6144, tmp_path, policy__frame_stack=3)
    policy = api.load_policy(run)
    env, right = Delayed(), 0
    state = policy.start(1)
    for seed in range(20):
        obs, _ = env.reset(seed=seed)
        state.reset([True])
        done, reward = False, 0.0
        while not done:
            obs, reward, _, done, _ = env.step(int(policy.predict(obs[None], state=state)[0]))
        right += reward == 1.0
    assert right >= 19


def test_workers_pass_observations_of_several_parts() -> None:
    for kind in ("image_dict", "tuple", "multidiscrete"):
        config = EnvConfig(id="observation_envs:Cue", kwargs={"kind": kind})
        here = build_envs(config, n_envs=3, seed=1, backend="sync")
        there = build_envs(config, n_envs=3, seed=1, backend="workers")
        try:
            assert here.reset().tobytes() == there.reset().tobytes()
            for step in range(9):
                actions = np.full(3, step % 4)
                ours, theirs = here.step(actions), there.step(actions)
                assert ours.obs.tobytes() == theirs.obs.tobytes()
                assert (ours.final_obs is None) == (theirs.final_obs is None)
        finally:
            here.close()
            there.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        {"env__kwargs": {"kind": "image_dict"}, "policy__batch_norm": True, "policy__dropout": 0.2},
        {
            "env__kwargs": {"kind": "tuple", "length": 5},
            "policy__normalize_obs": "running",
            "policy__frame_stack": 2,
        },
        {"env__kwargs": {"kind": "image"}, "policy__encoder": "own_encoders:OwnEncoder"},
        {
            "env__kwargs": {"kind": "numbers_dict", "length": 5},
            "env__wrappers": [
                {"name": "observation-noise", "std": {"start": 0.5, "end": 0.0, "until": 100}},
                {"name": "action-noise", "probability": 0.1},
                {"name": "previous-action", "k": 2},
                "previous-reward",
                {"name": "frame-stack", "k": 2},
            ],
        },
    ],
    ids=["dict with batch norm and dropout", "tuple stacked", "own encoder", "wrappers"],
)
def test_resumed_run_ends_with_the_same_bits(overrides: dict[str, Any], tmp_path: Path) -> None:
    """Episodes of five steps are unfinished when a rollout of 32 ends: their state must be saved."""
    once = train("Cue", 1024, tmp_path / "once", **overrides)
    half = train("Cue", 512, tmp_path / "twice", **overrides)
    again = api.resume(half, max_env_steps=1024)
    ours, theirs = api.load_policy(once).arrays(), api.load_policy(again).arrays()
    assert list(ours) == list(theirs)
    for name, value in ours.items():
        assert value.tobytes() == theirs[name].tobytes(), name
