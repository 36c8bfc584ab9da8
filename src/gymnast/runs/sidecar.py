"""The JSON of a checkpoint: what it says, how it is written, and what counts as malformed.

A right checksum proves that the bytes are as they were written, not that they make sense: a folder may come
from anywhere. So every field is checked for its type before anyone uses it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from gymnast.errors import GymnastError
from gymnast.runs.arrays import join_arrays, split_arrays
from gymnast.runs.files import sha256

FORMAT = 1
PARTS = ("policy", "state")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_STEPS = range(10**15)  # more env steps than any run takes; file names hold them
_LARGEST = 10**300  # of an integer that may be used as a float

Rank = tuple[bool, float]


def rank(score: float | None, *, solves_all: bool) -> Rank | None:
    """How good a score is among those of one env, of checkpoints and of runs alike; None without a score.

    `solves_all`: it is a mix with every task solved. That comes first: another checkpoint or run may have a
    higher mean and a task unsolved.
    """
    return None if score is None or math.isnan(score) else (solves_all, score)


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
    config: str = ""  # checksum of the config it was trained with; empty in checkpoints of older versions
    scores_from: int = 0  # the env step since which scores mean the same as this one (score_meaning.py)
    shapes: dict[str, list[int]] = field(default_factory=dict)  # of the policy's arrays; empty: not known
    format: int = FORMAT

    @property
    def rank(self) -> Rank | None:
        """The higher the better; None if it was not evaluated."""
        is_mix = any(name.startswith("eval/task/") for name in self.metrics)
        return rank(self.score, solves_all=is_mix and bool(self.metrics.get("eval/solved")))


_FIELDS = {field.name for field in fields(Sidecar)}


def to_bytes(sidecar: Sidecar) -> bytes:
    """The JSON with its own checksum."""
    document, arrays = split_arrays(asdict(sidecar))
    if arrays:
        raise GymnastError(
            f"counters and metrics of a checkpoint are plain numbers, not arrays: {', '.join(arrays)}"
        )
    return _json({**document, "checksum": sha256(_json(document))})


def from_bytes(data: bytes) -> Sidecar:
    """The inverse of `to_bytes`; ValueError with the reason if it is damaged or malformed.

    Fields that a later version added are ignored.
    """
    try:
        document = json.loads(data)
        checksum = document.pop("checksum")
        if checksum != sha256(_json(document)):
            raise ValueError("its JSON was changed")
        plain = join_arrays(document, {})
        sidecar = Sidecar(**{name: value for name, value in plain.items() if name in _FIELDS})
    except (KeyError, TypeError, AttributeError, RecursionError, UnicodeError, json.JSONDecodeError) as error:
        raise ValueError(f"its JSON cannot be read ({error})") from error
    if (wrong := _malformed(sidecar)) is not None:
        raise ValueError(f"its JSON is malformed: {wrong}")
    return sidecar


def _malformed(sidecar: Sidecar) -> str | None:
    """The field whose value makes no sense, in words."""
    for name, fits in (
        ("env_steps", _is_count(sidecar.env_steps)),
        ("created", isinstance(sidecar.created, str)),
        ("reason", isinstance(sidecar.reason, str)),
        ("score", sidecar.score is None or _is_number(sidecar.score)),
        ("counters", _are_numbers(sidecar.counters)),
        ("metrics", _are_numbers(sidecar.metrics)),
        ("files", _are_files(sidecar.files)),
        ("copy", _is_count(sidecar.copy) and sidecar.copy in (0, 1)),
        ("config", sidecar.config == "" or _is_digest(sidecar.config)),
        ("scores_from", _is_count(sidecar.scores_from)),
        ("shapes", isinstance(sidecar.shapes, dict)),
        ("format", _is_count(sidecar.format)),
    ):
        if not fits:
            return f"{name} is {_shortened(sidecar, name)}"
    return None


def _shortened(sidecar: Sidecar, name: str) -> str:
    text = repr(asdict(sidecar)[name])
    return text if len(text) <= 60 else text[:59] + "…"


def _is_count(value: Any) -> bool:
    return type(value) is int and value in _STEPS


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < _LARGEST)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, dict) and all(
        isinstance(key, str) and (value is None or isinstance(value, bool) or _is_number(value))
        for key, value in values.items()
    )


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _are_files(files: Any) -> bool:
    return isinstance(files, dict) and all(
        isinstance(file := files.get(part), dict)
        and _is_digest(file.get("sha256"))
        and _is_count(file.get("bytes"))
        for part in PARTS
    )


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
