"""Ids of runs: eight characters that are drawn, or a name that a user chose."""

from __future__ import annotations

import os
import random
import re
import string
from pathlib import Path

from gymnast.errors import GymnastError

# Sweeps and tunes have folders of these names beside the runs.
RUN_ID = re.compile(r"(?!(?:sweeps|tunes)$)(?=.{3,40}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
ID_RULE = "3 to 40 lower-case letters, digits and single hyphens, a letter first, such as k3v9x0ab or pong-7"


def check_new_id(root: Path, run_id: str) -> str:
    """An id that a user chose for a new run, if it is one and no run has it."""
    if not RUN_ID.fullmatch(run_id):
        raise GymnastError(f"{run_id!r} is not a run id: {ID_RULE}")
    if os.path.lexists(root / run_id):
        hint = f"resume it with --resume {run_id} or with --continue, or choose another id"
        raise GymnastError(f"{root} has a run {run_id} already: {hint}")
    return run_id


def free_id(root: Path) -> str:
    """An id that no run has."""
    # The system's generator: ids must differ between runs that use the same seed.
    draw = random.SystemRandom()
    while True:
        run_id = draw.choice(string.ascii_lowercase) + "".join(
            draw.choices(string.ascii_lowercase + string.digits, k=7)
        )
        if not (root / run_id).exists():
            return run_id
