"""Checkpoints: weights and training state of one moment, complete or absent.

Files under `checkpoints/`, named by env steps, and one that checkpoints share:

    000000012288.policy.safetensors   weights and normaliser statistics: all that playing needs
    000000012288.state.safetensors    optimiser, random states, env states …: what resuming adds
    000000012288.json                 checksums of both, counters, the metrics row of that moment
    000000012288.steps.csv            one episode, step by step; maybe absent (steps_tables.py)
    config-0123456789abcdef.yaml      the config they were trained with, named by its checksum

The JSON is written last and removed first, so it exists only while the arrays it names do. A step
that is saved again writes its arrays under a second name (`000000012288-1.…`) and then replaces
the JSON: at no moment is there less than one complete checkpoint.

A file that is missing, changed or malformed is damaged: its checkpoint is passed over with a warning, and
renamed to `….damaged-1` when training passes it. One that cannot be read may be intact: that is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.errors import GymnastError, RunFailed
from gymnast.runs.arrays import pack, pack_state, unpack, unpack_state
from gymnast.runs.files import (
    MOST_ARRAYS,
    UnsafeFile,
    fsync_folder,
    is_link,
    list_folder,
    make_folder,
    read_bytes,
    remove,
    remove_leftovers,
    set_file_aside,
    sha256,
    write_atomic,
)
from gymnast.runs.kept_configs import keep_config, kept_config_path
from gymnast.runs.sidecar import FORMAT, PARTS, Sidecar, from_bytes, to_bytes
from gymnast.runs.steps_tables import clear_orphans, drop_steps, steps_path
from gymnast.runs.store import RunFolder, now

_SIDECAR_NAME = re.compile(r"(\d{12,})\.json")
_ARRAYS_NAME = re.compile(r"(\d{12,})(?:-(1))?\.(policy|state)\.safetensors")
_CHANGING_NAME = re.compile(r"\.(\d{12,})\.changing\.tmp")

Warn = Callable[[str], None]


class DamagedCheckpoint(GymnastError):
    """A file of a checkpoint is missing, cut short, changed or malformed."""


@dataclass(frozen=True, slots=True)
class Saved:
    """All that a checkpoint holds."""

    checkpoint: Checkpoint
    policy: dict[str, np.ndarray]
    state: dict[str, Any]
    sidecar: Sidecar


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

    def config_path(self) -> Path:
        """The config that it was trained with; the run's own where none was kept with it."""
        digest = self.sidecar().config
        if not digest:
            return self.run.config_path
        own = kept_config_path(self.run, digest)
        for path in (own, self.run.config_path):
            data = self._read(path)
            if data is not None and sha256(data) == digest:
                return path
        raise self.damaged(f"{own.name}, its config, is missing or changed")

    def sidecar(self) -> Sidecar:
        """Read and check the JSON alone."""
        data = self._read(self.json_path)
        if data is None:
            raise self.damaged("its JSON is missing")
        try:
            sidecar = from_bytes(data)
        except ValueError as error:
            raise self.damaged(str(error)) from error
        if sidecar.format != FORMAT:
            raise self.damaged(f"it has format {sidecar.format}, this version reads {FORMAT}")
        if sidecar.env_steps != self.env_steps:
            raise self.damaged(f"its JSON is of step {sidecar.env_steps}")
        return sidecar

    def arrays(self, sidecar: Sidecar, part: str) -> bytes:
        """The bytes of a part, checked against their checksum."""
        path, wanted = self.arrays_path(part, sidecar.copy), sidecar.files[part]
        data = self._read(path)
        if data is None:
            raise self.damaged(f"{path.name} is missing")
        if len(data) != wanted["bytes"]:
            raise self.damaged(f"{path.name} has {len(data)} bytes instead of {wanted['bytes']}")
        if sha256(data) != wanted["sha256"]:
            raise self.damaged(f"{path.name} does not match its checksum")
        return data

    def _read(self, path: Path) -> bytes | None:
        """The content; None if there is no such file. Only what was read can be called damaged."""
        try:
            return read_bytes(path, MOST_ARRAYS)
        except FileNotFoundError:
            return None
        except UnsafeFile as error:
            if is_link(path):  # what it points to may be intact
                raise GymnastError(
                    f"checkpoint {self} cannot be read: {error}; nothing was changed"
                ) from error
            raise self.damaged(str(error)) from error
        except OSError as error:
            raise GymnastError(
                f"checkpoint {self} cannot be read: {path}: {error.strerror or error}; nothing was changed"
            ) from error

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
    config: str | None = None,
    scores_from: int = 0,
) -> Checkpoint:
    """Write a checkpoint that survives a power cut; needs the run's lock. `config` is the text of the config.

    A step saved twice keeps the score it had if the weights are the same and no new score is given.
    """
    checkpoint = Checkpoint(run, env_steps)
    _clean(run)
    before = sidecar_or_none(checkpoint)
    if before is None:
        set_aside([checkpoint])  # what there is of it is damaged
    copy = 1 - before.copy if before is not None else 0
    data = {"policy": pack(policy), "state": pack_state(state)}
    files = {part: {"sha256": sha256(data[part]), "bytes": len(data[part])} for part in PARTS}
    if score is None and before is not None and before.files["policy"] == files["policy"]:
        score = before.score
    digest = "" if config is None else keep_config(run, config)
    sidecar = Sidecar(
        env_steps=env_steps, created=now(), reason=reason, score=score,
        counters=dict(counters), metrics=dict(metrics), files=files, copy=copy,
        config=digest, scores_from=scores_from, shapes=_shapes(policy),
    )  # fmt: skip
    text = to_bytes(sidecar)
    changing = _mark(checkpoint)
    for part in PARTS:
        write_atomic(checkpoint.arrays_path(part, copy), data[part], sync_folder=False)
    fsync_folder(run.checkpoints)  # the arrays must be there before the JSON that names them
    write_atomic(checkpoint.json_path, text)
    remove(changing)
    if before is not None:
        _unlink_arrays(checkpoint, before.copy)
    return checkpoint


def keep_configs(run: RunFolder) -> None:
    """Before the run's config is replaced: give its config to each checkpoint that an older version saved
    without one. What earlier resumes replaced is in run.json. Needs the run's lock."""
    for checkpoint in list_checkpoints(run):
        sidecar = sidecar_or_none(checkpoint)
        if sidecar is None or sidecar.config:
            continue
        later = (resume for resume in _resumes(run) if str(resume.get("created")) > sidecar.created)
        replaced = (text for resume in later if isinstance(text := resume.get("config_before"), str))
        digest = keep_config(run, next(replaced, None) or run.config_text())
        write_atomic(checkpoint.json_path, to_bytes(replace(sidecar, config=digest)))


def load_checkpoint(checkpoint: Checkpoint) -> tuple[dict[str, np.ndarray], dict[str, Any], Sidecar]:
    """(policy arrays, nested state, sidecar), as `load_saved` reads them."""
    saved = load_saved(checkpoint)
    return saved.policy, saved.state, saved.sidecar


def load_saved(checkpoint: Checkpoint) -> Saved:
    """All of a checkpoint, checked against its checksums."""
    policy, sidecar = load_policy_arrays(checkpoint)
    state = _unpacked(checkpoint, "state", unpack_state, checkpoint.arrays(sidecar, "state"))
    if not isinstance(state, dict):
        raise checkpoint.damaged("its state is not a map")
    return Saved(checkpoint, policy, state, sidecar)


def load_policy_arrays(checkpoint: Checkpoint) -> tuple[dict[str, np.ndarray], Sidecar]:
    """What playing and evaluating need, without the training state, which may be damaged."""
    sidecar = checkpoint.sidecar()
    policy = _unpacked(checkpoint, "policy", unpack, checkpoint.arrays(sidecar, "policy"))
    if sidecar.shapes and _shapes(policy) != sidecar.shapes:
        raise checkpoint.damaged("its policy is malformed (arrays of other names or shapes than were saved)")
    return policy, sidecar


def _shapes(arrays: Mapping[str, np.ndarray]) -> dict[str, list[int]]:
    return {name: list(array.shape) for name, array in arrays.items()}


def _unpacked(checkpoint: Checkpoint, part: str, read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except Exception as error:  # of the library's own kinds, or of ours for a structure that makes no sense
        raise checkpoint.damaged(f"its {part} is malformed ({type(error).__name__}: {error})") from error


def verify(checkpoint: Checkpoint) -> Sidecar:
    """Raise DamagedCheckpoint unless every byte is as it was written."""
    sidecar = checkpoint.sidecar()
    for part in PARTS:
        checkpoint.arrays(sidecar, part)
    return sidecar


def list_checkpoints(run: RunFolder) -> list[Checkpoint]:
    """Every checkpoint that has its JSON, oldest first; nothing is read."""
    names = map(_SIDECAR_NAME.fullmatch, list_folder(run.checkpoints))
    return [Checkpoint(run, steps) for steps in sorted(int(match[1]) for match in names if match)]


def best_checkpoint(run: RunFolder) -> Checkpoint | None:
    """The highest rank; of equal ones the latest, so that the best of a solved run solved it.

    Scores from before a resume that changed their meaning do not count.
    """
    return next(iter(best_first(run)), None)


def current_scores(run: RunFolder, saved: Iterable[Sidecar]) -> list[Sidecar]:
    """Those whose scores mean what a score of the run means now."""
    known = list(saved)
    since = next((resume.get("scores_from") for resume in reversed(_resumes(run))), None)
    if not isinstance(since, int):
        since = max((sidecar.scores_from for sidecar in known), default=0)
    return [sidecar for sidecar in known if sidecar.scores_from == since]


def _resumes(run: RunFolder) -> list[dict[str, Any]]:
    known = run.info().get("resumes")
    return [resume for resume in known if isinstance(resume, dict)] if isinstance(known, list) else []


def best_first(run: RunFolder, warn: Warn | None = None) -> list[Checkpoint]:
    """All that have a score of the current meaning, the best first."""
    known = [(c, sidecar_or_none(c, warn)) for c in list_checkpoints(run)]
    current = current_scores(run, (sidecar for _, sidecar in known if sidecar is not None))
    ranked = [(s.rank, s.env_steps) for s in current if s.rank is not None]
    return [Checkpoint(run, env_steps) for _, env_steps in sorted(ranked, reverse=True)]


def intact_checkpoints(run: RunFolder, warn: Warn) -> Iterator[Saved]:
    """Checkpoints that training can resume from, newest first, then RunFailed; a damaged one is passed over
    with a warning."""
    known = list_checkpoints(run)
    if not known:
        raise GymnastError(f"run {run.id} has no checkpoint yet, so it cannot be resumed")
    for checkpoint in reversed(known):
        try:
            saved = load_saved(checkpoint)
        except DamagedCheckpoint as error:
            warn(f"{error}; trying the one before")
        else:
            yield saved
    raise RunFailed(f"every checkpoint of run {run.id} is damaged")


def latest_intact(run: RunFolder, warn: Warn) -> Checkpoint:
    """The newest checkpoint that training can resume from."""
    return next(intact_checkpoints(run, warn)).checkpoint


def prune(run: RunFolder, keep: int) -> None:
    """Remove all but the newest `keep` and the best of each meaning of scores; needs the run's lock."""
    known = list_checkpoints(run)
    old = known[: max(0, len(known) - keep)]
    if not old:
        return
    best: dict[int, tuple[Any, int]] = {}
    for checkpoint in known:
        if (sidecar := sidecar_or_none(checkpoint)) is not None and sidecar.rank is not None:
            own = (sidecar.rank, sidecar.env_steps)
            best[sidecar.scores_from] = max(best.get(sidecar.scores_from, own), own)
    kept = {env_steps for _, env_steps in best.values()}
    doomed = [c for c in old if c.env_steps not in kept]
    set_aside(c for c in doomed if sidecar_or_none(c) is None)
    _remove([c for c in doomed if c.json_path.is_file()])


def rewind(run: RunFolder, checkpoint: Checkpoint) -> None:
    """Before training resumes from `checkpoint`: set aside what came after it, which is damaged, and remove
    what a killed process left behind, so that no checkpoint from after that point is ever the last or the
    best. Needs the run's lock."""
    set_aside([later for later in list_checkpoints(run) if later.env_steps > checkpoint.env_steps])
    _clean(run)
    remove_leftovers(run.path)


def sidecar_or_none(checkpoint: Checkpoint, warn: Warn | None = None) -> Sidecar | None:
    """Its JSON, if that is intact."""
    try:
        return checkpoint.sidecar()
    except DamagedCheckpoint as error:
        if warn is not None:
            warn(str(error))
        return None


def set_aside(checkpoints: Iterable[Checkpoint]) -> None:
    """Rename all files of these checkpoints, the JSON first, so that they are never listed again."""
    for checkpoint in checkpoints:
        arrays = [checkpoint.arrays_path(part, copy) for copy in (0, 1) for part in PARTS]
        for path in (checkpoint.json_path, *arrays, steps_path(checkpoint.run, checkpoint.env_steps)):
            set_file_aside(path)
        fsync_folder(checkpoint.run.checkpoints)


def _remove(checkpoints: list[Checkpoint]) -> None:
    if not checkpoints:
        return
    marks = [_mark(checkpoint) for checkpoint in checkpoints]
    for checkpoint in checkpoints:
        remove(checkpoint.json_path)
    fsync_folder(checkpoints[0].run.checkpoints)  # no JSON may outlive its arrays, not even in a power cut
    for checkpoint, mark in zip(checkpoints, marks, strict=True):
        for copy in (0, 1):
            _unlink_arrays(checkpoint, copy)
        remove(mark)


def _mark(checkpoint: Checkpoint) -> Path:
    """While a checkpoint is written or removed, this file tells that arrays without a JSON are no loss. What
    was made from the checkpoint goes first."""
    drop_steps(checkpoint.run, checkpoint.env_steps)
    mark = checkpoint.run.checkpoints / f".{checkpoint.env_steps:012d}.changing.tmp"
    write_atomic(mark, b"", durable=False)
    return mark


def _unlink_arrays(checkpoint: Checkpoint, copy: int) -> None:
    for part in PARTS:
        remove(checkpoint.arrays_path(part, copy))


def _clean(run: RunFolder) -> None:
    """Remove what a process left that was killed while it saved or removed a checkpoint: temporary files, and
    arrays that no JSON names. Arrays whose JSON got lost in any other way are set aside."""
    make_folder(run.checkpoints)
    names = list_folder(run.checkpoints)
    unfinished = {int(match[1]) for name in names if (match := _CHANGING_NAME.fullmatch(name))}
    remove_leftovers(run.checkpoints)
    named = {checkpoint.env_steps for checkpoint in list_checkpoints(run)}
    clear_orphans(run, names, named, unfinished)
    found = [match for name in names if (match := _ARRAYS_NAME.fullmatch(name))]
    twice = {int(match[1]) for match in found if match[2]} & {int(m[1]) for m in found if not m[2]}
    for match in found:
        path, steps, copy = run.checkpoints / match[0], int(match[1]), int(match[2] or 0)
        if steps in named:
            sidecar = sidecar_or_none(Checkpoint(run, steps)) if steps in twice else None
            if sidecar is not None and copy != sidecar.copy:
                remove(path)  # of a save that was not completed, or that was replaced
        elif steps in unfinished:
            remove(path)
        else:
            set_file_aside(path)
