"""Every metric there is. Nothing is recorded, shown or charted that is not declared.

A metric is declared in the file that emits it, in a tuple `METRICS`; the files are named here. They are
imported when a metric is first looked up, the light ones first. `docs/metrics.md` is generated from this.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from gymnast.errors import GymnastError, did_you_mean
from gymnast.metrics.spec import MetricSpec
from gymnast.training.metrics import COUNTERS as _COUNTERS

DECLARED_IN = (
    "gymnast.training.metrics",
    "gymnast.algorithms.metrics",
    "gymnast.rollout.metrics",
    "gymnast.envs.backends.remote_tally",
    "gymnast.observe.metrics",
    "gymnast.cluster.metrics",
    "gymnast.parts.reward_scale",
    "gymnast.parts.popart",
    "gymnast.parts.bonus",
    "gymnast.parts.rnd",
    "gymnast.metrics.alerts.monitor",
)

COUNTERS: tuple[str, ...] = tuple(metric.key for metric in _COUNTERS)  # in every row of metrics.csv
_STAGES = {
    "time": "Counters and speed. The counters are in every row of `metrics.csv`.",
    "train": "Training episodes and the update that followed.",
    "opt": "The optimiser, and each scheduled setting at its value in that update.",
    "net": "The network, every few updates: activations, weights and steps by part.",
    "env": "What the environments gave in that rollout.",
    "task": "Training episodes of each task of a mix, by its name.",
    "explore": "Exploration: intrinsic rewards and how much of the environment was seen.",
    "alert": "Health alerts (docs/alerts.md).",
    "eval": "Evaluation; only in rows of updates that were followed by one.",
}


class UnknownMetric(GymnastError, KeyError):
    """A key that the catalogue does not declare."""

    __str__ = GymnastError.__str__  # KeyError would print the message in quotes


class _Catalogue:
    """The metrics declared so far, in the order of `DECLARED_IN`; further files are read on demand."""

    def __init__(self) -> None:
        self.metrics: dict[str, MetricSpec] = {}
        self.position: dict[str, int] = {}
        self._patterns: dict[str, list[str]] = {}
        self._unread = list(DECLARED_IN)

    def add(self, metrics: Iterable[MetricSpec]) -> None:
        for metric in metrics:
            if metric.key in self.metrics:
                if self.metrics[metric.key] != metric:
                    raise GymnastError(f"metric {metric.key!r} is declared twice, with different meanings")
                continue
            self.metrics[metric.key] = metric
            self.position[metric.key] = len(self.position)
            if "*" in metric.key:
                self._patterns[metric.key] = metric.key.split("/")

    def read_next(self) -> bool:
        """Read one more file; False when all are read."""
        if not self._unread:
            return False
        self.add(importlib.import_module(self._unread.pop(0)).METRICS)
        return True

    def find(self, key: str) -> str:
        """The declared key that `key` is an instance of."""
        while (found := self._known(key)) is None and self.read_next():
            pass
        if found is None:
            raise UnknownMetric(f"no metric {key!r} in the catalogue{did_you_mean(key, self.metrics)}")
        return found

    def _known(self, key: str) -> str | None:
        if key in self.metrics and "*" not in key:
            return key
        parts = key.split("/")
        for pattern, wanted in self._patterns.items():
            if len(wanted) == len(parts) and all(map(_fits, parts, wanted)):
                return pattern
        return None


_catalogue = _Catalogue()


def _fits(part: str, wanted: str) -> bool:
    # A comma, a quote or a line break in a name would break the rows of metrics.csv.
    return part == wanted if wanted != "*" else part != "" and not set(part) & set(',"*\r\n')


def declare(metrics: Iterable[MetricSpec]) -> None:
    """Add the metrics of a user's hook or part."""
    all_metrics()  # ours keep their order
    _catalogue.add(metrics)


def all_metrics() -> tuple[MetricSpec, ...]:
    """Every declared metric, in order."""
    while _catalogue.read_next():
        pass
    return tuple(_catalogue.metrics.values())


def is_declared(key: str) -> bool:
    """Whether there is such a metric."""
    try:
        return bool(_catalogue.find(key))
    except UnknownMetric:
        return False


def declared_as(key: str) -> str:
    """The key or pattern under which `key` is declared."""
    return _catalogue.find(key)


def spec(key: str) -> MetricSpec:
    """What is declared for `key`, by itself or through a pattern."""
    return _catalogue.metrics[_catalogue.find(key)]


def order(key: str) -> tuple[int, int, str]:
    """Sorts keys by stage, then as they are declared, those of one pattern by name."""
    stage = list(_STAGES).index(key.partition("/")[0]) if key.partition("/")[0] in _STAGES else len(_STAGES)
    return stage, _catalogue.position[_catalogue.find(key)], key


def matching(text: str) -> list[MetricSpec]:
    """The metrics that mention `text` in key or help, ignoring case."""
    wanted = text.lower()
    return [metric for metric in all_metrics() if wanted in metric.key or wanted in metric.help.lower()]


def bounds(metric: MetricSpec) -> str:
    """Its possible values as text: '0 … 1', '≥ 0', or nothing."""
    if metric.low is not None and metric.high is not None:
        return f"{metric.low:g} … {metric.high:g}"
    if metric.low is not None:
        return f"≥ {metric.low:g}"
    return f"≤ {metric.high:g}" if metric.high is not None else ""


def markdown() -> str:
    """The text of docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "Generated by `gymnast metrics --markdown` from the `METRICS` of each source file; edit there.",
        "Nothing is recorded that is not declared here. Each run keeps its rows in `metrics.csv`,",
        "one per update; a metric that an update does not have is an empty cell.",
    ]
    for stage, about in _STAGES.items():
        lines += [
            "",
            f"## {stage}",
            "",
            about,
            "",
            "| key | meaning | unit | values | better |",
            "| --- | --- | --- | --- | --- |",
        ]
        lines += [
            f"| `{metric.key}` | {metric.help} | {metric.unit} | {bounds(metric)} | {metric.better or ''} |"
            for metric in all_metrics()
            if metric.key.startswith(f"{stage}/")
        ]
    return "\n".join(lines) + "\n"
