"""`--on TARGET`: where a command trains. The only place that reads it."""

from __future__ import annotations

from typing import Annotated

import typer

from gymnast.errors import GymnastError, did_you_mean

TARGETS = ("local", "modal")

On = Annotated[
    str | None,
    typer.Option(
        "--on", metavar="TARGET", help="Where to train: local (the default) or modal; docs/remote.md."
    ),
]


def target_of(text: str | None) -> tuple[str, str]:
    """The name of a target and its address: ('modal', ''), or ('ray', 'host:port') of ray://host:port."""
    name, _, address = (text or "local").partition("://")
    if name not in TARGETS:
        known = " or ".join(TARGETS)
        raise GymnastError(
            f"--on {text}: {name!r} is not a target{did_you_mean(name, TARGETS)}; it is {known}"
        )
    if address and name in ("local", "modal"):
        raise GymnastError(f"--on {text}: {name} has no address; write --on {name}")
    return name, address
