"""`gymnast metrics`: what every recorded number means."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from gymnast import api


def metrics(
    text: Annotated[str | None, typer.Argument(help="Only metrics that mention this.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/metrics.md.")] = False,
) -> None:
    """Every metric with its meaning, unit, possible values, and which way is better."""
    found = api.list_metrics(text)
    if as_json:
        typer.echo(json.dumps([asdict(metric) for metric in found], indent=2))
        return
    if as_markdown:
        typer.echo(api.metrics_page(), nl=False)
        return
    from rich import box
    from rich.table import Table

    from gymnast.cli.runs_tables import terminal

    table = Table("metric", "meaning", "unit", "values", "better", box=box.SIMPLE_HEAD, pad_edge=False)
    for metric in found:
        table.add_row(metric.key, metric.help, metric.unit, api.metric_bounds(metric), metric.better or "")
    terminal().print(table)
