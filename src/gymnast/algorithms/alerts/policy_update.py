"""Rules of health about how far an update moves the policy."""

from __future__ import annotations

from gymnast.algorithms.alerts.exploration import (
    above_start,
    collapsed,
    entropy_share,
    more_entropy,
    not_learning,
)
from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import Look
from gymnast.metrics.alerts.rule import AlertRule, Finding


def _kl_spike(look: Look) -> Finding | None:
    kl = max(look.recent("train/kl"), default=0.0)
    if not kl >= 0.2:
        return None
    return Finding("critical" if kl >= 1.0 else "warning", f"one update moved the policy by KL {kl:.3g}")


def _kl_high(look: Look) -> Finding | None:
    kl = look.mean("train/kl", 5)
    if kl is None or not kl > 0.02:
        return None
    target = look.last("opt/target_kl")
    if target:
        limit = 1.5 * target
        if kl <= limit:
            return None
        text = f"KL is {kl:.3g} (mean of 5 updates), above 1.5 × target_kl = {limit:.3g}"
        return Finding("critical" if kl > max(0.2, 4 * limit) and not_learning(look) else "warning", text)
    limit = 0.2 if kl > 0.2 else 0.05 if kl > 0.05 else 0.02
    text = f"KL is {kl:.3g} (mean of 5 updates), above {limit}"
    if limit == 0.2 and not_learning(look):  # a policy that learns with such steps is not lost
        return Finding("critical", text)
    return Finding("warning" if kl > 0.05 else "info", text)


def _kl_low(look: Look) -> Finding | None:
    if "train/clip_fraction" not in look.windows:  # one step per update, as in A2C: small by design
        return None
    kl = look.mean("train/kl", 10)
    if kl is None or not 0 <= kl < 1e-4 or _too_far(look) or not look.score.flat():
        return None
    return Finding("info", f"KL is {kl:.2g} (mean of 10 updates) and the score does not rise")


def _kl_negative(look: Look) -> Finding | None:
    kl = min(look.recent("train/kl"), default=0.0)
    if not kl < -1e-6:
        return None
    return Finding("critical", f"the estimated KL is {kl:.3g}; it cannot be below 0")


def _ratio_start(look: Look) -> Finding | None:
    off = look.last("train/ratio/start")
    if off is None or not off > 1e-3:
        return None
    text = f"before the first step, a ratio is {off:.2g} away from 1"
    return Finding("critical" if off > 0.01 else "warning", text)


def _clip_high(look: Look) -> Finding | None:
    share = look.mean("train/clip_fraction", 5)
    if share is None or not share > 0.3:
        return None
    text = f"{share:.0%} of the samples are clipped (mean of 5 updates)"
    if share > 0.5 and not_learning(look):  # a policy that learns with such steps is not lost
        return Finding("critical", text)
    return Finding("warning" if share > 0.4 else "info", text)


def _usual_clip_range(look: Look) -> str:
    """Where the range is far below what is usual, even small steps are clipped."""
    now = look.last("opt/clip_range")
    return "" if now is None or now >= 0.05 else look.facts.switch("algo.clip_range", 0.2)


def _frozen(look: Look) -> Finding | None:
    kl = look.mean("train/kl", 10)
    if kl is None or not abs(kl) < 1e-6:
        return None
    if (look.mean("train/clip_fraction", 10) or 0.0) > 0 or not look.score.flat():
        return None
    share = entropy_share(look, 5)
    text = f"KL is {kl:.1g} over 10 updates: the policy does not change"
    if above_start(look):  # a policy that is done has little to change
        return Finding("info", text)
    return Finding("critical" if share is not None and share < 0.01 else "warning", text)


def _frozen_advice(look: Look) -> str:
    if _too_far(look):
        return either(look.lower("algo.lr", 0.3, at_most=1e-3), more_entropy(look))
    return either(look.raise_("algo.lr", 10.0, at_least=1e-4), look.raise_("algo.n_epochs", 2.0))


def _too_far(look: Look) -> bool:
    """Whether nothing moves any more because steps were too large, not too small."""
    peak = look.peak("train/kl")
    return collapsed(look) or (peak is not None and peak[0] >= 1.0)


def _epochs_cut(look: Look) -> Finding | None:
    asked = look.last("opt/n_epochs")
    if not look.last("opt/target_kl") or asked is None or asked < 2:
        return None
    done = look.values("train/epochs_done", 10)
    if done is None:
        return None
    cut = sum(epochs <= asked / 2 for epochs in done)
    if cut < 8:
        return None
    mean = sum(done) / len(done)
    return Finding("warning", f"KL stopped {cut} of 10 updates after {mean:.1f} of {asked:g} epochs")


def _epochs_cut_advice(look: Look) -> str:
    used = max(1, round(look.mean("train/epochs_done", 10) or 1))
    return either(look.lower("algo.lr", 0.5), look.facts.suggest("algo.n_epochs", used))


def _dominates(look: Look) -> Finding | None:
    share = look.last("train/action/top_share")
    if share is None or not share > 0.95:
        return None
    shares = look.values("train/action/top_share", 10)
    if shares is None or min(shares) <= 0.95 or not look.score.flat():
        return None
    text = f"one action is {share:.1%} of all, and the score does not rise"
    return Finding("info" if above_start(look) else "warning", text)


def _clipped(look: Look) -> Finding | None:
    if not look.late:  # an initial std of 1 leaves bounds of ±1 a third of the time
        return None
    share = look.mean("train/action/clipped", 5)
    if share is None or not share > 0.7 or not look.score.flat():
        return None
    return Finding("warning", f"{share:.0%} of the action values lie outside their bounds")


def _smaller_steps(look: Look) -> str:
    return either(look.lower("algo.lr", 0.3, at_most=1e-3), look.lower("algo.n_epochs", 0.5))


RULES = (
    AlertRule(
        id="kl.spike",
        group="policy update",
        metric="train/kl",
        reads=("train/kl", "opt/lr", "opt/n_epochs"),
        when="KL of a single update is at least 0.2 (critical: 1.0)",
        means="The policy was replaced rather than improved: what it had learned may be lost at once, and "
        "the samples of the rollout say little about the new one. Usually the learning rate is too high; "
        "sometimes it is many epochs over a small rollout, or rewards of a very different size.",
        check=_kl_spike,
        advise=_smaller_steps,
        source="Schulman: 0.01 is a small step, 10 far too much",
        warmup=0,
        raise_after=1,
    ),
    AlertRule(
        id="kl.high",
        group="policy update",
        metric="train/kl",
        reads=("train/kl", "train/return/std", "opt/target_kl", "opt/lr", "opt/n_epochs"),
        when="mean KL of 5 updates is above 0.02 (info), 0.05 (warning) or, where the score does not rise "
        "and is no better than at the start, 0.2 (critical); with algo.target_kl, above 1.5 × it (warning)",
        means="Each update moves the policy further than its samples can justify. Learning may still work, "
        "but it is unstable and may collapse. Usually the learning rate is too high, or there are too many "
        "epochs.",
        check=_kl_high,
        advise=lambda look: either(
            look.lower("algo.lr", 0.3, at_most=1e-3),
            look.lower("algo.n_epochs", 0.5),
            "" if look.last("opt/target_kl") else look.facts.suggest("algo.target_kl", 0.02),
        ),
        source="The 37 implementation details of PPO: generally below 0.02; Spinning Up stops at 1.5 × it. "
        "Measured: CartPole with a rate of 0.03 has 0.07 to 0.5 and still learns; a run of Pendulum-v1:ppo "
        "that had 0.2 on its way ended with the usual score",
    ),
    AlertRule(
        id="kl.low",
        group="policy update",
        metric="train/kl",
        reads=(
            "train/kl",
            "train/clip_fraction",
            "train/entropy_fraction",
            "train/entropy",
            "opt/lr",
            "opt/n_epochs",
        ),
        when="mean KL of 10 updates is below 0.0001 and the score does not rise; PPO only",
        means="The policy hardly moves although there is something left to learn. Usually the learning rate "
        "is too low, or the advantages carry no signal: look at the rewards first.",
        check=_kl_low,
        advise=lambda look: either(
            look.raise_("algo.lr", 5.0, at_least=1e-4), look.raise_("algo.n_epochs", 2.0)
        ),
        source="rsl_rl doubles its rate far earlier; 0.001 would raise alarms in healthy runs",
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="kl.negative",
        group="policy update",
        metric="train/kl",
        reads=("train/kl", "opt/lr"),
        when="the estimated KL is below -0.000001",
        means="This estimate, (r - 1) - log r, is never negative, so the log-probabilities are wrong: of "
        "other actions than those taken, of actions that a mask forbids, or not of one distribution. Usually "
        "it is a defect in an env's action masks or in code of one's own.",
        check=_kl_negative,
        advise=lambda look: either(
            "check the env's action masks",
            look.facts.switch("device", "cpu"),
        ),
        source="Jones, Debugging RL; Schulman, Approximating KL divergence",
        warmup=0,
        raise_after=1,
    ),
    AlertRule(
        id="ratio.start",
        group="policy update",
        metric="train/ratio/start",
        reads=("train/ratio/start",),
        when="in the first minibatch of an update a ratio is more than 0.001 away from 1 (critical: 0.01)",
        means="Before the first step the new policy is the old one, so every ratio is 1. If not, learning "
        "sees other inputs, masks or another memory than acting did, or computes with less precision, as "
        "some GPUs do. Every later ratio is wrong by as much.",
        check=_ratio_start,
        advise=lambda look: either(
            "check that the env does not change observations or masks it has returned",
            look.facts.switch("device", "cpu"),
        ),
        source="The 37 implementation details of PPO: check that the ratio is 1",
        warmup=0,
    ),
    AlertRule(
        id="clip.high",
        group="policy update",
        metric="train/clip_fraction",
        reads=("train/clip_fraction", "train/return/std", "opt/lr", "opt/n_epochs", "opt/clip_range"),
        when="more than 30 % of the samples are clipped, mean of 5 updates (warning: 40 %; critical: 50 %, "
        "where the score does not rise and is no better than at the start)",
        means="Clipped samples no longer contribute: much of the update does nothing, and what is left "
        "moves the policy far. Usually the learning rate is too high or there are too many epochs; a clip "
        "range that a schedule has made small does the same.",
        check=_clip_high,
        advise=lambda look: either(_usual_clip_range(look), _smaller_steps(look)),
        source="Typical values are 0.1 to 0.3 (Metta, esper), gymnasium-solver tolerates 0.5. Measured: "
        "presets that learn well reach 0.4, and one with many short updates on small minibatches (of Ant-v5) "
        "had more than 0.5 and still learned to walk",
        while_learning=True,
    ),
    AlertRule(
        id="update.frozen",
        group="policy update",
        metric="train/kl",
        reads=(
            "train/kl",
            "train/clip_fraction",
            "train/entropy_fraction",
            "train/entropy",
            "train/return/std",
            "opt/lr",
            "opt/n_epochs",
            "opt/entropy_coef",
        ),
        when="KL of 10 updates is below 0.000001, nothing is clipped and the score does not rise; critical "
        "if entropy is below 1 % of its maximum, info if the score is better than at the start",
        means="The policy no longer changes. Either steps are far too small, or it has collapsed to one "
        "action per state, where its gradient is zero: from there it does not come back by itself.",
        check=_frozen,
        advise=_frozen_advice,
        source="measured: CartPole with learning rates of 0.3 and 0.000001",
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="epochs.cut",
        group="policy update",
        metric="train/epochs_done",
        reads=("train/epochs_done", "opt/n_epochs", "opt/target_kl", "opt/lr"),
        when="algo.target_kl stopped at least 8 of 10 updates before half of their epochs were done",
        means="The epochs that were asked for are almost never done: steps are so large that a few of them "
        "reach the KL limit. Smaller steps use the samples better.",
        check=_epochs_cut,
        advise=_epochs_cut_advice,
        warmup=10,
    ),
    AlertRule(
        id="action.dominates",
        group="policy update",
        metric="train/action/top_share",
        reads=("train/action/top_share", "train/return/std", "opt/entropy_coef", "opt/lr"),
        when="one action is more than 95 % of all for 10 updates and the score does not rise (info if it is "
        "better than at the start)",
        means="The agent does nearly the same in every state and no longer sees what other actions would "
        "bring. Usually entropy has collapsed, or a reward term makes one action safe.",
        check=_dominates,
        advise=lambda look: either(
            "look whether doing nothing is rewarded",
            more_entropy(look),
            look.lower("algo.lr", 0.3, at_most=1e-3),
        ),
        warmup=10,
        unless_solved=True,
    ),
    AlertRule(
        id="action.clipped",
        group="policy update",
        metric="train/action/clipped",
        reads=("train/action/clipped",),
        when="after 30 % of the budget more than 70 % of continuous action values lie outside their bounds "
        "(mean of 5 updates) and the score does not rise",
        means="What is outside is clipped before the env sees it, so different actions do the same and the "
        "gradient cannot tell them apart. Means drift out of the bounds, or the standard deviation is too "
        "large for them.",
        check=_clipped,
        advise=lambda look: either(
            look.facts.switch("policy.gaussian", "squashed"),
            look.facts.suggest("policy.log_std_init", -1.0),
        ),
        unless_solved=True,
    ),
)
