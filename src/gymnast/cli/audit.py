"""gymnast audit: what is rewarded, how much, how often, and what the discount leaves of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs, RunsDir
from gymnast.cli.trust import Trust, used_when_trusted
from gymnast.errors import GymnastError
from gymnast.terminal.painter import Painter
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
    painter = None if as_json or not sys.stdout.isatty() else Painter()
    shared: dict[str, Any] = {"episodes": episodes, "seed": seed, "overrides": overrides, "picture": picture}
    if painter is not None:
        shared["watch"] = lambda seen: painter.show(live_lines(seen, painter))
    try:
        found = _audit(reference, shared, checkpoint, runs_dir, config_dir, trust)
    finally:
        if painter is not None:
            painter.leave()
    if as_json:
        echo_json(found.to_json(), indent=None)
        return
    echo(api.audit_text(found, min(columns(), 80)))
    if found.picture is not None:
        echo(f"\npicture  {found.picture}")


def _audit(
    reference: str,
    shared: dict[str, Any],
    checkpoint: str | None,
    runs_dir: Path | None,
    config_dir: list[Path] | None,
    trust: bool,
) -> api.RewardAudit:
    if api.names_a_run(reference, runs_dir):
        return used_when_trusted(
            trust,
            lambda trusted: api.audit_run_rewards(
                reference, checkpoint=checkpoint, runs_dir=runs_dir, trust=trusted, **shared
            ),
        )
    if checkpoint is not None:
        raise GymnastError(f"--checkpoint is for a run, and {reference} is not one")
    with api.captured_output():
        return api.audit_env_rewards(reference, config_dirs=config_dir or (), **shared)


def live_lines(seen: api.PlayedSoFar, painter: Painter) -> list[str]:
    """How far it is, and each part of the reward: in the last step of the first env, and its share so far."""
    width = painter.size()[0] - 1
    last = "" if seen.last_return is None else f"   last return {seen.last_return:.4g}"
    head = f"{seen.policy}: {seen.episodes}/{seen.wanted} episodes, {seen.steps:,} steps{last}"
    wide = max(map(len, [*seen.shares, "part"]))
    rows = [
        f"  {name:<{wide}}  {seen.now.get(name, 0.0):>+11.4g}  {share:>6.1%}"
        for name, share in seen.shares.items()
    ]
    texts = [f"  {'part':<{wide}}  {'this step':>11}  {'share':>6}", *rows]
    return [str(painter.line(width).add(head, "bold")), *(str(painter.line(width).add(row)) for row in texts)]
