"""Arguments and options that several commands take, each in one place with its help and completion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gymnast.cli.completion import complete_checkpoint, complete_reference, complete_run

RunsDir = Annotated[
    Path | None,
    typer.Option(
        "--runs-dir", metavar="DIR", help="Where runs are kept; else GYMNAST_RUNS_DIR, else ./runs."
    ),
]
ConfigDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--config-dir",
        metavar="DIR",
        help="A folder of your own configs, searched before ./configs and the packaged ones.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="An id, the beginning of one, @last, @best or a path.",
        autocompletion=complete_run,
    ),
]
RunNames = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN",
        help="Ids, beginnings of ids, @last, @best or paths.",
        autocompletion=complete_run,
    ),
]
CheckpointName = Annotated[
    str,
    typer.Argument(
        metavar="RUN[/CKPT]",
        help="An id, the beginning of one, @last, @best or a path; its best checkpoint unless named.",
        autocompletion=complete_checkpoint,
    ),
]
References = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REFERENCE",
        help="Ids or files, with a variant or without; all configs if none is given.",
        autocompletion=complete_reference,
    ),
]
