"""gymnast train: start a run or resume one, and print how it ended."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from gymnast import api
from gymnast.cli.completion import complete_checkpoint, complete_reference, complete_run, complete_tracker
from gymnast.cli.continuing import again_on_sigterm, check_continuing, with_next
from gymnast.cli.options import ConfigDirs, RunsDir
from gymnast.cli.program import option_for, program
from gymnast.cli.trust import Trust, ask_for_trust, used_when_trusted
from gymnast.cli.where import Cores, Gpu, MaxCost, Memory, On, check_remote, is_remote
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from pathlib import Path

    from gymnast.api import Run

LAST = "@last"
EXIT_FAILED, EXIT_INTERRUPTED = 1, 3
_OVERRIDE = re.compile(r"[A-Za-z_][\w.\-/]*=.*", re.DOTALL)

FIRST_STEPS = """nothing to train: name a preset, a config file or an environment
try    gymnast train CartPole-v1:ppo
or     gymnast envs        to list what there is"""


class TrainCommand(TyperCommand):
    """`--resume` without a run means the last one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        filled: list[str] = []
        for position, word in enumerate(args):
            filled.append(word)
            following = args[position + 1] if position + 1 < len(args) else "-"
            if word == "--":
                filled += args[position + 1 :]
                break
            if word == "--resume" and (following.startswith("-") or _OVERRIDE.fullmatch(following)):
                filled.append(LAST)
        return super().parse_args(ctx, filled)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "[REFERENCE]", "[KEY=VALUE]..."]


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("train", cls=TrainCommand)
def train(
    words: Annotated[
        list[str] | None,
        # One list for two things; the text below and the usage line explain both.
        typer.Argument(hidden=True, autocompletion=complete_reference),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="Resume this run; the last one if none is named.",
            autocompletion=complete_run,
        ),
    ] = None,
    fresh_optimizer: Annotated[
        bool, typer.Option("--fresh-optimizer", help="With --resume: keep the weights, reset the optimiser.")
    ] = False,
    init_from: Annotated[
        str | None,
        typer.Option(
            metavar="RUN[/CKPT]",
            help="Start with the weights of another run, e.g. @last/@best.",
            autocompletion=complete_checkpoint,
        ),
    ] = None,
    max_env_steps: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="Total env steps, e.g. 300k or 2M; on a resume the new total."),
    ] = None,
    wall_time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Seconds of training, or 10m, 2h; resumed parts add up."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the new run, which is drawn otherwise.")
    ] = None,
    continued: Annotated[
        bool,
        typer.Option(
            "--continue", help="With --run-id: start that run, or continue it if it exists; may be repeated."
        ),
    ] = False,
    max_duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Save and exit with 3 after this time of this process, e.g. 23h30m."
        ),
    ] = None,
    on: On = None,
    max_cost: MaxCost = None,
    gpu: Gpu = None,
    cores: Cores = None,
    memory: Memory = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRACKER",
            help="Also send metrics to wandb, wandb=offline, trackio or tensorboard; repeatable.",
            autocompletion=complete_tracker,
        ),
    ] = None,
    runs_dir: RunsDir = None,
    config_dir: ConfigDirs = None,
    trust: Trust = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print plain lines, as in a pipe, instead of the live view.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line, at the end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, at the end.")] = False,
    detach: Annotated[
        bool,
        typer.Option("--detach", help="Train in the background: print the run's id and return."),
    ] = False,
) -> None:
    """Train an agent, or resume a run.

    REFERENCE is what to train: a preset (CartPole-v1:ppo), a file (my.yaml:variant) or any env id.
    KEY=VALUE changes a setting; `gymnast config show REFERENCE` lists those that apply.
    A resumed run ends with the same bits as one that was never stopped, except that episodes start again
    where an env's state cannot be saved: docs/environments.md#states lists these envs.

    \b
    Examples:
      gymnast train CartPole-v1:ppo
      gymnast train LunarLander-v3:ppo algo.lr=5e-4 seed=3
      gymnast train MountainCarContinuous-v0:ppo --max-env-steps 300k --wall-time 10m
      gymnast train my.yaml:variant            a config of your own
      gymnast train Acrobot-v1                 offers the variants there are
      gymnast train --resume                   the last run, where it stopped
      gymnast train --resume @last algo.lr=1e-4 --fresh-optimizer
      gymnast train CartPole-v1:ppo --init-from @last/@best
      gymnast train LunarLander-v3:ppo --detach      then: gymnast runs watch @last
      gymnast train LunarLander-v3:ppo --track wandb --track tensorboard
      gymnast train LunarLander-v3:ppo --run-id lander-1 --continue      in jobs: start it, or continue it
      gymnast train ALE/Pong-v5:ppo --on modal --max-cost 5 --detach     then: gymnast remote list
      gymnast train LunarLander-v3:ppo --on ray      actors wherever Ray has cores

    \b
    Keys while it trains: c checkpoint, e evaluate, p pause, q stop and save.
    Exit code: 0 solved or budget spent, 1 failed, 2 bad input, 3 interrupted and saved: run it again.
    """
    reference, overrides = split_words(words or [])
    _check(reference, resume, fresh_optimizer, init_from, quiet, as_json)
    if plain and (quiet or as_json):
        other = "--quiet" if quiet else "--json"
        raise GymnastError(f"--plain and {other} both choose what is printed: give one of them")
    if config_dir and reference is None:
        raise GymnastError("--config-dir is for what starts a new run: a resumed one has its own config")
    steps = _parse("--max-env-steps", max_env_steps, api.parse_count)
    seconds = _parse("--wall-time", wall_time, api.parse_duration)
    limit = _parse("--max-duration", max_duration, api.parse_duration)
    remote = is_remote(on)
    if on is not None and not remote:
        overrides = [*overrides, *api.place_settings(on)]
    check_continuing(reference, run_id, continued, detach and not remote)
    check_remote(
        remote, reference, init_from, {"max-cost": max_cost, "gpu": gpu, "cores": cores, "memory": memory}
    )
    if remote and reference is not None:
        from gymnast.cli.remote import train_remotely

        options = {"overrides": overrides, "config_dirs": config_dir or (), "max_env_steps": steps}
        options |= {"wall_time": seconds, "max_duration": limit, "track": track or (), "run_id": run_id}
        options |= {
            "continued": continued,
            "max_cost": max_cost,
            "gpu": gpu,
            "cores": cores,
            "memory": memory,
        }
        train_remotely(reference, options, runs_dir, detach, quiet, as_json)
        return

    if detach:
        from gymnast.cli.detach import train_detached

        budget = {"max_env_steps": steps, "wall_time": seconds}
        start = {"init_from": init_from, "resume": resume, "fresh_optimizer": fresh_optimizer}
        options = {"overrides": overrides, "config_dirs": config_dir or (), **budget, **start}
        options |= {"track": track or (), "run_id": run_id, "max_duration": limit}
        ask_for_trust(
            trust,
            lambda trusted: train_detached(
                reference, {**options, "trust": trusted}, runs_dir, quiet, as_json
            ),
        )
        return

    from gymnast.metrics.sinks.console import build_console
    from gymnast.training.run.keys import TerminalKeys, keys_help

    def trained(trusted: bool) -> Run:
        console = build_console(quiet=quiet, json=as_json, keys=keys_help(), plain=plain)
        requests = TerminalKeys(on_help=console.note, on_suspend=console.suspend, on_resume=console.resume)
        shared: dict[str, Any] = {"overrides": overrides, "max_env_steps": steps, "wall_time": seconds}
        shared |= {"runs_dir": runs_dir, "console": console, "requests": requests, "track": track or ()}
        shared["max_duration"] = limit
        try:
            with requests:
                if reference is not None:
                    shared |= {"run_id": run_id, "continued": continued, "init_from": init_from}
                    return api.train(reference, config_dirs=config_dir or (), **shared)
                return api.resume(resume or LAST, fresh_optimizer=fresh_optimizer, trust=trusted, **shared)
        finally:
            console.close()

    with again_on_sigterm() if continued else nullcontext():
        run = used_when_trusted(trust, trained)

    with suppress(OSError):  # the run is saved and its exit code holds, even if nobody reads this
        if as_json:
            echo_json(with_next(run) if continued else run.to_json(), indent=None)
        elif quiet or continued:
            echo(_one_line(run, runs_dir, continued))
        else:
            echo("\n".join(next_steps(run, runs_dir)))
    raise typer.Exit({"failed": EXIT_FAILED, "interrupted": EXIT_INTERRUPTED}.get(run.outcome.status, 0))


def split_words(words: list[str]) -> tuple[str | None, list[str]]:
    """Words with `=` are settings, the other one is the reference."""
    overrides = [word for word in words if _OVERRIDE.fullmatch(word)]
    others = [word for word in words if not _OVERRIDE.fullmatch(word)]
    if len(others) > 1:
        raise GymnastError(
            f"one thing at a time: {others[0]!r} is what to train, and {others[1]!r} is not a setting "
            f"(settings are written KEY=VALUE, without spaces)"
        )
    return (others[0] if others else None), overrides


def _check(
    reference: str | None,
    resume: str | None,
    fresh_optimizer: bool,
    init_from: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    if reference is None and resume is None:
        raise GymnastError(FIRST_STEPS)
    if reference is not None and resume is not None:
        raise GymnastError(
            f"--resume {resume} resumes that run with its own config: leave out {reference!r}, "
            f"or start a new run from its weights with --init-from {resume}"
        )
    if fresh_optimizer and resume is None:
        raise GymnastError("--fresh-optimizer is for --resume: a new run has a fresh optimiser anyway")
    if init_from is not None and resume is not None:
        raise GymnastError("--init-from starts a new run and --resume continues one: give one of them")
    if quiet and as_json:
        raise GymnastError("--quiet and --json both choose what is printed: give one of them")


def _parse(option: str, text: str | None, parse: Callable[[str], Any]) -> Any:
    if text is None:
        return None
    try:
        value = parse(text)
    except ValueError as error:
        raise GymnastError(f"{option}: {error}") from None
    if value <= 0:
        raise GymnastError(f"{option} must be more than 0, got {text!r}")
    return value


def next_steps(run: Run, runs_dir: Path | None) -> list[str]:
    """What to type now, with the run's own name in it."""
    where, gymnast = option_for(runs_dir), program()
    scored = "@best" if run.outcome.best_score is not None else "@last"  # no evaluation, no best
    score = f"{gymnast} eval {run.id}/{scored}{where}"
    show = f"{gymnast} runs show {run.id}{where}"
    resume = f"{gymnast} train --resume {run.id}{where}"
    status = run.outcome.status
    if status == "interrupted":
        steps = {"resume": resume, "evaluate": score}
    elif status == "failed":
        steps = {"show": show, "resume": resume}
    else:
        steps = {"evaluate": score, "show": show}
        if status == "finished":
            steps["resume"] = f"{resume}{_more(run)}"
    if any(alert.severity != "info" for alert in run.alerts()):
        steps["diagnose"] = f"{gymnast} diagnose {run.id}{where}"
    if run.folder.report_path.is_file():
        steps["report"] = f"{gymnast} report {run.id}{where}"
    return ["", *(f"{what:<10} {command}" for what, command in steps.items())]


def _more(run: Run) -> str:
    """A larger budget for a run that has spent its own; one that a rule stopped has some left."""
    if "wall time" in run.outcome.reason:
        return f" --wall-time {math.ceil(2 * max(1.0, run.outcome.seconds))}s"
    budget, done = run.folder.info().get("budget_env_steps"), run.outcome.env_steps
    return "" if isinstance(budget, int) and done < budget else f" --max-env-steps {2 * max(1, done)}"


def _one_line(run: Run, runs_dir: Path | None, continued: bool) -> str:
    from gymnast.metrics.sinks.console import summarise

    line = f"{run.id}: {summarise(run.outcome)}"
    if continued:
        again = run.outcome.status == "interrupted"
        return f"{line}; {'give the same command again to continue' if again else 'it is done'}"
    return (
        f"{line}; resume with: {program()} train --resume {run.id}{option_for(runs_dir)}"
        if run.outcome.status == "interrupted"
        else line
    )
