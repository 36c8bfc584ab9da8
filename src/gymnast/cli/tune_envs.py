"""gymnast tune-envs: how an environment is stepped fastest on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.config.load import ResolvedConfig
    from gymnast.envs.measure.tuning import Cell, Tuning

_HEADER = f"{'envs':>6}  {'backend':<8}  {'helpers':<12}  {'steps/s':>10}  {'memory':>8}"


def tune_envs(
    env: Annotated[str, typer.Argument(metavar="ENV", help="A preset, a config file or any env id.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Settings, such as env.atari.obs=ram."),
    ] = None,
    envs: Annotated[
        str | None, typer.Option(metavar="N,N,…", help="Numbers of envs to try; 1,4,16,64 if unset.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.05, help="How long each is stepped.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    config_dir: Annotated[
        list[Path] | None, typer.Option("--config-dir", help="A folder of your own configs.")
    ] = None,
) -> None:
    """Measure how an environment is stepped fastest on this machine.

    Every backend that can step it, with different numbers of envs and of processes or threads, each in a
    process of its own and with random actions. The result is remembered: `env.n_envs=auto` goes by it.

    \b
    Examples:
      gymnast tune-envs LunarLander-v3
      gymnast tune-envs ALE/Pong-v5 env.atari.obs=ram --envs 8,32,128
      gymnast tune-envs Pendulum-v1 --seconds 3 --json
    """
    from gymnast.cli.train import split_words
    from gymnast.envs.measure.capacity import check_fits
    from gymnast.envs.measure.tuning import N_ENVS, tune

    reference, overrides = split_words([env, *(settings or [])])
    if reference is None:
        raise GymnastError(
            f"say which environment to measure, e.g. gymnast tune-envs CartPole-v1 {overrides[0]}"
        )
    resolved = _load(reference, overrides, config_dir or [])
    config, counts = resolved.config, N_ENVS if envs is None else _counts(envs)
    n_steps = config.algo.n_steps if isinstance(config.algo.n_steps, int) else 1
    for count in counts:
        check_fits(config.env, count, n_steps)
    if not as_json:
        typer.echo(f"{resolved.name}: steps of single envs a second, random actions, {seconds:g} s each")
        typer.echo(_HEADER)
    tuning = tune(config.env, counts, seconds, None if as_json else _print_cell)
    same = _same_experience(tuning, resolved)
    if as_json:
        typer.echo(json.dumps(_as_dict(resolved.name, tuning, same)))
        return
    typer.echo(f"\nchoice: {' '.join(_settings(tuning.choice))}")
    typer.echo(f"because it is {tuning.reason}")
    typer.echo("remembered for this machine: env.n_envs=auto takes it")
    if same:
        typer.echo(
            "note: parallel envs give the same experience: copies with different seeds that do the same see"
            " the same; sticky-actions in env.wrappers would make them differ"
        )


def _load(reference: str, overrides: list[str], config_dirs: list[Path]) -> ResolvedConfig:
    """Of several variants the first: they seldom differ in the env, and the name printed says which."""
    from gymnast.config.load import SeveralVariantsError, load_config

    try:
        return load_config(reference, overrides, config_dirs=config_dirs)
    except SeveralVariantsError as several:
        return load_config(f"{several.name}:{several.variants[0]}", overrides, config_dirs=config_dirs)


def _counts(text: str) -> tuple[int, ...]:
    from gymnast.config.values import parse_count

    try:
        counts = tuple(parse_count(part) for part in text.split(","))
    except ValueError as error:
        raise GymnastError(f"--envs: {error}") from None
    if min(counts) < 1:
        raise GymnastError(f"--envs: {min(counts)} envs cannot be stepped; give numbers from 1")
    return counts


def _same_experience(tuning: Tuning, resolved: ResolvedConfig) -> bool:
    """Asked of at least two copies, in the way that was chosen; the answer is printed here, not logged."""
    from gymnast.envs.measure.sameness import warn_of_same_copies
    from gymnast.training.run.notices import passed_on

    env = tuning.choice.applied(resolved.config.env)
    several = env.model_copy(update={"n_envs": max(4, env.copies)})
    backend = "auto" if tuning.choice.n_envs == 1 else tuning.choice.backend
    with passed_on():
        return warn_of_same_copies(several, backend, resolved.config.seed)


def _print_cell(cell: Cell) -> None:
    from gymnast.envs.measure.memory import shown_memory

    memory = cell.measured.memory if cell.measured is not None else None
    rate = f"{cell.rate:>10,.0f}" if cell.rate else f"{'-':>10}"
    shown = shown_memory(memory) if memory is not None else "-"
    problem = f"  {cell.problem}" if cell.problem is not None else ""
    typer.echo(f"{cell.n_envs:>6}  {cell.backend:<8}  {_helpers(cell):<12}  {rate}  {shown:>8}{problem}")


def _helpers(cell: Cell) -> str:
    for count, what in ((cell.processes, "process"), (cell.threads, "thread")):
        if count is not None:
            return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what == 'process' else 's'}"
    return ""


def _settings(cell: Cell) -> list[str]:
    """What to put on a command line to have it without `auto`."""
    settings = [f"env.n_envs={cell.n_envs}", f"env.backend={cell.backend}"]
    if cell.processes is not None:
        settings.append(f"env.workers={cell.processes}")
    if cell.threads is not None:
        settings.append(f"env.atari.threads={cell.threads}")
    return settings


def _as_dict(name: str, tuning: Tuning, same: bool) -> dict[str, Any]:
    return {
        "env": name,
        "cells": [_cell_dict(cell) for cell in tuning.cells],
        "choice": _cell_dict(tuning.choice) | {"reason": tuning.reason},
        "steps_between_rewards": tuning.steps_between_rewards,
        "same_experience": same,
    }


def _cell_dict(cell: Cell) -> dict[str, Any]:
    measured = cell.measured
    return {
        "n_envs": cell.n_envs,
        "backend": cell.backend,
        "workers": cell.processes,
        "threads": cell.threads,
        "steps_per_second": None if measured is None else round(measured.steps_per_second, 1),
        "memory_bytes": None if measured is None else measured.memory,
        "problem": cell.problem,
    }
