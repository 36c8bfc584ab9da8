"""A rule of health about actors that only step: one whose place does not stay filled."""

from __future__ import annotations

from gymnast.metrics.alerts.facts import either
from gymnast.metrics.alerts.look import WINDOW, Look
from gymnast.metrics.alerts.rule import AlertRule, Finding

_LOST = "time/actors/most_lost"  # time/actor_lost/* says which
_OFTEN = 3


def _flapping(look: Look) -> Finding | None:
    window = look.windows.get(_LOST)
    if window is None or not window.values:
        return None
    times = window.values[-1] - (window.values[0] if window.seen > WINDOW else 0.0)
    if times < _OFTEN:
        return None
    return Finding("warning", f"the actor in one place was lost {times:.0f} times of late")


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
        source="three in a row are unlikely to be chance; the number is our own choice",
        warmup=0,
        raise_after=1,
        by_clock=True,  # what is lost depends on the machines
    ),
)
