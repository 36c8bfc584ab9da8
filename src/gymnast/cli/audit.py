"""gymnast audit: what is rewarded, how much, how often, and what the discount leaves of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs, RunsDir
from gymnast.cli.trust import Trust, used_when_trusted
from gymnast.errors import GymnastError
from gymnast.terminal.text import columns, echo, echo_json


def audit(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUN|ENV",
            help="A run (an id, @last, @best, a path), or a preset, a config file or any env id.",
            autocompletion=complete_reference,
        ),
    ],
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings to change.")
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="Episodes of each policy; else as many as make a few thousand steps."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="CKPT", help="Of a run: @best, @last or its env steps."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the episodes.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="A .png file; of a run, else in its report folder."),
    ] = None,
    runs_dir: RunsDir = None,
    config_dir: ConfigDirs = None,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Look at rewards: their size, outliers, how rare they are, shaping, and what the discount leaves.

    Random actions are played in the env, with its wrappers, as in training. Of a run its checkpoint plays
    too, sampled and greedy. Each thing that stands out comes with a setting to change.

    \b
    Examples:
      gymnast audit FrozenLake-v1                what chance gets
      gymnast audit MountainCar-v0:ppo --picture rewards.png
      gymnast audit @last --episodes 50          the last run, and its picture
      gymnast audit k3v --checkpoint @last --json
    """
    from gymnast.cli.train import split_words

    reference, overrides = split_words([what, *(settings or [])])
    if reference is None:
        raise GymnastError(f"no run or environment is named; try: gymnast audit CartPole-v1 {overrides[0]}")
    shared: dict[str, Any] = {"episodes": episodes, "seed": seed, "overrides": overrides, "picture": picture}
    if api.names_a_run(reference, runs_dir):
        found = used_when_trusted(
            trust,
            lambda trusted: api.audit_run_rewards(
                reference, checkpoint=checkpoint, runs_dir=runs_dir, trust=trusted, **shared
            ),
        )
    elif checkpoint is not None:
        raise GymnastError(f"--checkpoint is for a run, and {reference} is not one")
    else:
        with api.captured_output():
            found = api.audit_env_rewards(reference, config_dirs=config_dir or (), **shared)
    if as_json:
        echo_json(found.to_json(), indent=None)
        return
    echo(api.audit_text(found, min(columns(), 80)))
    if found.picture is not None:
        echo(f"\npicture  {found.picture}")
