"""What the Tab key offers: presets with their variants, runs and their checkpoints.

A completion that fails offers nothing: a message in the middle of a command line helps nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

COMPLETING = "_GYMNAST_COMPLETE"  # what the shell's script sets; typer makes it of the program's name
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def complete_reference(ctx: Any, incomplete: str) -> list[str]:
    """Presets and configs; after a colon the variants."""
    from gymnast import api

    return _offered(
        lambda: api.complete_reference(incomplete, config_dirs=ctx.params.get("config_dir") or ())
    )


def complete_run(ctx: Any, incomplete: str) -> list[str]:
    """Runs by id."""
    from gymnast import api

    return _offered(lambda: api.complete_run(incomplete, runs_dir=ctx.params.get("runs_dir")))


def complete_checkpoint(ctx: Any, incomplete: str) -> list[str]:
    """Runs by id; after a slash their checkpoints."""
    from gymnast import api

    return _offered(
        lambda: api.complete_run(incomplete, checkpoints=True, runs_dir=ctx.params.get("runs_dir"))
    )


def complete_tracker(incomplete: str) -> list[str]:
    """Trackers, with their modes."""
    names = ("wandb", "wandb=offline", "trackio", "tensorboard")
    return [name for name in names if name.startswith(incomplete)]


def _offered(find: Callable[[], Sequence[str]]) -> list[str]:
    try:
        return list(find())
    except Exception:
        return []
