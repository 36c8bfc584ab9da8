"""The table of symptoms and edits: what to change when something is seen, from the values of now.

An edit is one coherent group of settings. Its arm, `symptom → what is done`, has counts of wins and losses
that are kept across projects (arms.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gymnast.metrics.alerts.alert import Severity
from gymnast.tune.evidence import Symptom
from gymnast.tune.present import Changes, Present, towards_one

# Settings that act from one update to the next: a run may be forked with another value of them. All others
# (the network, the discount, how much is collected) need a run from its beginning.
SCHEDULE_LIKE = frozenset(
    f"algo.{name}"
    for name in (
        "lr", "critic_lr", "entropy_coef", "clip_range", "value_clip_range", "n_epochs", "target_kl",
        "gae_lambda", "value_coef", "max_grad_norm",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to try."""

    arm: str  # 'steps-too-large → lr lower'
    changes: Changes
    why: str
    is_first: bool = False  # the most direct one for its symptom
    votes: int = 1  # how many symptoms ask for this kind of edit

    @property
    def kind(self) -> str:
        return self.arm.partition(" → ")[2]


def may_fork(key: str) -> bool:
    """Whether a run can continue with another value of this setting."""
    return key in SCHEDULE_LIKE or key.rpartition(".")[0] in SCHEDULE_LIKE


def edits_for(present: Present, symptoms: Sequence[Symptom]) -> Iterator[Edit]:
    """Every edit that the symptoms ask for and that changes something, the worst symptom's first."""
    made = [
        (symptom, name, place, make(present, symptom.severity))
        for symptom in symptoms
        for place, (name, make) in enumerate(_TABLE.get(symptom.name, {}).items())
    ]
    votes = Counter(name for _, name, _, changes in made if changes)
    seen: set[str] = set()
    for symptom, name, place, changes in made:
        text = repr(sorted(changes.items()))
        if changes and text not in seen:
            seen.add(text)
            yield Edit(f"{symptom.name} → {name}", changes, symptom.seen, place == 0, votes[name])


_SHORT = 32  # steps; a rollout that is shorter gets this long at once

Make = Callable[[Present, Severity], Changes]


def _by(severity: Severity, info: float, warning: float, critical: float) -> float:
    return {"info": info, "warning": warning, "critical": critical}[severity]


def _lower_lr(p: Present, s: Severity) -> Changes:
    return p.times("algo.lr", _by(s, 0.5, 0.3, 0.1), low=1e-6)


def _higher_lr(p: Present, s: Severity) -> Changes:
    return p.times("algo.lr", _by(s, 2.0, 3.0, 5.0), high=0.05)


def _more_entropy(p: Present, s: Severity) -> Changes:
    return p.times("algo.entropy_coef", _by(s, 2.0, 3.0, 5.0), zero=_by(s, 0.01, 0.02, 0.03), high=0.2)


def _less_entropy(p: Present, s: Severity) -> Changes:
    return p.times("algo.entropy_coef", 1 / _by(s, 2.0, 3.0, 5.0))


def _longer_entropy(p: Present, s: Severity) -> Changes:
    schedule = p.get("algo.entropy_coef")
    start = p.number("algo.entropy_coef")
    return {"algo.entropy_coef": start} if start and getattr(schedule, "end", None) == 0 else {}


def _longer_rollouts(p: Present, s: Severity) -> Changes:
    steps = p.get("algo.n_steps")
    if not isinstance(steps, int):
        return {}
    longer = min(2048, max(_SHORT, steps * (4 if steps < 64 else 2)))
    changes: Changes = {"algo.n_steps": longer}
    size = p.get("algo.batch_size")
    if isinstance(size, (int, float)) and size > 1:  # the share of the rollout stays
        changes["algo.batch_size"] = int(size * longer // steps)
    return changes if longer != steps else {}


def _further_sight(p: Present, s: Severity) -> Changes:
    gamma = p.number("algo.gamma")
    if gamma is None or gamma >= 0.999:
        return {}
    return p.to("algo.gamma", min(0.999, towards_one(gamma, 0.1 if gamma < 0.95 else 0.25)))


def _longer_trace(p: Present, s: Severity) -> Changes:
    trace = p.number("algo.gae_lambda")
    return {} if trace is None or trace >= 0.99 else p.to("algo.gae_lambda", towards_one(trace, 0.4))


def _fewer_epochs(p: Present, s: Severity) -> Changes:
    return p.times("algo.n_epochs", 0.5, low=1)


def _more_epochs(p: Present, s: Severity) -> Changes:
    now = p.number("algo.n_epochs")
    return {} if now is None else p.to("algo.n_epochs", min(20.0, round(max(now + 2, now * 1.5))))


def _target_kl(p: Present, s: Severity) -> Changes:
    has = "target_kl" in type(p.config.algo).model_fields and p.get("algo.target_kl") is None
    return {"algo.target_kl": 0.02} if has else {}


def _larger_batch(p: Present, s: Severity) -> Changes:
    size, n_envs, steps = p.get("algo.batch_size"), p.get("env.n_envs"), p.get("algo.n_steps")
    if not isinstance(size, (int, float)):
        return {}
    most = n_envs * steps if isinstance(n_envs, int) and isinstance(steps, int) else size * 2
    larger = min(int(size * 2), most) if size > 1 else min(size * 2, 1.0)
    return {"algo.batch_size": larger} if larger > size else {}


def _critic_lr(p: Present, s: Severity) -> Changes:
    if p.get("algo.critic_lr") is not None:
        return p.times("algo.critic_lr", 2.0, high=0.1)
    now = p.number("algo.lr")
    return {} if not now else {"algo.critic_lr": float(f"{2 * now:.3g}")}


def _value_coef(p: Present, s: Severity) -> Changes:
    return p.times("algo.value_coef", 2.0, high=4.0)


def _scaled_rewards(p: Present, s: Severity) -> Changes:
    return {} if p.get("algo.normalize_reward") in (True, None) else {"algo.normalize_reward": True}


def _tighter_clipping(p: Present, s: Severity) -> Changes:
    return p.times("algo.max_grad_norm", 0.5, low=0.05, zero=0.5)


def _value_clip(p: Present, s: Severity) -> Changes:
    has = "value_clip_range" in type(p.config.algo).model_fields
    return {"algo.value_clip_range": 0.2} if has and p.get("algo.value_clip_range") is None else {}


def _wider(p: Present, s: Severity) -> Changes:
    hidden = p.get("policy.hidden")
    wide = [min(512, 2 * width) for width in hidden or ()]
    return {"policy.hidden": wide} if wide and wide != list(hidden) else {}


def _more_envs(p: Present, s: Severity) -> Changes:
    n_envs = p.get("env.n_envs")
    return {"env.n_envs": 2 * n_envs} if isinstance(n_envs, int) and n_envs < 256 else {}


def _decaying_lr(p: Present, s: Severity) -> Changes:
    rate, start = p.get("algo.lr"), p.number("algo.lr")
    if start is None or getattr(rate, "kind", "") == "points" or getattr(rate, "end", None) == 0:
        return {}
    return {"algo.lr": {"kind": "linear", "start": start, "end": 0.0}}


def _smaller_clip(p: Present, s: Severity) -> Changes:
    return p.times("algo.clip_range", 1 / 1.5, low=0.05)


def _layer_norm(p: Present, s: Severity) -> Changes:
    return {} if p.get("policy.layer_norm") else {"policy.layer_norm": True}


def _tanh(p: Present, s: Severity) -> Changes:
    return {} if p.get("policy.activation") == "tanh" else {"policy.activation": "tanh"}


_TABLE: dict[str, dict[str, Make]] = {
    "steps-too-large": {
        "lr lower": _lower_lr,
        "fewer epochs": _fewer_epochs,
        "target KL": _target_kl,
        "larger batch": _larger_batch,
    },
    "steps-too-small": {"lr higher": _higher_lr, "more epochs": _more_epochs},
    "entropy-collapses": {
        "more entropy": _more_entropy,
        "lr lower": _lower_lr,
        "entropy bonus to the end": _longer_entropy,
        "longer rollouts": _longer_rollouts,
    },
    "entropy-stays": {
        "less entropy": _less_entropy,
        "lr higher": _higher_lr,
        "further sight": _further_sight,
    },
    "critic-blind": {
        "critic lr higher": _critic_lr,
        "value coef higher": _value_coef,
        "rewards scaled": _scaled_rewards,
        "longer trace": _longer_trace,
    },
    "explodes": {
        "gradients clipped tighter": _tighter_clipping,
        "rewards scaled": _scaled_rewards,
        "values clipped": _value_clip,
        "lr lower": _lower_lr,
    },
    "plateau": {
        "longer rollouts": _longer_rollouts,
        "further sight": _further_sight,
        "more entropy": _more_entropy,
        "wider network": _wider,
        "more envs": _more_envs,
    },
    "drops": {
        "lr decays to 0": _decaying_lr,
        "smaller clip range": _smaller_clip,
        "fewer epochs": _fewer_epochs,
        "lr lower": _lower_lr,
    },
    "units-die": {"layer norm": _layer_norm, "lr lower": _lower_lr, "tanh": _tanh},
    "horizon-short": {"further sight": _further_sight, "longer trace": _longer_trace},
}  # fmt: skip
