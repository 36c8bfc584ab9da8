"""`gymnast video`: videos of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.eval import Settings, run_and_settings
from gymnast.cli.options import CheckpointName, RunName, RunsDir
from gymnast.cli.trust import Trust, used_when_trusted
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import Video

app = typer.Typer(help="Record a run: one checkpoint, or how it learned.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Stochastic = Annotated[
    bool, typer.Option("--stochastic", help="Sample the actions, instead of taking the most likely.")
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Seed of the episodes; else those that training evaluated on.")
]
Task = Annotated[str | None, typer.Option(help="Which task of env.mix; the first if not given.")]
Fps = Annotated[
    float | None,
    typer.Option(min=0.1, max=240, help="Steps shown per second; the real speed of the game if not given."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="An .mp4 file; else in the run's videos folder."),
]


@app.command()
def record(
    reference: CheckpointName = "@last",
    settings: Settings = None,
    episodes: Annotated[int, typer.Option(min=1, help="How many episodes.")] = 1,
    max_steps: Annotated[int, typer.Option(min=1, help="The video ends after this many steps.")] = 5000,
    seed: Seed = None,
    stochastic: Stochastic = False,
    task: Task = None,
    fps: Fps = None,
    out: Out = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Record episodes of one checkpoint.

    \b
    Examples:
      gymnast video record                       the best checkpoint of the last run
      gymnast video record @last/@last --episodes 3
      gymnast video record k3v/@best --seed 7 --out landing.mp4
    """
    run, overrides = run_and_settings(reference, settings)
    video = used_when_trusted(
        trust,
        lambda trusted: api.record_video(
            run,
            episodes=episodes,
            max_steps=max_steps,
            stochastic=stochastic,
            seed=seed,
            task=task,
            fps=fps,
            out=out,
            overrides=overrides,
            trust=trusted,
            runs_dir=runs_dir,
        ),
    )
    _show(video, as_json)


@app.command()
def progress(
    run: RunName = "@last",
    settings: Settings = None,
    checkpoints: Annotated[int, typer.Option(min=1, help="How many of its checkpoints, at most.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.5, help="The longest that one of them plays.")] = 8.0,
    seed: Seed = None,
    stochastic: Stochastic = False,
    task: Task = None,
    fps: Fps = None,
    out: Out = None,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Record how a run learned: several checkpoints, beside the curve of its returns.

    It begins with the policy as it was before training and has whatever checkpoints the run kept; for more
    of them, train with checkpoint.every and checkpoint.keep.

    \b
    Examples:
      gymnast video progress
      gymnast video progress k3v --checkpoints 8 --seconds 5 --out lander.mp4
    """
    reference, overrides = run_and_settings(run, settings)
    video = used_when_trusted(
        trust,
        lambda trusted: api.progress_video(
            reference,
            checkpoints=checkpoints,
            seconds=seconds,
            stochastic=stochastic,
            seed=seed,
            task=task,
            fps=fps,
            out=out,
            overrides=overrides,
            trust=trusted,
            runs_dir=runs_dir,
        ),
    )
    _show(video, as_json)
    if not as_json:
        steps = ", ".join(f"{steps:,}" for steps in video.checkpoints)
        echo(f"steps    {steps}")
        if len(video.checkpoints) <= min(checkpoints, 3):
            echo(
                "the run kept no others far enough apart; train with checkpoint.every=50k checkpoint.keep=20"
            )


def _show(video: Video, as_json: bool) -> None:
    if as_json:
        echo_json(video.to_json(), indent=None)
        return
    from gymnast.metrics.sinks.console import number

    returns = ", ".join(number("eval/return/mean", value) for value in video.returns)
    echo(f"{video.path}")
    echo(f"returns  {returns}{' (cut off by the limit)' if video.cut else ''}")
    echo(
        f"video    {video.seconds:.1f} s, {video.frames:,} frames of {video.width} × {video.height}"
        f" at {video.fps:g} per second"
    )
