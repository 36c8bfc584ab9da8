"""`gymnast config show|validate|format|keys`: look at configs, check them, put them in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from gymnast.errors import GymnastError

app = typer.Typer(help="Show, check and format configs.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ConfigDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--config-dir", help="A folder of your own configs, looked at before ./configs and the packaged ones."
    ),
]
_OVERRIDE = re.compile(r"[A-Za-z_][\w.]*=")


@app.command()
def show(
    what: Annotated[
        list[str],
        typer.Argument(help="EnvId:variant or file.yaml[:variant], then overrides such as algo.lr=1e-3."),
    ],
    json: AsJson = False,
    config_dir: ConfigDirs = None,
) -> None:
    """Print the resolved settings and where each came from, and the network that they make.

    \b
    Examples:
      gymnast config show CartPole-v1:ppo
      gymnast config show my.yaml:fast algo.lr=1e-3 --json
    """
    from gymnast.cli.network_tree import network_data, network_text
    from gymnast.config.dump import dump_config, plain_data
    from gymnast.config.load import SeveralVariantsError, load_config

    overrides = [text for text in what if _OVERRIDE.match(text)]
    references = [text for text in what if not _OVERRIDE.match(text)]
    if not references:
        raise GymnastError(
            "say which config to show, e.g. gymnast config show CartPole-v1:ppo " + overrides[0]
        )
    shown: list[dict[str, Any]] = []
    for reference in references:
        try:
            resolved = load_config(reference, overrides, config_dirs=config_dir or ())
        except SeveralVariantsError as several:
            raise SeveralVariantsError(several.name, several.variants, "gymnast config show") from None
        if json:
            config = plain_data(resolved.config)
            shown.append(
                {
                    "name": resolved.name,
                    "config": config,
                    "sources": resolved.sources,
                    "network": network_data(resolved.config),
                }
            )
        else:
            typer.echo(f"# {resolved.name}\n" + dump_config(resolved.config, resolved.sources), nl=False)
            typer.echo(network_text(resolved.config), nl=False)
    if json:
        _print_json(shown[0] if len(shown) == 1 else shown)


@app.command()
def validate(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="Ids or files, with a variant or without; all configs if none is given."),
    ] = None,
    json: AsJson = False,
    config_dir: ConfigDirs = None,
) -> None:
    """Check configs; exit 2 if any fails.

    Keys, values, how they fit together, and whether the environment can be built with its wrappers.

    \b
    Examples:
      gymnast config validate                  every packaged config and your own
      gymnast config validate my.yaml Taxi-v4
    """
    from gymnast.config.catalogue import references
    from gymnast.config.files import config_folders, names_in

    folders = config_folders(config_dir or ())
    results: list[tuple[str, str | None, str]] = []
    for name in what or names_in(folders):
        try:
            found = references([name], folders)
        except GymnastError as error:
            results.append((name, str(error), ""))
            continue
        results += [(reference, *_check(reference, config_dir or [])) for reference in found]
    failed = [problem for _, problem, _ in results if problem is not None]
    if json:
        _print_json(
            [{"name": name, "ok": problem is None, "problem": problem} for name, problem, _ in results]
        )
    else:
        for name, problem, note in results:
            typer.echo(f"ok      {name}{note}" if problem is None else f"failed  {name}\n  {problem}")
        typer.echo(f"{len(results) - len(failed)} of {len(results)} configs are valid")
    if failed:
        raise typer.Exit(2)


def _check(reference: str, config_dirs: list[Path]) -> tuple[str | None, str]:
    """(what is wrong or None, a note): the settings first, then what only the environments know."""
    from gymnast.config.load import load_config
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.envs.spec import read_spec
    from gymnast.errors import MissingExtra, MissingGame

    try:
        config = load_config(reference, config_dirs=config_dirs).config
        policy_spaces(config.env)  # wrappers, their arguments, the env's own; tasks that go together
        read_spec(config.env)  # labels and names, one for each action and component
    except MissingExtra as missing:
        return None, f"  (needs gymnast[{missing.extra}] to run)"
    except MissingGame:
        return None, "  (needs your own copy of the game to run)"
    except GymnastError as error:
        return str(error), ""
    return None, ""


@app.command("format")
def format_files(
    files: Annotated[
        list[str] | None, typer.Argument(help="Files or ids; your own config folders if none is given.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if a file would change.")
    ] = False,
    json: AsJson = False,
    config_dir: ConfigDirs = None,
) -> None:
    """Put config files in order.

    Keys take the order of the settings, layout is made even, comments stay with their keys. What the file
    means is compared before it is written, and a file that is in order is not touched.

    \b
    Examples:
      gymnast config format my.yaml
      gymnast config format --check            all of ./configs, changing nothing
    """
    from gymnast.config.files import config_folders
    from gymnast.config.format import format_text
    from gymnast.config.reading import read_text, shown
    from gymnast.runs.files import write_atomic

    folders = config_folders(config_dir or ())
    changed: list[tuple[str, bool]] = []
    for path in _files_to_format(files, folders):
        before = read_text(path)
        after = format_text(before, shown(path))
        changed.append((shown(path), after != before))
        if after != before and not check:
            write_atomic(path, after)
    if json:
        _print_json([{"file": name, "changed": differs} for name, differs in changed])
    else:
        word = "would change" if check else "formatted"
        for name, differs in changed:
            typer.echo(f"{word if differs else 'unchanged'}  {name}")
        if not changed:
            typer.echo("no config files found; give files, or put some into ./configs")
    if check and any(differs for _, differs in changed):
        raise typer.Exit(1)


@app.command()
def keys(
    text: Annotated[str, typer.Argument(help="Only keys whose name or description contains this.")] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/settings.md.")] = False,
    json: AsJson = False,
) -> None:
    """List every key that a config may have, with its default and meaning."""
    from gymnast.config.reference import keys as all_keys
    from gymnast.config.reference import markdown as page

    if markdown:
        typer.echo(page(), nl=False)
        return
    found = [key for key in all_keys() if text.lower() in f"{key.name} {key.description}".lower()]
    if not found:
        raise GymnastError(f"no key has {text!r} in its name or description")
    if json:
        _print_json([{"key": k.name, "default": k.default, "description": k.description} for k in found])
        return
    width = max(len(key.name) for key in found)
    for key in found:
        typer.echo(f"{key.name:<{width}}  {key.description} [{key.default}]")


def _files_to_format(files: list[str] | None, folders: list[Path]) -> list[Path]:
    from gymnast.config.files import SUFFIXES, files_named, names_in
    from gymnast.errors import did_you_mean

    if not files:  # the packaged presets, last of the folders, are not the user's to change
        own = [path for folder in folders[:-1] if folder.is_dir() for path in sorted(folder.iterdir())]
        return [path for path in own if path.suffix in SUFFIXES]
    found: list[Path] = []
    for name in files:
        if name.endswith(SUFFIXES):
            found.append(Path(name).expanduser())
            continue
        path = next(files_named(name, folders), None)
        if path is None:
            raise GymnastError(f"there is no config {name!r}{did_you_mean(name, names_in(folders))}")
        found.append(path)
    return found


def _print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
