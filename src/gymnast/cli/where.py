"""`--on TARGET`: where a command trains, and on how large a machine. The only place that reads it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gymnast.errors import GymnastError, did_you_mean

TARGETS = ("local", "modal")

On = Annotated[
    str | None,
    typer.Option("--on", metavar="TARGET", help="Where to train: local (the default) or modal."),
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


def check_remote(target: str, reference: str | None, init_from: str | None, machine: dict[str, Any]) -> None:
    """Raise GymnastError for options that do not fit where it trains."""
    if target != "modal":
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
