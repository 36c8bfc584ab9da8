"""Sweeps as tables in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box

from gymnast.cli.program import option_for, program
from gymnast.metrics.sinks.console import duration, short
from gymnast.terminal.screen import Table, screen
from gymnast.terminal.text import echo

if TYPE_CHECKING:
    from gymnast.api import Sweep

_FRONT = 10  # trials shown
_STYLES = {"running": "cyan", "failed": "red", "pruned": "magenta", "paused": "magenta"}


def print_sweeps(found: Sequence[Sweep]) -> None:
    """One row per sweep."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("sweep", "of", "method", "status", "trials", "best", "preset", "time"):
        right = column in ("trials", "best", "preset", "time")
        table.add_column(column, justify="right" if right else "left", no_wrap=column != "of")
    for sweep in found:
        values = sweep.to_json()
        made = values["trials"]
        table.add_row(
            sweep.id,
            _name(values["reference"]),
            values["method"],
            values["status"],
            f"{made['made']}/{made['wanted']}",
            _value(values["best"]),
            _value(values["baseline"]),
            duration(values["seconds"]),
        )
    screen().print(table)


def print_status(sweep: Sweep) -> None:
    """How far it is, then the best trials."""
    values = sweep.to_json()
    for line in status_lines(values):
        echo(line)
    print_front(sweep)
    if values["winner"] is not None:
        echo(f"winner: trial {values['winner']}; {values['verdict']['text']}")


def status_lines(values: Mapping[str, Any]) -> list[str]:
    made, left = values["trials"], values["seconds_left"]
    stage = values["stage"] if values["stage"] != "done" else values["status"]
    lines = [
        f"sweep {values['id']}  {_name(values['reference'])}  {values['method']}  {values['status']}"
        f"{f', {stage}' if stage != values['status'] else ''}",
        f"{made['made']} of {made['wanted']} trials: {made['finished']} finished, {made['pruned']} given up, "
        f"{made['failed']} failed; {short(values['env_steps'])} env steps"
        f" in {duration(values['seconds'])}" + (f", about {duration(left)} left" if left is not None else ""),
    ]
    if values["reason"]:
        lines.append(f"reason: {values['reason']}")
    return lines


def print_front(sweep: Sweep) -> None:
    """The best trials, with what they change."""
    state = sweep.state
    keys = list(state.plan.space.dimensions)
    shown = keys[: max(1, (screen().width - 40) // 14)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("trial", state.plan.objective.name, "status", "steps"):
        table.add_column(column, justify="left" if column == "status" else "right", no_wrap=True)
    for key in shown:
        table.add_column(_short_key(key), justify="right")
    ranked = state.ranked()[:_FRONT]
    if state.baseline is not None and state.baseline not in ranked:
        ranked.append(state.baseline)
    for trial in ranked:
        own = state.values_of(trial)
        value = "–" if trial.value is None else f"{trial.value:.4g}"
        name = f"{trial.number}{' preset' if trial.origin == 'baseline' else ''}"
        cells = (name, value, trial.status, short(sum(run.env_steps for run in trial.of("search"))))
        table.add_row(*cells, *(shown_value(own.get(key)) for key in shown), style=_STYLES.get(trial.status))
    screen().print(table)
    if len(shown) < len(keys):
        echo(f"not shown: {', '.join(keys[len(shown) :])}")


def print_best(sweep: Sweep) -> None:
    """The winner's settings beside the preset's."""
    best = sweep.state.best()
    if best is None:
        echo(f"sweep {sweep.id} has no trial with a value yet")
        return
    kind = "winner" if sweep.state.winner is not None else "leads so far"
    echo(
        f"sweep {sweep.id}: trial {best.number} ({kind}), {sweep.state.plan.objective.name} {best.value:.6g}"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("setting", f"trial {best.number}", "preset"):
        table.add_column(column, justify="left" if column == "setting" else "right")
    for key in sweep.state.plan.space.dimensions:
        values = sweep.state.values_of(best)
        table.add_row(key, shown_value(values.get(key)), shown_value(sweep.state.own.get(key)))
    screen().print(table)
    if sweep.state.winner is not None:
        echo(sweep.to_json()["verdict"]["text"])


def print_end(sweep: Sweep, runs_dir: Path | None) -> None:
    """How it ended, and what to type now."""
    values, where, gymnast = sweep.to_json(), option_for(runs_dir), program()
    for line in status_lines(values):
        echo(line)
    print_front(sweep)
    verdict = values["verdict"]
    preset = values["baseline"]["trial"] if values["baseline"] is not None else None
    shown = {tested["trial"]: tested for tested in (verdict["winner"], verdict["baseline"]) if tested}
    for trial, tested in shown.items():
        ends, seeds = tested["interval"], len(tested["values"])
        text = f" [{ends['low']:.4g}, {ends['high']:.4g}]" if ends is not None else ""
        label = "preset" if trial == preset else f"trial {trial}"
        of = "of 1 seed" if seeds == 1 else f"interquartile mean of {seeds} seeds"
        echo(f"test: {label:<9} {tested['iqm']:.4g}{text} {of}")
    if values["winner"] is not None:
        echo(verdict["text"])
    steps = {"report": f"{gymnast} sweep report {sweep.id}{where}"}
    if values["status"] == "finished":
        steps["apply"] = f"{gymnast} sweep apply {sweep.id}{where}"
    else:
        steps = {"resume": f"{gymnast} sweep resume {sweep.id}{where}", **steps}
    echo("")
    for what, command in steps.items():
        echo(f"{what:<10} {command}")


def shown_value(value: Any) -> str:
    """A setting in a few characters."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _short_key(key: str) -> str:
    return key.removeprefix("algo.").removesuffix(".start")


def _name(reference: str) -> str:
    return Path(reference).name if reference.startswith("/") else reference


def _value(trial: Mapping[str, Any] | None) -> str:
    return "–" if trial is None or trial["value"] is None else f"{trial['value']:.4g}"
