"""The `gymnast` command: finds the subcommand, and turns errors into one line and an exit code.

A new command is one file and one line in COMMANDS. Nothing of it is imported before it is called, so
`gymnast --help` costs little more than starting Python.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer._click.exceptions import ClickException
from typer.core import TyperGroup
from typer.main import get_command

from gymnast import __version__
from gymnast.cli.completion import COMPLETING, SHELLS
from gymnast.cli.help import plain_help
from gymnast.cli.program import program
from gymnast.errors import GymnastError, RunElsewhere, did_you_mean, with_values_cut
from gymnast.terminal.streams import leave, output_fault, prepare_streams
from gymnast.terminal.text import echo, escaped

# name → where its function or typer app lives, and what it does
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("gymnast.cli.train:app", "Train an agent, or resume a run."),
    "eval": ("gymnast.cli.eval:evaluate", "Evaluate a run's checkpoint over many episodes."),
    "video": ("gymnast.cli.video:app", "Record a video of a run: one checkpoint, or how it learned."),
    "inspect": ("gymnast.cli.inspect:inspect", "Look at runs and step through episodes in the browser."),
    "play": ("gymnast.cli.play:play", "Watch a policy, play yourself, or take over from it."),
    "sweep": ("gymnast.cli.sweep:app", "Find settings that suit an env, by training many runs."),
    "report": ("gymnast.cli.report:report", "Report on a run: outcome, curves, alerts with advice."),
    "review": ("gymnast.cli.review:app", "Let a language model review runs and propose changes."),
    "runs": ("gymnast.cli.runs:app", "List, show, compare, control and remove runs."),
    "remote": ("gymnast.cli.remote:app", "List, follow, stop and pull runs that train on Modal."),
    "diagnose": ("gymnast.cli.diagnose:diagnose", "Find what is wrong with a run, and what to change."),
    "publish": ("gymnast.cli.publish:publish", "Publish a run on the Hugging Face Hub."),
    "pull": ("gymnast.cli.pull:pull", "Bring a run from the Hugging Face Hub or from W&B."),
    "archive": ("gymnast.cli.archive:archive", "Put a whole run on Weights & Biases."),
    "pack": ("gymnast.cli.pack:pack", "Put a whole run into one file."),
    "unpack": ("gymnast.cli.pack:unpack", "Put a packed run among the others."),
    "envs": ("gymnast.cli.envs:envs", "Find environments and their presets."),
    "roms": ("gymnast.cli.roms:app", "Import and list games for old consoles."),
    "config": ("gymnast.cli.config:app", "Show, validate and format settings."),
    "tune": ("gymnast.cli.tune:tune", "Find out what is wrong with settings, and repair them."),
    "tune-envs": ("gymnast.cli.tune_envs:tune_envs", "Measure the fastest way to step an environment here."),
    "actor": ("gymnast.cli.actor:actor", "Step environments for a learner on another machine."),
    "wrappers": ("gymnast.cli.wrappers:wrappers", "List the wrappers that a config can name."),
    "smoke": ("gymnast.cli.smoke:smoke", "Try every preset here, for a few steps each."),
    "doctor": ("gymnast.cli.doctor:doctor", "Find what is broken: learner, wrapper or env."),
    "audit": (
        "gymnast.cli.audit:audit",
        "Look at rewards: size, sparsity, shaping, discount.",
    ),
    "metrics": ("gymnast.cli.metrics:metrics", "Explain what is recorded."),
    "mcp": ("gymnast.cli.mcp:mcp", "Let an assistant train, watch and evaluate agents (MCP server)."),
    "wandb": ("gymnast.cli.wandb:app", "A dashboard on Weights & Biases, and old runs there."),
}

_OWN_COMMAND = re.compile(rf"(?<![\w/.-])gymnast(?= (?:{'|'.join(COMMANDS)})\b)")

EPILOG = """\b
Examples:
  gymnast train CartPole-v1:ppo                  solve CartPole in seconds
  gymnast train LunarLander-v3:ppo algo.lr=5e-4  a preset, with one setting changed
  gymnast train --resume @last                   resume the last run where it stopped
  gymnast eval @last/@best --episodes 100        evaluate its best checkpoint
  gymnast envs lunar                             what there is to train
"""


class LazyGroup(TyperGroup):
    """Knows its commands by name and help line, and imports one only when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] == ["--show-completion"] and len(args) > 1 and args[1] in SHELLS:
            from typer._completion_shared import get_completion_script

            echo(get_completion_script(prog_name="gymnast", complete_var=COMPLETING, shell=args[1]))
            raise typer.Exit
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        from typer._click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=about)
            for name, (_, about) in COMMANDS.items()
            if name.startswith(incomplete)
        ] or super(TyperGroup, self).shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            raise OutsideFault from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if ctx.resilient_parsing and args[0] not in COMMANDS:
            return None, None, []  # what a shell asks to complete need not be right
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise GymnastError(f"no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}\nsee gymnast --help")
        return super().resolve_command(ctx, args)


def load_command(name: str) -> Any:
    """The command behind a name: its module holds a typer app, or a plain function."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(name)(found)
        found = single
    found.rich_markup_mode = None  # help in plain text: the same everywhere, and without importing rich
    found._add_completion = False  # offered once, by the root
    command = get_command(found)
    plain_help(command)
    command.name = name
    return command


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"gymnast {__version__}")
        raise typer.Exit


root = typer.Typer(
    cls=LazyGroup,
    help="Train, resume, evaluate and compare reinforcement-learning agents from a short YAML.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@root.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Typer makes a group, with these options, of an app that has a callback."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its code; 2 for bad input, 1 for a fault, 130 for Ctrl-C."""
    # Imports allocate much and free little: at the default of 700, collecting is a twelfth of the start-up.
    gc.set_threshold(50_000, 20, 20)
    prepare_streams()
    debug = bool(os.environ.get("GYMNAST_DEBUG"))
    code: int | str | None
    try:
        # The command itself, not the typer app: that would install its own traceback printer.
        command = get_command(root)
        if COMPLETING in os.environ:
            from gymnast.cli.completion_in_bash import prepare_completion

            prepare_completion()
        code = _run(command, args)
    except GymnastError as error:
        if debug:
            raise
        show_error(error)
        code = error.exit_code
    except ClickException as error:  # a wrong option or argument
        error.message = escaped(with_values_cut(error.message), lines=True)
        error.show()
        code = error.exit_code
    except typer.Abort:  # a question that was not answered
        echo("aborted", err=True)
        code = 1
    except KeyboardInterrupt:
        code = 130
    except SystemExit as end:
        code = end.code
    except BaseException as error:
        if debug:
            raise
        fault = error.__cause__ if isinstance(error, OutsideFault) and error.__cause__ else error
        code = 1
        if not isinstance(fault, OSError) or output_fault() is None:  # else `leave` reports it
            from gymnast.terminal.crash import crash_message

            show_error(crash_message(fault))
    leave(code or 0)


def _run(command: Any, args: Sequence[str] | None) -> Any:
    """Run it; if a run that it names is not here and the user wants it pulled, once more with that run."""
    try:
        return command(args=args, prog_name="gymnast", standalone_mode=False)
    except RunElsewhere as missing:
        from gymnast.cli.elsewhere import pulled_if_wanted

        if not pulled_if_wanted(missing):
            raise
    return command(args=args, prog_name="gymnast", standalone_mode=False)


class OutsideFault(Exception):
    """An OSError on its way through typer, which would take any closed pipe for that of stdout."""


def show_error(error: GymnastError | str) -> None:
    """`error: what was wrong`, red on a terminal; further lines of the message are hints and stay plain."""
    text = _OWN_COMMAND.sub(program(), str(error))  # what it advises works as printed
    first, *hints = text.splitlines() or ["unknown error"]
    with suppress(OSError):  # stderr itself fails
        echo(f"error: {first}", style="red", err=True, wrap=True)
        for hint in hints:
            echo(hint, err=True, wrap=True)
