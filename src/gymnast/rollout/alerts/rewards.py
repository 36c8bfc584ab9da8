"""Rules of health about rewards, how far they are apart, and how episodes end."""

from __future__ import annotations

from gymnast.algorithms.alerts.exploration import more_entropy
from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import Look
from gymnast.metrics.alerts.rule import AlertRule, Finding
from gymnast.rollout.alerts.observations import percent

_NONZERO, _GAP, _P99 = "env/reward/nonzero", "env/reward/gap", "env/reward/abs_p99"
_HIGH, _LOW = "env/reward/max", "env/reward/min"
_LENGTH, _LENGTH_STD, _TRUNCATED = "train/length/mean", "train/length/std", "env/truncated_share"
_RETURN, _PLAIN, _PARTS = "train/return/mean", "train/return_plain/mean", "env/reward_part/*"


def _no_reward(look: Look) -> Finding | None:
    if look.last(_NONZERO) != 0.0:
        return None
    peak, seen = look.peak(_NONZERO), look.values(_NONZERO, 20)
    if peak is None or seen is None or peak[0] > 0:
        return None
    episodes = look.row.get("time/episodes")
    if episodes is not None and episodes < 50 and not look.late:
        return None
    ended = "" if episodes is None else f", {episodes:,} episodes"
    half = look.late if look.progress is None else look.progress > 0.5
    return Finding("critical" if half else "warning", f"every reward was 0 so far{ended}")


def _outlier(look: Look) -> Finding | None:
    usual, high, low = look.row.get(_P99), look.row.get(_HIGH), look.row.get(_LOW)
    if not usual or high is None or low is None:
        return None
    largest = max(high, -low)
    if not largest > 20 * usual:
        return None
    return Finding("info", f"a reward of {largest:.3g}, {largest / usual:.0f} × what 99 % stay below")


def _reward_bounds(look: Look) -> Finding | None:
    bounds = look.facts.settings.get("env.spec.reward_range")
    high, low = look.last(_HIGH), look.last(_LOW)
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2 or high is None or low is None:
        return None
    if look.last(_RETURN) != look.last(_PLAIN):  # wrappers change the reward
        return None
    least, most = bounds
    if low < least - 1e-6:
        return Finding("info", f"a reward of {low:.4g} is below env.spec.reward_range", _LOW)
    if high > most + 1e-6:
        return Finding("info", f"a reward of {high:.4g} is above env.spec.reward_range")
    return None


def _seen_range(look: Look) -> str:
    low, high = look.lowest(_LOW), look.peak(_HIGH)
    if low is None or high is None:
        return ""
    return look.facts.suggest("env.spec.reward_range", f"[{low[0]:g}, {high[0]:g}]")


def _shaping(look: Look) -> Finding | None:
    all_, plain = look.last(_RETURN), look.last(_PLAIN)
    if all_ is None or plain is None or not abs(all_ - plain) > abs(plain):
        return None
    added = abs(all_ - plain)
    share = added / (added + abs(plain))
    parts = {key: abs(look.last(key) or 0.0) for key in look.matching(_PARTS)}
    if not parts:  # rewards were scaled or clipped
        return None
    largest = max(parts, key=lambda key: parts[key])
    text = f"{percent(share)} of an episode's reward is added by wrappers"
    return Finding("info", text, largest)


def _less_shaping(look: Look) -> str:
    """A tenth of the largest weight among the wrappers."""
    given = look.facts.settings.get("env.wrappers")
    weights = {
        str(wrapper.get("name")): float(wrapper["weight"])
        for wrapper in (given if isinstance(given, (list, tuple)) else ())
        if isinstance(wrapper, dict) and isinstance(wrapper.get("weight"), (int, float))
    }
    if not weights:
        return "lower the weights of shaped rewards to a tenth"
    name = max(weights, key=lambda name: abs(weights[name]))
    return f"env.wrappers: weight of {name} is {weights[name]:g}: try {weights[name] / 10:g}"


def _gamma(look: Look) -> float | None:
    """The discount now; None where it is not known, or nothing is discounted, or all of the future is."""
    gamma = look.last("opt/gamma")
    gamma = look.facts.number("algo.gamma") if gamma is None else gamma
    return gamma if gamma is not None and 0 < gamma < 1 else None


def _horizon(look: Look) -> Finding | None:
    gamma = _gamma(look)
    if gamma is None:
        return None
    steps = 1 / (1 - gamma)
    gap, length = _needed(look), look.mean(_LENGTH, 5)
    if gap is not None and gap > max(2.0, 1.2 * steps) and look.score.flat():
        return Finding("warning", f"rewards are {gap:.0f} steps apart, the discount sees {steps:.0f}", _GAP)
    if length is not None and 10.5 * steps < length and look.late and look.score.flat():
        return Finding("info", f"episodes last {length:.0f} steps, the discount sees {steps:.0f}")
    return None


def _needed(look: Look) -> float | None:
    """How far rewards are apart, at most an episode: what an episode lacks cannot be seen from it."""
    gap, length = look.mean(_GAP, 3), look.mean(_LENGTH, 5)
    return gap if gap is None or length is None else min(gap, length)


def _see_further(look: Look) -> str:
    gamma = _gamma(look) or 0.0
    wanted = max(_needed(look) or 0.0, 0.1 * (look.mean(_LENGTH, 5) or 0.0), 1.0)
    choices = (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.997, 0.998, 0.999, 0.9995, 0.9999)
    tried = next((value for value in choices if value > gamma and 1 / (1 - value) >= wanted), choices[-1])
    return either(
        look.facts.suggest("algo.gamma", tried, gamma),
        "give rewards on the way there",
    )


def _truncated(look: Look) -> Finding | None:
    share = look.last(_TRUNCATED)
    if share is None or share < 0.95 or not look.score.flat():
        return None
    return Finding("info", f"{percent(share)} of the last episodes ended at the time limit")


def _longer(look: Look) -> str:
    length = look.last(_LENGTH)
    limit = None if length is None else int(2 * length)
    return look.facts.suggest("env.max_episode_steps", limit) if limit else "raise env.max_episode_steps"


def _fixed(look: Look) -> Finding | None:
    if look.last(_LENGTH_STD) != 0.0:
        return None
    spread, length, truncated = look.peak(_LENGTH_STD), look.last(_LENGTH), look.last(_TRUNCATED)
    if spread is None or spread[0] > 0 or length is None or length <= 1 or not look.updates > 20:
        return None
    if (look.row.get("time/episodes") or 0) < 20 or truncated is None or truncated > 0.05 or not _gamma(look):
        return None
    return Finding("warning", f"every episode so far ended by itself after {length:.0f} steps")


RULES = (
    AlertRule(
        id="reward.none",
        group="environment",
        metric=_NONZERO,
        reads=(_NONZERO, "opt/entropy_coef"),
        when="every reward of at least 20 rollouts and 50 episodes was 0 (critical after half of the budget)",
        means="There is nothing to learn from. A random policy never does the right thing: make it likelier "
        "by an easier start, shorter episodes, rewards on the way or a bonus for exploring.",
        check=_no_reward,
        advise=lambda look: either(
            "check that the env ever rewards",
            look.facts.switch("explore.name", "rnd"),
            more_entropy(look),
        ),
        source="Schulman: does a random policy ever do the right thing?",
        warmup=20,
    ),
    AlertRule(
        id="reward.outlier",
        group="environment",
        metric=_HIGH,
        reads=(_P99, _HIGH, _LOW),
        when="the largest reward of a rollout is more than 20 × what 99 % of its rewards stay below",
        means="One step decides the whole update: value targets and gradients jump. It is right for a rare "
        "goal; otherwise it is a fault of the env, or a scale that needs clipping.",
        check=_outlier,
        advise=lambda look: (
            either(
                look.facts.switch("algo.normalize_reward", True),
                look.facts.switch("algo.value_loss", "huber"),
            )
            or look.facts.suggest("algo.clip_reward", 5.0)
        ),
        source="our own number",
    ),
    AlertRule(
        id="reward.bounds",
        group="environment",
        metric=_HIGH,
        reads=(_HIGH, _LOW, _RETURN, _PLAIN),
        when="a reward is outside env.spec.reward_range",
        means="The env pays what the config says it cannot: one of them is wrong. Not looked at where "
        "wrappers change the reward.",
        check=_reward_bounds,
        advise=_seen_range,
        source="the config itself",
        warmup=0,
    ),
    AlertRule(
        id="shaping.dominates",
        group="environment",
        metric=_RETURN,
        reads=(_RETURN, _PLAIN, _PARTS),
        when="what wrappers add is more than half of an episode's reward",
        means="The agent is paid more for the shaping than for the task, and may do the former alone. 10 to "
        "40 % is usual.",
        check=_shaping,
        advise=_less_shaping,
        source="esper: 10 to 40 % is healthy",
        warmup=20,
        unless_solved=True,
    ),
    AlertRule(
        id="horizon.short",
        group="environment",
        metric=_LENGTH,
        reads=(_GAP, _LENGTH, "opt/gamma"),
        when="the score does not rise, and rewards are more than 1.2 / (1 − gamma) steps apart (warning), "
        "or, after 30 % of the budget, episodes are longer than 10 / (1 − gamma) (info); not with gamma 0",
        means="A reward further away than 1 / (1 − gamma) steps counts for less than a third, so the agent "
        "hardly sees what its actions lead to.",
        check=_horizon,
        advise=_see_further,
        source="Schulman: the horizon is 1 / (1 − gamma); a tenth of an episode is our own number",
        warmup=20,
        unless_solved=True,
    ),
    AlertRule(
        id="episodes.truncated",
        group="environment",
        metric=_TRUNCATED,
        reads=(_TRUNCATED, _LENGTH),
        when="at least 95 % of the last 100 episodes ended at the time limit, and the score does not rise "
        "(info)",
        means="The agent never sees how an episode ends by itself. Right for tasks without an end; otherwise "
        "the limit is too short to reach it, or the agent has learned to do nothing.",
        check=_truncated,
        advise=_longer,
        source="Jones, Debugging RL: look at episode lengths",
        warmup=20,
        unless_solved=True,
    ),
    AlertRule(
        id="episodes.fixed",
        group="environment",
        metric=_LENGTH_STD,
        reads=(_LENGTH_STD, _LENGTH, _TRUNCATED, "opt/gamma"),
        when="from the start, every episode ended by itself (not at a time limit) after the same number of "
        "steps",
        means="Random actions should end episodes at different times. Likely the env counts a time limit as "
        "terminated, which teaches the critic that the world ends there.",
        check=_fixed,
        advise=lambda look: either(
            "return truncated instead of terminated at the limit",
            look.facts.suggest("env.max_episode_steps", int(look.last(_LENGTH) or 0)),
        ),
        source="Jones, Debugging RL: look at episode lengths",
        warmup=20,
        unless_solved=True,
    ),
)
