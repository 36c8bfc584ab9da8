"""`gymnast pull`: a run from the Hugging Face Hub or from W&B."""

from __future__ import annotations

from typing import Annotated

import typer

from gymnast import api
from gymnast.cli.options import Json, RunsDir
from gymnast.cli.pack import Force, NewId, show_arrived


def pull(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="hf:OWNER/NAME, hf:OWNER/NAME@REVISION or wandb:ENTITY/PROJECT/RUN."
        ),
    ],
    force: Force = False,
    new_id: NewId = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Bring a run that was published or archived, to evaluate, record, resume or start from.

    All of it is checked before it lands among the runs, and it arrives whole or not at all. It is data: no
    code in it runs, and code that its config names is imported only with --trust.

    \b
    Examples:
      gymnast pull hf:ada/ppo-LunarLander-v3
      gymnast pull hf:ada/ppo-LunarLander-v3@1f0c2ab   as it was at that commit
      gymnast pull wandb:ada/gymnast/k3v9x0ab
    """
    show_arrived(api.pull_run(source, force=force, new_id=new_id, runs_dir=runs_dir), runs_dir, as_json)
