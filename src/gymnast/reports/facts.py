"""All that a report says about a run, gathered from its folder. What cannot be read is named, and the rest
is still there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from gymnast.errors import GymnastError
from gymnast.metrics.alerts.alert import SEVERITIES, Alert
from gymnast.redact import redacted_arguments
from gymnast.reports.changed_settings import ChangedSetting, changed_settings, preset_data
from gymnast.reports.history import SCORE, SECONDS, STEPS, History, Trend, read_history
from gymnast.reports.text import clean
from gymnast.runs.alerts import read_alerts
from gymnast.runs.files import is_link, is_regular, list_folder
from gymnast.runs.registry import RunEntry, entry_of
from gymnast.runs.steps_tables import steps_path
from gymnast.runs.store import RunFolder
from gymnast.runs.summary import CheckpointInfo, checkpoints_of

_T = TypeVar("_T")
_PHASES = {"collect": "time/collect_seconds", "learn": "time/update_seconds", "evaluate": "time/eval_seconds"}
_FILES = (
    "report.md", "config.yaml", "metrics.csv", "alerts.json", "distributions.bin", "run.log", "console.log",
    "run.json", "status.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation of a run."""

    env_steps: int
    score: float
    std: float | None = None
    episodes: int | None = None
    seconds: float | None = None  # of training when it was reported
    solved: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """Where the time went."""

    seconds: float
    phases: dict[str, float]  # seconds; `other` is what no phase has
    fps: float | None  # env steps per second, evaluations included
    fps_training: float | None  # median of the updates, without evaluations
    started: str
    updated: str

    def shares(self) -> dict[str, float]:
        """Fractions of the time."""
        return {name: spent / max(self.seconds, 1e-9) for name, spent in self.phases.items()}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run. Texts are as the folder has them: escape them for where they are shown."""

    run: RunEntry
    threshold: float | None
    best: Evaluation | None
    solved_at: Evaluation | None  # the first that solved it
    alerts: tuple[Alert, ...]  # the worst first
    settings: tuple[ChangedSetting, ...]
    config: Mapping[str, Any]
    timing: Timing
    evaluations: tuple[Evaluation, ...]
    tasks: dict[str, tuple[float, float]]  # of a mix: the last and the highest score of each
    checkpoints: tuple[CheckpointInfo, ...]  # newest first
    tables: frozenset[int]  # checkpoints that have a table of steps
    history: History
    videos: tuple[str, ...]  # paths in the folder, the best first
    files: tuple[str, ...]
    command: tuple[str, ...]
    versions: dict[str, str]
    machine: str
    git_commit: str | None
    resumes: tuple[tuple[int, str], ...]  # (env steps, when)
    problems: tuple[str, ...]  # what could not be read


@dataclass(frozen=True, slots=True)
class Known:
    """What the process that trained a run knows, and needs not read again."""

    config: Mapping[str, Any]
    threshold: float | None


def gather(run: RunFolder, known: Known | None = None, *, entry: RunEntry | None = None) -> RunFacts:
    """Read a run folder. `entry`: the run's state, of who holds its lock."""
    problems: list[str] = []

    def tried(read: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return read()
        except (GymnastError, OSError, ValueError) as error:
            problems.append(str(error))
            return otherwise

    entry = entry_of(run) if entry is None else entry
    info = run.info()
    if not info:
        problems.append("run.json cannot be read: what started the run is not known")
    history = tried(lambda: read_history(run.metrics_path), History())
    if not history.rows and not problems:
        problems.append("metrics.csv has no rows: the run ended before its first update, or its file is lost")
    nothing: dict[str, Any] = {}
    config = known.config if known is not None else tried(lambda: _config(run), nothing)
    threshold = known.threshold if known is not None else _threshold(config)
    evaluations = tuple(map(_evaluation, history.evaluations))
    return RunFacts(
        run=entry,
        threshold=threshold,
        best=_best(entry, evaluations),
        solved_at=next((one for one in evaluations if one.solved), None),
        alerts=tuple(sorted(read_alerts(run, problems.append), key=_worst_first)),
        settings=tuple(changed_settings(config, preset_data(entry.name))) if config else (),
        config=config,
        timing=_timing(entry, history),
        evaluations=evaluations,
        tasks=_tasks(history),
        checkpoints=tried(lambda: checkpoints_of(run), ()),
        tables=tried(lambda: _tables(run), frozenset()),
        history=history,
        videos=tried(lambda: _videos(run), ()),
        files=tuple(name for name in _FILES if is_regular(run.path / name)),
        command=tuple(redacted_arguments([str(word) for word in _list(info.get("command"))[:200]])),
        versions=_versions(info.get("versions")),
        machine=_machine(info.get("machine")),
        git_commit=commit[:40] if isinstance(commit := info.get("git_commit"), str) else None,
        resumes=tuple(_resumes(info.get("resumes"))),
        problems=tuple(clean(problem) for problem in problems),
    )


def outcome_line(facts: RunFacts) -> str:
    """What came of the run, in one line."""
    run, first = facts.run, facts.solved_at
    name = clean(run.name or run.env or run.id, 80)
    spent = f"{run.env_steps:,} env steps ({_duration(run.seconds)})"
    if run.solved and first is not None:
        when = "" if first.seconds is None else f" ({_duration(first.seconds)})"
        text = f"{name} solved in {first.env_steps:,} env steps{when}"
        text += {"finished": "", "running": ", still training"}.get(
            run.status, f", {run.status} after {spent}"
        )
    elif run.status == "running":
        text = f"{name} is {run.state}, {spent} so far"
    else:
        text = f"{name} {run.state} after {spent}"
    best = facts.best
    if best is None and run.best_score is None:
        text += ": never evaluated"
    else:
        score = run.best_score if best is None else best.score
        text += f": best score {score:,.1f}"
        if best is not None and best.std is not None and best.episodes is not None:
            noun = "episode" if best.episodes == 1 else "episodes"
            text += f" ± {best.std:,.1f} over {best.episodes:,} {noun}"
    if facts.threshold is not None:
        text += f", threshold {facts.threshold:,.4g}" + ("" if run.solved else " not reached")
    if run.status in ("failed", "interrupted") and run.reason:
        text += f"; {clean(run.reason, 200)}"
    return text


def trends(history: History) -> list[Trend]:
    """Of every metric but the counters, as the catalogue orders them."""
    from gymnast.metrics.catalogue import COUNTERS

    counted = {*COUNTERS, "eval/env_steps"}
    names = [name for name in history.columns if name and name not in counted]
    found = (history.trend(name) for name in sorted(names, key=_order))
    return [trend for trend in found if trend is not None]


def priority(name: str) -> tuple[int, int, tuple[int, int, str]]:
    """Which metrics matter most: the catalogue's priority; of equal ones, scores and learning first."""
    from gymnast.metrics.catalogue import is_declared, spec

    stage = name.partition("/")[0]
    rank = _STAGES.index(stage) if stage in _STAGES else len(_STAGES)
    return spec(name).priority if is_declared(name) else 3, rank, _order(name)


_STAGES = ("eval", "train", "env", "task", "opt", "alert", "explore", "net", "time")


def _order(name: str) -> tuple[int, int, str]:
    from gymnast.metrics.catalogue import is_declared, order

    return order(name) if is_declared(name) else (99, 0, name)


def to_json(facts: RunFacts) -> dict[str, Any]:
    """What `gymnast report --json` prints."""
    timing = facts.timing
    return {
        "outcome": outcome_line(facts),
        "run": facts.run.to_json(),
        "threshold": facts.threshold,
        "best": None if facts.best is None else asdict(facts.best),
        "alerts": [alert.to_json() for alert in facts.alerts],
        "settings": [asdict(setting) for setting in facts.settings],
        "timing": asdict(timing) | {"shares": timing.shares()},
        "evaluations": [asdict(one) for one in facts.evaluations],
        "tasks": {name: {"last": last, "best": best} for name, (last, best) in facts.tasks.items()},
        "checkpoints": [asdict(one) | {"table": one.env_steps in facts.tables} for one in facts.checkpoints],
        "metrics": [asdict(trend) for trend in trends(facts.history)],
        "videos": list(facts.videos),
        "files": list(facts.files),
        "command": [clean(word) for word in facts.command],
        "versions": facts.versions,
        "machine": facts.machine,
        "git_commit": facts.git_commit,
        "resumes": [{"env_steps": steps, "created": when} for steps, when in facts.resumes],
        "problems": list(facts.problems),
    }


def _config(run: RunFolder) -> dict[str, Any]:
    from gymnast.config.reading import parse_yaml

    data = parse_yaml(run.config_text(), "config.yaml")
    if not isinstance(data, dict):
        raise GymnastError("config.yaml is not a map of settings")
    return data


def _threshold(config: Mapping[str, Any]) -> float | None:
    """What counts as solved: the config's own, or what Gymnasium has registered. No code is imported that
    a config names."""
    env = config.get("env")
    if not isinstance(env, dict) or env.get("mix") is not None:
        return None
    spec = env.get("spec")
    own = spec.get("solved_at") if isinstance(spec, dict) else None
    if isinstance(own, (int, float)) and not isinstance(own, bool):
        return float(own) if abs(own) < 2**63 else None
    name = env.get("id")
    if not isinstance(name, str) or ":" in name:
        return None
    from gymnast.envs.single import find_spec

    with suppress(GymnastError):  # an env that is not installed here, or no longer registered
        registered = find_spec(name)
        return None if registered is None else registered.reward_threshold
    return None


def _evaluation(row: dict[str, float]) -> Evaluation:
    steps = row.get("eval/env_steps", row.get(STEPS, 0.0))
    episodes = row.get("eval/episodes")
    return Evaluation(
        int(steps),
        row[SCORE],
        row.get("eval/return/std"),
        None if episodes is None else int(episodes),
        row.get(SECONDS),
        bool(row.get("eval/solved")),
    )


def _tasks(history: History) -> dict[str, tuple[float, float]]:
    start, end = "eval/task/", "/return/mean"
    found: dict[str, tuple[float, float]] = {}
    for name, column in history.columns.items():
        if name.startswith(start) and name.endswith(end) and column.count:
            found[name.removeprefix(start).removesuffix(end)] = column.last, column.high
    return found


def _best(entry: RunEntry, evaluations: tuple[Evaluation, ...]) -> Evaluation | None:
    """The last of those with the run's best score; a resume may have changed what a score means."""
    if entry.best_score is None:
        return max(evaluations, key=lambda one: (one.solved, one.score), default=None)
    return next((one for one in reversed(evaluations) if math.isclose(one.score, entry.best_score)), None)


def _worst_first(alert: Alert) -> tuple[int, str]:
    return -SEVERITIES.index(alert.severity), alert.id


def _timing(entry: RunEntry, history: History) -> Timing:
    seconds = max(entry.seconds, history.last(SECONDS) or 0.0)
    phases = {name: history.total(key) for name, key in _PHASES.items() if history.total(key) > 0}
    if phases:
        phases["other"] = max(0.0, seconds - sum(phases.values()))
    fps = history.curve("time/fps")
    return Timing(
        seconds,
        phases,
        entry.env_steps / seconds if seconds > 0 else None,
        None if fps is None else float(_median(fps[1].tolist())),
        entry.created,
        entry.updated,
    )


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _tables(run: RunFolder) -> frozenset[int]:
    from gymnast.runs.checkpoint import list_checkpoints

    known = (checkpoint.env_steps for checkpoint in list_checkpoints(run))
    return frozenset(steps for steps in known if is_regular(steps_path(run, steps)))


def _videos(run: RunFolder) -> tuple[str, ...]:
    """`best.mp4` is a link to one of the others; no other link counts."""
    names = {name for name in list_folder(run.videos) if name.endswith(".mp4") and name[0] != "."}
    best = run.best_video_path
    known = {name for name in names if is_regular(run.videos / name)}
    if is_link(best) and str(best.readlink()) in known:
        known.add(best.name)
    order = {best.name: 0, run.progress_video_path.name: 1}
    return tuple(f"videos/{name}" for name in sorted(known, key=lambda name: (order.get(name, 2), name)))[:50]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _versions(value: Any) -> dict[str, str]:
    known = value if isinstance(value, dict) else {}
    return {clean(name, 40): clean(version, 40) for name, version in list(known.items())[:50] if version}


def _machine(value: Any) -> str:
    """Its class: 'Linux x86_64, 8 CPUs'; no names."""
    if not isinstance(value, dict):
        return ""
    platform = value.get("platform")
    words = platform.replace("-", " ").split() if isinstance(platform, str) else []
    kinds = [word for word in words if word in ("x86_64", "AMD64", "arm64", "aarch64")]
    cpus = value.get("cpus")
    parts = [" ".join([*words[:1], *kinds[:1]])]
    parts += [f"{cpus} CPUs"] if type(cpus) is int and 0 < cpus < 10**6 else []
    return clean(", ".join(part for part in parts if part), 80)


def _resumes(value: Any) -> list[tuple[int, str]]:
    known = [resume for resume in _list(value) if isinstance(resume, dict)]
    return [
        (steps, str(resume.get("created")))
        for resume in known[-100:]
        if type(steps := resume.get("env_steps")) is int and 0 <= steps < 2**63
    ]


def _duration(seconds: float) -> str:
    from gymnast.metrics.sinks.console import duration

    return duration(min(max(seconds, 0.0), 1e9))
