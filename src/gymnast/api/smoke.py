"""Trying presets: does each of them train, score, record a video and resume on this machine?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from gymnast.api.arguments import Folders, folders
from gymnast.smoke import run
from gymnast.smoke.run import STAGES as SMOKE_STAGES
from gymnast.smoke.run import Outcome as SmokeOutcome
from gymnast.smoke.run import Preset as SmokePreset

__all__ = ["SMOKE_STAGES", "SmokeOutcome", "SmokePreset", "smoke_presets", "try_presets"]

_MOST_JOBS = 8  # each may load torch and an emulator


def smoke_presets(
    words: Sequence[str] = (), *, every_variant: bool = True, config_dirs: Folders = ()
) -> list[SmokePreset]:
    """The presets that families, environments or `environment:variant` name; all of them without words."""
    return run.choose_presets(words, every_variant=every_variant, config_dirs=folders(config_dirs))


def try_presets(
    presets: Sequence[SmokePreset],
    *,
    jobs: int | None = None,
    timeout: float = 120.0,
    on_outcome: Callable[[SmokeOutcome], None] = lambda outcome: None,
) -> list[SmokeOutcome]:
    """Try them, `jobs` at a time (one per core, up to 8, if unset), each for at most `timeout` seconds."""
    jobs = jobs or min(os.cpu_count() or 1, _MOST_JOBS)
    return run.try_presets(presets, jobs=jobs, seconds=timeout, done=on_outcome)
