"""Tables of steps beside checkpoints: `000000012288.steps.csv`, one episode of its policy, step by step.

A table can be made again from its checkpoint at any time. So it is no part of the checkpoint: one that is
missing, damaged or cannot be removed changes nothing for training.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from gymnast.errors import RunFailed
from gymnast.runs.files import remove, set_file_aside
from gymnast.runs.store import RunFolder

_NAME = re.compile(r"(\d{12,})\.steps\.csv")


def steps_path(run: RunFolder, env_steps: int) -> Path:
    """Where the table of the checkpoint at this step is, or would be."""
    return run.checkpoints / f"{env_steps:012d}.steps.csv"


def drop_steps(run: RunFolder, env_steps: int) -> None:
    """Remove the table of a checkpoint that is removed, or saved again with other weights."""
    with suppress(RunFailed):  # a folder has its name: none of ours
        remove(steps_path(run, env_steps))


def clear_orphans(
    run: RunFolder, names: Iterable[str], known: Collection[int], unfinished: Collection[int]
) -> None:
    """Of the tables among the `names` in the folder of checkpoints, those of no `known` checkpoint: of one
    that was being written or removed it goes, of one that was lost in any other way it is set aside."""
    for match in map(_NAME.fullmatch, names):
        if match is None or (steps := int(match[1])) in known:
            continue
        if steps in unfinished:
            drop_steps(run, steps)
        else:
            set_file_aside(run.checkpoints / match[0])
