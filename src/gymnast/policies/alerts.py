"""Rules of health about gradients and the network."""

from __future__ import annotations

from gymnast.algorithms.alerts.exploration import above_start, collapsed, more_entropy, not_learning
from gymnast.metrics.alerts.facts import either, nice
from gymnast.metrics.alerts.look import WINDOW, Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_FINITE = (
    "train/loss/total",
    "train/loss/policy",
    "train/loss/value",
    "train/loss/entropy",
    "train/entropy",
    "train/kl",
    "train/value/mean",
    "train/advantage/mean",
    "train/advantage/std",
    "train/return/mean",
    "opt/grad_norm",
    "env/reward/mean",
    "env/obs/mean",
    "env/obs/std",
)
_NORM, _LIMIT = "opt/grad_norm", "opt/max_grad_norm"


def _not_finite(look: Look) -> Finding | None:
    key = next((key for key in _FINITE if key in look.broken), None) if look.broken else None
    return None if key is None else Finding("critical", f"{key} is {look.broken[key]}", key)


def _grad_clipped(look: Look) -> Finding | None:
    limit, norm = look.last(_LIMIT), look.last(_NORM)
    if not limit or norm is None or not norm > 10 * limit:
        return None
    norms = look.values(_NORM, WINDOW)
    if norms is None or not look.late or not look.score.flat():
        return None
    over = sum(each > 10 * limit for each in norms)
    if over < 0.8 * WINDOW:
        return None
    text = f"gradients are {norm / limit:.0f} × the norm they are clipped to"
    return Finding("info" if above_start(look) else "warning", text)


def _grad_explode(look: Look) -> Finding | None:
    norm = max(look.recent(_NORM), default=0.0)
    if not norm > 10 * (look.last(_LIMIT) or 0.1):
        return None
    usual = look.median(_NORM)
    if usual is None or not norm > 100 * usual:
        return None
    # Five in a row: among short rollouts, only those with an episode's end may have a gradient to speak of.
    lasting = min(look.values(_NORM, 5) or (0.0,)) > 100 * usual
    peak = look.peak(_NORM)
    if not lasting and peak is not None and norm < peak[0]:
        return None  # it has been larger: where all went well for a while, the median is small
    text = f"the gradient's norm is {norm:.3g}, {norm / max(usual, 1e-12):.3g} × its median"
    return Finding("critical" if lasting else "warning", text)


def _grad_vanish(look: Look) -> Finding | None:
    for key in (_NORM, *look.matching("opt/grad_norm/*")):
        norm = look.last(key)
        if norm is None or not norm < 1e-7:
            continue
        norms = look.values(key, 5)
        if norms is not None and max(norms) < 1e-7:
            of = "the gradient" if key == _NORM else f"the gradient of {_part(key)}"
            text = f"the norm of {of} is {norm:.1g}, over 5 updates"
            done = look.score.flat() and above_start(look)
            return Finding("info" if done else "warning", text, key)
    return None


def _step_ratio(look: Look) -> Finding | None:
    least = largest = None
    for key in look.matching("net/step_ratio/*"):
        ratio = look.mean(key, 3)
        if ratio is None:
            continue
        if ratio > 1e-2 and (largest is None or ratio > largest[1]):
            largest = key, ratio
        elif 0 < ratio < 1e-5 and (least is None or ratio < least[1]):
            least = key, ratio
    if largest is not None:
        key, ratio = largest
        text = f"one step changes {_part(key)} by {ratio:.1%} of its weights"
        return Finding("warning" if ratio > 0.1 or (look.late and not_learning(look)) else "info", text, key)
    if least is None or look.solved or look.schedule_ended or collapsed(look) or not look.score.flat():
        return None
    key, ratio = least
    return Finding("info", f"one step changes {_part(key)} by {ratio:.1g} of its weights", key)


def _step_advice(look: Look) -> str:
    ratios = [r for key in look.matching("net/step_ratio/*") if (r := look.mean(key, 3)) is not None]
    largest = max(ratios, default=0.0)
    if largest > 1e-2:
        return look.lower("algo.lr", max(0.01, min(0.3, 1e-3 / largest)))
    return look.raise_("algo.lr", 10.0, at_least=1e-4)


def _dead(look: Look) -> Finding | None:
    worst = _worst(look, "net/dead/*", 0.1)
    if worst is None:
        return None
    key, share = worst
    first = look.windows[key].first
    if not share > first[-1] + 0.05 or not look.score.flat():
        return (
            None  # never alive: a matter of the inputs; or no harm: states that a good policy sees are alike
        )
    text = f"{share:.0%} of the hidden units of {_part(key)} are dead"
    if share > 0.5 and not_learning(look):
        return Finding("critical", text, key)
    return Finding("warning" if share > 0.25 else "info", text, key)


def _dormant(look: Look) -> Finding | None:
    worst = _worst(look, "net/dormant/*", 0.25)
    if worst is None:
        return None
    key, share = worst
    text = f"{share:.0%} of the hidden units of {_part(key)} are dormant"
    return Finding("warning" if share > 0.5 and not_learning(look) else "info", text, key)


def _saturated(look: Look) -> Finding | None:
    worst = _worst(look, "net/saturated/*", 0.25)
    if worst is None:
        return None
    key, share = worst
    return Finding("info", f"{share:.0%} of the tanh units of {_part(key)} are saturated", key)


def _worst(look: Look, pattern: str, limit: float) -> tuple[str, float] | None:
    """The part whose mean of 3 observed updates is highest, if that is above the limit."""
    worst: tuple[str, float] | None = None
    for key in look.matching(pattern):
        share = look.mean(key, 3)
        if share is not None and share > limit and (worst is None or share > worst[1]):
            worst = key, share
    return worst


def _rank(look: Look) -> Finding | None:
    for key in look.matching("net/rank/*"):
        rank, highest = look.mean(key, 3), look.windows[key].high
        if rank is None or highest < 4 or not (rank < 2 or rank < 0.1 * highest) or not look.score.flat():
            continue  # a small input has a small rank, and a rank that falls while learning is no harm
        text = f"the features of {_part(key)} have rank {rank:.1f}; it was {highest:.1f}"
        return Finding("critical" if rank < 2 and not_learning(look) else "warning", text, key)
    return None


def _part(key: str) -> str:
    return f"the {key.rsplit('/', 1)[1]}"


def _revive(look: Look) -> str:
    """Against units that have lost their function."""
    return either(
        look.facts.switch("policy.normalize_obs", "running"),
        look.lower("algo.lr", 0.3, at_most=1e-3),
        look.facts.switch("policy.layer_norm", True),
    )


def _finite_advice(look: Look) -> str:
    size = look.last("train/target/abs_max")
    small = size is not None and size < 100  # then it does not come from the rewards
    return either(
        "" if small else look.facts.switch("algo.normalize_reward", True),
        look.facts.switch("policy.normalize_obs", "running"),
        look.lower("algo.lr", 0.1, at_most=1e-3),
        _tighter_limit(look),
    )


def _tighter_limit(look: Look) -> str:
    limit = look.setting("algo.max_grad_norm")
    return look.facts.suggest("algo.max_grad_norm", 0.5) if not limit or limit > 0.5 else ""


def _clipped_advice(look: Look) -> str:
    norm = look.mean(_NORM, 5) or 0.0
    return either(
        look.facts.switch("algo.normalize_reward", True),
        look.facts.switch("policy.popart", True),
        look.lower("algo.value_coef", 0.3),
        look.facts.suggest("algo.max_grad_norm", nice(norm)) if norm else "",
    )


RULES = (
    AlertRule(
        id="nan",
        group="network",
        metric="train/loss/total",
        reads=(*_FINITE, _LIMIT, "opt/lr", "train/target/abs_max"),
        when="a loss, the gradient, a value, an advantage, a reward or an observation is NaN or infinite",
        means="Once a weight is NaN, everything is: the run ends there, and its checkpoints from before are "
        "intact. It comes from an env that returns NaN, from rewards or observations that are far too large, "
        "or from steps that are.",
        check=_not_finite,
        advise=_finite_advice,
        warmup=0,
        raise_after=1,
    ),
    AlertRule(
        id="grad.clipped",
        group="network",
        metric=_NORM,
        reads=(_NORM, _LIMIT, "opt/value_coef", "train/return/std"),
        when="after 30 % of the budget the gradient's norm is more than 10 × algo.max_grad_norm in 80 % of "
        "20 updates, and the score does not rise (info if it is better than at the start)",
        means="Every step is cut to the same length, whatever the samples say, and its direction is mostly "
        "that of the largest loss: usually the value loss, whose targets are too large.",
        check=_grad_clipped,
        advise=_clipped_advice,
        warmup=WINDOW,
        unless_solved=True,
        while_learning=True,
    ),
    AlertRule(
        id="grad.explode",
        group="network",
        metric=_NORM,
        reads=(_NORM, _LIMIT, "opt/lr"),
        when="the gradient's norm is more than 100 × the median of the updates before, 10 × the norm it "
        "is clipped to and the highest so far (critical: in 5 updates in a row, the highest or not)",
        means="One update was driven by a few extreme samples, or the network is about to diverge. Usually "
        "rewards or observations came that are far larger than all before.",
        check=_grad_explode,
        advise=lambda look: either(
            look.facts.switch("algo.normalize_reward", True),
            look.facts.switch("policy.normalize_obs", "running"),
            look.lower("algo.lr", 0.3, at_most=1e-3),
            _tighter_limit(look),
        ),
        source="esper",
        warmup=10,
        raise_after=1,
    ),
    AlertRule(
        id="grad.vanish",
        group="network",
        metric=_NORM,
        reads=(
            _NORM,
            "opt/grad_norm/*",
            "train/entropy_fraction",
            "train/entropy",
            "opt/lr",
            "opt/entropy_coef",
            "train/return/std",
        ),
        when="the norm of the gradient, or of one part's, is below 0.0000001 for 5 updates (info if "
        "the score is better than at the start, and stays there)",
        means="That part of the network no longer learns. The policy has collapsed to one action per state, "
        "its units are saturated or dead, or rewards are all the same.",
        check=_grad_vanish,
        advise=lambda look: either(
            "" if collapsed(look) else "check that rewards depend on actions",
            more_entropy(look),
            look.lower("algo.lr", 0.3, at_most=1e-3),
        ),
        unless_solved=True,
    ),
    AlertRule(
        id="step.ratio",
        group="network",
        metric="net/step_ratio/*",
        reads=("net/step_ratio/*", "opt/lr", "train/entropy_fraction", "train/entropy", "train/return/std"),
        when="one gradient step changes a part's weights by more than 1 % of their norm (info; warning: more "
        "than 10 %, or late, the score no better than at the start), or by less than 0.001 % while the "
        "score does not rise (info); mean of 3 observed updates",
        means="About 0.1 % is healthy. Much larger steps jump over what they aim at; much smaller ones learn "
        "nothing in the time there is. Both are matters of the learning rate.",
        check=_step_ratio,
        advise=_step_advice,
        source="Karpathy, cs231n: about 0.001",
    ),
    AlertRule(
        id="units.dead",
        group="network",
        metric="net/dead/*",
        reads=("net/dead/*", "opt/lr", "train/return/std"),
        when="more than 10 % of a part's hidden units give the same for every sample, more than at the "
        "start, and the score does not rise (warning: 25 %; critical: 50 %, the score no better than at the "
        "start)",
        means="Such units carry no information and get no gradient: the network has become smaller. Usually "
        "steps were too large, or inputs are large and not normalised.",
        check=_dead,
        advise=_revive,
        source="Moalla et al., 2024 (arXiv:2405.00662)",
        unless_solved=True,
    ),
    AlertRule(
        id="units.dormant",
        group="network",
        metric="net/dormant/*",
        reads=("net/dormant/*", "opt/lr", "train/return/std"),
        when="more than 25 % of a part's hidden units are dormant: a mean activation of at most 0.025 of "
        "their layer's (warning: 50 %, the score no better than at the start)",
        means="Dormant units hardly take part. Many of them mean that the network has lost much of its "
        "ability to learn something new.",
        check=_dormant,
        advise=_revive,
        source="Sokar et al., 2023 (arXiv:2302.12902)",
    ),
    AlertRule(
        id="rank.collapse",
        group="network",
        metric="net/rank/*",
        reads=("net/rank/*", "opt/lr", "opt/n_epochs", "train/return/std"),
        when="the effective rank of a part's features was 4 or more and is below 10 % of its highest "
        "or below 2, and the score does not rise (critical: below 2, the score no better than at the start)",
        means="The network tells few states apart: its features have become copies of each other. In PPO "
        "this comes before a collapse of the score. Fewer epochs and smaller steps prevent it.",
        check=_rank,
        advise=lambda look: either(
            look.lower("algo.lr", 0.3, at_most=1e-3),
            look.lower("algo.n_epochs", 0.5),
            look.facts.switch("policy.layer_norm", True),
        ),
        source="Moalla et al., 2024 (arXiv:2405.00662)",
        unless_solved=True,
    ),
    AlertRule(
        id="tanh.saturated",
        group="network",
        metric="net/saturated/*",
        reads=("net/saturated/*", "opt/lr"),
        when="more than 25 % of a part's tanh activations are beyond ±0.97, mean of 3 observed updates",
        means="A saturated unit passes on almost no gradient. Usually inputs are large and not normalised, "
        "or steps were too large.",
        check=_saturated,
        advise=_revive,
        source="Karpathy: below 5 % is healthy",
    ),
)
