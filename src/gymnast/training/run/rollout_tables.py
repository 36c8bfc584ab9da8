"""Rollout tables of a run that has come to its end, for the checkpoints that it kept.

They may take a fiftieth of the time that the training took, so a long run has one for each checkpoint. A
short one has at least that of its best; `gymnast report RUN` writes those that are missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gymnast.config.schema import Config
from gymnast.errors import GymnastError, described
from gymnast.reports.rollout_table import RolloutTables, without_table
from gymnast.runs.store import RunFolder

SHARE = 0.02  # of the training's seconds
MOST_SECONDS = 10.0
FIRST_SECONDS = 0.25  # that the first may play in any case


def write_tables(run: RunFolder, config: Config, seconds: float, log: Callable[[str], None]) -> None:
    """Write what fits into the time, after so many seconds of training. Whatever goes wrong is a line in the
    log."""
    allowed = min(SHARE * seconds, MOST_SECONDS)
    began, slowest, written = time.monotonic(), 0.0, 0
    wanted = without_table(run)
    with RolloutTables(run, config, trust=True) as tables:  # this very process trained with the config
        for number, checkpoint in enumerate(wanted):
            spent = time.monotonic() - began
            if number and spent + slowest > allowed:
                break
            try:
                tables.write(checkpoint, seconds=max(allowed - spent, 0.0 if number else FIRST_SECONDS))
                written += 1
            except Exception as error:  # an env may fail in any way
                why = error if isinstance(error, GymnastError) else described(error)
                log(f"no table of steps of checkpoint {checkpoint.env_steps}: {why}")
            slowest = max(slowest, time.monotonic() - began - spent)
    log(f"tables of steps: {written} of {len(wanted)}, {time.monotonic() - began:.2f} s")
