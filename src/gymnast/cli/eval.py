"""gymnast eval: evaluate a checkpoint over many episodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.options import CheckpointName, RunsDir
from gymnast.cli.trust import Trust, used_when_trusted
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import Evaluation, TaskEvaluation

_SETTING = re.compile(r"[A-Za-z_][\w.-]*=.*", re.DOTALL)

Settings = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help="Settings other than those the run was trained with."),
]


def run_and_settings(reference: str, settings: list[str] | None) -> tuple[str, list[str]]:
    """What is evaluated or recorded, and with which settings; the run may be left out before them."""
    if _SETTING.fullmatch(reference):
        return "@last", [reference, *(settings or [])]
    return reference, settings or []


def evaluate(
    reference: CheckpointName = "@last",
    settings: Settings = None,
    episodes: Annotated[
        int, typer.Option(min=1, help="How many episodes; of a mix, of each of its tasks.")
    ] = 100,
    stochastic: Annotated[
        bool | None,
        typer.Option(
            "--stochastic/--greedy",
            help="Sample the actions, or take the most likely; else as the run was evaluated.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the episodes; else new ones that training never saw."),
    ] = None,
    n_envs: Annotated[int | None, typer.Option(min=1, help="How many envs at a time.")] = None,
    runs_dir: RunsDir = None,
    trust: Trust = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Evaluate a run's checkpoint over many episodes.

    RUN may be @last, the newest, or @best, the one that `gymnast runs best` prints. CKPT may be @last, @best
    (the highest score, the latest of equal ones; in a mix those that solve every task come first) or its
    env steps.

    The best checkpoint was selected by its score in training, on the same episodes each time. Its score here
    is on other episodes, the same for every `gymnast eval` of the run, so nothing was selected by it.

    \b
    Examples:
      gymnast eval                          the best checkpoint of the last run
      gymnast eval @last/@last --episodes 20
      gymnast eval k3v --stochastic --json  a run by the start of its id
      gymnast eval @last env.kwargs.map_name=8x8
    """
    run, overrides = run_and_settings(reference, settings)
    result = used_when_trusted(
        trust,
        lambda trusted: api.evaluate(
            run,
            episodes=episodes,
            stochastic=stochastic,
            seed=seed,
            n_envs=n_envs,
            overrides=overrides,
            trust=trusted,
            runs_dir=runs_dir,
        ),
    )
    if as_json:
        echo_json(result.to_json(), indent=None)
    else:
        echo(_block(result))


def _block(result: Evaluation) -> str:
    from gymnast.metrics.sinks.console import number

    def score(value: float) -> str:
        return number("eval/return/mean", value)

    how = "actions sampled" if result.stochastic else "greedy"
    verdict = "   solved" if result.solved else ""
    each = f", {result.episodes // len(result.tasks):,} of each task" if result.tasks else ""
    return (
        f"{result.run}/{result.checkpoint} at {result.env_steps:,} env steps\n"
        f"return   {score(result.mean_return)} ± {score(result.std_return)}{verdict}\n"
        f"range    {score(result.min_return)} … {score(result.max_return)}\n"
        f"length   {number('eval/length/mean', result.mean_length)} steps\n"
        f"episodes {result.episodes:,}{each}, {how}, seed {result.seed}{_task_lines(result.tasks)}"
    )


def _task_lines(tasks: tuple[TaskEvaluation, ...]) -> str:
    """A line for each task of a mix, below the total."""
    from gymnast.metrics.sinks.console import number

    width = max((len(task.name) for task in tasks), default=0)
    lines = ""
    for task in tasks:
        mean, std = (number("eval/return/mean", value) for value in (task.mean_return, task.std_return))
        length = number("eval/length/mean", task.mean_length)
        verdict = "   solved" if task.solved else ""
        lines += f"\n  {task.name:<{width}}  {mean} ± {std}, {length} steps{verdict}"
    return lines
