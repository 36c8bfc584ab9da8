"""gymnast tune-envs: the fastest way to step an environment on this machine."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import TunedCell

_HEADER = f"{'envs':>6}  {'backend':<8}  {'helpers':<12}  {'steps/s':>10}  {'memory':>8}"


def tune_envs(
    env: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE",
            help="A preset, a config file or any env id.",
            autocompletion=complete_reference,
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Settings, such as env.atari.obs=ram."),
    ] = None,
    envs: Annotated[
        str | None, typer.Option(metavar="N,N,…", help="Numbers of envs to try; 1,4,16,64 if unset.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.05, help="How long each is stepped.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    config_dir: ConfigDirs = None,
) -> None:
    """Measure the fastest way to step an environment on this machine.

    Every backend that can step it, with different numbers of envs and of processes or threads, each in a
    process of its own and with random actions. The result is remembered: `env.n_envs=auto` uses it.

    \b
    Examples:
      gymnast tune-envs LunarLander-v3
      gymnast tune-envs ALE/Pong-v5 env.atari.obs=ram --envs 8,32,128
      gymnast tune-envs Pendulum-v1 --seconds 3 --json
    """
    from gymnast.cli.train import split_words

    reference, overrides = split_words([env, *(settings or [])])
    if reference is None:
        raise GymnastError(f"no environment is named; try: gymnast tune-envs CartPole-v1 {overrides[0]}")

    def announce(name: str) -> None:
        echo(f"{name}: steps of single envs per second, random actions, {seconds:g} s each", wrap=True)
        echo(_HEADER)

    # What envs print would spoil the JSON; above a table that grows it may stay.
    with api.captured_output() if as_json else nullcontext():
        tuning = api.tune_envs(
            reference,
            overrides=overrides,
            n_envs=None if envs is None else _counts(envs),
            seconds=seconds,
            config_dirs=config_dir or (),
            on_start=None if as_json else announce,
            on_cell=None if as_json else _print_cell,
        )
    if as_json:
        echo_json(tuning.to_json(), indent=None)
        return
    echo(f"\nchoice: {' '.join(tuning.choice.settings)}", wrap=True)
    echo(f"because it is {tuning.reason}", wrap=True)
    echo("remembered for this machine: env.n_envs=auto uses it")
    if tuning.same_experience:
        echo(
            "note: parallel envs give the same experience: copies with different seeds and the same actions"
            " see the same; sticky-actions in env.wrappers would make them differ",
            wrap=True,
        )


def _counts(text: str) -> tuple[int, ...]:
    try:
        counts = tuple(api.parse_count(part) for part in text.split(","))
    except ValueError as error:
        raise GymnastError(f"--envs: {error}") from None
    if min(counts) < 1:
        raise GymnastError(f"--envs: {min(counts)} envs cannot be stepped; give numbers from 1")
    return counts


def _print_cell(cell: TunedCell) -> None:
    rate = f"{cell.steps_per_second:>10,.0f}" if cell.steps_per_second else f"{'-':>10}"
    memory = api.shown_memory(cell.memory_bytes) if cell.memory_bytes is not None else "-"
    problem = f"  {cell.problem}" if cell.problem is not None else ""
    echo(f"{cell.n_envs:>6}  {cell.backend:<8}  {_helpers(cell):<12}  {rate}  {memory:>8}{problem}")


def _helpers(cell: TunedCell) -> str:
    for count, what in ((cell.workers, "process"), (cell.threads, "thread")):
        if count is not None:
            return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what == 'process' else 's'}"
    return ""
