"""Rules of health about observations, and about what copies of an env have in common."""

from __future__ import annotations

from gymnast.metrics.alerts.alert import Severity
from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_OUTSIDE, _CONSTANT, _SATURATED = "env/obs/outside", "env/obs/constant", "env/obs/saturated"
_STD_MIN, _STD_MAX = "env/obs/std_min", "env/obs/std_max"
_TOGETHER, _TRUNCATED = "env/resets_together", "env/truncated_share"


def _outside(look: Look) -> Finding | None:
    share = look.last(_OUTSIDE)
    if share is None or not share > 0.0:
        return None
    severity: Severity = "critical" if share > 0.05 else "warning" if share > 0.01 else "info"
    return Finding(severity, f"{percent(share)} of observed numbers are outside the space's bounds")


def _constant(look: Look) -> Finding | None:
    if not look.last(_CONSTANT):
        return None
    counts = look.values(_CONSTANT, 10)
    if counts is None or min(counts) < 1 or min(counts) > 32:  # planes of zeros and ones are like that
        return None
    least = f"{min(counts):.0f} number{'s' if min(counts) > 1 else ''}"
    return Finding("info", f"{least} of the observation never changed within a rollout")


def _obs_scale(look: Look) -> Finding | None:
    large = look.last(_STD_MAX)
    if large is None or 0.05 <= large <= 10:
        return None
    large = look.mean(_STD_MAX, 3)
    if large is None or 0.05 <= large <= 10:
        return None
    if large > 10:
        return Finding(
            "warning", f"a number of the observation has a std of {large:.3g} as the network sees it"
        )
    return Finding("info", f"no number of the observation has a std above {large:.2g}")


def _saturated(look: Look) -> Finding | None:
    share = look.mean(_SATURATED, 3)
    if share is None or not share > 0.01:
        return None
    severity: Severity = "critical" if share > 0.05 else "warning"
    return Finding(severity, f"{percent(share)} of observed numbers are cut off by policy.clip_obs")


def _identical(look: Look) -> Finding | None:
    if look.updates > 10:  # later, a policy that is sure of itself may do the same in every copy
        return None
    copies = look.values("env/identical", 3)
    if copies is None or min(copies) < 1:
        return None
    steps, n_envs = look.facts.rollout_steps, look.facts.n_envs
    if steps and n_envs and steps / n_envs < 16:  # short rollouts are alike by chance
        return None
    return Finding("critical", f"{min(copies):.0f} env copies give what another copy gives, step by step")


def _insync(look: Look) -> Finding | None:
    share = look.last(_TOGETHER)
    if share is None or not share > 0.6:
        return None
    share = look.mean(_TOGETHER, 5)
    if share is None or not share > 0.6:
        return None
    if look.last("opt/gamma") == 0.0:  # no step depends on another: where an episode is does not matter
        return None
    by_limit = (look.last(_TRUNCATED) or 0.0) > 0.3
    text = f"{percent(share)} of a rollout's episode ends fall on one step"
    return Finding("info" if by_limit else "warning", text)


def _normalise(look: Look) -> str:
    return look.facts.switch("policy.normalize_obs", "running")


def percent(share: float) -> str:
    """'42%', '0.31%'."""
    return f"{share:.0%}" if share >= 0.1 else f"{100 * share:.2g}%"


RULES = (
    AlertRule(
        id="obs.bounds",
        group="environment",
        metric=_OUTSIDE,
        reads=(_OUTSIDE,),
        when="numbers of the observation are outside the bounds that the space declares, or NaN (info; "
        "warning from 1 %, critical from 5 %)",
        means="The observation space is wrong, or the env returns what it should not. Whatever relies on the "
        "bounds (policy.normalize_obs=bounds, a wrapper, another library) gets values it does not expect.",
        check=_outside,
        advise=lambda look: either(
            "correct low and high of the env's observation space",
            look.facts.switch("policy.normalize_obs", "running"),
        ),
        source="Gymnasium's check_env asks the same of single observations; the shares are our own",
        warmup=0,
    ),
    AlertRule(
        id="obs.constant",
        group="environment",
        metric=_CONSTANT,
        reads=(_CONSTANT,),
        when="up to 32 numbers of the observation had one value over ten observed rollouts and all envs",
        means="They tell the policy nothing and cost weights. It is normal for some games; but a sensor that "
        "is not connected, or a wrapper that cuts off what matters, looks the same.",
        check=_constant,
        advise=lambda look: either(
            "look at what the env returns",
            look.facts.suggest("env.wrappers", "[{name: hide-components, components: …}]"),
        ),
        source="Schulman: look at the distribution of every input",
        warmup=10,
    ),
    AlertRule(
        id="obs.scale",
        group="environment",
        metric=_STD_MAX,
        reads=(_STD_MAX, _STD_MIN),
        when="as the network sees it, a number of the observation has a standard deviation above 10 "
        "(warning), or all are below 0.05 (info); mean of three observed rollouts",
        means="Networks learn best from inputs of mean 0 and standard deviation 1. A far larger one drowns "
        "the others and saturates the first layer; tiny ones are hardly seen.",
        check=_obs_scale,
        advise=lambda look: _normalise(look) or look.facts.suggest("policy.clip_obs", 5.0),
        source="Schulman: rescale observations to mean 0 and std 1, clip to ±10",
    ),
    AlertRule(
        id="obs.saturated",
        group="environment",
        metric=_SATURATED,
        reads=(_SATURATED,),
        when="policy.clip_obs cuts off more than 1 % of the normalised numbers (critical: 5 %); mean of "
        "three observed rollouts",
        means="What is cut off looks the same to the policy. Usually an input has rare, huge values, or its "
        "statistics were made from states that the policy has long left.",
        check=_saturated,
        advise=lambda look: either(
            "look for outliers in what the env returns", look.raise_("policy.clip_obs", 3.0)
        ),
        source="esper: 0.1 % and 1 % at the clip",
        warmup=10,
    ),
    AlertRule(
        id="envs.identical",
        group="environment",
        metric="env/identical",
        reads=("env/identical",),
        when="in the first rollouts, of 16 steps or more, two env copies gave the same observations and "
        "rewards at every step",
        means="Copies that do the same give no more experience than one. The env ignores the seed that "
        "reset(seed=…) gives it, and what the agent does makes no difference.",
        check=_identical,
        advise=lambda look: either(
            "seed the env's own randomness in reset(seed=…)",
            look.facts.suggest("env.n_envs", 1, look.facts.n_envs),
        ),
        source="equal observations and rewards over whole rollouts; the length is our own",
        warmup=2,
        raise_after=1,
        clear_after=1_000_000,  # what it is about does not go away by itself
    ),
    AlertRule(
        id="envs.insync",
        group="environment",
        metric=_TOGETHER,
        reads=(_TOGETHER, _TRUNCATED, "opt/gamma"),
        when="more than 60 % of a rollout's episode ends fall on one step of all envs (mean of 5 rollouts): "
        "warning; info where 30 % or more end at the time limit",
        means="All envs are at the same point of their episode, so each rollout shows only a part of it, and "
        "updates swing with that part. Episodes of one fixed length do this by themselves.",
        check=_insync,
        advise=lambda look: either(
            "start episodes at different points",
            look.raise_("algo.n_steps", 4.0),
        ),
        source="Jones, Debugging RL: mix your vectorised envs",
    ),
)
