"""`gymnast metrics`: what every recorded number means."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from gymnast.errors import GymnastError, did_you_mean


def metrics(
    text: Annotated[str | None, typer.Argument(help="Only metrics that mention this.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/metrics.md.")] = False,
) -> None:
    """Every metric with its meaning, unit, possible values, and which way is better."""
    from gymnast.metrics import catalogue

    found = catalogue.matching(text or "")
    if not found:
        keys = [metric.key for metric in catalogue.all_metrics()]
        raise GymnastError(f"no metric mentions {text!r}{did_you_mean(text or '', keys)}")
    if as_json:
        typer.echo(json.dumps([asdict(metric) for metric in found], indent=2))
        return
    if as_markdown:
        typer.echo(catalogue.markdown(), nl=False)
        return
    from rich import box
    from rich.table import Table

    from gymnast.cli.runs_tables import terminal

    table = Table("metric", "meaning", "unit", "values", "better", box=box.SIMPLE_HEAD, pad_edge=False)
    for metric in found:
        table.add_row(metric.key, metric.help, metric.unit, catalogue.bounds(metric), metric.better or "")
    terminal().print(table)
