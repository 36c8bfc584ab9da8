"""Rules of health about actors: data that is too old, one that holds up the others, a learner that cannot keep up."""

from __future__ import annotations

from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_LAG, _WAIT = "train/policy_lag/max", "cluster/wait_seconds"
_SLOWEST, _MEAN, _QUEUE = "cluster/actor_fps/min", "cluster/actor_fps/mean", "cluster/queue"
_COLLECT, _LEARN, _CLIPPED = "time/collect_seconds", "time/update_seconds", "train/clip_fraction"
_MOST_STEPS = 30  # gradient steps between acting and learning


def _old(look: Look) -> Finding | None:
    lag, epochs, size = look.mean(_LAG, 5), look.setting("algo.n_epochs"), look.facts.rollout_steps
    if lag is None or lag <= 1 or not epochs or not size:
        return None
    batch = look.facts.number("algo.batch_size")
    minibatches = 1.0 if not batch else (1 / batch if batch <= 1 else size / batch)
    steps = lag * epochs * minibatches
    if steps <= _MOST_STEPS:
        return None
    return Finding(
        "warning",
        f"data is {lag:.3g} updates old when it is learned from: {steps:.0f} gradient steps, above {_MOST_STEPS}",
    )


def _slow(look: Look) -> Finding | None:
    slowest, mean, waits = look.mean(_SLOWEST, 10), look.mean(_MEAN, 10), look.mean(_WAIT, 10)
    if slowest is None or not mean or waits is None or slowest >= 0.5 * mean or waits < 0.01:
        return None
    return Finding(
        "warning", f"the slowest actor makes {slowest:.0f} steps/s, the mean is {mean:.0f}; all wait for it"
    )


def _saturated(look: Look) -> Finding | None:
    waits, learns, queue = look.mean(_WAIT, 20), look.mean(_LEARN, 20), look.mean(_QUEUE, 20)
    if waits is None or not learns or not queue or waits > 0.02 * learns:
        return None
    return Finding(
        "info", f"rollouts wait for the learner, which needs {learns:.3g} s each: more actors change nothing"
    )


RULES = (
    AlertRule(
        id="cluster.lag",
        group="run",
        metric=_LAG,
        reads=(_LAG, _CLIPPED),
        when="the data is more than one update old, and more than 30 gradient steps were made meanwhile "
        "(mean of 5 updates)",
        means="The policy has moved away from the one that acted. Clipping leaves out much of such data, and the "
        "rest pulls towards where the policy was.",
        check=_old,
        advise=lambda look: either(
            look.facts.suggest("cluster.lag", 1),
            look.lower("algo.n_epochs", 0.5),
            look.raise_("algo.n_steps", 2),
        ),
        source="Petrenko et al., 2020 (Sample Factory): a lag below 20 to 30 SGD steps costs nothing",
    ),
    AlertRule(
        id="cluster.slow_actor",
        group="run",
        metric=_SLOWEST,
        reads=(_SLOWEST, _MEAN, _WAIT),
        when="the slowest actor makes less than half of the mean steps per second (mean of 10 updates), and the "
        "learner waits",
        means="A rollout is complete when its last part is: one machine that is slow or busy holds up all others.",
        check=_slow,
        advise=lambda look: either(
            look.facts.suggest("cluster.cpus", 2), look.facts.suggest("cluster.lag", 1)
        ),
        by_clock=True,
    ),
    AlertRule(
        id="cluster.learner",
        group="run",
        metric=_WAIT,
        reads=(_WAIT, _LEARN, _QUEUE, _COLLECT),
        when="the learner waits for less than 2 % of the time that it learns (mean of 20 updates)",
        means="Actors are faster than the learner, so that further machines are of no use.",
        check=_saturated,
        advise=lambda look: either(
            look.lower("algo.n_epochs", 0.5), look.facts.suggest("device", "cuda"), "fewer actors do as well"
        ),
        warmup=20,
        by_clock=True,
    ),
)
