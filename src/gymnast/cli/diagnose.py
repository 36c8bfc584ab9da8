"""`gymnast diagnose`: what is wrong with a run, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gymnast import api
from gymnast.cli.completion import complete_run
from gymnast.cli.options import Json, RunsDir
from gymnast.terminal.text import echo, echo_entry, echo_json

if TYPE_CHECKING:
    from gymnast.api import Alert, AlertRule

_STYLES: dict[str, Literal["red", "magenta", "bold"]] = {
    "critical": "red",
    "warning": "magenta",
    "info": "bold",
}


def diagnose(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FILE|FOLDER",
            help="A run, a metrics file, or a folder that holds one.",
            autocompletion=complete_run,
        ),
    ] = "@last",
    runs_dir: RunsDir = None,
    as_json: Json = False,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="ID", help="What an alert means, and stop.")
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List all rules, and stop.")] = False,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="DIR", help="Write the docs of all rules there, and stop."),
    ] = None,
) -> None:
    """Find what is wrong with a run, and what to change.

    Rules look at its metrics as they did while it trained. Of a FILE: metrics.csv, progress.csv of
    Stable-Baselines3, or a TensorBoard event file with the names of either, or of CleanRL.

    \b
    Examples:
      gymnast diagnose                       the last run
      gymnast diagnose logs/progress.csv     a run of Stable-Baselines3
      gymnast diagnose runs/CartPole__ppo    a folder of CleanRL's
      gymnast diagnose --explain kl.spike    what that alert means
    """
    if explain is not None:
        echo(api.alert_page(explain), end="", wrap=True)
    elif rules:
        _print_rules(api.list_rules(), as_json)
    elif markdown is not None:
        _write_pages(markdown)
    else:
        found = api.diagnose(source, runs_dir=runs_dir)
        if as_json:
            echo_json(found.to_json())
            return
        looked = f"{found.updates:,} update{'s' if found.updates != 1 else ''}, {found.env_steps:,} env steps"
        echo(f"{found.counts() or 'no alerts'} in {found.source}", style="bold")
        echo(f"{found.made_by}, {looked}")
        for alert in found.alerts:
            _print_alert(alert)
        if found.notes:
            echo()
        for note in found.notes:
            echo(f"note: {note}", wrap=True)


def _print_alert(alert: Alert) -> None:
    steps = f"step {alert.first_step:,}"
    if alert.last_step != alert.first_step:
        steps = f"steps {alert.first_step:,} to {alert.last_step:,}"
    echo()
    echo(alert.severity, style=_STYLES[alert.severity], end="")
    echo_entry(f"  {alert.metric}", name=f"  {alert.id}")
    echo_entry(f"    {steps}, {alert.count:,} time{'s' if alert.count != 1 else ''}", alert.message)
    if alert.advice:
        echo_entry(f"    → {alert.advice}")


def _print_rules(found: tuple[AlertRule, ...], as_json: bool) -> None:
    if as_json:
        echo_json(
            [
                {
                    "id": rule.id,
                    "group": rule.group,
                    "metric": rule.metric,
                    "when": rule.when,
                    "means": rule.means,
                    "source": rule.source,
                }
                for rule in found
            ]
        )
        return
    for rule in found:
        echo_entry(f"  {rule.group}, {rule.metric}", rule.when, name=rule.id)


def _write_pages(folder: Path) -> None:
    """A page that no rule has any more is removed."""
    pages = api.alert_pages()
    (folder / "alerts").mkdir(parents=True, exist_ok=True)
    for old in (folder / "alerts").glob("*.md"):
        if f"alerts/{old.name}" not in pages:
            old.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text)
    echo(f"{len(pages)} pages written to {folder}")
