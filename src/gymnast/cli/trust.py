"""`--trust`, and the question that a terminal is asked without it: may a run from elsewhere import code?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from gymnast import api
from gymnast.errors import GymnastError, UntrustedRun
from gymnast.terminal.text import echo

T = TypeVar("T")

Trust = Annotated[
    bool, typer.Option("--trust", help="Import the code that a run made elsewhere names, without asking.")
]


def used_when_trusted(trust: bool, use: Callable[[bool], T]) -> T:
    """`ask_for_trust` for what builds envs: what they print goes to the run's log."""

    def use_captured(trusted: bool) -> T:
        with api.captured_output():
            return use(trusted)

    return ask_for_trust(trust, use_captured)


def ask_for_trust(trust: bool, use: Callable[[bool], T]) -> T:
    """Call `use` with the user's decision. Without a terminal, what needs trust and has none is an error."""
    try:
        return use(trust)
    except UntrustedRun as refused:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        *listed, _ = str(refused).splitlines()  # the last line is how to give --trust
        echo("\n".join(listed), err=True)
        if not typer.confirm("trust it?", err=True):
            raise GymnastError("not trusted: nothing was imported") from None
    return use(True)
