"""Keeping what is recorded: from steps to a `Trace`, never larger than its cap."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

import gymnast
from gymnast.envs.contract import EnvFailure
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies.device import limit_threads
from gymnast.policies.policy import Policy
from gymnast.runs.store import now
from gymnast.traces.env import RecordedEnv
from gymnast.traces.meta import Column, Cut, TraceMeta
from gymnast.traces.png import encode_png
from gymnast.traces.recorder import Player, iter_steps, memory_names
from gymnast.traces.step import TraceStep
from gymnast.traces.trace import COLUMNS, Trace, column_name

DEFAULT_BYTES = 256_000_000
LEAST_BYTES = 1_000_000
_RESERVED = 100_000  # for trace.json
_ROW_OVERHEAD = 16  # commas, and where a picture ends


def record_trace(
    policy: Policy,
    env: EnvConfig | gym.Env[Any, Any],
    *,
    seed: int,
    rng: np.random.Generator | None = None,
    episodes: int = 1,
    max_steps: int = 5000,
    frames: bool = True,
    task: str | None = None,
    training: bool = False,
    value_scale: float | None = 1.0,
    max_bytes: int = DEFAULT_BYTES,
) -> Trace:
    """Record episodes of a policy: greedy, or sampling actions if given a generator.

    The env is played exactly as an evaluation with one env plays it from the same seed, whether or not
    frames are recorded. An env object of yours is closed afterwards.
    """
    recorded = RecordedEnv(env, seed, task, training=training, pictures=frames)
    try:
        player = Player(policy, rng, value_scale)
        return keep_trace(recorded, player, episodes=episodes, max_steps=max_steps, max_bytes=max_bytes)
    except EnvFailure as failure:
        raise RunFailed(f"{recorded.id}: {failure}") from failure
    finally:
        recorded.close()


def keep_trace(
    env: RecordedEnv,
    player: Player,
    *,
    episodes: int = 1,
    max_steps: int = 5000,
    max_bytes: int = DEFAULT_BYTES,
    seconds: float = math.inf,
    **about: Any,
) -> Trace:
    """Record on an env that is built already; `about` has further fields of `TraceMeta`."""
    for name, value, least in (
        ("episodes", episodes, 1),
        ("max_steps", max_steps, 1),
        ("max_bytes", max_bytes, LEAST_BYTES),
    ):
        if value < least:
            raise GymnastError(f"{name} must be at least {least:,}, got {value}")
    keeper = TraceKeeper(max_bytes)
    with limit_threads(player.policy.network, 1):
        steps = iter_steps(env, player, episodes=episodes, max_steps=max_steps, seconds=seconds)
        for _ in keeper.keep(steps):
            pass
    return keeper.trace(**describe(env, player), **about)


def describe(env: RecordedEnv, player: Player) -> dict[str, Any]:
    """The fields of `TraceMeta` that env and player know."""
    return {
        "env_id": env.id,
        "task": env.task,
        "seed": env.seed,
        "sampled": player.rng is not None,
        "fps": env.fps,
        "value_scale": player.value_scale,
        "frame_stack": player.policy.frame_stack,
        "observation_stack": env.observation_stack,
        "action_names": env.actions.factors,
        "choices": env.actions.choices,
        "numbers": env.actions.numbers,
        "observation_names": env.observation_names,
        "memory_names": memory_names(player),
    }


class TraceKeeper:
    """Keeps steps as they pass by. If they grow too large, frames go first; then the recording is cut."""

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self._left = max_bytes - _RESERVED
        self._rows: list[dict[str, Any]] = []
        self._labels: list[str] = []
        self._infos: list[dict[str, Any]] = []
        self._pictures: list[bytes] | None = []
        self._cut: list[Cut] = []
        self._same: dict[str, str] = {}
        self._numbers = 0  # bytes of a row's arrays

    def keep(self, steps: Iterable[TraceStep]) -> Iterator[TraceStep]:
        """The same steps, kept; they end where the trace is full."""
        for step in steps:
            if not self._add(step):
                return
            yield step

    def _add(self, step: TraceStep) -> bool:
        """Whether there is room for more."""
        row = self._row(step)
        size = self._size(step, row)
        # The row that follows must fit too: an episode that is cut needs an observation to end on.
        needed = size if step.decision is None else 2 * size
        picture = None
        if self._pictures is not None:
            picture = None if step.picture is None else encode_png(step.picture)
            if picture is None:
                self._pictures = None
            elif self._left < needed + 2 * len(picture):
                self._drop_pictures()
        full = self._left < needed
        if full:
            self._cut.append("size")
            if step.step == 0:
                if not self._rows:
                    raise GymnastError(f"max_bytes: one step takes {size:,} bytes, which leaves no room")
                return False
            step = replace(step, decision=None)
            row = self._row(step)
        elif step.cut:
            self._cut.append("max_steps")
        if step.outcome is not None:
            self._finish_previous(step)
        self._rows.append(row)
        self._labels.append("")
        self._infos.append(step.info)
        self._left -= size
        if self._pictures is not None and picture is not None:
            self._pictures.append(picture)
            self._left -= len(picture)
        return not full

    def _size(self, step: TraceStep, row: dict[str, Any]) -> int:
        """Bytes that this row takes in a file."""
        numbers = sum(np.asarray(value).nbytes for value in row.values())
        label = 0
        if (outcome := step.outcome) is not None:
            numbers += outcome.action.nbytes + 8 * (2 + len(outcome.parts) + len(outcome.episode_values))
            label = len(json.dumps(outcome.label))
        self._numbers = max(self._numbers, numbers)  # columns have room for every row
        return self._numbers + len(json.dumps(step.info)) + label + _ROW_OVERHEAD

    def _finish_previous(self, step: TraceStep) -> None:
        """The result of an action belongs in the row where it was taken."""
        outcome, before = step.outcome, self._rows[-1]
        assert outcome is not None
        before |= {
            "action": outcome.action,
            "reward": outcome.reward,
            "terminated": outcome.terminated,
            "truncated": outcome.truncated,
            "cut": step.cut,
            **{f"reward_part/{name}": share for name, share in outcome.parts.items()},
            **{f"episode_value/{name}": value for name, value in outcome.episode_values.items()},
        }
        self._labels[-1] = outcome.label

    def _row(self, step: TraceStep) -> dict[str, Any]:
        row: dict[str, Any] = {
            "episode": step.episode,
            "step": step.step,
            "last": step.decision is None,
            "value": np.nan if step.value is None else step.value,
            **{column_name("obs", part): array for part, array in step.obs.items()},
        }
        for part, array in step.seen.items():
            name = column_name("seen", part)
            if not self._rows and (source := _equal_image(array, step.obs)) is not None:
                self._same[name] = source
            if name not in self._same:
                row[name] = array
        if step.decision is not None:
            decision = step.decision
            row |= {
                "log_prob": decision.log_prob,
                "entropy": decision.entropy,
                "probabilities": decision.probabilities,
                "mean": decision.mean,
                "std": decision.std,
                "memory_norm": decision.memory_norm,
            }
            if len(decision.mean):
                row["raw_action"] = decision.action
            if step.mask is not None:
                row["mask"] = step.mask
        return row

    def _drop_pictures(self) -> None:
        self._left += sum(map(len, self._pictures or ()))
        self._pictures = None
        self._cut.append("frames")

    def trace(self, **about: Any) -> Trace:
        """What was kept; `about` has the fields of `TraceMeta` that the steps do not have."""
        rows = self._rows
        if len(rows) < 2:
            raise GymnastError("a trace has at least one step")
        columns = {name: _column(name, [row.get(name) for row in rows]) for name in _names(rows)}
        kinds = {
            name: Column.model_validate({"dtype": column.dtype.name, "shape": column.shape[1:]})
            for name, column in columns.items()
        }
        meta = TraceMeta(
            created=now(),
            version=gymnast.__version__,
            columns=kinds,
            same=self._same,
            rows=len(rows),
            frames=self._pictures is not None,
            cut=tuple(dict.fromkeys(self._cut)),
            **about,
        )
        return Trace(meta, columns, tuple(self._labels), tuple(self._infos), tuple(self._pictures or ()))


def _equal_image(array: np.ndarray, obs: dict[str, np.ndarray]) -> str | None:
    """The column of `obs` that has these very pixels: networks read images as they are."""
    if array.dtype != np.uint8 or array.ndim < 2:
        return None
    return next((column_name("obs", part) for part, own in obs.items() if np.array_equal(array, own)), None)


def _names(rows: list[dict[str, Any]]) -> list[str]:
    """All columns, those that every trace has first."""
    return list(dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)]))


def _column(name: str, values: list[Any]) -> np.ndarray:
    """[R, …]; where a row has no value: NaN, 0 of whole numbers, False."""
    known = next(value for value in values if value is not None)
    dtype = np.dtype(COLUMNS[name][0]) if name in COLUMNS else np.asarray(known).dtype
    missing = np.full(np.shape(known), np.nan if dtype.kind == "f" else 0, dtype)
    return np.stack([np.asarray(missing if value is None else value, dtype) for value in values])
