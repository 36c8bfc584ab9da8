"""What other libraries call our metrics and settings, so that the same rules read their files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dialect:
    """One library's names."""

    name: str
    metrics: Mapping[str, str]  # its column or tag → our key
    negated: Collection[str] = ()  # of its names: those with the other sign
    episodes: Mapping[str, str] = field(default_factory=dict)  # its value of one episode → our mean of 100
    # Ours by dotted key → its name; None: our own, all of them.
    settings: Mapping[str, str] | None = None
    # What to do where it has no such setting but another way.
    instead: Mapping[str, str] = field(default_factory=dict)

    def known(self, names: Collection[str]) -> list[str]:
        """Those of a file's names that mean something here."""
        return [name for name in names if name in self.metrics or name in self.episodes]

    def shown(self, ours: str, names: Collection[str]) -> str:
        """What the file itself calls a metric of ours."""
        for theirs, key in (*self.metrics.items(), *self.episodes.items()):
            if key == _MADE_FROM.get(ours, ours) and theirs in names:
                return theirs
        return ours


# Made from others where a file lacks them (translate.py).
_MADE_FROM = {
    "train/entropy_fraction": "train/entropy",
    "train/target/abs_max": "train/loss/value",
    "train/target/std": "train/loss/value",
    "train/return_plain/mean": "train/return/mean",
}

OURS = Dialect("Gymnast", {})

SB3 = Dialect(
    "Stable-Baselines3",
    {
        "time/total_timesteps": "time/env_steps",
        "time/iterations": "time/updates",
        "time/fps": "time/fps",
        "rollout/ep_rew_mean": "train/return/mean",
        "rollout/ep_len_mean": "train/length/mean",
        "train/approx_kl": "train/kl",
        "train/clip_fraction": "train/clip_fraction",
        "train/entropy_loss": "train/entropy",
        "train/explained_variance": "train/explained_variance",
        "train/loss": "train/loss/total",
        "train/value_loss": "train/loss/value",
        "train/policy_gradient_loss": "train/loss/policy",
        "train/policy_loss": "train/loss/policy",  # A2C
        "train/std": "train/action_std",
        "train/learning_rate": "opt/lr",
        "train/clip_range": "opt/clip_range",
        "train/clip_range_vf": "opt/value_clip_range",
        "train/n_updates": "time/epochs",
        "eval/mean_reward": "eval/return/mean",
        "eval/mean_ep_length": "eval/length/mean",
    },
    negated=("train/entropy_loss",),
    settings={
        "algo.lr": "learning_rate",
        "algo.entropy_coef": "ent_coef",
        "algo.value_coef": "vf_coef",
        "algo.n_epochs": "n_epochs",
        "algo.n_steps": "n_steps",
        "algo.batch_size": "batch_size",
        "algo.clip_range": "clip_range",
        "algo.value_clip_range": "clip_range_vf",
        "algo.gamma": "gamma",
        "algo.gae_lambda": "gae_lambda",
        "algo.max_grad_norm": "max_grad_norm",
        "algo.target_kl": "target_kl",
        "algo.normalize_advantage": "normalize_advantage",
        "policy.hidden": "net_arch",
        "policy.activation": "activation_fn",
        "policy.log_std_init": "log_std_init",
        "env.n_envs": "n_envs",
        "eval.episodes": "n_eval_episodes",
    },
    instead={
        "algo.normalize_reward": "divide rewards by a constant, or wrap the env in VecNormalize",
        "policy.normalize_obs": "wrap the env in VecNormalize(norm_obs=True)",
        "policy.popart": "divide rewards by a constant, or wrap the env in VecNormalize",
        "env.max_episode_steps": "change the time limit of the env",
    },
)

CLEANRL = Dialect(
    "CleanRL",
    {
        "charts/SPS": "time/fps",
        "charts/learning_rate": "opt/lr",
        "losses/value_loss": "train/loss/value",
        "losses/policy_loss": "train/loss/policy",
        "losses/entropy": "train/entropy",
        "losses/approx_kl": "train/kl",
        "losses/clipfrac": "train/clip_fraction",
        "losses/explained_variance": "train/explained_variance",
    },
    episodes={
        "charts/episodic_return": "train/return/mean",
        "charts/episodic_length": "train/length/mean",
    },
    settings={
        "algo.lr": "--learning-rate",
        "algo.entropy_coef": "--ent-coef",
        "algo.value_coef": "--vf-coef",
        "algo.n_epochs": "--update-epochs",
        "algo.n_steps": "--num-steps",
        "algo.clip_range": "--clip-coef",
        "algo.gamma": "--gamma",
        "algo.gae_lambda": "--gae-lambda",
        "algo.max_grad_norm": "--max-grad-norm",
        "algo.target_kl": "--target-kl",
        "algo.normalize_advantage": "--norm-adv",
        "env.n_envs": "--num-envs",
        "seed": "--seed",
    },
    instead={
        "algo.normalize_reward": "divide rewards by a constant, or add NormalizeReward in make_env",
        "policy.normalize_obs": "add NormalizeObservation in make_env",
        "policy.popart": "divide rewards by a constant, or add NormalizeReward in make_env",
        "env.max_episode_steps": "change the time limit of the env",
    },
)

DIALECTS = (SB3, CLEANRL)
# What a file must have some of to be worth a diagnosis.
EXPECTED = "train/kl of Gymnast, train/approx_kl of Stable-Baselines3 or losses/approx_kl of CleanRL"
