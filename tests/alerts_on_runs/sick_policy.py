"""A real run with the disease for every rule about updates, exploration, the critic and the network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

COUNTDOWN = "alerts_on_runs.policy_envs:Countdown"
PUSH = "alerts_on_runs.policy_envs:Push"
_ALWAYS = {"seed": 1, "eval.every": 0, "checkpoint.every": 0}
_TINY = {
    "env.n_envs": 8,
    "env.backend": "sync",
    "policy.hidden": [16, 16],
    "algo.n_steps": 16,
    "algo.batch_size": 64,
    "algo.normalize_reward": False,
}
# Up to here all is well; then the rate is far too high.
_LATE_JUMP = [[0, 1e-3], [0.3, 1e-3], [0.31, 0.5], [1, 0.5]]


@dataclass(frozen=True)
class SickRun:
    """What to train, for how long."""

    settings: dict[str, Any]
    steps: int
    env: str = "CartPole-v1:ppo"
    pays: dict[str, Any] = field(default_factory=dict)  # arguments of the tiny env

    def overrides(self) -> dict[str, Any]:
        own = {} if self.env == "CartPole-v1:ppo" else _TINY | {"env.kwargs": self.pays}
        return {**_ALWAYS, **own, **self.settings}


def tiny(steps: int, settings: dict[str, Any] | None = None, **pays: Any) -> SickRun:
    return SickRun(settings or {}, steps, COUNTDOWN, pays)


RUNS = {
    "rate too high": SickRun({"algo.lr": 1.0}, 30_000),
    "rate too high for ReLU": SickRun({"algo.lr": _LATE_JUMP, "policy.activation": "relu"}, 40_000),
    "rate high, small rollouts": SickRun(
        {"algo.lr": 0.05, "env.n_envs": 8, "algo.batch_size": 32, "algo.entropy_coef": 0.05}, 12_000
    ),
    "rate high, small rollouts, no bonus": SickRun(
        {"algo.lr": 0.3, "env.n_envs": 8, "algo.batch_size": 64}, 12_000
    ),
    "rate too low": SickRun({"algo.lr": 1e-7, "algo.n_epochs": 1}, 40_000),
    "large steps": SickRun(
        {
            "algo.lr": 0.3,
            "algo.n_epochs": 1,
            "algo.optimizer": {"name": "adamw", "weight_decay": 1.0},  # keeps weights small
        },
        20_000,
    ),
    "tight KL limit": SickRun({"algo.target_kl": 0.0005}, 20_000),
    "almost everything is clipped": SickRun({"algo.lr": 0.01, "algo.clip_range": 0.001}, 20_000),
    "large action head": SickRun({"algo.lr": 1e-4, "policy.actor_gain": 10.0}, 3_000),
    "critic without rate": tiny(8_000, {"algo.critic_lr": 0.0, "seed": 2}, jump=0.001),
    "one action pays": tiny(8_000, {"algo.lr": 0.01}),
    "nothing to win or see": tiny(3_000, pays="none", blind=True),
    "coin toss": tiny(30_000, {"algo.n_steps": 64, "algo.batch_size": 256}, pays="coin"),
    "rewards flip": tiny(8_000, {"algo.critic_lr": 0.03, "algo.gamma": 0.5}, pays="flip"),
    "rewards jump": tiny(8_000, jump=10_000.0, at=400),
    "rewards overflow": tiny(8_000, jump=1e30),
    "inputs too large": tiny(3_000, {"policy.normalize_obs": "none"}, size=1000.0),
    "push to the bound": SickRun({"algo.lr": 0.03}, 8_000, PUSH),
}

# No training of ours has these: rows as wrong log-probabilities would make them.
RECORDED = {
    "wrong log-probabilities": [
        {"time/env_steps": 1024 * n, "train/kl": -0.003, "train/ratio/start": 0.4} for n in range(1, 12)
    ]
}

# Rule → the run that has it, and the severity that it must reach.
SICK: dict[str, tuple[str, str]] = {
    "kl.spike": ("rate too high", "critical"),
    "kl.high": ("rate high, small rollouts", "critical"),
    "kl.low": ("rate too low", "info"),
    "kl.negative": ("wrong log-probabilities", "critical"),
    "ratio.start": ("wrong log-probabilities", "critical"),
    "clip.high": ("almost everything is clipped", "critical"),
    "update.frozen": ("rate too high", "critical"),
    "epochs.cut": ("tight KL limit", "warning"),
    "action.dominates": ("rate too high", "warning"),
    "action.clipped": ("push to the bound", "warning"),
    "entropy.collapse": ("rate too high", "critical"),
    "entropy.fast": ("rate high, small rollouts, no bonus", "warning"),
    "entropy.stuck": ("rate too low", "warning"),
    "entropy.oscillates": ("rate too high for ReLU", "warning"),
    "init.notuniform": ("large action head", "warning"),
    "ev.negative": ("rewards flip", "critical"),
    "ev.low": ("coin toss", "warning"),
    "critic.toogood": ("one action pays", "info"),
    "target.scale": ("rewards jump", "critical"),
    "critic.bias": ("rate too low", "warning"),
    "critic.sign": ("critic without rate", "warning"),
    "terminal.corr": ("coin toss", "warning"),
    "vloss.explode": ("rewards jump", "critical"),
    "adv.mean": ("rate too low", "warning"),
    "adv.flat": ("nothing to win or see", "warning"),
    "nan": ("rewards overflow", "critical"),
    "grad.clipped": ("rate too low", "warning"),
    "grad.explode": ("rewards jump", "critical"),
    "grad.vanish": ("rate too high", "warning"),
    "step.ratio": ("large steps", "warning"),
    "units.dead": ("rate too high for ReLU", "critical"),
    "units.dormant": ("rate too high for ReLU", "warning"),
    "rank.collapse": ("rate too high for ReLU", "critical"),
    "tanh.saturated": ("inputs too large", "info"),
}
