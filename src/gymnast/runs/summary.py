"""A run in one JSON object, and the settings in which runs differ: what `runs show` and `compare` print."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_columns, read_header
from gymnast.runs.checkpoint import Checkpoint, DamagedCheckpoint, best_checkpoint, list_checkpoints
from gymnast.runs.registry import entry_of
from gymnast.runs.store import RunFolder


def summarise(run: RunFolder) -> dict[str, Any]:
    """How a run stands, what started it, its evaluations, and its checkpoints, newest first."""
    info = run.info()
    known = list_checkpoints(run)
    best = best_checkpoint(run)
    return {
        "run": asdict(entry_of(run)),
        "path": str(run.path),
        **{key: info.get(key) for key in ("command", "versions", "git_commit", "machine", "init_from")},
        "command": info.get("command") or [],
        "resumes": [
            {key: value for key, value in resume.items() if key != "config_before"}
            for resume in info.get("resumes") or []
        ],
        "settings": settings_of(run),
        "evals": evaluations(run),
        **({"tasks": tasks} if (tasks := task_evaluations(run)) else {}),
        "checkpoints": [
            {**_checkpoint(saved), "best": saved == best, "last": saved == known[-1]}
            for saved in reversed(known)
        ],
    }


def evaluations(run: RunFolder) -> list[dict[str, float]]:
    """Every evaluation of the run in order: env steps and score."""
    steps, at, scores = read_columns(
        run.metrics_path, ("time/env_steps", "eval/env_steps", "eval/return/mean")
    ).values()
    return [
        {"env_steps": int(step if math.isnan(taken) else taken), "score": score}
        for step, taken, score in zip(steps.tolist(), at.tolist(), scores.tolist(), strict=True)
        if math.isfinite(score)
    ]


def task_evaluations(run: RunFolder) -> dict[str, list[float]]:
    """Of a mix: the scores of each task, in the order of the evaluations."""
    start, end = "eval/task/", "/return/mean"
    keys = [key for key in read_header(run.metrics_path) if key.startswith(start) and key.endswith(end)]
    columns = read_columns(run.metrics_path, keys).items()
    scores = {key.removeprefix(start).removesuffix(end): column.tolist() for key, column in columns}
    return {name: [score for score in column if math.isfinite(score)] for name, column in scores.items()}


def settings_of(run: RunFolder) -> dict[str, Any]:
    """The run's config with dotted keys."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return _flat(YAML(typ="safe", pure=True).load(run.config_text()))
    except YAMLError as error:
        raise GymnastError(f"{run.config_path} is not valid YAML: {error}") from error


def differing(settings: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The keys whose values are not the same in all, with the value of each (None where it lacks)."""
    keys = list(dict.fromkeys(key for one in settings for key in one))
    rows = {key: [one.get(key) for one in settings] for key in keys}
    return {key: values for key, values in rows.items() if any(value != values[0] for value in values)}


def _checkpoint(saved: Checkpoint) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "env_steps": saved.env_steps,
        "score": None,
        "reason": "",
        "created": "",
        "damaged": "",
    }
    try:
        sidecar = saved.sidecar()
    except DamagedCheckpoint as error:
        return {**facts, "damaged": str(error)}
    score = sidecar.score if sidecar.score is not None and math.isfinite(sidecar.score) else None
    return {**facts, "score": score, "reason": sidecar.reason, "created": sidecar.created}


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: value} if prefix else {}
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{prefix}.{key}" if prefix else str(key))
    return flat
