"""Runs that came from elsewhere: a hidden folder beside the others, and one move that makes it a run."""

from __future__ import annotations

import errno
from contextlib import nullcontext
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.runs.files import fsync_folder, remove_tree
from gymnast.runs.ids import RUN_ID
from gymnast.runs.store import DOOMED, UNFINISHED, RunFolder, is_run, sweep


def draft_folder(root: Path, name: str) -> RunFolder:
    """A new hidden folder beside the runs, for one that is put together there and then adopted."""
    sweep(root)
    draft = RunFolder(root / f"{UNFINISHED}{name}")
    draft.path.mkdir()
    return draft


def adopt_run(draft: RunFolder, root: Path, run_id: str, *, replace: bool) -> RunFolder:
    """Make a draft the run of this id in one move; with `replace` it takes the place of one that has it."""
    if not RUN_ID.fullmatch(run_id):
        raise GymnastError(f"{run_id!r} is not a run id")
    run = RunFolder(root / run_id)
    run.refuse_link()
    doomed = root / f"{DOOMED}{run_id}"
    replaced = replace and is_run(run)
    with run.lock() if replaced else nullcontext():
        try:
            if replaced:
                remove_tree(doomed)  # left by a process that was killed
                run.path.rename(doomed)
            try:
                draft.path.rename(run.path)
            except OSError:
                if replaced:
                    doomed.rename(run.path)
                raise
        except OSError as error:
            why = error.strerror
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                why = "something of that name is there and not a run; move it away"
            raise GymnastError(f"run {run_id} cannot be put into {root}: {why}") from error
    if replaced:
        remove_tree(doomed)
    fsync_folder(root)
    return run
