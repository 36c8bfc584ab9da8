"""One workspace of W&B with a panel for every metric, made once and brought up to date later.

A panel names its metric by a pattern, not by its key: so it is there before the first run has logged it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError, MissingExtra
from gymnast.metrics import catalogue
from gymnast.metrics.sinks.trackers.wandb import login_problem
from gymnast.metrics.spec import MetricSpec
from gymnast.redact import redact
from gymnast.runs.files import read_json, write_atomic
from gymnast.runs.marks import state_folder

NAME = "Gymnast"
_FIRST = ("eval", "train")  # sections at the top, open
_ONLY_IN_FILES = 3

Bounds = Mapping[str, tuple[float | None, float | None]]  # by metric


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A workspace on W&B."""

    url: str
    entity: str
    project: str
    updated: bool  # False: it is new
    panels: int


def make_dashboard(project: str | None, entity: str | None, x_axis: str, bounds: Bounds) -> Dashboard:
    """Make the workspace of a project, or update the one that was made before. `bounds` are those of an env;
    what it does not bound has the catalogue's."""
    if find_spec("wandb") is None or find_spec("wandb_workspaces") is None:
        raise MissingExtra("a dashboard on W&B", "wandb")
    os.environ["WANDB_SILENT"] = "true"  # it prints what it does
    import wandb

    try:
        return _made(wandb, project, entity, x_axis, bounds)
    except (wandb.errors.Error, OSError, ValueError, KeyError, TypeError) as error:
        if (problem := login_problem(error)) is not None:
            raise GymnastError(f"W&B: {redact(problem)}, or set WANDB_API_KEY") from error
        text = " ".join(str(error).split()) or type(error).__name__
        raise GymnastError(f"W&B did not take the dashboard: {redact(text)}") from error


def _made(wandb: Any, project: str | None, entity: str | None, x_axis: str, bounds: Bounds) -> Dashboard:
    from wandb_workspaces import workspaces as ws

    api = wandb.Api(timeout=20)
    owner = entity or api.default_entity
    if not owner:
        raise GymnastError("W&B knows no user or team of this login: name one with --entity")
    name = project or os.environ.get("WANDB_PROJECT") or "gymnast"
    key = f"{api.settings['base_url']}/{owner}/{name}"
    sections = _sections(f"time/{x_axis}", bounds)
    workspace, updated = _known(ws, key), True
    if workspace is None:
        workspace, updated = ws.Workspace(entity=owner, project=name, name=NAME), False
    workspace.sections = sections
    workspace.settings.x_axis = f"time/{x_axis}"
    workspace.save()
    _remember(key, workspace.url)
    panels = sum(len(section.panels) for section in sections)
    return Dashboard(workspace.url, owner, name, updated, panels)


def _known(ws: Any, key: str) -> Any:
    """The workspace that was made before; None if there was none, or it is gone."""
    url = (read_json(_urls_path()) or {}).get(key)
    if not isinstance(url, str):
        return None
    try:
        return ws.Workspace.from_url(url)
    except ValueError:
        return None


def _remember(key: str, url: str) -> None:
    path = _urls_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    known = (read_json(path) or {}) | {key: url}
    write_atomic(path, json.dumps(known, indent=2) + "\n")


def _urls_path() -> Path:
    return state_folder() / "wandb-dashboards.json"


def _sections(x: str, bounds: Bounds) -> list[Any]:
    import wandb_workspaces.reports.v2 as wr
    from wandb_workspaces import workspaces as ws

    by_stage: dict[str, list[MetricSpec]] = {stage: [] for stage in _FIRST}
    for metric in catalogue.all_metrics():
        if metric.priority < _ONLY_IN_FILES and metric.key != x:
            by_stage.setdefault(metric.key.partition("/")[0], []).append(metric)
    return [
        ws.Section(
            name=stage,
            is_open=stage in _FIRST,
            panels=[
                wr.LinePlot(
                    title=metric.key,
                    x=x,
                    y=[],
                    metric_regex=_pattern(metric.key),
                    range_y=bounds.get(metric.key, (metric.low, metric.high)),
                    title_y=metric.unit or None,
                )
                for metric in sorted(metrics, key=lambda one: one.priority)
            ],
        )
        for stage, metrics in by_stage.items()
    ]


def _pattern(key: str) -> str:
    """A regular expression for the metric, or for all of a family such as `task/*/share`."""
    parts = ("[^/]+" if part == "*" else re.escape(part) for part in key.split("/"))
    return f"^{'/'.join(parts)}$"
