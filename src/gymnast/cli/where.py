"""`--on WHERE`: where a command trains, and on how large a machine. The only place that reads it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gymnast.errors import GymnastError

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Where to collect: local:4 (4 actors here), ray, ray://HOST:PORT; or modal, to train there.",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(metavar="DOLLARS", help="With --on modal: save and stop before it costs about more."),
]
Gpu = Annotated[str | None, typer.Option(metavar="TYPE", help="With --on modal: a GPU, such as L4 or H100.")]
Cores = Annotated[
    float | None,
    typer.Option(metavar="N", help="With --on modal: cores; else by the envs and what they cost."),
]
Memory = Annotated[int | None, typer.Option(metavar="MIB", help="With --on modal: memory in MiB.")]


def is_remote(on: str | None) -> bool:
    """Whether all of it trains elsewhere; otherwise only its experience may be collected elsewhere."""
    name, slashes, _ = (on or "").partition("://")
    if name == "modal" and slashes:
        raise GymnastError(f"--on {on}: modal has no address; write --on modal")
    return name == "modal"


def check_remote(remote: bool, reference: str | None, init_from: str | None, machine: dict[str, Any]) -> None:
    """Raise GymnastError for options that do not fit where it trains."""
    if not remote:
        given = [name for name, value in machine.items() if value is not None]
        if given:
            raise GymnastError(f"--{given[0]} is for --on modal; leave it out")
        return
    if reference is None:
        raise GymnastError(
            "--on modal takes what to train, not --resume: a run that is there continues with the same"
            " command, --run-id ID and --continue"
        )
    if init_from is not None:
        raise GymnastError(
            "--init-from does not work with --on modal yet: the other run's weights are not there"
        )
