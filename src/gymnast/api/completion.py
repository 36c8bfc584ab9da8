"""What may complete a word that was begun: presets with their variants, runs with their checkpoints."""

from __future__ import annotations

from pathlib import Path

from gymnast.api.arguments import Folders, folders


def complete_reference(text: str, *, config_dirs: Folders = ()) -> list[str]:
    """Names of configs that begin with `text`; with a colon in it, the name with each of its variants."""
    from gymnast.config.files import config_folders, names_in

    places = config_folders(folders(config_dirs))
    name, colon, _ = text.partition(":")
    if not colon:
        return [known for known in names_in(places) if known.lower().startswith(text.lower())]
    from gymnast.config.catalogue import references

    return [known for known in references([name], places) if known.startswith(text)]


def complete_run(text: str, *, checkpoints: bool = False, runs_dir: str | Path | None = None) -> list[str]:
    """Ids of runs that begin with `text`, newest first, and @last and @best; with `checkpoints` and a slash
    in it, the run with each of its checkpoints."""
    from gymnast.runs import registry
    from gymnast.runs.checkpoint import list_checkpoints
    from gymnast.runs.references import find_run
    from gymnast.runs.store import runs_root

    root = runs_root(runs_dir)
    run, slash, _ = text.partition("/")
    if checkpoints and slash:
        steps = [str(saved.env_steps) for saved in reversed(list_checkpoints(find_run(root, run)))]
        found = [f"{run}/{name}" for name in ("@best", "@last", *steps)]
    else:
        found = ["@last", "@best", *(entry.id for entry in registry.entries(root))]
    return [known for known in found if known.startswith(text)]
