from __future__ import annotations

import re
from pathlib import Path

import pytest

from gymnast.errors import GymnastError
from gymnast.metrics.catalogue import (
    COUNTERS,
    UnknownMetric,
    all_metrics,
    bounds,
    markdown,
    matching,
    order,
    spec,
)
from gymnast.metrics.spec import MetricSpec

CATALOGUE = {metric.key: metric for metric in all_metrics()}
DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


@pytest.mark.parametrize("metric", CATALOGUE.values(), ids=list(CATALOGUE))
def test_every_metric_is_described(metric: MetricSpec) -> None:
    assert re.fullmatch(
        r"(time|train|opt|net|env|task|explore|alert|eval)(/([a-z0-9_]+|\*)){1,4}", metric.key
    )
    assert metric.help.endswith(".")
    assert metric.precision >= 0
    assert metric.low is None or metric.high is None or metric.low < metric.high


def test_counters_come_first() -> None:
    assert list(CATALOGUE)[: len(COUNTERS)] == list(COUNTERS)
    names = ("env_steps", "vec_steps", "updates", "epochs", "episodes", "seconds", "progress")
    assert tuple(f"time/{name}" for name in names) == COUNTERS


def test_key_of_a_pattern_has_its_spec() -> None:
    assert spec("env/reward_part/centre") is CATALOGUE["env/reward_part/*"]
    assert spec("train/kl").key == "train/kl"
    assert spec("task/Level1-2/return/mean") is CATALOGUE["task/*/return/mean"]
    assert spec("task/my moon/episode/depth") is CATALOGUE["task/*/episode/*"]
    keys = ["eval/best", "env/reward_part/b", "train/kl", "env/reward_part/a", "time/env_steps"]
    assert sorted(keys, key=order) == [
        "time/env_steps",
        "train/kl",
        "env/reward_part/a",
        "env/reward_part/b",
        "eval/best",
    ]


@pytest.mark.parametrize(
    "key",
    [
        "train/nothing",
        "kl",
        "",
        "env/reward_part/",
        "env/reward_part/*",
        "env/reward_part/a,b",
        "env/reward_part/a/b",
        "task/*/return/mean",
        "task//return/mean",
        "task/a,b/return/mean",
    ],
)
def test_undeclared_key_is_refused(key: str) -> None:
    with pytest.raises(UnknownMetric, match="in the catalogue") as caught:
        spec(key)
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, GymnastError)
    assert str(caught.value).startswith("no metric ")


def test_metrics_are_found_by_text_and_show_their_bounds() -> None:
    assert [metric.key for metric in matching("KL divergence")] == ["train/kl"]
    assert matching("no such thing") == []
    assert bounds(spec("time/progress")) == "0 … 1"
    assert bounds(spec("opt/lr")) == "≥ 0"
    assert bounds(spec("train/explained_variance")) == "≤ 1"
    assert bounds(spec("train/loss/policy")) == ""


def test_docs_are_generated_from_the_catalogue() -> None:
    assert DOCS.read_text() == markdown(), "run: gymnast metrics --markdown > docs/metrics.md"
