"""`gymnast runs compare`: runs side by side, and groups of seeds with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_run
from gymnast.cli.options import Json, RunsDir
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json


def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Ids, beginnings of ids, @last, @best or paths.",
            autocompletion=complete_run,
        ),
    ] = None,
    env: Annotated[str | None, typer.Option(help="Also all runs of this env.")] = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="KEY[,KEY]|auto",
            help="Put runs with the same values of these settings into one group; auto: all but the seed.",
        ),
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Compare this metric instead of the score.")] = None,
    x: Annotated[
        str, typer.Option("--x", help="The x axis of curves: vec_steps, env_steps, seconds or updates.")
    ] = "vec_steps",
    threshold: Annotated[
        float | None, typer.Option(help="The score that counts as solved; else that of the env.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the curves into this file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a picture that is there.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print tables to paste.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Runs side by side: the settings in which they differ, what they reached and when, their curves.

    With --group-by, runs that differ only in their seeds become one group: interquartile mean with a 95 %
    bootstrap interval (from 5 seeds; called approximate below 10), probability of improvement, and "better"
    only where the interval of the difference excludes zero.

    \b
    Examples:
      gymnast runs compare k3v n8x
      gymnast runs compare k3v n8x --x seconds --picture curves.png
      gymnast runs compare --env CartPole-v1 --group-by algo.name
      gymnast runs compare --env CartPole-v1 --group-by auto --markdown
    """
    if as_json and as_markdown:
        raise GymnastError("--json and --markdown: choose one")
    if picture is not None:
        api.check_picture_file(picture, force=force)  # before the work
    found = api.compare_runs(
        runs or [], env=env, metric=metric, x=x, threshold=threshold, group_by=group_by, runs_dir=runs_dir
    )
    written = None if picture is None else api.save_comparison_picture(found, picture, force=force)
    if as_json:
        echo_json(found.to_json() | ({} if written is None else {"picture": str(written)}))
        return
    if as_markdown:
        from gymnast.cli.compare_markdown import markdown

        echo(markdown(found), end="")
    else:
        from gymnast.cli.compare_tables import print_comparison

        print_comparison(found)
    if written is not None:
        echo(f"picture: {written}", err=as_markdown)
