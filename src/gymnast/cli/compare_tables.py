"""A comparison in the terminal: settings that differ, runs, groups, curves, and what it all means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box

from gymnast import api
from gymnast.cli.compare_cells import GROUP_COLUMNS, difference, explained, run_columns, score
from gymnast.errors import cut
from gymnast.terminal.screen import Table, screen
from gymnast.terminal.text import columns, echo, escaped

if TYPE_CHECKING:
    from gymnast.api import Comparison

_WIDE = 124  # columns that the whole table of runs needs
_WIDE_GROUPS = 100
_PER_RUN = 14  # columns that a run's values of settings need
_MOST_SETTINGS = 40


def print_comparison(found: Comparison) -> None:
    _print_settings(found)
    if found.groups:
        _print_groups(found)
    for env in found.envs:
        _print_runs(found, env)
    if chart := api.comparison_text(found, width=columns()):
        echo(chart)
        echo()
    for line in explained(found):
        echo(escaped(line), wrap=True)
    for note in found.notes:
        echo(escaped(f"note: {note}"), style="magenta", wrap=True)
    if not found.groups and set(found.settings) == {"seed"}:
        echo("these runs differ only in their seeds: --group-by auto gives their statistics")


def _print_settings(found: Comparison) -> None:
    """One column per run where there is room, else each value with its runs."""
    # Labels and descriptions of an env differ with the env itself.
    telling = {
        k: v
        for k, v in found.settings_shown().items()
        if len(found.envs) == 1 or not k.startswith("env.spec.")
    }
    shown = dict(list(telling.items())[:_MOST_SETTINGS])
    if not shown:
        echo("the settings are the same")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("settings that differ")
    if columns() >= 30 + _PER_RUN * len(found.runs):
        for entry in found.runs:
            table.add_column(entry.id)
        for key, values in shown.items():
            table.add_row(key, *values)
    else:
        table.add_column("value: groups" if found.groups else "value: runs")
        for key, values in shown.items():
            table.add_row(key, _by_value(found, values))
    screen().print(table)
    if len(found.settings) > len(shown):
        echo(f"and {len(found.settings) - len(shown)} more settings; --json has all")


def _by_value(found: Comparison, values: list[str]) -> str:
    """`0.001: A B; 0.01: C`, by the letters of runs or groups; numbers in their order."""
    runs: dict[str, dict[str, None]] = {}  # each name once
    for place, value in enumerate(values):
        name = found.letter_of_run(place) or found.runs[place].id
        runs.setdefault(value or "none", {})[name] = None
    return "; ".join(f"{value}: {' '.join(sorted(runs[value]))}" for value in sorted(runs, key=_number))


def _number(text: str) -> float:
    """Texts stay where they are, after all numbers."""
    try:
        return float(text)
    except ValueError:
        return math.inf


def _print_runs(found: Comparison, env: str) -> None:
    """The runs of one env; a narrow terminal gets two tables."""
    threshold = found.envs[env].threshold
    echo(escaped(cut(env)) + ("" if threshold is None else f", threshold {score(threshold)}"), style="bold")
    wide = columns() >= _WIDE
    cells = run_columns(brief=not wide)
    own = [place for place, entry in enumerate(found.runs) if entry.env == env]
    names = [name for name, cell in cells.items() if any(cell(found, place) for place in own)]
    for part in [names] if wide or len(names) < 7 else [names[:6], [names[0], *names[6:]]]:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in part:
            table.add_column(
                name if wide else name.replace("threshold", "thr."),
                justify="left" if name in {"run", "status"} else "right",
                no_wrap=name in {"run", "final", "best"},
            )
        for place in own:
            table.add_row(*(cells[name](found, place) for name in part))
        screen().print(table)
    if not wide and threshold is not None:
        echo("> N: the threshold was not reached in N")


def _print_groups(found: Comparison) -> None:
    for letter, group in zip(found.letters, found.groups, strict=True):
        noun = "run" if len(group.runs) == 1 else "runs"
        echo(escaped(f"{letter or '-'}  {group.name} ({len(group.runs)} {noun})"), style="bold", wrap=True)
    envs = list(dict.fromkeys(one.env for group in found.groups for one in group.envs))
    for env in envs:
        if len(envs) > 1:
            echo(f"\n{'all envs, scores normalised' if env is None else escaped(cut(env))}")
        rows = [
            (letter or group.name, one)
            for letter, group in zip(found.letters, found.groups, strict=True)
            for one in group.envs
            if one.env == env
        ]
        filled = [name for name, cell in GROUP_COLUMNS.items() if any(cell(one) for _, one in rows)]
        for part in [filled] if columns() >= _WIDE_GROUPS else [filled[:3], filled[3:]]:
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
            table.add_column("")
            for name in part:
                table.add_column(name, justify="left" if name == "95 % interval" else "right")
            for letter, one in rows:
                table.add_row(letter, *(GROUP_COLUMNS[name](one) for name in part))
            screen().print(table)
    _print_profiles(found)
    for pair in found.differences:
        echo(escaped(difference(found, pair)), wrap=True)
    if found.differences:
        echo()


def _print_profiles(found: Comparison) -> None:
    """The share of runs above a few levels; the picture has the whole profile."""
    profiles = [
        (letter, g.profile) for letter, g in zip(found.letters, found.groups, strict=True) if g.profile
    ]
    if not profiles:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("share of runs above")
    levels = [25, 50, 75, 95]
    for level in levels:
        table.add_column(f"{profiles[0][1].levels[level]:.2f}", justify="right")
    for letter, profile in profiles:
        table.add_row(letter, *(f"{100 * profile.shares[level]:.0f} %" for level in levels))
    screen().print(table)
