"""`gymnast pack` and `gymnast unpack`: a run as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.options import Json, RunName, RunsDir
from gymnast.cli.program import option_for, program
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import ArrivedRun

Force = Annotated[bool, typer.Option("--force", help="Replace a run that has the same id.")]
NewId = Annotated[bool, typer.Option("--new-id", help="Give it a new id; the run that has it stays.")]


def pack(
    run: RunName = "@last",
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to; else RUN.zip, here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Put a whole run into one file: config, checkpoints, metrics, reports, videos.

    The file is a zip with a checksum for each part. `gymnast unpack` puts the run among those of another
    machine, where it is evaluated, recorded and resumed as here. A run that is still training is refused.

    \b
    Examples:
      gymnast pack                   the last run, to RUN.zip
      gymnast pack k3v lander.zip
      gymnast pack @best /media/usb
    """
    done = api.pack_run(run, file, force=force, runs_dir=runs_dir)
    if as_json:
        echo_json(done.to_json())
        return
    echo(f"packed   {done.path} ({done.files} files, {done.bytes:,} bytes)")
    if done.left_out:
        more = f" and {len(done.left_out) - 5} more" if len(done.left_out) > 5 else ""
        echo(f"without  {', '.join(done.left_out[:5])}{more}: no part of the run", wrap=True)
    echo(f"unpack   {program()} unpack {done.path.name}")


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that gymnast pack made.")],
    force: Force = False,
    new_id: NewId = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Put a packed run among the others.

    All of it is checked first, and it arrives whole or not at all. No code in it runs; code that its config
    names, such as an environment of someone's own, is imported only with --trust.

    \b
    Examples:
      gymnast unpack k3v9x0ab.zip
      gymnast unpack k3v9x0ab.zip --new-id   beside the run that has its id
    """
    show_arrived(api.unpack_run(file, force=force, new_id=new_id, runs_dir=runs_dir), runs_dir, as_json)


def show_arrived(arrived: ArrivedRun, runs_dir: Path | None, as_json: bool) -> None:
    """A run that came from elsewhere, and what can be done with it now."""
    if as_json:
        echo_json(arrived.to_json())
        return
    trust = " --trust" if arrived.needs_trust else ""
    where = option_for(runs_dir)
    echo(f"run      {arrived.run} in {arrived.path}")
    if arrived.problem is not None:
        echo(f"problem  {arrived.problem}", style="magenta", wrap=True)
    for access in arrived.needs_trust:
        echo(f"trust    {access}", style="magenta", wrap=True)
    echo(f"evaluate {program()} eval {arrived.run}{where}{trust}")
    echo(f"record   {program()} video record {arrived.run}{where}{trust}")
    echo(f"resume   {program()} train --resume {arrived.run}{where}{trust}")
