"""`gymnast inspect`: look at runs in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_checkpoint
from gymnast.cli.options import RunsDir


def inspect(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="What to open: a run (an id, the beginning of one, @last, @best, a path), one of its"
            " checkpoints (RUN/@last, RUN/12288), or a trace.",
            autocompletion=complete_checkpoint,
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 8765 if it is free, else any.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; others need a password.")] = "127.0.0.1",
    password_env: Annotated[
        str | None,
        typer.Option("--password-env", metavar="NAME", help="Environment variable that has the password."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Import the code that runs made elsewhere name, to record them.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")
    ] = True,
    runs_dir: RunsDir = None,
) -> None:
    """Look at runs in the browser: record episodes and step through them, see curves, control live runs.

    It prints the address of a page that this machine alone can open, and over ssh the command that makes it
    one of yours.

    \b
    Examples:
      gymnast inspect                     all runs
      gymnast inspect @last               opens with the last run
      gymnast inspect k3v/12288           and with that checkpoint chosen
      gymnast inspect session.trace       what `gymnast play --record session` wrote
      gymnast inspect --port 8800 --no-browser
      gymnast inspect --host 0.0.0.0 --password-env INSPECT_PASSWORD
    """
    api.inspect_runs(
        run,
        runs_dir=runs_dir,
        host=host,
        port=port,
        password_env=password_env,
        trust=trust,
        browser=browser,
    )
