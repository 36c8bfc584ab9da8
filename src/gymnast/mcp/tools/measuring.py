"""Tools that look at numbers: metrics of one run, and several runs side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.mcp.serving import Serving
from gymnast.mcp.tool import READS, tool
from gymnast.mcp.tools.training import RunName

Axis = Literal["env_steps", "vec_steps", "seconds", "updates"]
_MOST_SERIES, _MOST_RUNS = 6, 20


@dataclass
class Series:
    metric: str
    means: str
    stats: dict[str, float | None]
    x: list[float]
    y: list[float]
    chart: list[str]


@dataclass
class Metrics:
    run: str
    x_axis: str
    series: list[Series]
    also_matching: list[str]
    recorded: int


@dataclass
class Compared:
    metric: str
    runs: list[dict[str, Any]]  # in the order given, each with its letter in the chart
    settings: dict[str, list[Any]]  # those that differ: a value for each run
    groups: list[dict[str, Any]]
    verdicts: list[str]
    notes: list[str]
    chart: list[str]


class MeasuringTools:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    @tool(READS)
    def get_metrics(
        self,
        run: RunName,
        metrics: list[str] | None = None,
        x: Axis = "env_steps",
        start: float | None = None,
        end: float | None = None,
        points: Annotated[int, Field(ge=1, le=50)] = 20,
        chart: bool = True,
    ) -> Metrics:
        """Metrics of a run over a range of x: means of equal parts, statistics, slope over the last fifth, a
        chart in text. Names may be partial ('kl', 'value loss', 'eval/*'); without any, the most telling
        ones. Names of all that is recorded: metrics=['*']."""
        folder, wanted = self._serving.run(run), metrics or []
        keys = api.metric_keys(folder)
        matching = api.match_metrics(wanted, keys) if wanted and keys else []
        shown = matching[:_MOST_SERIES]
        found = api.read_series(folder, shown, x=x, start=start, end=end, points=points)
        return Metrics(
            run=folder.id,
            x_axis=x,
            series=[_series(one, chart) for one in found],
            also_matching=matching[_MOST_SERIES:],
            recorded=len(keys),
        )

    @tool(READS)
    def compare_runs(
        self,
        runs: list[str] | None = None,
        env: str = "",
        metric: str = "",
        x: Axis = "env_steps",
        threshold: float | None = None,
        group_by: str = "",
    ) -> Compared:
        """Compare runs by their scores, or by a metric: results, steps to the threshold, settings that
        differ, a chart. `env` adds all runs of an env. `group_by`: settings with commas, or 'auto' to group
        seeds; then differences come with intervals, and 'no difference shown' means just that."""
        serving = self._serving
        chosen = [serving.run(name).id for name in runs or []]
        if env:
            chosen += [entry.id for entry in api.list_runs(env=env, runs_dir=serving.runs_dir)]
        chosen = list(dict.fromkeys(chosen))
        if len(chosen) > _MOST_RUNS:
            raise GymnastError(f"{len(chosen)} runs: compare at most {_MOST_RUNS} at a time")
        if metric:
            keys = list(dict.fromkeys(key for run in chosen for key in api.metric_keys(serving.run(run))))
            metric = api.match_metrics([metric], keys)[0]
        found = api.compare_runs(
            [serving.run(run).path for run in chosen],
            metric=metric or None,
            x=x,
            threshold=threshold,
            group_by=group_by or None,
        )
        return Compared(
            metric=found.metric,
            runs=[_result(found, place) for place in range(len(found.runs))],
            settings=dict(list(found.settings.items())[:40]),
            groups=[_group(group) for group in found.groups],
            verdicts=[one.verdict() for one in found.differences][:20],
            notes=list(found.notes),
            chart=api.comparison_text(found, width=70).split("\n"),
        )


_STATS = ("count", "first", "last", "mean", "std", "min", "min_at", "max", "max_at", "slope")


def _series(one: api.MetricSeries, chart: bool) -> Series:
    values = asdict(one)
    return Series(
        metric=one.key,
        means=one.means,
        stats={name: values[name] for name in _STATS},
        x=list(one.x),
        y=list(one.y),
        chart=list(one.chart) if chart else [],
    )


def _result(found: api.Comparison, place: int) -> dict[str, Any]:
    entry, result = found.runs[place], found.results[place]
    numbers = {
        "final": result.final,
        "best": result.best,
        "threshold": result.threshold,
        "steps_to_threshold": result.steps_to_threshold,
        "seconds_to_threshold": result.seconds_to_threshold,
        "env_steps": result.env_steps,
        "seconds": result.seconds,
        "area": result.area,
    }
    shown = {key: None if value is None else float(f"{value:.6g}") for key, value in numbers.items()}
    words = {"id": entry.id, "name": entry.name, "state": entry.state, "seed": entry.seed}
    return {"letter": found.letter_of_run(place), **words, **shown}


def _group(group: Any) -> dict[str, Any]:
    return {
        "name": group.name,
        "runs": list(group.runs),
        "envs": [
            {
                "env": one.env,
                "iqm": float(f"{one.iqm:.6g}"),
                "median": float(f"{one.median:.6g}"),
                "interval": None if one.interval is None else asdict(one.interval),
                "reached": one.reached,
                "caveat": one.caveat,
            }
            for one in group.envs
        ],
    }
