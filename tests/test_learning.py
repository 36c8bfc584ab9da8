"""Every algorithm learns, in seconds, what has a known answer; each check fails when the algorithm is broken.

Bugs that are tried below, each on every algorithm that can have it, with the checks that must detect it:
the sign of the advantage, of the policy's, the value's and the entropy's derivative; termination ignored;
truncation taken for termination; observations of another step; KL never stopping; samples without a known
return counted in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast import api
from gymnast.algorithms.table import ALGORITHMS
from gymnast.errors import RunFailed
from gymnast.rollout.collector import Collector

Info = dict[str, Any]


class Identity(gym.Env[Any, Any]):
    """The right action is the observation: reward 1. Box: 1 minus the distance."""

    def __init__(self, n: int = 0) -> None:
        self.n = n
        if n:
            self.observation_space: gym.Space[Any] = gym.spaces.Discrete(n)
            self.action_space: gym.Space[Any] = gym.spaces.Discrete(n)
        else:
            self.observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
            self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        self.at = 0
        return self._next(), {}

    def _next(self) -> Any:
        drawn = self.np_random.uniform(-0.8, 0.8, 2).astype(np.float32)
        self.answer: Any = int(self.np_random.integers(self.n)) if self.n else drawn
        return self.answer

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        assert self.action_space.contains(action)
        reward = float(action == self.answer) if self.n else 1.0 - float(np.abs(action - self.answer).mean())
        self.at += 1
        return self._next(), reward, self.at == 10, False, {}


class WorkOrQuit(gym.Env[np.ndarray, int]):
    """Working earns 0.3 and continues, ten times at most; quitting earns 1 and ends the episode.

    Best is to work nine times and then quit: 3.7. A learner that bootstraps from the next episode quits
    at once, every time: 1.
    """

    observation_space = gym.spaces.Discrete(10)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        self.at += 1
        over = action == 1 or self.at == 10
        return min(self.at, 9), 1.0 if action else 0.3, over, False, {}


class Late(gym.Env[np.ndarray, int]):
    """Action 1 earns 0.5 and ends the episode; waiting five times earns 1 at its end, which is better."""

    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        self.at += 1
        over = action == 1 or self.at == 5
        reward = 0.5 if action == 1 else float(self.at == 5)
        return min(self.at, 4), reward, over, False, {}


class Forever(gym.Env[np.ndarray, int]):
    """Reward 1 for every action, truncated every 4 steps: its value is 1 / (1 - gamma)."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        self.at += 1
        return 0, 1.0, False, self.at == 4, {}


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    envs = {
        "Four": lambda: Identity(4),
        "Box": Identity,
        "Work": WorkOrQuit,
        "Late": Late,
        "Forever": Forever,
    }
    for name, entry_point in envs.items():
        gym.register(f"learn/{name}-v0", entry_point=entry_point)
    yield
    for name in envs:
        del gym.registry[f"learn/{name}-v0"]


# What each algorithm needs to learn small tasks within seconds; one without a line here must do so with the
# common settings.
SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {"algo.batch_size": 64, "algo.n_epochs": 6},
    "a2c": {"algo.n_steps": 8, "algo.gae_lambda": 0.95},
    "reinforce": {"algo.n_steps": 20, "algo.lr": 2e-2},
}


def train(env: str, runs_dir: Path, steps: int, algo: str = "ppo", **changes: Any) -> api.Run:
    common = {
        "env.n_envs": 8,
        "env.backend": "sync",
        "policy.hidden": [32],
        "policy.normalize_obs": "none",
        "algo.name": algo,
        "algo.n_steps": 32,
        "algo.lr": 5e-3,
        "algo.entropy_coef": 0.0,
        "algo.gamma": 0.9,
        "algo.normalize_reward": False,
        "eval.every": 0,
    }
    overrides = (
        common | SETTINGS.get(algo, {}) | {key.replace("__", "."): value for key, value in changes.items()}
    )
    return api.train(env, overrides=overrides, max_env_steps=steps, runs_dir=runs_dir)


def greedy_return(run: api.Run) -> float:
    return api.evaluate(f"{run.id}/@last", episodes=20, runs_dir=run.path.parent).mean_return


def learns_to_repeat_numbers(runs_dir: Path, **changes: Any) -> None:
    assert greedy_return(train("learn/Four-v0", runs_dir, 8_000, **changes)) > 9.5  # chance: 2.5


def learns_to_repeat_points(runs_dir: Path, **changes: Any) -> None:
    run = train("learn/Box-v0", runs_dir, 16_000, algo__gamma=0.0, policy__log_std_init=-1.0, **changes)
    assert greedy_return(run) > 8.8  # always 0: 6


def learns_when_to_quit(runs_dir: Path, **changes: Any) -> None:
    run = train("learn/Work-v0", runs_dir, 16_000, algo__gamma=0.99, algo__entropy_coef=0.01, **changes)
    assert greedy_return(run) == pytest.approx(3.7)


def learns_the_value_of_forever(runs_dir: Path, **changes: Any) -> None:
    run = train("learn/Forever-v0", runs_dir, 16_000, algo__lr=1e-2, **changes)
    assert api.load_policy(f"{run.id}/@last", runs_dir=runs_dir).values(
        np.zeros(1, np.int64)
    ) == pytest.approx(10.0, rel=0.05)


def entropy_bonus_keeps_entropy_high(runs_dir: Path, **changes: Any) -> None:
    run = train("learn/Four-v0", runs_dir, 4_000, algo__entropy_coef=10.0, **changes)
    assert run.metrics()[-1]["train/entropy"] > 0.95 * np.log(4)


def target_kl_limits_the_update(runs_dir: Path, **changes: Any) -> None:
    run = train("learn/Four-v0", runs_dir, 4_000, algo__lr=5e-2, algo__target_kl=0.01, **changes)
    rows = run.metrics()
    assert all(row["train/kl"] < 0.1 for row in rows)
    assert rows[-1]["train/kl_stops"] > 0


def samples_of_unfinished_episodes_do_not_count(runs_dir: Path, **changes: Any) -> None:
    """Rollouts end in the middle of episodes, before waiting is rewarded: if the end of the rollout counted
    as the end of the episode, waiting would seem to earn nothing."""
    settings = {"algo__baseline": "mean", "algo__n_steps": 7, "algo__gamma": 1.0} | changes
    run = train("learn/Late-v0", runs_dir, 24_000, **settings)
    assert greedy_return(run) == pytest.approx(1.0)


CHECKS: dict[str, Callable[..., None]] = {
    "numbers": learns_to_repeat_numbers,
    "points": learns_to_repeat_points,
    "quit": learns_when_to_quit,
    "forever": learns_the_value_of_forever,
    "entropy": entropy_bonus_keeps_entropy_high,
    "kl": target_kl_limits_the_update,
    "unknown": samples_of_unfinished_episodes_do_not_count,
}


@pytest.mark.parametrize(
    ("check", "changes"),
    [
        ("numbers", {}),
        ("numbers", {"policy__discrete_obs": "embedding", "policy__embedding_size": 8}),
        ("numbers", {"policy__shared": True, "policy__layer_norm": True, "policy__activation": "relu"}),
        (
            "numbers",
            {"algo__normalize_reward": True, "algo__value_clip_range": 0.2, "algo__batch_size": "all"},
        ),
        ("numbers", {"engine": "torch"}),
        ("points", {}),
        ("points", {"policy__gaussian": "squashed"}),
        ("points", {"policy__state_dependent_std": True, "policy__normalize_obs": "running"}),
        ("points", {"policy__normalize_obs": "bounds", "engine": "torch", "policy__gaussian": "squashed"}),
        ("quit", {}),
        ("forever", {}),
        ("entropy", {}),
        ("kl", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_ppo_learns(check: str, changes: dict[str, Any], tmp_path: Path) -> None:
    if changes.get("engine") == "torch":
        pytest.importorskip("torch")
    CHECKS[check](tmp_path, **changes)


@pytest.mark.parametrize("check", ["numbers", "points", "quit", "forever", "entropy"])
@pytest.mark.parametrize("algo", [name for name in ALGORITHMS if name != "ppo"])
def test_every_algorithm_learns(algo: str, check: str, tmp_path: Path) -> None:
    CHECKS[check](tmp_path, algo=algo)


@pytest.mark.parametrize(
    ("algo", "check", "changes"),
    [
        ("a2c", "numbers", {"engine": "torch"}),
        ("a2c", "numbers", {"algo__optimizer": "adam", "algo__value_loss": "huber", "policy__popart": True}),
        ("a2c", "numbers", {"algo__optimizer": "sgd", "algo__lr": 0.5, "algo__critic_lr": 0.1}),
        ("ppo", "forever", {"policy__popart": True, "policy__popart_rate": 1e-3}),
        ("ppo", "forever", {"algo__value_loss": "huber", "algo__critic_lr": 2e-2}),
        ("reinforce", "numbers", {"engine": "torch"}),
        ("reinforce", "numbers", {"algo__baseline": "mean"}),
        ("reinforce", "numbers", {"algo__baseline": "none"}),
        ("reinforce", "quit", {"algo__baseline": "mean", "algo__n_steps": 32}),
        ("reinforce", "unknown", {}),
        ("reinforce", "quit", {"algo__reward_to_go": False, "algo__n_steps": 64}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_algorithm_learns_with_its_options(
    algo: str, check: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    CHECKS[check](tmp_path, algo=algo, **changes)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_bandit_finds_the_best_arm(algo: str, tmp_path: Path) -> None:
    means = [0.1, 0.5, 0.3, 0.9, 0.6]
    changes = {"env__kwargs": {"arms": means}, "env__spec__action_labels": None}
    changes |= {"algo__gamma": 0.0, "algo__lr": 1e-2, "algo__n_steps": 100 if algo == "reinforce" else 16}
    run = train("gymnast/Bandit-v0:ppo", tmp_path, 16_000, algo, **changes)
    policy = api.load_policy(f"{run.id}/@last", runs_dir=tmp_path)
    assert policy.predict(np.zeros(1, np.int64))[0] == 3


# Each bug, and the checks that must detect it.
Mutation = Callable[[pytest.MonkeyPatch, Any], None]


def _flip_advantages(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    prepare = kind.prepare
    monkeypatch.setattr(
        kind, "prepare", lambda s, xp, b: replace(p := prepare(s, xp, b), advantages=-p.advantages)
    )


def _flip(field: str) -> Mutation:
    def mutate(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
        loss = kind.loss

        def flipped(*args: Any) -> Any:
            found = loss(*args)
            return replace(found, **{field: -getattr(found, field)})

        monkeypatch.setattr(kind, "loss", flipped)

    mutate.__qualname__ = f"flip_{field}"
    return mutate


def _falsify(change: Callable[[Any], None]) -> Mutation:
    """An algorithm that gets a falsified rollout."""

    def mutate(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
        targets = kind.targets

        def wrong(self: Any, rollout: Any, hp: Any) -> Any:
            seen = replace(rollout, terminated=rollout.terminated.copy(), truncated=rollout.truncated.copy())
            change(seen)
            return targets(self, seen, hp)

        monkeypatch.setattr(kind, "targets", wrong)

    mutate.__qualname__ = change.__name__
    return mutate


def _ignore_termination(rollout: Any) -> None:
    rollout.terminated[:] = False


def _truncation_is_termination(rollout: Any) -> None:
    rollout.bootstrap = np.zeros_like(rollout.bootstrap)


def _everything_counts(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    targets = kind.targets
    monkeypatch.setattr(kind, "targets", lambda *args: replace(targets(*args), weights=None))


def _observations_of_the_next_step(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    collect = Collector.collect

    def wrong(self: Collector, *args: Any) -> Any:
        collected = collect(self, *args)
        collected.rollout.x = np.roll(collected.rollout.x, -self.envs.n_envs, axis=0)
        return collected

    monkeypatch.setattr(Collector, "collect", wrong)


def _never_stop_by_kl(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    loss = kind.loss
    monkeypatch.setattr(kind, "loss", lambda *args: replace(found := loss(*args), kl=found.kl * 0))


ON_ALL: list[tuple[Mutation, str]] = [
    (_flip_advantages, "numbers"),
    (_flip_advantages, "points"),
    (_flip("d_log_prob"), "numbers"),
    (_flip("d_values"), "forever"),
    (_flip("d_entropy"), "entropy"),
    (_falsify(_ignore_termination), "quit"),
    (_falsify(_truncation_is_termination), "forever"),
    (_observations_of_the_next_step, "numbers"),
    (_observations_of_the_next_step, "points"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algo", "mutate", "check"),
    [
        *((algo, mutate, check) for algo in ALGORITHMS for mutate, check in ON_ALL),
        ("ppo", _never_stop_by_kl, "kl"),
        ("reinforce", _everything_counts, "unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__qualname__.strip("_").split(".")[0],
)
def test_broken_algorithm_is_detected(
    algo: str, mutate: Mutation, check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch, ALGORITHMS[algo])
    with pytest.raises((AssertionError, RunFailed)), np.errstate(all="ignore"):
        CHECKS[check](tmp_path, algo=algo)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "episodes", "wanted"),
    [
        ("CartPole-v1:ppo", 100, 475),
        ("CartPole-v1:a2c", 100, 475),
        ("CartPole-v1:reinforce", 100, 475),
        ("FrozenLake-v1:ppo", 2000, 0.7),
        ("FrozenLake-v1:reinforce", 2000, 0.7),
    ],
)
def test_presets_reach_their_threshold(reference: str, episodes: int, wanted: float, tmp_path: Path) -> None:
    run = api.train(reference, runs_dir=tmp_path)
    assert run.outcome.solved, run.outcome
    assert (
        api.evaluate(f"{run.id}/@best", episodes=episodes, seed=12345, runs_dir=tmp_path).mean_return
        >= wanted
    )
