"""The numbers of a comparison as words, for tables in the terminal and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymnast.errors import cut
from gymnast.metrics.sinks.console import duration, short

if TYPE_CHECKING:
    from collections.abc import Callable

    from gymnast.api import Comparison
    from gymnast.api.compare import Aggregate, Difference, Interval, RunResult


def score(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.2f}" if 0.1 <= abs(value) < 1e7 or value == 0 else f"{value:.3g}"


def _censored(value: str | None, reached: bool | None, limit: str, brief: bool) -> str:
    if reached is None:
        return ""
    return value if reached and value is not None else f"{'' if brief else 'not reached, '}> {limit}"


def steps_to_threshold(result: RunResult, brief: bool = False) -> str:
    """`31k`, or that it was not reached in the steps that were taken."""
    steps = None if result.steps_to_threshold is None else short(result.steps_to_threshold)
    return _censored(steps, result.reached, short(result.env_steps), brief)


def seconds_to_threshold(result: RunResult, brief: bool = False) -> str:
    seconds = None if result.seconds_to_threshold is None else duration(result.seconds_to_threshold)
    return _censored(seconds, result.reached, duration(result.seconds), brief)


def area(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def run_columns(brief: bool) -> dict[str, Callable[[Comparison, int], str]]:
    """The columns of the table of runs, by their headings; `brief` where there is little room."""
    return {
        "run": lambda found, i: f"{found.letter_of_run(i)} {found.runs[i].id}".strip(),
        "status": lambda found, i: found.runs[i].state,
        "env steps": lambda found, i: short(found.results[i].env_steps),
        "time": lambda found, i: duration(found.results[i].seconds),
        "final": lambda found, i: score(found.results[i].final),
        "best": lambda found, i: score(found.results[i].best),
        "steps to threshold": lambda found, i: steps_to_threshold(found.results[i], brief),
        "time to threshold": lambda found, i: seconds_to_threshold(found.results[i], brief),
        "score AUC": lambda found, i: score(found.results[i].score_auc),
        "area": lambda found, i: area(found.results[i].area),
    }


def interval(found: Interval | None) -> str:
    return "" if found is None else f"[{score(found.low)}, {score(found.high)}]"


def interval_cell(one: Aggregate) -> str:
    """The interval, or the points themselves where there are too few for one."""
    if one.interval is None:
        return f"{one.caveat}: {', '.join(score(value) for value in one.scores)}"
    return interval(one.interval) + (f" {one.caveat}" if one.caveat else "")


GROUP_COLUMNS: dict[str, Callable[[Aggregate], str]] = {
    "runs": lambda one: str(one.runs),
    "IQM": lambda one: score(one.iqm),
    "95 % interval": interval_cell,
    "median": lambda one: score(one.median),
    "gap": lambda one: score(one.optimality_gap),
    "reached": lambda one: "" if one.reached is None else f"{one.reached} of {one.runs}",
    "steps": lambda one: (
        ""
        if one.reached is None
        else "not reached"
        if one.steps_to_threshold is None
        else short(one.steps_to_threshold)
    ),
    "area": lambda one: area(one.area),
}


def difference(found: Comparison, one: Difference) -> str:
    """One line: the difference of two groups with intervals, then the verdict."""
    first, second = (_letter(found, name) for name in (one.first, one.second))
    where = "" if len(found.envs) == 1 else f" in {'all envs' if one.env is None else cut(one.env)}"
    way = "<" if found.better == "lower" else ">"
    return (
        f"{first} against {second}{where}: IQM {one.iqm_difference:+,.4g} {interval(one.interval)}".rstrip()
        + f", P({first} {way} {second}) {one.probability:.2f} {interval(one.probability_interval)}".rstrip()
        + f": {one.verdict(first, second)}"
    )


def _letter(found: Comparison, name: str) -> str:
    for letter, group in zip(found.letters, found.groups, strict=True):
        if group.name == name:
            return letter or name
    return name


def explained(found: Comparison) -> list[str]:
    """What the columns mean: formulas and the scale of each env."""
    lines = []
    for env, scale in found.envs.items():
        name = f"{cut(env)}: " if len(found.envs) > 1 else ""
        if any(one.area is not None for one in found.results if one.env == env):
            lines.append(
                f"{name}area: {found.area_formula}, over the first {short(scale.area_budget or 0)} env "
                f"steps; threshold {score(scale.threshold)}, start {score(scale.start)} (the mean first "
                "return in training, as of a random policy)"
            )
    if any(one.score_auc is not None for one in found.results):
        lines.append(
            "score AUC: 1/B · Σ best(k) · (steps for which best(k) was the best so far), "
            "B = budgeted env steps"
        )
    if found.groups:
        lines.append(
            "IQM: interquartile mean of the final scores; interval: stratified bootstrap of the seeds"
        )
        if any(one.optimality_gap is not None for group in found.groups for one in group.envs):
            lines.append("gap: optimality gap, how far scores stay below the threshold on average")
    return lines
