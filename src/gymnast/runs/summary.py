"""One run in full: what `runs show` prints."""

from __future__ import annotations

import functools
import logging
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_columns, read_header
from gymnast.redact import redacted
from gymnast.runs.checkpoint import Checkpoint, best_checkpoint, list_checkpoints
from gymnast.runs.registry import RunEntry, entry_of
from gymnast.runs.store import RunFolder

_SEED, _KEY = re.compile(r"seed: [0-9]{1,18}"), re.compile(r"[a-z_]+:")


@dataclass(frozen=True, slots=True)
class EvalPoint:
    """One evaluation of a run."""

    env_steps: int
    score: float


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """One checkpoint as its JSON describes it."""

    env_steps: int
    score: float | None = None
    reason: str = ""  # why it was saved
    created: str = ""
    damaged: str = ""  # what is wrong with it
    best: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The state of a run, what started it, its evaluations, and its checkpoints, newest first."""

    run: RunEntry
    path: str
    command: list[str]
    versions: dict[str, Any] | None
    git_commit: str | None
    machine: dict[str, Any] | None
    init_from: str | None
    resumes: list[dict[str, Any]]
    settings: dict[str, Any]  # by dotted key
    evals: tuple[EvalPoint, ...]
    tasks: dict[str, list[float]]  # of a mix: the scores of each task, in the order of `evals`
    checkpoints: tuple[CheckpointInfo, ...]

    def to_json(self) -> dict[str, Any]:
        """What `gymnast runs show --json` prints."""
        values = asdict(self) | {"run": self.run.to_json()}
        if not self.tasks:
            del values["tasks"]
        return values


def summarise(run: RunFolder) -> RunSummary:
    """Everything that the folder of a run records."""
    info = run.info()
    return RunSummary(
        run=entry_of(run),
        path=str(run.path),
        command=_list(info.get("command")),
        versions=info.get("versions"),
        git_commit=info.get("git_commit"),
        machine=info.get("machine"),
        init_from=info.get("init_from"),
        resumes=[
            {key: value for key, value in resume.items() if key != "config_before"}
            for resume in _list(info.get("resumes"))
            if isinstance(resume, dict)
        ],
        settings=_settings_left(run),
        evals=tuple(evaluations(run)),
        tasks=task_evaluations(run),
        checkpoints=checkpoints_of(run),
    )


def is_of_one_piece(run: RunFolder) -> bool:
    """Whether its settings alone made its score: not somebody's weights, and none were changed on the way."""
    info = run.info()
    resumes = info.get("resumes")
    changed = any("config_before" in each for each in resumes or () if isinstance(each, dict))
    return not (info.get("init_from") or info.get("forked_from") or changed)


def checkpoints_of(run: RunFolder) -> tuple[CheckpointInfo, ...]:
    """Its checkpoints, newest first."""
    known = list_checkpoints(run)
    best = None
    with suppress(GymnastError):  # one that cannot be read is named below
        best = best_checkpoint(run)
    return tuple(
        replace(_checkpoint(saved), best=saved == best, last=saved == known[-1]) for saved in reversed(known)
    )


def evaluations(run: RunFolder) -> list[EvalPoint]:
    """Every evaluation of the run, in order."""
    steps, at, scores = read_columns(
        run.metrics_path, ("time/env_steps", "eval/env_steps", "eval/return/mean")
    ).values()
    return [
        EvalPoint(int(step if math.isnan(taken) else taken), score)
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
    """The run's config with dotted keys, without secrets."""
    text, where = run.config_text(), str(run.config_path)
    first, _, rest = text.partition("\n")
    # Configs of one group of seeds differ in their first line alone, and parsing takes 70 ms.
    if _SEED.fullmatch(first) and _KEY.match(rest):
        with suppress(GymnastError):  # it is reported for the whole text, with the right line
            settings = _parsed(rest)
            if "seed" not in settings:
                return {"seed": int(first.removeprefix("seed: ")), **settings}
    return dict(_parsed(text, where))


def _settings_left(run: RunFolder) -> dict[str, Any]:
    """None of a damaged config: the rest of the run can be read without it."""
    try:
        return settings_of(run)
    except GymnastError as error:
        logging.getLogger("gymnast").warning("%s; its settings are not shown", error)
        return {}


@functools.lru_cache(maxsize=32)
def _parsed(text: str, where: str = "") -> Mapping[str, Any]:
    from gymnast.config.dump import flat_data
    from gymnast.config.reading import parse_yaml

    return MappingProxyType(flat_data(redacted(parse_yaml(text, where))))


def _checkpoint(saved: Checkpoint) -> CheckpointInfo:
    try:
        sidecar = saved.sidecar()
    except GymnastError as error:
        return CheckpointInfo(saved.env_steps, damaged=str(error))
    score = sidecar.score if sidecar.score is not None and math.isfinite(sidecar.score) else None
    return CheckpointInfo(saved.env_steps, score, sidecar.reason, sidecar.created)


def _list(value: Any) -> list[Any]:
    """A list of run.json, which may have been edited."""
    return value if isinstance(value, list) else []
