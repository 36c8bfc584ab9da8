"""`gymnast config show|validate|format|keys`: look at configs, check them, put them in order."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs, Json, References
from gymnast.errors import GymnastError
from gymnast.terminal.text import columns, echo, echo_entry, echo_json

app = typer.Typer(help="Show, check and format configs.", no_args_is_help=True)

_NARROW = 100  # columns
_OVERRIDE = re.compile(r"[A-Za-z_][\w.]*=")


@app.command()
def show(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="REFERENCE [KEY=VALUE]",
            help="EnvId:variant or file.yaml[:variant], then overrides such as algo.lr=1e-3.",
            autocompletion=complete_reference,
        ),
    ],
    every: Annotated[
        bool,
        typer.Option("--all", help="Also settings without effect here, such as those of other games."),
    ] = False,
    json: Json = False,
    config_dir: ConfigDirs = None,
) -> None:
    """Print the resolved settings and where each came from, and the network that they make.

    Settings without effect here (of other games, of images or a memory that this config does not use) are
    left out unless they were changed; --all and --json print all. What is printed can be saved and loaded.

    \b
    Examples:
      gymnast config show CartPole-v1:ppo
      gymnast config show LunarLander-v3:ppo --all
      gymnast config show my.yaml:fast algo.lr=1e-3 --json
    """
    overrides = [text for text in what if _OVERRIDE.match(text)]
    references = [text for text in what if not _OVERRIDE.match(text)]
    if not references:
        raise GymnastError(f"no config is named; try: gymnast config show CartPole-v1:ppo {overrides[0]}")
    with api.captured_output():
        shown = [
            api.show_config(reference, overrides=overrides, config_dirs=config_dir or ())
            for reference in references
        ]
    if json:
        found = [config.to_json() for config in shown]
        echo_json(found[0] if len(found) == 1 else found)
        return
    from gymnast.cli.network_tree import network_text

    for config in shown:
        text = config.text(every=every)
        if columns() < _NARROW:  # comments follow their values, instead of in a column of their own
            text = re.sub(r" {2,}# ", "  # ", text)
        echo(f"# {config.name}\n{text}{network_text(config.network)}", end="")
        if config.left_out and not every:
            echo("# settings without effect here are left out; --all shows them")


@app.command()
def validate(
    what: References = None,
    json: Json = False,
    config_dir: ConfigDirs = None,
) -> None:
    """Check configs; exit 2 if any fails.

    Keys, values, how they fit together, and whether the environment can be built with its wrappers.

    \b
    Examples:
      gymnast config validate                  every packaged config and your own
      gymnast config validate my.yaml Taxi-v4
    """
    with api.captured_output():
        results = api.validate_configs(what or (), config_dirs=config_dir or ())
    valid = sum(result.ok for result in results)
    if json:
        echo_json([result.to_json() for result in results])
    else:
        for result in results:
            note = f"  ({result.note})" if result.note else ""
            echo(
                f"ok      {result.name}{note}" if result.ok else f"failed  {result.name}\n  {result.problem}"
            )
        echo(f"{valid} of {len(results)} configs are valid")
    if valid < len(results):
        raise typer.Exit(2)


@app.command("format")
def format_files(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Files or ids; your own config folders if none is given.",
            autocompletion=complete_reference,
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if a file would change.")
    ] = False,
    json: Json = False,
    config_dir: ConfigDirs = None,
) -> None:
    """Put config files in order.

    Keys take the order of the settings, layout is made uniform, comments stay with their keys. A file is
    written only if that keeps its meaning, and one that is in order is not touched.

    \b
    Examples:
      gymnast config format my.yaml
      gymnast config format --check            all of ./configs, changing nothing
    """
    results = api.format_configs(files or (), check=check, config_dirs=config_dir or ())
    if json:
        echo_json([result.to_json() for result in results])
    else:
        word = "would change" if check else "formatted"
        for result in results:
            echo(f"{word if result.changed else 'unchanged'}  {result.file}")
        if not results:
            echo("no config files found; give files, or put some into ./configs")
    if check and any(result.changed for result in results):
        raise typer.Exit(1)


@app.command()
def keys(
    text: Annotated[
        str, typer.Argument(metavar="WORD", help="Only keys whose name or description contains this.")
    ] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/settings.md.")] = False,
    json: Json = False,
) -> None:
    """List every key that a config may have, with its default and meaning."""
    if markdown:
        echo(api.settings_page(), end="")
        return
    found = api.config_keys(text)
    if json:
        echo_json([key.to_json() for key in found])
        return
    width = max(len(key.name) for key in found)
    for key in found:
        if columns() < 2 * width + 20:
            echo_entry(f"  [{key.default}]", key.description, name=key.name)
        else:
            echo(f"{key.name:<{width}}  {key.description} [{key.default}]")
