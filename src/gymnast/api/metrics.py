"""The catalogue of metrics: what every recorded number means."""

from __future__ import annotations

from gymnast.errors import GymnastError, did_you_mean
from gymnast.metrics import catalogue
from gymnast.metrics.catalogue import bounds as metric_bounds  # its possible values as text: '0 … 1', '≥ 0'
from gymnast.metrics.spec import MetricSpec

__all__ = ["MetricSpec", "list_metrics", "metric_bounds", "metrics_page"]


def list_metrics(text: str | None = None) -> list[MetricSpec]:
    """Every metric, or those that mention `text`."""
    found = catalogue.matching(text or "")
    if not found:
        keys = [metric.key for metric in catalogue.all_metrics()]
        raise GymnastError(f"no metric mentions {text!r}{did_you_mean(text or '', keys)}")
    return found


def metrics_page() -> str:
    """docs/metrics.md."""
    return catalogue.markdown()
