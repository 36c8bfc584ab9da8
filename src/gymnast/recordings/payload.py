"""A recording as the one binary that the page gets: trace, table of steps, stacked frames, pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast.recordings.recording import Recording
from gymnast.traces.table import steps_table
from gymnast.traces.trace import Trace
from gymnast.web.wire import pack

MOST_OBSERVATIONS = 128_000_000  # bytes of one column of observations that are sent


def payload(recording: Recording, gamma: float | None = None, lam: float | None = None) -> bytes:
    """For any γ and λ; those of the run if unset. docs/inspector.md describes what is in it."""
    trace = recording.trace
    table = steps_table(trace, gamma, lam)
    arrays: dict[str, np.ndarray] = {}
    texts: dict[str, Any] = {"labels": trace.labels}
    left_out: dict[str, str] = {}
    for name, column in trace.columns.items():
        sent = _newest_frames(trace, column) if name == "obs" else column
        if sent.nbytes > MOST_OBSERVATIONS:
            left_out[name] = f"{sent.nbytes / 1e6:,.0f} MB: too much for a page"
        else:
            arrays[name] = sent
    arrays["row_of_step"] = trace.steps
    for name, values in table.items():
        if isinstance(values, list):
            texts[f"table/{name}"] = values
        else:
            arrays[f"table/{name}"] = values
    stacked, actions = _stacks(trace)
    if stacked is not None:
        arrays |= stacked
        texts["stack/action"] = actions
    meta = _meta(recording, gamma, lam) | {"table": list(table), "left_out": left_out}
    return pack(meta, arrays, texts=texts, infos=trace.infos, frames=recording.pictures, mime=recording.mime)


def _meta(recording: Recording, gamma: float | None, lam: float | None) -> dict[str, Any]:
    from gymnast.traces.table import DEFAULT_GAMMA, DEFAULT_LAMBDA

    trace = recording.trace
    known = trace.meta.model_dump(mode="json", exclude={"columns"})
    own_gamma, own_lambda = trace.meta.gamma, trace.meta.gae_lambda
    return known | {
        "recording": recording.info.to_json(),
        "gamma": next(g for g in (gamma, own_gamma, DEFAULT_GAMMA) if g is not None),
        "lam": next(value for value in (lam, own_lambda, DEFAULT_LAMBDA) if value is not None),
        "run_gamma": own_gamma,
        "run_lam": own_lambda,
        "episodes": _episodes(trace),
        "bounds": _bounds_of_components(recording),
        "bounds_of": {name: bounds.to_json() for name, bounds in recording.bounds.items()},
        "rendered": recording.info.rendered,
        "reason_no_frames": _why_no_frames(recording),
    }


def _bounds_of_components(recording: Recording) -> dict[str, Any] | None:
    """Of the observation's components, where it has no parts."""
    own = recording.bounds.get("obs")
    return None if own is None else own.to_json()


def _why_no_frames(recording: Recording) -> str | None:
    if recording.pictures:
        return None
    if "frames" in recording.trace.meta.cut:
        return "its pictures were too large to keep"
    return "it was recorded without pictures"


def _episodes(trace: Trace) -> list[dict[str, Any]]:
    """Where each begins, how many rows it has, what it gave and how it ended."""
    ends = np.flatnonzero(trace.columns["last"])
    found, first = [], 0
    for end, total in zip(ends.tolist(), trace.returns, strict=True):
        ended = next(how for how in ("terminated", "truncated", "cut") if trace.columns[how][end - 1])
        rows = end - first + 1
        found.append({"first": first, "rows": rows, "length": rows - 1, "return": total, "ended": ended})
        first = end + 1
    return found


def _newest_frames(trace: Trace, column: np.ndarray) -> np.ndarray:
    """Of frames that the env stacks itself, the newest of each row: the others are those of earlier rows."""
    frames = trace.meta.observation_stack
    if frames == 1 or column.ndim < 4 or column.shape[1] != frames:
        return column
    follows = trace.columns["step"][1:] > 0
    same = all(np.array_equal(column[1:, i][follows], column[:-1, i + 1][follows]) for i in range(frames - 1))
    return column[:, -1] if same else column


def _stacks(trace: Trace) -> tuple[dict[str, np.ndarray] | None, list[str]]:
    """`stack/index` [R, k]: the row whose newest frame it is, -1 where there was none yet, and the action
    that led to each."""
    size = trace.meta.frame_stack * trace.meta.observation_stack
    if size == 1:
        return None, []
    index = np.full((len(trace), size), -1, np.int32)
    actions: list[str] = []
    for row in range(len(trace)):
        for place, frame in enumerate(trace.stack(row)):
            if not frame.blank:
                index[row, place] = frame.row - (trace.meta.observation_stack - 1 - frame.frame)
            actions.append(frame.action or "")
    return {"stack/index": index}, actions
