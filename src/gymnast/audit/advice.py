"""What the numbers of an audit mean for learning, and the setting to change, with a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gymnast.audit.statistics import Statistics
from gymnast.config.schema import Config

SPARSE = 0.02  # share of steps with a reward
LARGE, HUGE, SMALL = 30.0, 300.0, 0.03  # std of the discounted return: what values have to learn
DOMINATES = 0.5
SHORT = 0.1  # of an episode


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that stands out."""

    id: str
    message: str
    advice: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def advise(config: Config, gamma: float, random: Statistics, agent: Statistics | None) -> list[Advice]:
    """What stands out, environment and reward first; `agent` is a trained policy, sampled as in training."""
    main = agent or random
    return [
        advice
        for advice in (
            _presence(config, random, agent),
            _outliers(main),
            _scale(config, main),
            _shaping(main),
            _horizon(config, gamma, main),
            _ends(main),
            _random_solves(random),
            _no_better(random, agent),
        )
        if advice is not None
    ]


def _presence(config: Config, random: Statistics, agent: Statistics | None) -> Advice | None:
    main, bonus = agent or random, _bonus(config)
    same = random.length_max == random.length_mean and main.length_max == main.length_mean
    if main.constant and main.max != 0:
        return Advice(
            "reward.constant",
            f"constant {main.max:g} per step: only the length of the episode differs"
            + (f", and all have {main.length_max:,} steps" if same else ""),
            f"as long as chance changes nothing there is nothing to learn from; {bonus}" if same else "",
        )
    if main.non_zero == 0:
        whose = "random actions" if agent is None else "neither random actions nor the policy"
        verb = "never meet" if agent is None else "ever meet"
        return Advice("reward.none", f"{whose} {verb} a reward in {main.steps:,} steps", bonus)
    if random.non_zero < SPARSE:
        often = f"one in {1 / random.non_zero:,.0f} random steps" if random.non_zero else "none by chance"
        episodes = f"{random.rewarded:.0%} of random episodes have one"
        return Advice("reward.sparse", f"sparse reward: {often}, {episodes}", bonus)
    return None


def _bonus(config: Config) -> str:
    if config.explore.name != "none":
        return f"explore.name={config.explore.name} is on already; shaping or an easier start may help"
    if "gae_lambda" not in type(config.algo).model_fields:
        return f"{config.algo.name} takes no exploration bonus; use algo.name=ppo explore.name=rnd"
    return "try explore.name=rnd, or explore.name=count where states can be counted"


def _outliers(main: Statistics) -> Advice | None:
    if not main.outliers:
        return None
    return Advice(
        "reward.outlier",
        f"{main.outliers} of {main.steps:,} rewards are over 20 times larger than 99% of the others"
        f" ({main.min:g} … {main.max:g})",
        "a reward-clip wrapper, or algo.normalize_reward=true with algo.clip_reward=10, limits them",
    )


def _scale(config: Config, main: Statistics) -> Advice | None:
    std = main.discounted_std
    if config.algo.normalize_reward or config.policy.popart or std == 0:
        return None
    if std > LARGE:
        size = "very large" if std > HUGE else "large"
        text = f"{size} returns: those to predict have a std of {std:.3g} (about 1 is easiest)"
    elif std < SMALL:
        text = f"small returns: those to predict have a std of {std:.3g} (about 1 is easiest)"
    else:
        return None
    scale = f"a reward-scale wrapper with factor {1 / std:.2g}"
    return Advice("reward.scale", text, f"set algo.normalize_reward=true, or use {scale}")


def _shaping(main: Statistics) -> Advice | None:
    shaped = {name: share for name, share in main.parts.items() if name != "env"}
    if not shaped:
        return None
    name = max(shaped, key=lambda key: shaped[key])
    if shaped[name] <= DOMINATES:
        return None
    return Advice(
        "shaping.dominates",
        f"shaping dominates: {name} is {shaped[name]:.0%} of all reward",
        "scale it down until it is 10% to 40%, or the agent learns the shaping instead of the task",
    )


def _horizon(config: Config, gamma: float, main: Statistics) -> Advice | None:
    if gamma >= 1:
        return None
    horizon = 1 / (1 - gamma)
    gap = 0.0 if main.gap is None else main.gap
    wanted = max(gap, SHORT * main.length_mean)
    if horizon >= wanted:
        return None
    why = f"rewards are {gap:,.0f} steps apart" if horizon < gap else f"episodes have {main.length_mean:,.0f}"
    return Advice(
        "horizon.short",
        f"short horizon: algo.gamma={gamma:g} looks about {horizon:,.0f} steps ahead, and {why}",
        f"try algo.gamma={better_gamma(max(gap, main.length_mean))}",
    )


def better_gamma(steps: float) -> str:
    """1 - 1/steps, the difference from 1 rounded to one digit: 0.99, 0.995, 0.9993 …"""
    return f"{1 - float(f'{1 / max(steps, 2.0):.1g}'):.8g}"


def _ends(main: Statistics) -> Advice | None:
    if not main.cut:
        return None
    return Advice(
        "episodes.cut",
        f"{main.cut} of {main.episodes} episodes did not end within this audit",
        "set env.max_episode_steps, or audit fewer episodes",
    )


def _random_solves(random: Statistics) -> Advice | None:
    if random.success is None or random.success < 0.5:
        return None
    return Advice(
        "random.solves",
        f"random actions reach the threshold in {random.success:.0%} of episodes",
        "raise env.spec.solved_at: it tells nothing apart",
    )


def _no_better(random: Statistics, agent: Statistics | None) -> Advice | None:
    if agent is None or agent.return_mean > random.return_mean:
        return None
    return Advice(
        "agent.random",
        f"the policy gets {agent.return_mean:.4g}, random actions {random.return_mean:.4g}",
        "it has learned nothing yet; gymnast doctor shows whether it can",
    )
