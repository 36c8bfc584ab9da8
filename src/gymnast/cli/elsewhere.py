"""The offer to pull a run that a command names and that is not here."""

from __future__ import annotations

import sys

import typer

from gymnast import api
from gymnast.errors import RunElsewhere
from gymnast.terminal.text import echo


def pulled_if_wanted(missing: RunElsewhere) -> bool:
    """Ask on a terminal, and pull it there and then; False without a terminal, or if the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    problem, *_ = str(missing).splitlines()
    echo(problem, err=True, wrap=True)
    if not typer.confirm(f"pull it from {missing.source} now?", err=True):
        return False
    arrived = api.pull_run(missing.source, runs_dir=missing.root)
    echo(f"pulled   {arrived.run} to {arrived.path}", err=True)
    return True
