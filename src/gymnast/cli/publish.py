"""`gymnast publish`: a run on the Hugging Face Hub, with a card, a score and a video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.options import CheckpointName, Json, RunsDir
from gymnast.cli.program import program
from gymnast.cli.trust import Trust, used_when_trusted
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import Publication


def publish(
    run: CheckpointName = "@last",
    repo: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Where to; else ALGO-ENV of the account that is logged in."),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Upload nothing: write the folder and show the card.")
    ] = False,
    evaluate: Annotated[
        bool,
        typer.Option("--eval/--no-eval", help="Score it on fresh episodes first; else as training did."),
    ] = True,
    episodes: Annotated[int, typer.Option(min=1, help="How many fresh episodes.")] = 100,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Sample the actions, instead of taking the most likely.")
    ] = False,
    video: Annotated[
        bool, typer.Option("--video/--no-video", help="Record one episode for the page.")
    ] = True,
    licence: Annotated[
        str, typer.Option("--license", metavar="ID", help="The licence of the weights, such as apache-2.0.")
    ] = "mit",
    force: Annotated[
        bool, typer.Option("--force", help="Commit into a repository that holds something else.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="With --dry-run: where to; else hub/ in the run."),
    ] = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Publish a run on the Hugging Face Hub, with a model card, a fresh score and a video.

    One checkpoint goes up, the best unless named, as safetensors with its config and metrics; `gymnast pull`
    brings it back on any machine. Texts are redacted, and a config with a secret in it is refused. All goes
    up in one commit, or nothing does. It needs the extra hub and a login (`hf auth login`).

    \b
    Examples:
      gymnast publish --dry-run              look at the card first
      gymnast publish k3v
      gymnast publish k3v/@best --repo ada/lander --private --episodes 200
    """
    done = used_when_trusted(
        trust,
        lambda trusted: api.publish_run(
            run,
            repo=repo,
            private=private,
            dry_run=dry_run,
            evaluate_first=evaluate,
            episodes=episodes,
            stochastic=stochastic,
            video=video,
            licence=licence,
            force=force,
            output=output,
            trust=trusted,
            runs_dir=runs_dir,
        ),
    )
    if as_json:
        echo_json(done.to_json())
    else:
        _show(done)


def _show(done: Publication) -> None:
    if done.folder is not None:
        echo(done.card)
        echo(f"folder   {done.folder} ({len(done.files)} files, {done.bytes:,} bytes); nothing was uploaded")
        return
    echo(f"{'made' if done.created else 'updated':<8} {done.url}")
    if done.mean_return is not None:
        spread = "" if done.std_return is None else f" ± {done.std_return:.2f}"
        over = "" if done.episodes is None else f" over {done.episodes:,} episodes"
        echo(f"score    {done.mean_return:.2f}{spread}{over}")
    echo(f"files    {len(done.files)}, {done.bytes:,} bytes, licence {done.licence}, commit {done.revision}")
    echo(f"pull     {program()} pull hf:{done.repo}")
