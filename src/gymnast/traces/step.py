"""One moment of a recorded episode: what was seen, what was decided there, and what led to it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_NONE = np.zeros(0, np.float32)
_DEPTH, _ITEMS, _TEXT, _INFO_BYTES = 4, 64, 256, 4096  # beyond these, an info is left out
_RECORDED_ELSEWHERE = ("action_mask", "reward_parts")


@dataclass(frozen=True, slots=True)
class Decision:
    """What the policy chose, and from which distribution; in a mix, among the task's own choices."""

    action: np.ndarray  # [K] flat (`spaces/action_form.py`), before it is clipped or squashed to the bounds
    log_prob: float
    entropy: float
    probabilities: np.ndarray = field(default_factory=lambda: _NONE)  # [M] of the choices, factor by factor
    mean: np.ndarray = field(default_factory=lambda: _NONE)  # [F] of the real numbers, before squashing
    std: np.ndarray = field(default_factory=lambda: _NONE)  # [F]
    memory_norm: np.ndarray = field(default_factory=lambda: _NONE)  # [S] of recurrent states, after acting


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the env did with an action."""

    action: np.ndarray  # [K] flat, as the env was given it
    label: str
    reward: float
    parts: dict[str, float]  # shares of the reward that wrappers added, by name
    terminated: bool
    truncated: bool
    episode_values: dict[str, float] = field(default_factory=dict)  # at an episode's end; NaN: not given

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One observation of an episode. The last one of an episode has no decision."""

    episode: int  # from 0
    step: int  # 0: the first observation
    picture: np.ndarray | None  # [height, width, 3] uint8, as the env shows it
    obs: dict[str, np.ndarray]  # as the env gave it, by leaf ("" where it has no parts)
    seen: dict[str, np.ndarray]  # as the network reads it, of this observation alone; stacks: `Trace.stack`
    info: dict[str, Any]  # the plain data in what the env gave beside the observation
    value: float | None  # the critic's estimate, in rewards of the env; None: there is no critic
    total: float  # return so far
    outcome: Outcome | None  # of the action that led here; None at an episode's first
    decision: Decision | None  # None: the episode ended here, or its recording was cut
    mask: np.ndarray | None = None  # [M] bool: allowed choices; None without masks or decision

    @property
    def cut(self) -> bool:
        """Whether the recording stopped here in the middle of an episode."""
        return self.decision is None and not (self.outcome is not None and self.outcome.done)


def plain_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an info that JSON can hold: numbers, texts, and small arrays, lists and dicts of them.

    NaN and infinity become null. Masks and shares of the reward are recorded on their own.
    """
    kept = {
        str(key): plain
        for key, value in info.items()
        if key not in _RECORDED_ELSEWHERE and (plain := _plain(value, _DEPTH)) is not _DROPPED
    }
    if len(json.dumps(kept)) > _INFO_BYTES:
        kept = {key: value for key, value in kept.items() if isinstance(value, bool | int | float)}
    return kept if len(json.dumps(kept)) <= _INFO_BYTES else {}


_DROPPED = object()


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 2**63 else _DROPPED
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value) if len(value) <= _TEXT else _DROPPED
    if depth == 0:
        return _DROPPED
    if isinstance(value, np.ndarray):
        numbers = value.dtype.kind in "biuf" and value.size <= _ITEMS
        return _plain(value.tolist(), depth) if numbers else _DROPPED
    if isinstance(value, Mapping) and len(value) <= _ITEMS:
        inner = {str(key): _plain(item, depth - 1) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item is not _DROPPED}
    if isinstance(value, list | tuple) and len(value) <= _ITEMS:
        items = [_plain(item, depth - 1) for item in value]
        return _DROPPED if any(item is _DROPPED for item in items) else items
    return _DROPPED
