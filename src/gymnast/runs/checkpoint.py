"""Checkpoints: weights and training state of one moment, complete or absent.

Three files under `checkpoints/`, named by env steps:

    000000012288.policy.safetensors   weights and normaliser statistics: all that playing needs
    000000012288.state.safetensors    optimiser, random states, env states …: what resuming adds
    000000012288.json                 checksums of both, counters, the metrics row of that moment

The JSON is written last and removed first, so it exists only while the arrays it names do. A step
that is saved again writes its arrays under a second name (`000000012288-1.…`) and then replaces
the JSON: at no moment is there less than one complete checkpoint.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.errors import GymnastError, RunFailed, did_you_mean
from gymnast.runs.arrays import join_arrays, pack, pack_state, split_arrays, unpack, unpack_state
from gymnast.runs.files import (
    MOST_ARRAYS,
    UnsafeFile,
    fsync_folder,
    list_folder,
    make_folder,
    parse_json,
    read_bytes,
    remove,
    remove_leftovers,
    sha256,
    write_atomic,
)
from gymnast.runs.store import RunFolder, now

FORMAT = 1
_SIDECAR_NAME = re.compile(r"(\d{12,})\.json")
_ARRAYS_NAME = re.compile(r"(\d{12,})(?:-(1))?\.(policy|state)\.safetensors")
_PARTS = ("policy", "state")


Rank = tuple[bool, float]


def rank(score: float | None, *, solves_all: bool) -> Rank | None:
    """How good a score is among those of one env, of checkpoints and of runs alike; None without a score.

    `solves_all`: it is a mix with every task solved. That comes first: another checkpoint or run may have a
    higher mean and a task unsolved.
    """
    return None if score is None or math.isnan(score) else (solves_all, score)


class DamagedCheckpoint(GymnastError):
    """A file of a checkpoint is missing, cut short or changed."""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The JSON of a checkpoint."""

    env_steps: int
    created: str
    reason: str  # eval, every, time, signal, user, end …
    score: float | None  # mean evaluation return of exactly these weights
    counters: dict[str, Any]
    metrics: dict[str, Any]  # the metrics row of exactly this moment
    files: dict[str, dict[str, Any]]  # policy, state → {sha256, bytes}
    copy: int = 0  # which of the two names the arrays have
    format: int = FORMAT

    @property
    def rank(self) -> Rank | None:
        """The higher the better; None if it was not evaluated."""
        is_mix = any(name.startswith("eval/task/") for name in self.metrics)
        return rank(self.score, solves_all=is_mix and bool(self.metrics.get("eval/solved")))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The place of one checkpoint of a run."""

    run: RunFolder
    env_steps: int

    @property
    def json_path(self) -> Path:
        return self.run.checkpoints / f"{self.env_steps:012d}.json"

    def arrays_path(self, part: str, copy: int) -> Path:
        """Path of the policy's or the state's arrays."""
        suffix = f"-{copy}" if copy else ""
        return self.run.checkpoints / f"{self.env_steps:012d}{suffix}.{part}.safetensors"

    def sidecar(self) -> Sidecar:
        """Read and check the JSON alone."""
        try:
            document = parse_json(read_bytes(self.json_path))
            checksum = document.pop("checksum")
            if checksum != sha256(_json(document)):
                raise self.damaged("its JSON was changed")
            sidecar = Sidecar(**join_arrays(document, {}))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, UnsafeFile) as error:
            raise self.damaged(f"its JSON cannot be read ({error})") from error
        if sidecar.format != FORMAT:
            raise self.damaged(f"it has format {sidecar.format}, this version reads {FORMAT}")
        return sidecar

    def damaged(self, why: str) -> DamagedCheckpoint:
        return DamagedCheckpoint(f"checkpoint {self.env_steps} of run {self.run.id} is damaged: {why}")

    def __str__(self) -> str:
        return f"{self.run.id}/{self.env_steps}"


def save_checkpoint(
    run: RunFolder,
    *,
    env_steps: int,
    policy: Mapping[str, np.ndarray],
    state: Mapping[str, Any],
    counters: Mapping[str, Any],
    metrics: Mapping[str, Any],
    score: float | None,
    reason: str,
) -> Checkpoint:
    """Write a checkpoint that survives a power cut; needs the run's lock.

    A step saved twice keeps the score it had if the weights are the same and no new score is given.
    """
    checkpoint = Checkpoint(run, env_steps)
    _remove_orphans(run)
    before = sidecar_or_none(checkpoint)
    copy = 1 - before.copy if before is not None else 0
    data = {"policy": pack(policy), "state": pack_state(state)}
    files = {part: {"sha256": sha256(data[part]), "bytes": len(data[part])} for part in _PARTS}
    if score is None and before is not None and before.files["policy"] == files["policy"]:
        score = before.score
    sidecar = Sidecar(
        env_steps=env_steps, created=now(), reason=reason, score=score,
        counters=dict(counters), metrics=dict(metrics), files=files, copy=copy,
    )  # fmt: skip
    document, arrays = split_arrays(asdict(sidecar))
    if arrays:
        raise GymnastError(
            f"counters and metrics of a checkpoint are plain numbers, not arrays: {', '.join(arrays)}"
        )
    for part in _PARTS:
        write_atomic(checkpoint.arrays_path(part, copy), data[part], sync_folder=False)
    fsync_folder(run.checkpoints)  # the arrays must be there before the JSON that names them
    write_atomic(checkpoint.json_path, _json({**document, "checksum": sha256(_json(document))}))
    if before is not None:
        _unlink_arrays(checkpoint, before.copy)
    return checkpoint


def load_checkpoint(checkpoint: Checkpoint) -> tuple[dict[str, np.ndarray], dict[str, Any], Sidecar]:
    """(policy arrays, nested state, sidecar), checked against their checksums."""
    sidecar = checkpoint.sidecar()
    policy = unpack(_verified(checkpoint, sidecar, "policy"))
    return policy, unpack_state(_verified(checkpoint, sidecar, "state")), sidecar


def load_policy_arrays(checkpoint: Checkpoint) -> tuple[dict[str, np.ndarray], Sidecar]:
    """What playing and evaluating need, without the training state."""
    sidecar = checkpoint.sidecar()
    return unpack(_verified(checkpoint, sidecar, "policy")), sidecar


def verify(checkpoint: Checkpoint) -> Sidecar:
    """Raise DamagedCheckpoint unless every byte is as it was written."""
    sidecar = checkpoint.sidecar()
    for part in _PARTS:
        _verified(checkpoint, sidecar, part)
    return sidecar


def list_checkpoints(run: RunFolder) -> list[Checkpoint]:
    """Every checkpoint that has its JSON, oldest first; nothing is read."""
    names = map(_SIDECAR_NAME.fullmatch, list_folder(run.checkpoints))
    return [Checkpoint(run, steps) for steps in sorted(int(match[1]) for match in names if match)]


def best_checkpoint(run: RunFolder) -> Checkpoint | None:
    """The highest rank; of equal ones the latest, so that the best of a solved run solved it."""
    known = ((c, sidecar_or_none(c)) for c in list_checkpoints(run))
    ranked = [(s.rank, c) for c, s in known if s is not None and s.rank is not None]
    return max(ranked, key=lambda pair: (pair[0], pair[1].env_steps))[1] if ranked else None


def resolve(run: RunFolder, reference: str | int | None = None) -> Checkpoint:
    """`@last`, `@best`, an env step, or None for the best there is, else the last."""
    known = list_checkpoints(run)
    if not known:
        raise GymnastError(f"run {run.id} has no checkpoint yet")
    if reference is None:
        return best_checkpoint(run) or known[-1]
    if reference == "@last":
        return known[-1]
    if reference == "@best":
        best = best_checkpoint(run)
        if best is None:
            raise GymnastError(f"run {run.id} was never evaluated, so it has no @best; use {run.id}/@last")
        return best
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


def latest_intact(run: RunFolder, warn: Callable[[str], None]) -> Checkpoint:
    """The newest checkpoint whose every byte is right; each damaged one is passed over with a warning."""
    known = list_checkpoints(run)
    if not known:
        raise GymnastError(f"run {run.id} has no checkpoint yet, so it cannot be resumed")
    for checkpoint in reversed(known):
        try:
            verify(checkpoint)
        except DamagedCheckpoint as error:
            warn(f"{error}; trying the one before")
        else:
            return checkpoint
    raise RunFailed(f"every checkpoint of run {run.id} is damaged")


def prune(run: RunFolder, keep: int) -> None:
    """Remove all but the newest `keep` and the best; needs the run's lock."""
    known = list_checkpoints(run)
    old = known[: max(0, len(known) - keep)]
    if not old:
        return
    best = best_checkpoint(run)
    _remove([checkpoint for checkpoint in old if checkpoint != best])


def rewind(run: RunFolder, checkpoint: Checkpoint) -> None:
    """Before training resumes from `checkpoint`: drop what came after it and what a killed process
    left behind, so that no checkpoint from after that point is ever the last or the best.
    Needs the run's lock."""
    _remove([later for later in list_checkpoints(run) if later.env_steps > checkpoint.env_steps])
    _remove_orphans(run)
    remove_leftovers(run.path)


def _verified(checkpoint: Checkpoint, sidecar: Sidecar, part: str) -> bytes:
    path = checkpoint.arrays_path(part, sidecar.copy)
    try:
        data = read_bytes(path, MOST_ARRAYS)
    except UnsafeFile as error:
        raise checkpoint.damaged(str(error)) from error
    except OSError as error:
        raise checkpoint.damaged(f"{path.name} cannot be read ({error.strerror})") from error
    if len(data) != sidecar.files[part]["bytes"]:
        raise checkpoint.damaged(
            f"{path.name} has {len(data)} bytes instead of {sidecar.files[part]['bytes']}"
        )
    if sha256(data) != sidecar.files[part]["sha256"]:
        raise checkpoint.damaged(f"{path.name} does not match its checksum")
    return data


def sidecar_or_none(checkpoint: Checkpoint) -> Sidecar | None:
    """Its JSON, if that is intact."""
    try:
        return checkpoint.sidecar()
    except DamagedCheckpoint:
        return None


def _remove(checkpoints: list[Checkpoint]) -> None:
    if not checkpoints:
        return
    for checkpoint in checkpoints:
        remove(checkpoint.json_path)
    fsync_folder(checkpoints[0].run.checkpoints)  # no JSON may outlive its arrays, not even in a power cut
    for checkpoint in checkpoints:
        for copy in (0, 1):
            _unlink_arrays(checkpoint, copy)


def _unlink_arrays(checkpoint: Checkpoint, copy: int) -> None:
    for part in _PARTS:
        remove(checkpoint.arrays_path(part, copy))


def _remove_orphans(run: RunFolder) -> None:
    """Temporary files, and arrays that no JSON names: a process was killed while it wrote them."""
    make_folder(run.checkpoints)
    remove_leftovers(run.checkpoints)
    named = {checkpoint.env_steps for checkpoint in list_checkpoints(run)}
    found = [
        (run.checkpoints / name, match)
        for name in list_folder(run.checkpoints)
        if (match := _ARRAYS_NAME.fullmatch(name))
    ]
    twice = {int(match[1]) for _, match in found if match[2]} & {
        int(match[1]) for _, match in found if not match[2]
    }
    for path, match in found:
        steps, copy = int(match[1]), int(match[2] or 0)
        if steps in twice:
            sidecar = sidecar_or_none(Checkpoint(run, steps))
            orphan = sidecar is not None and copy != sidecar.copy
        else:
            orphan = steps not in named
        if orphan:
            remove(path)


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
