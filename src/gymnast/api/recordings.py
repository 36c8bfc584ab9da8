"""Recordings: episodes of a checkpoint with pictures, kept with the run, to be looked at in the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import maybe_whole, whole
from gymnast.api.run import Overrides, Run, find_checkpoint, folder_of
from gymnast.errors import GymnastError
from gymnast.recordings.recording import Recording, RecordingInfo

if TYPE_CHECKING:
    from gymnast.runs.store import RunFolder
    from gymnast.traces.trace import Trace

__all__ = [
    "Recording",
    "RecordingInfo",
    "delete_recording",
    "keep_recording",
    "list_recordings",
    "load_recording",
    "record_checkpoint",
    "recording_binary",
    "recording_csv",
    "recording_info",
]


def record_checkpoint(
    reference: str | Path | Run = "@last",
    *,
    episodes: int = 1,
    max_steps: int = 1000,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    frames: bool = True,
    overrides: Overrides = (),
    runs_dir: str | Path | None = None,
    trust: bool = False,
    progress: Callable[[int], bool] = lambda steps: True,
) -> RecordingInfo:
    """Record episodes of a checkpoint (of a run: its best, else its last) and keep them with the run.

    What is recorded is what `record_trace` records. `progress` gets the steps taken so far, and ends the
    recording by returning False. `overrides` and `trust` are as in `evaluate`.
    """
    from gymnast.recordings.record import MOST_STEPS, play_checkpoint
    from gymnast.recordings.store import save_recording

    if (steps := whole("max_steps", max_steps, 1)) > MOST_STEPS:
        raise GymnastError(f"max_steps must be at most {MOST_STEPS:,}, got {steps:,}")
    checkpoint = find_checkpoint(reference, runs_dir)
    played = play_checkpoint(
        checkpoint,
        episodes=whole("episodes", episodes, 1),
        max_steps=steps,
        stochastic=stochastic,
        seed=maybe_whole("seed", seed),
        task=task,
        frames=frames,
        overrides=overrides,
        trust=trust,
        progress=progress,
    )
    return save_recording(
        checkpoint.run,
        played.trace,
        played.pictures,
        played.mime,
        bounds=played.bounds,
        overrides=_as_map(overrides),
        rendered=played.rendered,
    )


def keep_recording(
    trace: Trace,
    run: str | Path | Run | RunFolder = "@last",
    *,
    player: str = "human",
    runs_dir: str | Path | None = None,
) -> RecordingInfo:
    """Keep a trace that was recorded in another way, such as by a person at the keyboard, with a run."""
    from gymnast.recordings.store import save_recording

    return save_recording(folder_of(run, runs_dir), trace, (), "image/png", bounds={}, player=player)


def list_recordings(
    run: str | Path | Run | None = None, *, runs_dir: str | Path | None = None
) -> list[RecordingInfo]:
    """Those of a run, or of all runs, newest first."""
    from gymnast.recordings import store
    from gymnast.runs.store import run_folders, runs_root

    folders = run_folders(runs_root(runs_dir)) if run is None else [folder_of(run, runs_dir)]
    return store.list_recordings(folders)


def load_recording(recording: str, *, runs_dir: str | Path | None = None) -> Recording:
    """One recording by its id; it may come from anywhere, and never leads out of the runs folder."""
    from gymnast.recordings import store

    return store.load_recording(*_place(recording, runs_dir))


def recording_info(recording: str, *, runs_dir: str | Path | None = None) -> RecordingInfo:
    """What lists show of it."""
    from gymnast.recordings import store

    return store.read_info(*_place(recording, runs_dir))


def delete_recording(recording: str, *, runs_dir: str | Path | None = None) -> None:
    """Remove it for good."""
    from gymnast.recordings import store

    store.delete_recording(*_place(recording, runs_dir))


def recording_binary(recording: Recording, gamma: float | None = None, lam: float | None = None) -> bytes:
    """What the page gets: trace, table of steps and pictures in one (docs/inspector.md)."""
    from gymnast.recordings.payload import payload

    return payload(recording, gamma, lam)


def recording_csv(recording: Recording, gamma: float | None = None, lam: float | None = None) -> str:
    """The table of its steps, the columns being those of a checkpoint's rollout table."""
    from gymnast.traces.table import steps_table, to_csv

    return to_csv(steps_table(recording.trace, gamma, lam))


def _place(recording: str, runs_dir: str | Path | None) -> tuple[RunFolder, str]:
    from gymnast.recordings.store import split_id
    from gymnast.runs.store import open_run, runs_root

    run_id, number = split_id(recording)
    return open_run(runs_root(runs_dir), run_id), number


def _as_map(overrides: Overrides) -> dict[str, Any]:
    if isinstance(overrides, Mapping):
        return {str(key): value for key, value in overrides.items()}
    pairs = (text.partition("=") for text in overrides)
    return {key: value for key, _, value in pairs}
