"""Rules of health about actors: data that is too old, one that holds up all, a learner that is too slow."""

from __future__ import annotations

from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_LAG, _SLOWEST = "train/policy_lag/max", "time/actors/slowest"
_WAIT, _QUEUE, _ACTORS = "time/actors/wait_seconds", "time/actors/queue_depth", "time/actors/connected"
_LEARN = "time/update_seconds"
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
        f"data is {lag:.3g} updates old: {steps:.0f} gradient steps, above {_MOST_STEPS}",
    )


def _slow(look: Look) -> Finding | None:
    slowest, waits, learns = look.mean(_SLOWEST, 10), look.mean(_WAIT, 10), look.mean(_LEARN, 10)
    if slowest is None or waits is None or learns is None or slowest >= 0.5 or waits < 0.1 * learns:
        return None
    return Finding("warning", f"the slowest actor makes {slowest:.0%} of the mean steps/s; all wait for it")


def _saturated(look: Look) -> Finding | None:
    waits, learns = look.mean(_WAIT, 20), look.mean(_LEARN, 20)
    queue, actors = look.mean(_QUEUE, 20), look.mean(_ACTORS, 20)
    if waits is None or not learns or not queue or not actors or waits > 0.02 * learns:
        return None
    if queue < 0.9 * actors:
        return None
    return Finding(
        "info",
        f"{queue:.3g} of {actors:.3g} actors are done before the learner, which takes {learns:.3g} s",
    )


RULES = (
    AlertRule(
        id="cluster.lag",
        group="run",
        metric=_LAG,
        reads=(_LAG,),
        when="the data is more than one update old, and more than 30 gradient steps were made meanwhile "
        "(mean of 5 updates)",
        means="The policy has moved away from the one that acted. Clipping leaves out much of such data, and "
        "the rest pulls towards where the policy was.",
        check=_old,
        advise=lambda look: either(
            look.facts.suggest("cluster.lag", 1),
            look.lower("algo.n_epochs", 0.5),
            look.raise_("algo.n_steps", 2.0),
        ),
        source="Petrenko et al., 2020 (Sample Factory): a lag below 20 to 30 SGD steps costs nothing",
    ),
    AlertRule(
        id="cluster.slow_actor",
        group="run",
        metric=_SLOWEST,
        reads=(_SLOWEST, _WAIT, _LEARN),
        when="the slowest actor makes less than half of the mean steps per second (mean of 10 updates), and "
        "the learner waits for actors for more than a tenth of the time that it learns",
        means="A rollout is complete when its last part is: one machine that is slow or busy holds up all.",
        check=_slow,
        advise=lambda look: either(
            look.facts.switch("cluster.lag", 1), "leave that machine out, or give actors cluster.cpus: 2"
        ),
        by_clock=True,
    ),
    AlertRule(
        id="cluster.learner",
        group="run",
        metric=_QUEUE,
        reads=(_WAIT, _LEARN, _QUEUE, _ACTORS),
        when="nine in ten actors are done when the learner comes for their rollout, and it waits for less "
        "than 2 % of the time that it learns (mean of 20 updates)",
        means="Actors are faster than the learner, so that further machines are of no use.",
        check=_saturated,
        advise=lambda look: either(look.lower("algo.n_epochs", 0.5), "use a GPU, or fewer actors"),
        warmup=20,
        by_clock=True,
    ),
)
