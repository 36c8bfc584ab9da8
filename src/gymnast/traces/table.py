"""The table of a trace's steps: what was done, paid and expected, for any discount."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from gymnast.algorithms.returns import gae, monte_carlo
from gymnast.errors import GymnastError
from gymnast.runs.files import users_place, write_atomic
from gymnast.traces.trace import Trace

DEFAULT_GAMMA, DEFAULT_LAMBDA = 0.99, 0.95
_MOST_COMPONENTS = 64  # of an observation that are columns; pixels are not
_MOST_INFOS = 64

Columns = dict[str, np.ndarray | list[str]]


def steps_table(trace: Trace, gamma: float | None = None, lam: float | None = None) -> Columns:
    """Columns of T values, one for each action taken, in their order.

    Unset, gamma and lam are those of the run. Where an episode was truncated, or its recording cut, the
    value of its last observation replaces the rewards still to come. Without a critic they are left out,
    and so are the columns that need one.
    """
    gamma = _unit("gamma", gamma, trace.meta.gamma, DEFAULT_GAMMA)
    lam = _unit("lam", lam, trace.meta.gae_lambda, DEFAULT_LAMBDA)
    meta, rows = trace.meta, trace.steps
    own = {name: column[rows] for name, column in trace.columns.items()}
    table: Columns = {name: own[name] for name in ("episode", "step")}
    table |= _split(own["action"], "action", meta.action_names)
    table["label"] = [trace.labels[row] for row in rows]
    if not meta.numbers:  # of real numbers it is a density
        table["probability"] = np.exp(own["log_prob"])
    table |= {name: own[name] for name in ("log_prob", "entropy")}
    table |= _components(own["probabilities"], "probability", meta.choices)
    table |= _components(own["mean"], "mean", meta.numbers) | _components(own["std"], "std", meta.numbers)
    if "mask" in own:
        table["allowed_choices"] = own["mask"].sum(1)
    table |= _components(own["memory_norm"], "memory_norm", meta.memory_names)
    table |= _rewards(trace, own, gamma, lam)
    for name, column in own.items():
        if name == "obs" or name.startswith("obs/"):
            table |= _observation(name, column, meta.observation_names)
    table |= _infos([trace.infos[row + 1] for row in rows])
    table |= {name: own[name] for name in ("terminated", "truncated", "cut")}
    return table


def _rewards(trace: Trace, own: dict[str, np.ndarray], gamma: float, lam: float) -> Columns:
    rows, columns = trace.steps, trace.columns
    parts = {name: column for name, column in own.items() if name.startswith("reward_part/")}
    table: Columns = {"reward": own["reward"]}
    if parts:
        table["reward_part/env"] = own["reward"] - np.sum(list(parts.values()), axis=0)
        table |= parts
    ended = columns["last"][rows + 1]
    terminated = own["terminated"]
    stopped = ended & ~terminated  # truncated, or cut: there was more to come
    values, next_values = columns["value"][rows], columns["value"][rows + 1]
    known = not bool(np.isnan(columns["value"]).any())
    bootstrap = np.where(stopped, next_values, 0.0)[:, None] if known else None
    rewards = own["reward"][:, None]
    table["return_so_far"] = _sums_so_far(own["reward"], ended)
    table["return_to_go"] = monte_carlo(rewards, ended[:, None], bootstrap, None, gamma)[0][:, 0]
    if bootstrap is None:
        return table
    table["value"] = table["baseline"] = values
    table["td_error"] = own["reward"] + gamma * np.where(terminated, 0.0, next_values) - values
    table["advantage"] = gae(
        rewards,
        np.append(values, 0.0)[:, None],
        terminated[:, None],
        stopped[:, None],
        bootstrap,
        gamma,
        lam,
    )[:, 0]
    return table


def _sums_so_far(rewards: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """The sum of an episode's rewards up to and with each step."""
    ends = np.flatnonzero(ended)[:-1] + 1
    return np.concatenate([np.cumsum(part) for part in np.split(rewards, ends)])


def _unit(name: str, given: float | None, of_the_run: float | None, default: float) -> float:
    value = default if given is None and of_the_run is None else of_the_run if given is None else given
    assert value is not None
    if not 0.0 <= value <= 1.0:
        raise GymnastError(f"{name} must be from 0 to 1, got {value}")
    return float(value)


def _split(column: np.ndarray, name: str, names: tuple[str, ...]) -> Columns:
    """A lone column under its own name, several as NAME/PART."""
    return {name: column[:, 0]} if len(names) == 1 else _components(column, name, names)


def _components(column: np.ndarray, name: str, names: tuple[str, ...]) -> Columns:
    """[T, n] as n columns; of equal names the later ones get their number."""
    found: Columns = {}
    for index, part in enumerate(names):
        key = f"{name}/{part}"
        found[f"{key}#{index}" if key in found else key] = column[:, index]
    return found


def _observation(name: str, column: np.ndarray, names: tuple[str, ...]) -> Columns:
    flat = column.reshape(len(column), -1)
    size = flat.shape[1]
    if size > _MOST_COMPONENTS:
        return {}
    if column.ndim == 1:
        return {name: column}
    fits = name == "obs" and len(names) == size
    return _components(flat, name, names if fits else tuple(map(str, range(size))))


def _infos(infos: list[dict[str, Any]]) -> Columns:
    """The numbers in what the env gave after each action; NaN where it did not."""
    keys = {key: None for info in infos for key, value in info.items() if isinstance(value, int | float)}
    table: Columns = {}
    for key in list(keys)[:_MOST_INFOS]:
        values = [info.get(key) for info in infos]
        numbers = [float(v) if isinstance(v, int | float) else np.nan for v in values]
        table[f"info/{key}"] = np.array(numbers)
    return table


def to_csv(table: Columns, path: Path | str | None = None) -> str:
    """The table as CSV, which is also written to `path` if one is given. Numbers read back exactly."""
    text = io.StringIO()
    writer = csv.writer(text)  # its own line ends: with others it does not quote a \r
    writer.writerow(table)
    columns = [_cells(column) for column in table.values()]
    writer.writerows(zip(*columns, strict=True))
    if path is not None:
        write_atomic(users_place(Path(path)), text.getvalue().encode(errors="replace"))
    return text.getvalue()


def _cells(column: np.ndarray | list[str]) -> list[Any]:
    if isinstance(column, list):
        return column
    plain = column.astype(np.int64) if column.dtype == bool else column
    return ["" if value != value else value for value in plain.tolist()]
