"""Runs that another process trains: start one; stop, pause, resume, checkpoint, evaluate and watch it."""

from __future__ import annotations

from gymnast.runs.control import NotAnswered
from gymnast.runs.control import checkpoint as checkpoint_run
from gymnast.runs.control import evaluate as evaluate_run
from gymnast.runs.control import pause as pause_run
from gymnast.runs.control import resume_paused as resume_paused_run
from gymnast.runs.control import stop as stop_run
from gymnast.runs.control import watch as watch_run
from gymnast.runs.registry import entry_of as run_state

__all__ = [
    "NotAnswered",
    "checkpoint_run",
    "evaluate_run",
    "pause_run",
    "resume_paused_run",
    "run_state",
    "stop_run",
    "watch_run",
]
