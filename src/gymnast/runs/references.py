"""How users name runs and checkpoints: `@last`, `k3v`, `k3v/@best`, `@last/12288`, `runs/k3v9x0ab`."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from pathlib import Path

from gymnast.errors import GymnastError, RunFailed, did_you_mean
from gymnast.runs import registry
from gymnast.runs.checkpoint import (
    Checkpoint,
    DamagedCheckpoint,
    Warn,
    best_first,
    list_checkpoints,
    load_policy_arrays,
    sidecar_or_none,
)
from gymnast.runs.elsewhere import is_elsewhere, not_here, pulled_from, split_elsewhere
from gymnast.runs.files import is_link
from gymnast.runs.ids import RUN_ID
from gymnast.runs.selection import best_by_env
from gymnast.runs.store import RunFolder, run_folders

_warn = logging.getLogger("gymnast").warning
_CHECKPOINT_NAME = re.compile(r"(\d+)(?:-\d)?(?:\.json|\.(?:policy|state)\.safetensors)?")


def find_run(root: Path, reference: str, *, allow_paths: bool = True) -> RunFolder:
    """The run that `reference` names: a full id, the beginning of one, `@last`, `@best`, or a path.

    Pass `allow_paths=False` for references that come from outside: then nothing leaves `root`.
    """
    if reference == "@last":
        return RunFolder(root / _entries(root)[0].id)
    if reference == "@best":
        return _best(root)
    if reference.startswith("@"):
        raise GymnastError(f"unknown run {reference!r}{did_you_mean(reference, ['@last', '@best'])}")
    if is_elsewhere(reference):
        if (pulled := pulled_from(root, reference)) is not None:
            return pulled
        raise not_here(reference, root, f"{reference} is not here")
    if _is_path(reference):
        return _from_path(reference, allow_paths)
    ids = sorted(run.id for run in run_folders(root))
    if reference in ids:
        return RunFolder(root / reference)
    if RUN_ID.fullmatch(reference) and is_link(root / reference):
        raise GymnastError(f"no run {reference!r} in {root}: it is a link; name the folder that it points to")
    if allow_paths and _is_run_folder(reference):  # a folder's name, from within the runs folder
        return _from_path(reference, allow_paths)
    matches = [run_id for run_id in ids if reference and run_id.startswith(reference)]
    if len(matches) == 1:
        return RunFolder(root / matches[0])
    if matches:
        shown = ", ".join(matches[:8]) + (" …" if len(matches) > 8 else "")
        raise GymnastError(f"{reference!r} begins the id of {len(matches)} runs: {shown}")
    if RUN_ID.fullmatch(reference) and (root / reference).is_dir():
        problem = (
            f"no run {reference!r} in {root}: its folder there has no run.json; copy it again as a whole"
        )
        raise not_here(reference, root, problem)
    if not ids:
        raise not_here(reference, root, f"no run {reference!r}: there are no runs in {root}")
    meant = did_you_mean(reference, [*ids, "@last", "@best"])
    raise not_here(reference, root, f"no run {reference!r} in {root}{meant}")


def parse_reference(reference: str) -> tuple[str, str | None]:
    """`RUN/CHECKPOINT` → (run, checkpoint); the checkpoint is None where none is named."""
    text = reference.rstrip("/") or reference
    if is_elsewhere(text):
        return split_elsewhere(text)
    head, _, tail = text.replace(os.sep, "/").rpartition("/")
    if not head or _is_run_folder(text):
        return text, None
    if match := _CHECKPOINT_NAME.fullmatch(tail):
        folder, _, last = head.rpartition("/")
        return (folder if last == "checkpoints" and folder else head), match[1]
    # `abcd/@bset` is a misspelt checkpoint; `runs/abcd` and `../abcd` are meant as paths to a run.
    if tail.startswith("@") or not (_is_path(head) or os.path.isdir(head)):  # noqa: PTH112
        return head, tail
    return text, None


def find_checkpoint(
    root: Path, reference: str, default: str | None = None, *, allow_paths: bool = True
) -> Checkpoint:
    """The checkpoint that `reference` names. Where it names a run alone, `default` decides: `@last`,
    `@best`, or None for the best if there is one, else the last."""
    run_reference, checkpoint_reference = parse_reference(reference)
    run = find_run(root, run_reference, allow_paths=allow_paths)
    return resolve(run, checkpoint_reference or default)


def resolve(run: RunFolder, reference: str | int | None = None, warn: Warn = _warn) -> Checkpoint:
    """`@last`, `@best`, an env step, or None for the best there is, else the last.

    Where no step is named, a checkpoint that cannot be played is passed over with a warning.
    """
    known = list_checkpoints(run)
    if not known:
        raise GymnastError(f"run {run.id} has no checkpoint yet")
    if reference == "@last":
        return _first_playable(run, reversed(known), warn)
    if reference is None or reference == "@best":
        best = best_first(run, warn)
        if reference is None:
            return _first_playable(run, dict.fromkeys([*best, *reversed(known)]), warn)
        if not best:
            raise GymnastError(
                f"run {run.id} has no score of what is trained now, so it has no @best; use {run.id}/@last"
                if any(s is not None and s.rank is not None for s in map(sidecar_or_none, known))
                else f"run {run.id} was never evaluated, so it has no @best; use {run.id}/@last"
            )
        return _first_playable(run, best, warn)
    text = str(reference)
    if not (text.isascii() and text.isdigit()):
        hint = did_you_mean(text, ["@last", "@best"])
        raise GymnastError(f"no checkpoint {text!r} in run {run.id}: use @last, @best or an env step{hint}")
    steps = int(text)
    nearest = min(known, key=lambda c: abs(c.env_steps - steps))
    if nearest.env_steps != steps:
        raise GymnastError(
            f"run {run.id} has no checkpoint at step {steps}; the nearest is {nearest.env_steps}"
        )
    return nearest


def _first_playable(run: RunFolder, candidates: Iterable[Checkpoint], warn: Warn) -> Checkpoint:
    for checkpoint in candidates:
        try:
            load_policy_arrays(checkpoint)
            checkpoint.config_path()
        except DamagedCheckpoint as error:
            warn(f"{error}; trying the next")
        else:
            return checkpoint
    raise RunFailed(f"every checkpoint of run {run.id} is damaged")


def _entries(root: Path) -> list[registry.RunEntry]:
    found = registry.entries(root)
    if not found:
        raise GymnastError(f"there are no runs in {root}; start one with: gymnast train CartPole-v1:ppo")
    return found


def _best(root: Path) -> RunFolder:
    best = best_by_env(root, _entries(root))
    if not best:
        raise GymnastError(f"no run in {root} was evaluated yet, so there is no @best; use @last")
    if len(best) > 1:
        envs = sorted(best)
        raise GymnastError(
            f"@best is unclear: scores of {', '.join(envs)} do not compare; "
            f"`gymnast runs best {envs[0]}` names the best run of one env"
        )
    (entry,) = best.values()
    return RunFolder(root / entry.id)


def _is_path(reference: str) -> bool:
    return "/" in reference or os.sep in reference or reference in {".", ".."} or reference.startswith("~")


def _from_path(reference: str, allowed: bool) -> RunFolder:
    if not allowed:
        raise GymnastError(f"{reference!r} is not a run id")
    if not _is_run_folder(reference):
        raise GymnastError(f"{reference} is not a run folder: it has no run.json")
    path = Path(reference).expanduser()
    RunFolder(path).refuse_link()  # what is removed or written must be what was named
    return RunFolder(path.resolve())


def _is_run_folder(reference: str) -> bool:
    if not reference:
        return False
    # os.path answers False to names that no file can have, where pathlib raises.
    return os.path.isfile(os.path.join(os.path.expanduser(reference), "run.json"))  # noqa: PTH111, PTH113, PTH118
