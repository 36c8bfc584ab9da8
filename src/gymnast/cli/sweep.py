"""`gymnast sweep`: find settings that suit an env, by training many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gymnast import api
from gymnast.cli.completion import complete_checkpoint, complete_reference
from gymnast.cli.options import ConfigDirs, Json, RunsDir
from gymnast.cli.program import option_for, program
from gymnast.cli.train import EXIT_FAILED, EXIT_INTERRUPTED, split_words
from gymnast.cli.where import Cores, Gpu, MaxCost, Memory
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json

_NOTHING = """nothing to sweep: name a preset, a config or a sweep file
try    gymnast sweep CartPole-v1:ppo --trials 16 --max-env-steps 50k
or     gymnast sweep sweep.yaml"""


class _StartByDefault(TyperGroup):
    """`gymnast sweep CartPole-v1:ppo` means `gymnast sweep start CartPole-v1:ppo`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["start", *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[FILE|PRESET [KEY=VALUE]... [OPTIONS] | COMMAND [ID|@last]]"]


app = typer.Typer(
    cls=_StartByDefault,
    help="Find settings that suit an env, by training many runs.",
    no_args_is_help=True,
    epilog="""\b
Examples:
  gymnast sweep CartPole-v1:ppo --trials 32 --max-env-steps 50k
  gymnast sweep sweep.yaml --workers 2       a file in W&B's format
  gymnast sweep start --help                 all options of a new sweep
  gymnast sweep status @last                 how far it is
  gymnast sweep resume @last                 continue it where it was left
  gymnast sweep apply @last                  write the winner as a config
""",
)

SweepName = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a sweep, the beginning of one, or @last.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, metavar="K", help="Runs at once; else the number of cores.")
]
Plain = Annotated[bool, typer.Option("--plain", help="Print plain lines, as in a pipe.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing until the end.")]


@app.command()
def start(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|PRESET [KEY=VALUE]...",
            help="What to sweep, and settings that all trials have.",
            autocompletion=complete_reference,
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many; else the file's run_cap, else 32.")
    ] = None,
    workers: Workers = None,
    method: Annotated[
        str | None, typer.Option(help="grid, random or bayes; bayes needs the extra sweep.")
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="score_auc, score_auc_seconds, final, best, steps_to_threshold, time_to_threshold"
            " or a metric."
        ),
    ] = None,
    init_from: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN[/CKPT]",
            help="All trials start with this policy.",
            autocompletion=complete_checkpoint,
        ),
    ] = None,
    on: Annotated[str | None, typer.Option(help="Where trials run: local, ray or modal.")] = None,
    max_env_steps: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Env steps of one run, e.g. 50k.")
    ] = None,
    wall_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Seconds of one run, or 10m, 2h.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs of each trial in the search; else 1.")
    ] = None,
    race_seeds: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Seeds of the race of the best five; else 3.")
    ] = None,
    test_seeds: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Seeds on which winner and preset are compared; else 5."),
    ] = None,
    prune: Annotated[
        bool | None, typer.Option("--prune/--no-prune", help="Give up runs that are far behind; on.")
    ] = None,
    patience: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="A run that shows no sign of life for so long is ended; else 10m."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the search itself; else 0.")] = None,
    max_cost: MaxCost = None,
    cores: Cores = None,
    memory: Memory = None,
    gpu: Gpu = None,
    runs_dir: RunsDir = None,
    config_dir: ConfigDirs = None,
    plain: Plain = False,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, at the end.")] = False,
) -> None:
    """Search settings of a preset, or what a sweep file says.

    Every trial is a run, in the folder of runs. Without a file the ranges are those that the algorithm's
    settings declare. The preset's own values are the first trial. The best trials race on further seeds, then
    winner and preset are compared on seeds that nothing was chosen by.

    \b
    Examples:
      gymnast sweep CartPole-v1:ppo --trials 32 --max-env-steps 50k
      gymnast sweep LunarLander-v3:ppo algo.gamma=0.999 --method random
      gymnast sweep sweep.yaml --workers 2
      gymnast sweep CartPole-v1:ppo --objective steps_to_threshold --from @last/@best
      gymnast sweep LunarLander-v3:ppo --on modal --max-cost 5

    \b
    Ctrl-C saves everything; gymnast sweep resume @last continues.
    Exit code: 0 done, 1 failed, 2 bad input, 3 interrupted and saved.
    """
    what, overrides = split_words(words or [])
    if what is None:
        raise GymnastError(_NOTHING)
    budget = {"budget.env_steps": max_env_steps, "budget.wall_time": wall_time}
    overrides += [f"{key}={value}" for key, value in budget.items() if value is not None]

    def begin(watch: Any) -> api.Sweep:
        return api.sweep(
            what,
            overrides=overrides,
            trials=trials,
            workers=workers,
            method=method,
            objective=objective,
            init_from=init_from,
            on=on,
            seeds_per_trial=seeds,
            race_seeds=race_seeds,
            test_seeds=test_seeds,
            prune=prune,
            patience=patience,
            seed=seed,
            runs_dir=runs_dir,
            config_dirs=config_dir or (),
            max_cost=max_cost,
            cores=cores,
            memory=memory,
            gpu=gpu,
            watch=watch,
            notify=_say,
        )

    _watched(begin, runs_dir, plain=plain, quiet=quiet, as_json=as_json)


@app.command()
def resume(
    sweep: SweepName = "@last",
    trials: Annotated[int | None, typer.Option(min=1, metavar="N", help="A new total.")] = None,
    workers: Workers = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="DOLLARS", help="Of a sweep on modal: a new total.")
    ] = None,
    runs_dir: RunsDir = None,
    plain: Plain = False,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, at the end.")] = False,
) -> None:
    """Continue a sweep where it was left, however that was; with more trials if wanted."""

    def begin(watch: Any) -> api.Sweep:
        return api.resume_sweep(
            sweep,
            workers=workers,
            trials=trials,
            max_cost=max_cost,
            runs_dir=runs_dir,
            watch=watch,
            notify=_say,
        )

    _watched(begin, runs_dir, plain=plain, quiet=quiet, as_json=as_json)


@app.command("list")
def list_sweeps(runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """All sweeps, newest first."""
    found = api.list_sweeps(runs_dir=runs_dir)
    if as_json:
        echo_json([sweep.to_json() for sweep in found])
    elif found:
        from gymnast.cli.sweep_tables import print_sweeps

        print_sweeps(found)
    else:
        echo(f"no sweeps in {api.runs_folder(runs_dir)} yet")


@app.command()
def status(sweep: SweepName = "@last", runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """How far a sweep is, and the front of its trials."""
    found = api.find_sweep(sweep, runs_dir=runs_dir)
    if as_json:
        echo_json(found.to_json(trials=True))
    else:
        from gymnast.cli.sweep_tables import print_status

        print_status(found)


@app.command()
def stop(sweep: SweepName = "@last", runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """Have the process that works on a sweep save everything and leave; resume continues."""
    found = api.stop_sweep(sweep, runs_dir=runs_dir)
    if as_json:
        echo_json({"id": found.id, "stopping": True})
    else:
        echo(f"sweep {found.id} saves its runs and stops; continue with: "
             f"{program()} sweep resume {found.id}{option_for(runs_dir)}")  # fmt: skip


@app.command()
def best(sweep: SweepName = "@last", runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """The winner of a sweep, or what leads so far, beside the preset."""
    found = api.find_sweep(sweep, runs_dir=runs_dir)
    if as_json:
        values = found.to_json()
        echo_json({key: values[key] for key in ("id", "status", "best", "baseline", "winner", "verdict")})
    else:
        from gymnast.cli.sweep_tables import print_best

        print_best(found)


@app.command()
def report(sweep: SweepName = "@last", runs_dir: RunsDir = None, as_json: Json = False) -> None:
    """Write and print the report of a sweep, with pictures in its folder."""
    path = api.report_on_sweep(sweep, runs_dir=runs_dir)
    if as_json:
        found = api.find_sweep(sweep, runs_dir=runs_dir)
        echo_json({"path": str(path), **found.to_json(trials=True, importances=True)})
    else:
        echo(path.read_text(encoding="utf-8"))
        echo(f"written to {path}")


@app.command()
def apply(
    sweep: SweepName = "@last",
    trial: Annotated[int | None, typer.Option(min=0, help="Another trial than the winner.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of configs; else ./configs.")
    ] = None,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Write the winner as a config of your own, which gymnast train finds by its name."""
    path, reference = api.apply_sweep(sweep, trial=trial, name=name, folder=out, runs_dir=runs_dir)
    if as_json:
        echo_json({"path": str(path), "reference": reference})
    else:
        echo(f"written to {path}\ntrain it with: {program()} train {reference}")


@app.command()
def export(
    sweep: SweepName = "@last",
    wandb: Annotated[bool, typer.Option("--wandb", help="For wandb sweep; the only form there is.")] = True,
    runs_dir: RunsDir = None,
) -> None:
    """Print a sweep as a file for W&B's own sweeps."""
    echo(api.export_sweep(sweep, runs_dir=runs_dir), end="")


def _say(text: str) -> None:
    echo(text, err=True)


def _watched(begin: Any, runs_dir: Path | None, *, plain: bool, quiet: bool, as_json: bool) -> None:
    """Work on a sweep, show how it goes, and leave with the exit code that tells how it ended."""
    from gymnast.cli.sweep_view import build_view

    if quiet and as_json:
        raise GymnastError("--quiet and --json both choose what is printed: give one of them")
    view = build_view(plain=plain, silent=quiet or as_json)
    try:
        found = begin(view.show)
    finally:
        view.close()
    if as_json:
        echo_json(found.to_json(trials=True, importances=True))
    else:
        from gymnast.cli.sweep_tables import print_end

        print_end(found, runs_dir)
    codes = {"finished": 0, "interrupted": EXIT_INTERRUPTED, "running": EXIT_INTERRUPTED}
    raise typer.Exit(codes.get(found.state.status, EXIT_FAILED))
