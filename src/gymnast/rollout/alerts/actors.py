"""A rule of health about actors that only step: one whose place does not stay filled."""

from __future__ import annotations

from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import WINDOW, Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_LOST = "time/actor_lost/*"
_OFTEN = 3


def _flapping(look: Look) -> Finding | None:
    for key in look.matching(_LOST):
        window = look.windows[key]
        times = window.values[-1] - (window.values[0] if window.seen > WINDOW else 0.0)
        if times >= _OFTEN:
            place = key.rpartition("/")[2]
            return Finding("warning", f"the actor in place {place} was lost {times:.0f} times of late", key)
    return None


RULES = (
    AlertRule(
        id="actors.flapping",
        group="run",
        metric=_LOST,
        reads=(_LOST,),
        when=f"the actor in one place was lost {_OFTEN} times or more within {WINDOW} updates",
        means="Each loss cuts off the episodes of a share of the envs, and everyone waits until the place is "
        "filled again. A machine that is overloaded, a network that breaks off, or an env that crashes its "
        "process does this; the log says how each actor was lost.",
        check=_flapping,
        advise=lambda look: either(
            "leave out that machine, or the env's settings that crash it",
            look.facts.suggest("env.restarts.timeout", 2 * (look.facts.number("env.restarts.timeout") or 60)),
        ),
        source="three in a row are no accident; the number is our own",
        warmup=0,
        raise_after=1,
    ),
)
