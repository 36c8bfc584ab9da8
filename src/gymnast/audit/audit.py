"""The audit of rewards: chance plays, and so does a run's policy; what both got is compared and assessed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.audit.advice import Advice, advise
from gymnast.audit.play import Played, Watch, play_policy, play_random
from gymnast.audit.statistics import Statistics, statistics
from gymnast.config.schema import Config
from gymnast.envs.build import build_envs
from gymnast.envs.contract import EnvFailure
from gymnast.envs.mix.build import build_mix
from gymnast.envs.spec import read_spec
from gymnast.errors import RunFailed
from gymnast.metrics.csv_file import read_columns
from gymnast.policies.device import limit_threads
from gymnast.policies.load import load_policy
from gymnast.rollout.evaluate import evaluation_envs
from gymnast.training.budget import build_budget
from gymnast.training.evaluation_limit import with_episode_limit
from gymnast.training.evaluator import held_out_seed

_MOST_ENVS = 32
_STEPS, _FEWEST, _MOST = 4000, 10, 400  # random steps wanted, and the episodes for them
_RECORDED = ("train/return/mean", "train/length/mean", "env/reward/mean", "env/reward_scale")


@dataclass(frozen=True, slots=True)
class RewardAudit:
    """What was played, what it amounts to, and what to change."""

    name: str  # of the config, or run and checkpoint
    env: str
    gamma: float
    solved_at: float | None
    plays: tuple[Statistics, ...]  # random first, then those of the checkpoint
    advice: tuple[Advice, ...]
    recorded: dict[str, tuple[float, float]]  # of a run: first and last value of some metrics
    played: tuple[Played, ...] = ()  # every reward, for pictures
    picture: Path | None = None

    @property
    def horizon(self) -> float | None:
        """Steps that the discount looks ahead; None for all of them."""
        return None if self.gamma >= 1 else 1 / (1 - self.gamma)

    @property
    def main(self) -> Statistics:
        """The policy whose rewards learning meets: the checkpoint's, sampled; without one, chance."""
        return self.plays[min(1, len(self.plays) - 1)]

    @property
    def gap_discount(self) -> float | None:
        """What a reward one usual gap away is worth now."""
        return None if self.main.gap is None else float(self.gamma**self.main.gap)

    @property
    def end_discount(self) -> float:
        """What a reward at the end of a usual episode is worth at its beginning."""
        return float(self.gamma**self.main.length_mean)

    def to_json(self) -> dict[str, Any]:
        """What `gymnast audit --json` prints."""
        return {
            "name": self.name,
            "env": self.env,
            "gamma": self.gamma,
            "horizon": self.horizon,
            "gap_discount": self.gap_discount,
            "end_discount": self.end_discount,
            "solved_at": self.solved_at,
            "plays": [play.to_json() for play in self.plays],
            "recorded": {key: list(ends) for key, ends in self.recorded.items()},
            "advice": [advice.to_json() for advice in self.advice],
            "picture": None if self.picture is None else str(self.picture),
        }


@dataclass(frozen=True, slots=True)
class Trained:
    """A checkpoint's weights, and the metrics of its run."""

    arrays: dict[str, np.ndarray]
    metrics: Path


def audit_rewards(
    config: Config,
    name: str,
    episodes: int | None,
    seed: int | None,
    trained: Trained | None,
    watch: Watch | None = None,
) -> RewardAudit:
    """Play as training would, wrappers included, and assess the rewards. Without a number of episodes as many
    as it takes for a few thousand random steps, within limits. `watch` is shown rewards while they come."""
    spec = read_spec(config.env)
    limited = with_episode_limit(config, spec)
    seed = held_out_seed(config) if seed is None else seed
    total = build_budget(config.budget, 1).schedule_steps
    gamma = float(config.algo.gamma.at(0, total))
    try:
        played = _all_plays(limited, episodes or _enough(limited, seed), seed, trained, watch)
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure
    plays = tuple(statistics(each, gamma, spec.solved_at) for each in played)
    return RewardAudit(
        name=name,
        env=config.env.id,
        gamma=gamma,
        solved_at=spec.solved_at,
        plays=plays,
        advice=tuple(advise(config, gamma, plays[0], plays[1] if len(plays) > 1 else None)),
        recorded={} if trained is None else _recorded(trained.metrics),
        played=tuple(played),
    )


def _enough(config: Config, seed: int) -> int:
    """Episodes that have a few thousand steps, estimated from a few of them."""
    envs = _build(config, _FEWEST, seed)
    try:
        length = float(play_random(envs, _FEWEST, seed).lengths.mean())
    finally:
        envs.close()
    return int(np.clip(_STEPS / max(length, 1.0), _FEWEST, _MOST))


def _all_plays(
    config: Config, episodes: int, seed: int, trained: Trained | None, watch: Watch | None
) -> list[Played]:
    envs = _build(config, episodes, seed)
    try:
        plays = [play_random(envs, episodes, seed, watch)]
        if trained is not None:
            policy = load_policy(config, envs.observation_space, envs.action_space, trained.arrays)
            with limit_threads(policy.network, envs.n_envs):
                for rng in (np.random.default_rng([seed, 0x5A3B]), None):
                    plays.append(play_policy(envs, episodes, policy, rng, watch))
    finally:
        envs.close()
    return plays


def _build(config: Config, episodes: int, seed: int) -> Any:
    """Envs as in training; of a mix as many of each task as of any other."""
    if config.env.mix is not None:
        tasks = config.env.tasks
        each = max(1, min(_MOST_ENVS, episodes) // len(tasks))
        return build_mix(config.env, counts=[each] * len(tasks), seed=seed, training=True)
    n_envs = min(episodes, _MOST_ENVS, evaluation_envs(config.env, episodes))
    return build_envs(config.env, n_envs=n_envs, seed=seed, training=True)


def _recorded(metrics: Path) -> dict[str, tuple[float, float]]:
    """First and last value of what training recorded of its rewards; what is missing is left out."""
    found = {}
    for key, column in read_columns(metrics, _RECORDED).items():
        known = column[np.isfinite(column)]
        if known.size:
            found[key] = (float(known[0]), float(known[-1]))
    return found
