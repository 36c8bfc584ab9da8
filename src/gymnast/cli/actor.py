"""gymnast actor: step environments for a learner on another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo


def actor(
    connect: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where the learner listens; its log says it.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The token of the run; else GYMNAST_ACTOR_TOKEN."),
    ] = None,
    envs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Take at most so many envs per process.")
    ] = None,
    processes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Actors to run here; one per core is a good number.")
    ] = 1,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long to dial a learner that is not there.")
    ] = 60.0,
    new_token: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only write a new token to this file.")
    ] = None,
) -> None:
    """Step environments for a learner on another machine.

    The learner trains with `env.backend=remote env.actors.start=none`; each actor dials it, is given a share
    of its environments, and steps them until the run ends. It needs Gymnast in the same version, the
    environment and no torch. One that loses the connection dials again; more of them than the run has
    places for wait to replace one that is lost.

    \b
    Examples:
      gymnast actor --new-token ~/actors.token         copy the file to each machine
      gymnast actor --connect 10.0.0.5:7000 --token-file ~/actors.token
      gymnast actor --connect 10.0.0.5:7000 --processes 16 --patience 600
    """
    if new_token is not None:
        if connect is not None:
            raise GymnastError("--new-token only writes a token; drop --connect, or call it afterwards")
        echo(f"wrote a new token to {api.create_actor_token(new_token)}")
        return
    if connect is None:
        raise GymnastError("which learner? try: gymnast actor --connect 127.0.0.1:7000 --token-file FILE")
    code = api.serve_actors(
        connect, token_file=token_file, processes=processes, most_envs=envs, patience=patience
    )
    if code:
        raise typer.Exit(code)
