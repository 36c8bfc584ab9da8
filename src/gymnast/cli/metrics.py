"""`gymnast metrics`: what every recorded number means."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gymnast import api
from gymnast.terminal.text import columns, echo, echo_entry, echo_json

_NARROW = 90  # columns: with fewer, a table would break every line


def metrics(
    text: Annotated[
        str | None, typer.Argument(metavar="WORD", help="Only metrics that mention this.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/metrics.md.")] = False,
) -> None:
    """Every metric with its meaning, unit, possible values, and which way is better."""
    found = api.list_metrics(text)
    if as_json:
        echo_json([asdict(metric) for metric in found])
        return
    if as_markdown:
        echo(api.metrics_page(), end="")
        return
    if columns() < _NARROW:
        for metric in found:
            facts = [
                metric.unit,
                api.metric_bounds(metric),
                f"{metric.better} is better" if metric.better else "",
            ]
            echo_entry(f"  {', '.join(fact for fact in facts if fact)}", metric.help, name=metric.key)
        return
    from rich import box

    from gymnast.terminal.screen import Table, screen

    table = Table("metric", "meaning", "unit", "values", "better", box=box.SIMPLE_HEAD, pad_edge=False)
    for metric in found:
        table.add_row(metric.key, metric.help, metric.unit, api.metric_bounds(metric), metric.better or "")
    screen().print(table)
