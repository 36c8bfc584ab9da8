"""Rules of health about value estimates and advantages."""

from __future__ import annotations

from gymnast.algorithms.alerts.exploration import above_start, entropy_share, more_entropy, not_learning
from gymnast.metrics.alerts.facts import either, nice
from gymnast.metrics.alerts.look import WINDOW, Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_EV = "train/explained_variance"
_VALUE, _TARGET, _SPREAD = "train/value/mean", "train/target/mean", "train/target/std"


def _varies(look: Look) -> bool:
    """Whether there is anything to explain: without rewards, targets are what the critic itself made up."""
    spread = look.last(_SPREAD)
    return spread is None or spread > 0.05


def _ev_negative(look: Look) -> Finding | None:
    ev = look.mean(_EV, 5)
    if ev is None or not ev < -0.2 or look.updates <= 10 or not _varies(look):
        return None
    longer = look.mean(_EV, WINDOW)  # small rollouts have noisy estimates
    if longer is None or not longer < -0.2:
        return None
    text = f"explained variance is {ev:.2f} (mean of 5 updates): worse than a constant"
    return Finding(
        "critical" if max(ev, longer) < -0.5 and look.late and not_learning(look) else "warning", text
    )


def _ev_low(look: Look) -> Finding | None:
    if not look.late:
        return None
    ev = look.mean(_EV, 10)
    if ev is None or not ev < 0.3 or not _varies(look) or not look.score.flat():
        return None
    text = f"explained variance is {ev:.2f} (mean of 10 updates), score flat"
    return Finding("info" if above_start(look) else "warning", text)  # some games cannot be foreseen


def _too_good(look: Look) -> Finding | None:
    ev = look.mean(_EV, 5)
    if ev is None or not ev > 0.99:
        return None
    share = entropy_share(look, 5)
    if share is None or not share < 0.01 or not look.score.flat():
        return None
    text = f"the critic explains {ev:.1%}: the policy is deterministic"
    return Finding("info" if above_start(look) else "warning", text)


def _scale(look: Look) -> Finding | None:
    size = look.mean("train/target/abs_max", 5)
    if size is None or 0.1 <= size <= 10:
        return None
    if size < 0.1:
        if not look.late or not look.score.flat():  # sparse rewards begin like this
            return None
        return Finding("info", f"the largest value target is {size:.2g}: too small to learn well")
    ev = look.mean(_EV, 5)
    follows = ev is not None and ev > 0.3  # the critic copes with it
    text = f"the largest value target is {size:.3g} (mean of 5 updates)"
    if size > 1000 and not follows:
        return Finding("critical", text)
    return Finding("warning" if size > 100 and not follows else "info", text)


def _bias(look: Look) -> Finding | None:
    if not _apart(look.last(_VALUE), look.last(_TARGET), look.last(_SPREAD)):
        return None
    windows = [look.values(key, WINDOW) for key in (_VALUE, _TARGET, _SPREAD)]
    if any(values is None for values in windows) or not all(
        _apart(*each) for each in zip(*(values or () for values in windows), strict=True)
    ):
        return None
    value, target = look.last(_VALUE), look.last(_TARGET)
    return Finding("warning", f"mean value {value:.3g} against mean target {target:.3g}, for 20 updates")


def _apart(value: float | None, target: float | None, spread: float | None) -> bool:
    return (
        value is not None
        and target is not None
        and spread is not None
        and spread > 0.05
        and abs(value - target) > max(spread, 0.1 * abs(target))
    )


def _sign(look: Look) -> Finding | None:
    share = look.mean("train/target/negative", 10)
    if share is None or not share > 0.05 or not look.late:
        return None
    least, mean = look.lowest("env/reward/min"), look.mean(_TARGET, 10)
    if least is None or least[0] < 0 or mean is None or not _varies(look):
        return None
    # Where rewards are rare, targets near 0 lie on either side of it, and mean nothing.
    if not mean < 0.5 * (look.mean(_SPREAD, 10) or 0.0) or not (look.mean("env/reward/mean", 10) or 0.0) > 0:
        return None
    return Finding("warning", f"{share:.0%} of value targets are below 0, though no reward is")


def _terminal(look: Look) -> Finding | None:
    corr = look.mean("train/terminal_corr", 3)
    if corr is None or not corr < 0.2 or not look.late:
        return None
    share = look.mean("env/reward/last_share", 3)
    if share is None or share < 0.5 or not look.score.flat():
        return None
    text = f"values before the end hardly know its reward: correlation {corr:.2f}"
    return Finding("info" if above_start(look) else "warning", text)  # by then all ends may be alike


def _explode(look: Look) -> Finding | None:
    loss, usual = look.last("train/loss/value"), look.median("train/loss/value")
    if loss is None or usual is None or not loss > 10 * usual or not _varies(look):
        return None
    ev = look.last(_EV)
    if ev is not None and ev > 0.3:  # rewards have become larger, and the critic follows
        return None
    spread = look.last(_SPREAD)
    if spread is not None and loss < 2 * spread**2:  # likewise: as wrong as no critic at all
        return None
    text = f"the value loss is {loss:.3g}, {loss / max(usual, 1e-12):.3g} × its median"
    return Finding("critical" if loss > 100 * usual else "warning", text)


def _adv_mean(look: Look) -> Finding | None:
    mean, std = look.last("train/advantage/mean"), look.last("train/advantage/std")
    if mean is None or std is None or not abs(mean) > 0.5 * std or not std > 0.02:
        return None
    if look.facts.settings.get("algo.baseline", "value") != "value":  # compared with nothing, by choice
        return None
    means, stds = look.values("train/advantage/mean", WINDOW), look.values("train/advantage/std", WINDOW)
    if means is None or stds is None or any(abs(m) <= 0.5 * s for m, s in zip(means, stds, strict=True)):
        return None
    if min(means) < 0 < max(means):
        return None
    size = look.last(_SPREAD)
    if size is not None and abs(mean) < 0.01 * (size + abs(look.last(_TARGET) or 0.0)):
        return None  # nothing against what values are: the critic is right
    return Finding("warning", f"the mean advantage is {mean:.3g}, its std {std:.3g}, for 20 updates")


def _adv_flat(look: Look) -> Finding | None:
    std = look.mean("train/advantage/std", 5)
    if std is None or not std < 1e-6:
        return None
    return Finding("warning", f"the std of advantages is {std:.1g}: normalising it makes noise")


def _faster_critic(look: Look) -> str:
    """Three times its present rate, which is the common one if it has none of its own; 0.001 at least. Where
    that would be too high for any network, the rate is what is wrong."""
    own = look.setting("algo.critic_lr")
    now = own or look.setting("algo.lr")
    if now is not None and now > 0.005:
        return _slower_critic(look)
    return "" if now is None else look.facts.suggest("algo.critic_lr", max(1e-3, nice(3 * now)), own)


def _slower_critic(look: Look) -> str:
    key = "algo.critic_lr" if look.setting("algo.critic_lr") else "algo.lr"
    return look.lower(key, 0.3, at_most=1e-3)


def _smaller_targets(look: Look) -> str:
    return either(look.facts.switch("algo.normalize_reward", True), look.facts.switch("policy.popart", True))


_RATES = ("opt/lr", "opt/critic_lr")

RULES = (
    AlertRule(
        id="ev.negative",
        group="critic",
        metric=_EV,
        reads=(_EV, _SPREAD, "train/return/std", *_RATES),
        when="explained variance is below -0.2 over 5 and over 20 updates, and value targets have a std of "
        "more than 0.05 (critical: below -0.5 after 30 % of the budget, the score no better than at first)",
        means="Value estimates are worse than one constant for all states, so advantages have more noise "
        "than without a critic. Usually targets are too large for the critic, its learning rate is too high, "
        "or observations lack what the return depends on.",
        check=_ev_negative,
        advise=lambda look: either(_smaller_targets(look), _slower_critic(look)),
        source="Schulman; Stable-Baselines3: below 0 is worse than nothing; gymnasium-solver warns at -0.2",
        warmup=10,
        unless_solved=True,
    ),
    AlertRule(
        id="ev.low",
        group="critic",
        metric=_EV,
        reads=(_EV, _SPREAD, "train/return/std", *_RATES),
        when="after 30 % of the budget explained variance is below 0.3 (mean of 10 updates) and the score "
        "does not rise (info if it is better than at the start)",
        means="The critic has learned little of what returns depend on, so advantages are mostly noise. "
        "Usually targets are badly scaled, the critic learns too slowly, or observations lack what matters.",
        check=_ev_low,
        advise=lambda look: either(_smaller_targets(look), _faster_critic(look)),
        source="Jones, Debugging RL: residual variance stays near 1; esper warns below 0.3",
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="critic.toogood",
        group="critic",
        metric=_EV,
        reads=(
            _EV,
            "train/entropy_fraction",
            "train/entropy",
            "train/return/std",
            "opt/entropy_coef",
            "opt/lr",
        ),
        when="explained variance is above 0.99 while entropy is below 1 % of its maximum and the score does "
        "not rise, in a run that is not solved (info if it is better than at the start)",
        means="Nothing surprises the critic, because the policy always does the same: it has collapsed, and "
        "no advantage is left to learn from.",
        check=_too_good,
        advise=lambda look: either(
            more_entropy(look),
            look.lower("algo.lr", 0.3, at_most=1e-3),
        ),
        source="Jones, Debugging RL: residual variance drops to zero when the policy has collapsed",
        unless_solved=True,
    ),
    AlertRule(
        id="target.scale",
        group="critic",
        metric="train/target/abs_max",
        reads=("train/target/abs_max", _EV),
        when="the largest value target, as the value head learns it, is above 10 (info); above 100 (warning) "
        "or 1000 (critical) while explained variance is below 0.3; or below 0.1 late, score flat (info)",
        means="A network learns outputs of about 1 best. With large targets the value loss outweighs the "
        "policy's, gradients are clipped, and the critic takes long to reach its level; tiny ones drown in "
        "noise.",
        check=_scale,
        advise=lambda look: _smaller_targets(look) or look.facts.suggest("algo.clip_reward", 5.0),
        source="Jones, Debugging RL: targets within ±10, better ±3",
        unless_solved=True,
    ),
    AlertRule(
        id="critic.bias",
        group="critic",
        metric=_VALUE,
        reads=(_VALUE, _TARGET, _SPREAD, *_RATES),
        when="for 20 updates the mean value estimate is more than one standard deviation of the targets away "
        "from their mean, and more than 10 % of it",
        means="The critic is wrong about all states in the same direction, and does not catch up. Usually "
        "targets are large and the critic too slow to reach their level.",
        check=_bias,
        advise=lambda look: either(_smaller_targets(look), _faster_critic(look)),
        source="Jones, Debugging RL: means should match closely",
        warmup=20,
        while_learning=True,
        raise_after=5,
    ),
    AlertRule(
        id="critic.sign",
        group="critic",
        metric="train/target/negative",
        reads=(
            "train/target/negative",
            _TARGET,
            _SPREAD,
            "env/reward/min",
            "env/reward/mean",
            *_RATES,
        ),
        when="no reward was ever below 0, yet after 30 % of the budget more than 5 % of value targets are "
        "(mean of 10 updates), and their mean is below half their standard deviation",
        means="Such returns cannot occur: the critic's own estimates, which targets are built on, are "
        "too low. Usually the critic's learning rate is too high, or targets are badly scaled.",
        check=_sign,
        advise=lambda look: either(_slower_critic(look), _smaller_targets(look)),
        source="Jones, Debugging RL: values of the wrong sign",
        while_learning=True,
    ),
    AlertRule(
        id="terminal.corr",
        group="critic",
        metric="train/terminal_corr",
        reads=("train/terminal_corr", "env/reward/last_share", "train/return/std", *_RATES),
        when="at least half of the return comes with the last step, the correlation of the value before it "
        "with its reward is below 0.2 after 30 % of the budget, and the score does not rise (info if it "
        "is better than at the start)",
        means="One step before the end the critic should know how it ends. If not, it learns too slowly or "
        "observations do not show what decides the end.",
        check=_terminal,
        advise=lambda look: either(
            _faster_critic(look), look.facts.switch("policy.normalize_obs", "running")
        ),
        source="Jones, Debugging RL: terminal correlation should plateau near 1",
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="vloss.explode",
        group="critic",
        metric="train/loss/value",
        reads=("train/loss/value", _EV, _SPREAD, *_RATES, "opt/value_clip_range"),
        when="the value loss is more than 10 × the median of the updates before (critical: 100 ×) and twice "
        "the variance of the targets (their std above 0.05), and explained variance is below 0.3",
        means="The critic has lost what it knew; advantages and, with a shared trunk, features are spoiled "
        "with it. Usually its learning rate is too high or a reward came that is far larger than all before.",
        check=_explode,
        advise=lambda look: either(
            look.facts.switch("algo.normalize_reward", True),
            _slower_critic(look),
            look.facts.switch("algo.value_loss", "huber"),
        ),
        source="esper's factor of 2 is noise in reinforcement learning",
        warmup=10,
        raise_after=1,
    ),
    AlertRule(
        id="adv.mean",
        group="critic",
        metric="train/advantage/mean",
        reads=("train/advantage/mean", "train/advantage/std", _TARGET, _SPREAD, *_RATES),
        when="for 20 updates the mean advantage, before it is normalised, is more than half its standard "
        "deviation away from 0, always on one side (not where that is below 0.02: there is no reward)",
        means="Advantages say how much better an action was than the policy's average, so their mean is near "
        "0. If not, the critic lags behind the returns, and all actions look good or bad alike.",
        check=_adv_mean,
        advise=lambda look: either(
            look.facts.switch("algo.normalize_advantage", True),
            _faster_critic(look),
            _smaller_targets(look),
        ),
        source="Jones, Debugging RL: advantages have a mean of about 0",
        warmup=20,
        while_learning=True,
        raise_after=5,
    ),
    AlertRule(
        id="adv.flat",
        group="critic",
        metric="train/advantage/std",
        reads=("train/advantage/std", "env/reward/std"),
        when="the standard deviation of advantages, before they are normalised, is below 0.000001",
        means="No action was better than another: rewards do not depend on what the agent does, or there "
        "are none. Normalising such advantages turns rounding errors into the learning signal.",
        check=_adv_flat,
        advise=lambda look: either(
            "check that rewards depend on actions",
            look.facts.switch("algo.normalize_advantage", False),
        ),
        source="esper",
        unless_solved=True,
    ),
)
