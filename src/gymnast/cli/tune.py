"""gymnast tune: find out what is wrong with settings, try changes, keep what holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs, Json, RunsDir
from gymnast.cli.program import option_for, program
from gymnast.cli.train import EXIT_INTERRUPTED, split_words
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import Tuned, TuningAdvice

_NOTHING = """nothing to tune: name a preset, a config or a run
try    gymnast tune CartPole-v1:ppo --budget 10m
or     gymnast tune @last --dry-run"""


def tune(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PRESET|RUN [KEY=VALUE]...",
            help="What to tune, and settings that all of its runs have.",
            autocompletion=complete_reference,
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Such as 30m, which it is if nothing is given.")
    ] = None,
    max_env_steps: Annotated[
        str | None, typer.Option(metavar="N", help="Env steps of all runs together, such as 5M.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Runs at once; else the number of cores.")
    ] = None,
    until_solved: Annotated[
        bool, typer.Option("--until-solved", help="Stop searching when every seed reaches the threshold.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what the first round would try, from existing runs.")
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Continue a tune: its id, the beginning of one, or @last."),
    ] = None,
    model: Annotated[
        bool,
        typer.Option(
            "--model/--no-model",
            help="Ask a language model for a quarter of the proposals, if one is set up.",
        ),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing until the end.")] = False,
    as_json: Json = False,
    runs_dir: RunsDir = None,
    config_dir: ConfigDirs = None,
) -> None:
    """Find out what is wrong with settings, and repair them.

    Three seeds of the preset are the baseline. Their alerts and curves select changes; each is raced against
    the unchanged continuation on the same seeds, from the checkpoint before the symptom where that is
    possible. What is accepted must hold on five fresh seeds; then it is written as a config, with a report.

    \b
    Examples:
      gymnast tune CartPole-v1:ppo algo.lr=0.15 --budget 10m
      gymnast tune LunarLander-v3:ppo --max-env-steps 20M --workers 4
      gymnast tune @last --dry-run      what to try with the last run
      gymnast tune --resume @last       continue a tune where it was left
    """
    reference, overrides = split_words(words or [])
    notify = (lambda text: None) if quiet or as_json else (lambda text: echo(text, wrap=True))
    if resume is not None:
        planned = (reference, overrides, budget, max_env_steps, dry_run, until_solved, not model, config_dir)
        if any(planned):
            raise GymnastError(
                "--resume continues a tune as it was planned: leave out everything else but --workers"
            )
        tuned = _interruptible(
            lambda: api.resume_autotune(resume, workers=workers, runs_dir=runs_dir, notify=notify), runs_dir
        )
        _show(tuned, as_json)
        return
    if reference is None:
        raise GymnastError(_NOTHING)
    if dry_run:
        advice = api.tuning_advice(
            reference, overrides=overrides, runs_dir=runs_dir, config_dirs=config_dir or ()
        )
        echo_json(advice.to_json()) if as_json else _show_advice(advice)
        return
    tuned = _interruptible(
        lambda: api.autotune(
            reference,
            overrides=overrides,
            max_env_steps=max_env_steps,
            budget=budget,
            workers=workers,
            until_solved=until_solved,
            ask_model=model,
            runs_dir=runs_dir,
            config_dirs=config_dir or (),
            notify=notify,
        ),
        runs_dir,
    )
    _show(tuned, as_json)


def _interruptible(work: Callable[[], Tuned], runs_dir: Path | None) -> Tuned:
    try:
        return work()
    except KeyboardInterrupt:
        echo(f"stopped; {program()} tune --resume @last{option_for(runs_dir)} continues", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _show(tuned: Tuned, as_json: bool) -> None:
    state = tuned.state
    if as_json:
        echo_json(tuned.to_json())
        return
    echo(f"\n{state.id}: {state.status}: {state.message}", wrap=True)
    for key, value in state.changes.items():
        echo(f"  {key}={value}")
    echo(f"{state.env_steps:,} env steps in {len(state.spent)} runs, {state.seconds:.0f} s")
    echo(f"report: {tuned.report}")
    if state.variant is not None:
        echo(f"train it: gymnast train {state.variant}")


def _show_advice(advice: TuningAdvice) -> None:
    echo(f"seen in {', '.join(advice.runs)}:")
    for symptom in advice.symptoms:
        echo(
            f"  {symptom.name} ({symptom.severity}, from step {symptom.first_step:,}): {symptom.seen}",
            wrap=True,
        )
    if not advice.symptoms:
        echo("  nothing that the table knows an edit for")
    echo("a first round would try:")
    for proposed in advice.proposals:
        changes = " ".join(f"{key}={value}" for key, value in proposed.edit.items())
        echo(f"  {changes}", style="bold")
        echo(f"    {proposed.arm or proposed.source}: {proposed.why}", wrap=True)
    for note in advice.notes:
        echo(f"note: {note}", wrap=True)
