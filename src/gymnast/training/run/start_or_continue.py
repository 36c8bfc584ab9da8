"""One command that may be given again and again: it starts a run, or brings it nearer to its end.

What schedulers do with a job whose machine was taken away is to give the same command again. Whatever
happened before, the run ends with the same bits as one that was never stopped.
"""

from __future__ import annotations

import operator
import os
import re
import shlex
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, cast

import numpy as np

from gymnast.config.dump import plain_data
from gymnast.config.fields import leaf_keys
from gymnast.config.load import ResolvedConfig
from gymnast.config.schema import Config
from gymnast.errors import GymnastError, RunFailed, cut
from gymnast.runs import registry
from gymnast.runs.checkpoint import Checkpoint, list_checkpoints
from gymnast.runs.files import read_text
from gymnast.runs.store import RunFolder, delete_run, is_run, open_run
from gymnast.runs.trust import load_run_config
from gymnast.training.loop import DIVERGED
from gymnast.training.notices import passed_on
from gymnast.training.run.launch import continue_run, start_run, tracked
from gymnast.training.run.observers import Observers
from gymnast.training.run.outcome import Outcome, Status
from gymnast.training.run.restore import config_to_resume

Weights = tuple[dict[str, np.ndarray], Checkpoint]
_MOST_KEYS = 6  # that a message names
_MOST_LOG = 256 << 20
_SAVED = re.compile(r"^\S+ checkpoint \d+ \(", re.MULTILINE)  # a line of the log
# What `auto` is replaced by before a run starts, so that its own config differs from the one that is given.
_MEASURED = ("env.n_envs", "env.backend", "env.workers", "env.atari.threads")


def start_or_continue(
    resolved: ResolvedConfig,
    root: Path,
    run_id: str,
    weights: Callable[[], Weights | None],
    observers: Observers,
) -> tuple[RunFolder, Outcome]:
    """Train the run of this id up to its end, from wherever it is. `weights` is what a new run starts from.

    Raises GymnastError for one that is being trained, or has other settings; RunFailed for one that diverged.
    """
    if not os.path.lexists(root / run_id):
        return start_run(resolved, root, weights(), observers, run_id)
    if not is_run(RunFolder(root / run_id)):
        raise GymnastError(
            f"{root / run_id} is there and is not a run: it has no run.json; choose another id"
        )
    run = open_run(root, run_id)
    notices: list[str] = []
    with run.lock(), passed_on(notices.append):  # refuses one that is being trained
        # Read to be compared; what it names is used only if it is what the caller names as well.
        kept = load_run_config(run, file=config_to_resume(run, notices), trust=True)
        check_same_settings(run, kept, tracked(resolved.config, observers))
    for notice in notices:
        observers.console.note(notice)
    entry = registry.entry_of(run)
    if entry.status == "finished":
        return run, outcome_of(entry)
    if entry.status == "failed" and (entry.reason or "").startswith(DIVERGED):
        raise RunFailed(
            f"run {run.id} failed for good: {entry.reason}. To try on with another setting: gymnast train"
            f" --resume {run.id} KEY=VALUE"
        )
    if not list_checkpoints(run) and not _was_saved(run):
        observers.console.note(f"run {run.id} was stopped before its first checkpoint: it starts again")
        delete_run(run)
        return start_run(resolved, root, weights(), observers, run_id)
    return run, continue_run(run, (), False, observers, trust=True, may_be_over=True)


def outcome_of(entry: registry.RunEntry) -> Outcome:
    """How a run that is not being trained ended."""
    return Outcome(
        cast(Status, entry.status),
        entry.reason or "",
        entry.env_steps,
        entry.seconds,
        entry.best_score,
        entry.last_score,
        entry.solved,
    )


def check_same_settings(run: RunFolder, kept: Config, given: Config) -> None:
    """Raise GymnastError, with the keys that differ, unless a run has the settings that are given."""
    theirs, ours = _settings(kept), _settings(given)
    for key in _measured_keys(given):
        theirs.pop(key, None)
        ours.pop(key, None)
    keys = [key for key in dict.fromkeys([*theirs, *ours]) if theirs.get(key) != ours.get(key)]
    if not keys:
        return
    shown = [f"{key} is {_shown(theirs.get(key))}, not {_shown(ours.get(key))}" for key in keys[:_MOST_KEYS]]
    more = f", and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    change = shlex.join(f"{key}={_text(ours.get(key))}" for key in keys[:_MOST_KEYS])
    raise GymnastError(
        f"run {run.id} was started with other settings: {', '.join(shown)}{more}; nothing was changed."
        f"\nchoose another --run-id for another run, or change this one: gymnast train --resume {run.id}"
        f" {change}"
    )


def _settings(config: Config) -> dict[str, Any]:
    """Every setting by its dotted key; a schedule is one."""
    data = plain_data(config)
    return {".".join(path): reduce(operator.getitem, path, data) for path in leaf_keys(data=data)}


def _measured_keys(given: Config) -> tuple[str, ...]:
    measured = _MEASURED if given.env.n_envs == "auto" else ()
    return (*measured, "algo.n_steps") if given.algo.n_steps == "auto" else measured


def _was_saved(run: RunFolder) -> bool:
    """Whether its log knows of a checkpoint: they were lost since, which the user has to decide on."""
    try:
        return _SAVED.search(read_text(run.log_path, _MOST_LOG)) is not None
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError, GymnastError):
        return True


def _shown(value: Any) -> str:
    return cut(_text(value), 40)


def _text(value: Any) -> str:
    return "null" if value is None else str(value)
