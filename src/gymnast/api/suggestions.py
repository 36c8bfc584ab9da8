"""What to try next with a run: the advice of its alerts as settings that load, and its own as a start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError, UntrustedRun
from gymnast.metrics.alerts.alert import SEVERITIES
from gymnast.runs.store import RunFolder

if TYPE_CHECKING:
    from gymnast.review.start import Start

# As `RunFacts.suggest` writes them.
_CHANGE = re.compile(r"(?P<key>[a-z_]+(?:\.\w+)+|seed) is (?P<now>.+): try (?P<value>\S+)")
_SET = re.compile(r"try (?P<key>[a-z_]+(?:\.\w+)+) (?P<value>\S+)")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change to try, or advice that is not a setting."""

    alert: str
    severity: str
    seen: str  # what the alert says
    advice: str  # one piece of it
    override: str = ""  # 'algo.lr=0.001'; empty if the advice is not a setting, or does not load
    problem: str = ""  # why the loader refuses it


def suggest_changes(
    run: str | Path | Run | RunFolder = "@last",
    *,
    runs_dir: str | Path | None = None,
    trust: bool = False,
) -> list[Suggestion]:
    """The advice of a run's alerts, the worst first. Each setting was tried on the run's own config."""
    from gymnast.runs.diagnosis import diagnose_run

    folder = folder_of(run, runs_dir)
    found: list[Suggestion] = []
    seen: set[str] = set()
    alerts = sorted(
        diagnose_run(folder).alerts, key=lambda alert: (-SEVERITIES.index(alert.severity), -alert.count)
    )
    for alert in alerts:
        for advice in filter(None, (part.strip() for part in alert.advice.split("; "))):
            if advice in seen:
                continue
            seen.add(advice)
            override = _override(advice)
            problem = "" if not override else _problem(folder, override, trust)
            found.append(
                Suggestion(
                    alert.id,
                    alert.severity,
                    alert.message,
                    advice,
                    "" if problem else override,
                    problem,
                )
            )
    return found


def repeated(
    run: str | Path | Run | RunFolder = "@last",
    changes: Sequence[str] = (),
    *,
    runs_dir: str | Path | None = None,
    trust: bool = False,
) -> Start:
    """What trains a run again with some settings changed (`key=value`): a reference and its overrides."""
    from gymnast.review.start import start_of
    from gymnast.runs.trust import load_run_config

    folder = folder_of(run, runs_dir)
    return start_of(folder, load_run_config(folder, list(changes), trust=trust), changes)


def _override(advice: str) -> str:
    match = _CHANGE.fullmatch(advice) or _SET.fullmatch(advice)
    return f"{match['key']}={match['value']}" if match else ""


def _problem(folder: RunFolder, override: str, trust: bool) -> str:
    from gymnast.runs.trust import load_run_config

    try:
        load_run_config(folder, [override], trust=trust)
    except UntrustedRun:
        return "the run was made elsewhere and is not trusted"
    except GymnastError as error:
        return str(error)
    return ""
