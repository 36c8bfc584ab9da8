"""A recorded trace: the steps of one or more episodes as columns, with their pictures.

Each row is one observation, so an episode of L steps has L + 1 rows. What the policy decided on an
observation, and the result, are in that observation's row; an episode's last row has neither (`last`).
docs/traces.md lists the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.errors import GymnastError
from gymnast.traces.meta import TraceMeta
from gymnast.traces.png import decode_png
from gymnast.traces.step import Decision, Outcome, TraceStep


@dataclass(frozen=True, slots=True)
class Stacked:
    """One of the frames that a policy saw at once."""

    row: int  # whose observation it is
    frame: int  # which frame of that observation, where the env stacks them itself; 0 otherwise
    action: str | None  # the label of the action that led to it; None: it begins the episode
    blank: bool = False  # the env's own filling: there was no such frame yet


@dataclass(frozen=True, slots=True)
class Trace:
    """What was recorded. Nothing in it is ever changed."""

    meta: TraceMeta
    columns: dict[str, np.ndarray]  # each [R, …]
    labels: tuple[str, ...]  # [R] of the action taken; "" in an episode's last row
    infos: tuple[dict[str, Any], ...]  # [R] what the env gave beside the observation
    pictures: tuple[bytes, ...] = ()  # [R] PNG; none where frames were not recorded, or dropped

    def __len__(self) -> int:
        """Rows."""
        return self.meta.rows

    @property
    def steps(self) -> np.ndarray:
        """The rows where an action was taken."""
        return np.flatnonzero(~self.columns["last"])

    @property
    def returns(self) -> list[float]:
        """Of each episode, a cut one included."""
        rewards = self.columns["reward"][self.steps]
        ends = np.flatnonzero(self.columns["last"][self.steps + 1]) + 1
        # One after the other, as an evaluation adds them up: `sum` would round differently.
        return [float(np.cumsum(part)[-1]) for part in np.split(rewards, ends[:-1])]

    def picture(self, row: int) -> np.ndarray | None:
        """[height, width, 3] uint8; None where there are no frames."""
        return decode_png(self.pictures[row]) if self.pictures else None

    def seen(self, row: int) -> dict[str, np.ndarray]:
        """The network's input for this observation alone, by part."""
        return _parts(self.columns | {k: self.columns[v] for k, v in self.meta.same.items()}, "seen", row)

    def stack(self, row: int) -> list[Stacked]:
        """The frames that the policy saw at this row, oldest first, each with the action that led to it."""
        step = int(self.columns["step"][row])
        found = []
        for back in reversed(range(self.meta.frame_stack)):
            at = row - min(back, step)  # before the k-th observation, the first one takes their place
            for frame in range(self.meta.observation_stack):
                older = self.meta.observation_stack - 1 - frame
                # The row when this frame was the newest; before the first there was nothing to see.
                when, own = at - older, int(self.columns["step"][at])
                blank = older > own
                label = None if blank or older == own else self.labels[when - 1]
                found.append(Stacked(at, frame, label, blank))
        return found

    def iter_steps(self) -> Iterator[TraceStep]:
        """The steps again, as they were recorded: what writes a video takes them."""
        total, outcome = 0.0, None
        for row in range(len(self)):
            if self.columns["step"][row] == 0:
                total, outcome = 0.0, None
            decision = None if self.columns["last"][row] else self._decision(row)
            value = float(self.columns["value"][row])
            yield TraceStep(
                episode=int(self.columns["episode"][row]),
                step=int(self.columns["step"][row]),
                picture=self.picture(row),
                obs=_parts(self.columns, "obs", row),
                seen=self.seen(row),
                info=self.infos[row],
                value=None if np.isnan(value) else value,
                total=total,
                outcome=outcome,
                decision=decision,
                mask=self.columns["mask"][row] if decision and "mask" in self.columns else None,
            )
            if decision is not None:
                outcome = self._outcome(row)
                total += outcome.reward

    def _decision(self, row: int) -> Decision:
        own = {name: self.columns[name][row] for name in ("probabilities", "mean", "std", "memory_norm")}
        columns = self.columns
        return Decision(
            columns["raw_action" if "raw_action" in columns else "action"][row],
            float(columns["log_prob"][row]),
            float(columns["entropy"][row]),
            **own,
        )

    def _outcome(self, row: int) -> Outcome:
        columns = self.columns
        done = bool(columns["terminated"][row] or columns["truncated"][row])
        return Outcome(
            action=columns["action"][row],
            label=self.labels[row],
            reward=float(columns["reward"][row]),
            parts=_numbers(columns, "reward_part/", row),
            terminated=bool(columns["terminated"][row]),
            truncated=bool(columns["truncated"][row]),
            episode_values=_numbers(columns, "episode_value/", row) if done else {},
        )


def _parts(columns: dict[str, np.ndarray], prefix: str, row: int) -> dict[str, np.ndarray]:
    """The columns of this kind in one row: a lone one has the name ""."""
    under = f"{prefix}/"
    return {
        name.removeprefix(under) if name != prefix else "": column[row]
        for name, column in columns.items()
        if name == prefix or name.startswith(under)
    }


def _numbers(columns: dict[str, np.ndarray], prefix: str, row: int) -> dict[str, float]:
    found = {k.removeprefix(prefix): v for k, v in columns.items() if k.startswith(prefix)}
    return {name: float(column[row]) for name, column in found.items()}


def column_name(prefix: str, part: str) -> str:
    """`obs`, or `obs/PART`."""
    return f"{prefix}/{part}" if part else prefix


# What every trace has, beside `obs`, `seen`, `reward_part/…` and `episode_value/…`: dtype and shape of a row.
# A name in the shape is a field of TraceMeta that has as many entries.
COLUMNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "episode": ("int32", ()),
    "step": ("int32", ()),
    "last": ("bool", ()),
    "reward": ("float64", ()),
    "terminated": ("bool", ()),
    "truncated": ("bool", ()),
    "cut": ("bool", ()),
    "value": ("float64", ()),
    "log_prob": ("float64", ()),
    "entropy": ("float64", ()),
    "probabilities": ("float32", ("choices",)),
    "mean": ("float32", ("numbers",)),
    "std": ("float32", ("numbers",)),
    "memory_norm": ("float32", ("memory_names",)),
}


def check_trace(trace: Trace) -> None:
    """Raise GymnastError, naming the field, unless everything in a trace fits together."""
    meta, columns, rows = trace.meta, trace.columns, trace.meta.rows
    _check_columns(meta, columns)
    for name, count in (("labels", len(trace.labels)), ("infos", len(trace.infos))):
        _expect(count == rows, f"{count} {name} for {rows} rows")
    wanted = rows if meta.frames else 0
    _expect(len(trace.pictures) == wanted, f"{len(trace.pictures)} pictures where {wanted} belong")
    last, step, episode = columns["last"], columns["step"].tolist(), columns["episode"].tolist()
    _expect(bool(last[-1]) and (step[0], episode[0]) == (0, 0), "its episodes have no beginning or no end")
    for row in range(1, rows):
        if last[row - 1]:
            follows = step[row] == 0 and episode[row] == episode[row - 1] + 1 and step[row - 1] > 0
        else:
            follows = step[row] == step[row - 1] + 1 and episode[row] == episode[row - 1]
        _expect(follows, f"row {row} does not follow the one before")
    _expect(step[-1] > 0, "its last episode has no steps")
    ending = np.append(last[1:], False)
    ended = columns["terminated"] | columns["truncated"] | columns["cut"]
    _expect(bool((ended == ending).all()), "its episodes end elsewhere than their rows")


def _check_columns(meta: TraceMeta, columns: dict[str, np.ndarray]) -> None:
    counts = {
        "choices": len(meta.choices),
        "numbers": len(meta.numbers),
        "memory_names": len(meta.memory_names),
    }
    fixed = {name: (dtype, tuple(counts[n] for n in shape)) for name, (dtype, shape) in COLUMNS.items()}
    number = "float32" if meta.numbers else "int64"
    fixed["action"] = (number, (len(meta.action_names),))
    optional = {"raw_action": ("float32", (len(meta.action_names),)), "mask": ("bool", (counts["choices"],))}
    for name in fixed:
        _expect(name in meta.columns, f"it has no column '{name}'")
    _expect(columns.keys() == meta.columns.keys(), "its columns are not those it names")
    for name, column in columns.items():
        known = meta.columns[name]
        _expect(
            (column.dtype.name, column.shape) == (known.dtype, (meta.rows, *known.shape)),
            f"'{name}' is {column.dtype}{list(column.shape)} where {known.dtype}"
            f"{[meta.rows, *known.shape]} belongs",
        )
        kind = fixed.get(name) or optional.get(name)
        if kind is not None:
            _expect((known.dtype, known.shape) == kind, f"'{name}' is a column of {known.dtype}{known.shape}")
        elif name.startswith(("reward_part/", "episode_value/")):
            _expect((known.dtype, known.shape) == ("float64", ()), f"'{name}' is not a column of numbers")
        else:
            _expect(name in ("obs", "seen") or name.startswith(("obs/", "seen/")), f"column '{name}'?")
    for name, source in meta.same.items():
        is_seen = name == "seen" or name.startswith("seen/")
        is_obs = source == "obs" or source.startswith("obs/")
        _expect(is_seen and is_obs and name not in columns and source in columns, f"'{name}' is '{source}'?")
    for prefix in ("obs", "seen"):
        kinds = [n for n in (*columns, *meta.same) if n == prefix or n.startswith(f"{prefix}/")]
        fit = bool(kinds) and (prefix not in kinds or len(kinds) == 1)
        _expect(fit, f"its columns of '{prefix}' are {kinds}")


def _expect(holds: bool, problem: str) -> None:
    if not holds:
        raise GymnastError(f"the trace is damaged: {problem}")
