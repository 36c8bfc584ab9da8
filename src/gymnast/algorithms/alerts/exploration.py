"""Rules of health about how much the policy still explores."""

from __future__ import annotations

from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import WINDOW, Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_SHARE = "train/entropy_fraction"
_ENTROPY = (_SHARE, "train/entropy", "opt/entropy_coef", "opt/lr")


def entropy_share(look: Look, n: int) -> float | None:
    """Entropy as a fraction of its maximum, mean of n updates; None for continuous actions."""
    share = look.mean(_SHARE, n)
    if share is not None or look.facts.names is None:
        return share
    # Another library's file may not show what the maximum was. A policy of continuous actions does not stay
    # at 0 nats: one that does has collapsed.
    nats = look.values("train/entropy", n)
    return 0.0 if nats is not None and max(nats) < 1e-3 and min(nats) > -1e-3 else None


def collapsed(look: Look) -> bool:
    """Whether the policy has become almost deterministic: then other signs are signs of that."""
    share = entropy_share(look, 5)
    return share is not None and share < 0.05


def _collapse(look: Look) -> Finding | None:
    share = entropy_share(look, 5)
    if share is None:
        return _std_collapse(look)
    if not share < 0.05:
        return None
    critical = share < 0.01 and not_learning(look)
    text = f"entropy is {share:.2%} of its maximum (mean of 5 updates)"
    return Finding("critical" if critical else "warning", text)


def _std_collapse(look: Look) -> Finding | None:
    """Continuous actions have no highest entropy: their spread is compared with what it was."""
    std, first = look.mean("train/action_std", 5), look.first("train/action_std", 1)
    if std is None or not first or not std < 0.05 * first:
        return None
    text = f"the std of actions is {std:.2g}, {std / first:.1%} of its first value"
    if above_start(look):  # precise work needs a small one
        return Finding("info", text, "train/action_std")
    critical = std < 0.01 * first and look.score.flat()
    return Finding("critical" if critical else "warning", text, "train/action_std")


def _fast(look: Look) -> Finding | None:
    progress = look.progress
    if progress is None or progress > 0.2:
        return None
    share, first = entropy_share(look, 5), look.first(_SHARE)
    if share is None or not first or not share < 0.25 * first or above_start(look):
        return None
    return Finding(
        "warning", f"entropy fell to {share / first:.0%} of its start in {progress:.0%} of the run"
    )


def _stuck(look: Look) -> Finding | None:
    if not look.late:
        return None
    share = entropy_share(look, 5)
    if share is None or not share > 0.95 or not not_learning(look):
        return None
    return Finding("warning", f"entropy is still {share:.1%} of its maximum, and the score is as at first")


def not_learning(look: Look) -> bool:
    """Whether the score does not rise and never has: what is odd then is a reason, not a success."""
    return look.score.flat() and not above_start(look)


def above_start(look: Look) -> bool:
    """Whether the score has left what an untrained policy gets, by the spread of its episodes."""
    points, start = look.score.points, look.score.start
    if not points or start is None:
        return False
    newest = points[-5:]
    spread = look.last("train/return/std")
    if spread is None:  # of another library, which does not log it
        spread = max(0.1 * look.score.range, 3 * look.score.noise)
    return sum(score for _, score in newest) / len(newest) - start > spread


def _oscillates(look: Look) -> Finding | None:
    shares = look.values(_SHARE, WINDOW)
    if shares is None or max(shares) - min(shares) < 0.2:  # a std above 0.1 needs more
        return None
    std = _detrended_std(shares)
    if not std > 0.1:
        return None
    return Finding("warning", f"entropy swings by {std:.0%} of its maximum around its trend")


def _detrended_std(values: list[float]) -> float:
    """Standard deviation around the straight line through the values."""
    n, mean = len(values), sum(values) / len(values)
    middle = (n - 1) / 2
    slope = sum((i - middle) * value for i, value in enumerate(values)) / sum(
        (i - middle) ** 2 for i in range(n)
    )
    return float((sum((v - mean - slope * (i - middle)) ** 2 for i, v in enumerate(values)) / n) ** 0.5)


def _not_uniform(look: Look) -> Finding | None:
    share = look.last(_SHARE) if look.updates == 1 else None
    if share is None or not share < 0.95:
        return None
    if max(look.recent("train/kl"), default=0.0) > 0.1:  # not the start: the first update did it
        return None
    return Finding("warning", f"the first policy has only {share:.0%} of the maximum entropy")


def more_entropy(look: Look) -> str:
    """A larger entropy bonus: twice the present one, 0.01 at least."""
    return look.facts.suggest("algo.entropy_coef", max(0.01, 2 * (look.setting("algo.entropy_coef") or 0.0)))


def _less(look: Look) -> str:
    return "" if look.setting("algo.entropy_coef") == 0 else look.lower("algo.entropy_coef", 0.1)


RULES = (
    AlertRule(
        id="entropy.collapse",
        group="exploration",
        metric="train/entropy",
        reads=(*_ENTROPY, "train/action_std", "train/return/std"),
        when="entropy is below 5 % of its maximum (mean of 5 updates) and the run is not solved; critical "
        "below 1 % while the score is no better than at the start. For continuous actions the same with "
        "their std, below 5 % and 1 % of its first value (info if the score is better than at the start)",
        means="The policy has become almost deterministic before it solved the task: it tries nothing new, "
        "so it learns nothing new. Usually the learning rate is too high, the entropy bonus too small, or "
        "a large reward was found early that is not the best one.",
        check=_collapse,
        advise=lambda look: either(look.lower("algo.lr", 0.3, at_most=1e-3), more_entropy(look)),
        source="Jones, Debugging RL: relative entropy; Schulman: a premature drop means no learning",
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="entropy.fast",
        group="exploration",
        metric="train/entropy",
        reads=(*_ENTROPY, "train/return/std", "time/progress"),
        when="within the first 20 % of the budget entropy falls below 25 % of its first 5 values while the "
        "score is no better than at the start",
        means="The policy settles before it has seen much. Usually the learning rate is too high or the "
        "entropy bonus too small.",
        check=_fast,
        advise=lambda look: either(more_entropy(look), look.lower("algo.lr", 0.3, at_most=1e-3)),
        source="ML-Agents: if entropy falls too quickly, raise beta",
        unless_solved=True,
    ),
    AlertRule(
        id="entropy.stuck",
        group="exploration",
        metric="train/entropy",
        reads=(*_ENTROPY, "train/return/std", "env/reward/nonzero"),
        when="after 30 % of the budget entropy is above 95 % of its maximum and the score is no better than "
        "at the start",
        means="The policy still acts at random. Either rewards carry no signal (none are found, or they do "
        "not depend on the actions), or the learning rate is far too low, or the entropy bonus outweighs the "
        "reward.",
        check=_stuck,
        advise=lambda look: either(
            "" if look.last("env/reward/nonzero") != 0 else "no reward was found: make it denser",
            _less(look),
            look.facts.switch("algo.normalize_reward", True),
            look.raise_("algo.lr", 10.0, at_most=1e-3, at_least=1e-4),
        ),
        source="Jones, Debugging RL: stays very near 1; seen at 0.92 to 1.0",
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="entropy.oscillates",
        group="exploration",
        metric="train/entropy",
        reads=_ENTROPY,
        when="around its trend over 20 updates, entropy has a standard deviation above 10 % of its maximum",
        means="The policy swings between nearly random and nearly deterministic: each update undoes what the "
        "one before did. Usually the learning rate is too high, or rollouts are too small.",
        check=_oscillates,
        advise=lambda look: either(
            look.lower("algo.lr", 0.3, at_most=1e-3), look.raise_("algo.n_steps", 2.0)
        ),
        source="Jones, Debugging RL: oscillates wildly if the learning rate is too high",
        unless_solved=True,
    ),
    AlertRule(
        id="init.notuniform",
        group="exploration",
        metric="train/entropy",
        reads=(*_ENTROPY, "train/kl"),
        when="in the first update entropy is below 95 % of its maximum",
        means="A new policy should try all actions about equally. One that begins with a preference sees "
        "little of the others. Usually the action head starts with large weights, or observations are large "
        "and not normalised.",
        check=_not_uniform,
        advise=lambda look: either(
            look.facts.switch("policy.normalize_obs", "running"),
            look.facts.switch("policy.actor_gain", 0.01),
        ),
        source="Schulman: a zero or tiny final layer",
        warmup=0,
        raise_after=1,
    ),
)
