"""A trace from anywhere as a recording that is looked at and not kept: a game without a run, for example."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gymnast.recordings.pictures import PNG
from gymnast.recordings.recording import Recording, RecordingInfo
from gymnast.traces.store import JSON_NAME, load_trace
from gymnast.traces.trace import Trace


def is_trace(place: Path) -> bool:
    """Whether a folder holds a trace, whole or damaged."""
    return (place / JSON_NAME).is_file()


def open_trace(place: Path, number: int = 0) -> Recording:
    """The `number`-th that is opened; GymnastError says what is wrong with it."""
    trace = load_trace(place)
    # A trace may come from anybody: the run that it names is a text here, and nothing is looked up by it.
    trace = replace(trace, meta=trace.meta.model_copy(update={"run": None}))
    info = RecordingInfo.of(trace, name=f"trace-{number:010x}", run="", player=_player(trace))
    return Recording(info, trace, trace.pictures, PNG, {})


def _player(trace: Trace) -> str:
    """Who chose the actions; `gymnast play` notes it at each step."""
    drivers = {str(trace.infos[row].get("driver", "policy")) for row in trace.steps.tolist()}
    return drivers.pop() if len(drivers) == 1 else "mixed"
