"""Rows of ours from what another library recorded: joined per update, renamed, and completed.

What the rules need and a file lacks is worked out where that can be done honestly; alerts that rest on it
say so.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.foreign.dialects import CLEANRL, DIALECTS, OURS, SB3, Dialect

_EPISODES = 100  # as in our own train/return/mean
_GAUSSIAN = 0.5 * math.log(2 * math.pi * math.e)  # entropy of one continuous action with std 1
_STEP = "time/env_steps"


@dataclass(slots=True)
class Translated:
    """One run of another library (or of ours) as rows that the rules can read."""

    dialect: Dialect
    names: tuple[str, ...]  # of the file, those that are known
    rows: list[dict[str, Any]]
    facts: RunFacts
    remarks: dict[str, str] = field(default_factory=dict)  # by key of ours: how its value was worked out


def dialect_of(names: Iterable[str]) -> Dialect | None:
    """Whose names they are; None if too few are known."""
    given = set(names)
    ours = sum(name in given for name in ("time/env_steps", "time/updates", "train/kl", "train/entropy"))
    if ours >= 2:
        return OURS
    best = max(DIALECTS, key=lambda dialect: len(dialect.known(given)))
    return best if len(best.known(given)) >= 2 else None


def translate(
    dialect: Dialect,
    parts: Iterable[tuple[int | None, Mapping[str, float]]],
    arguments: Mapping[str, Any] | None = None,
) -> Translated:
    """`parts` are pieces of rows in the order they were recorded, each with its step if that is known;
    `arguments` the settings of the run, by their names there."""
    names: dict[str, None] = {}
    rows = _joined(dialect, parts, names)
    settings = _settings(dialect, arguments or {})
    made = Translated(dialect, tuple(names), rows, RunFacts(), {})
    if dialect is OURS:
        made.facts = _own_facts(rows)
        return made
    made.facts = RunFacts(settings, dialect.settings, instead=dialect.instead)
    _add_epochs(dialect, rows)
    _add_progress(rows, (arguments or {}).get("total_timesteps"))
    _add_entropy_fraction(made)
    _add_target_scale(made)
    return made


def _joined(
    dialect: Dialect, parts: Iterable[tuple[int | None, Mapping[str, float]]], names: dict[str, None]
) -> list[dict[str, Any]]:
    """A row ends where one of its values would come a second time; evaluations join the row before them."""
    rows: list[dict[str, Any]] = []
    row: dict[str, Any] = {}
    episodes = {ours: deque[float](maxlen=_EPISODES) for ours in dialect.episodes.values()}
    for step, part in parts:
        values: dict[str, float] = {}
        for name, value in part.items():
            if (many := dialect.episodes.get(name)) is not None:
                names[name] = None
                if math.isfinite(value):
                    episodes[many].append(value)
                continue
            ours = name if dialect is OURS else dialect.metrics.get(name)
            if ours is not None:
                names[name] = None
                values[ours] = -value if name in dialect.negated else value
        if any(key in row for key in values if dialect is OURS or not key.startswith(("time/", "eval/"))):
            rows.append(row)
            row = {}
        if step is not None and values:
            row[_STEP] = max(step, row.get(_STEP, 0))
        row |= values
        row |= {key: sum(seen) / len(seen) for key, seen in episodes.items() if seen and row}
    return [*rows, row] if row else rows


def _own_facts(rows: list[dict[str, Any]]) -> RunFacts:
    """The size of a rollout, so that a file is checked as often as its run was."""
    first = rows[0] if rows else {}
    steps, updates, vec = first.get(_STEP), first.get("time/updates"), first.get("time/vec_steps")
    return RunFacts(
        rollout_steps=round(steps / updates) if steps and updates else None,
        n_envs=round(steps / vec) if steps and vec else None,
    )


def _settings(dialect: Dialect, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if dialect.settings is None:
        return {}
    wanted = {name.lstrip("-").replace("-", "_"): ours for ours, name in dialect.settings.items()}
    return {wanted[name]: value for name, value in arguments.items() if name in wanted}


def _add_epochs(dialect: Dialect, rows: list[dict[str, Any]]) -> None:
    """Stable-Baselines3 counts epochs, by the name of n_updates."""
    if dialect is not SB3:
        return
    epochs, iterations = 0.0, 0.0
    for row in rows:
        now, at = row.get("time/epochs"), row.get("time/updates")
        if now is None or at is None or not (now > epochs and at > iterations):
            continue
        first = not iterations and at > 1  # the first row of all has no epochs yet
        row["opt/n_epochs"] = (now - epochs) / (at - iterations - first)
        epochs, iterations = now, at


def _add_progress(rows: list[dict[str, Any]], total: object) -> None:
    """Where the budget is not known, the file counts as the whole run."""
    steps = [row[_STEP] for row in rows if row.get(_STEP) and math.isfinite(row[_STEP])]
    last = max(steps, default=0)
    budget = max(total, last) if isinstance(total, (int, float)) else last
    for row in rows:
        if budget and row.get(_STEP) is not None:
            row["time/progress"] = row[_STEP] / budget


def _add_entropy_fraction(made: Translated) -> None:
    """Of discrete actions: a policy starts near uniform, so its first entropies are near ln n."""
    entropies = [row["train/entropy"] for row in made.rows if "train/entropy" in row]
    if any("train/action_std" in row for row in made.rows):
        return
    actions = likely_actions(entropies[:5])
    how = f"maximum taken as ln {actions}: {actions} actions"
    if actions is None and entropies and all(0 <= value < 0.5 for value in entropies):
        actions, how = 2, "maximum taken as ln 2: at least 2 actions"  # it fell before the first row
    if actions is None:
        return
    for row in made.rows:
        if "train/entropy" in row:
            row["train/entropy_fraction"] = row["train/entropy"] / math.log(actions)
    made.remarks["train/entropy_fraction"] = how


def likely_actions(entropies: list[float]) -> int | None:
    """The number of actions whose maximal entropy the first ones are close to; None if there is none."""
    highest = max((value for value in entropies if math.isfinite(value)), default=0.0)
    gaussians = round(highest / _GAUSSIAN)
    if highest < 0.5 or (gaussians >= 1 and abs(highest - gaussians * _GAUSSIAN) < 0.01 * gaussians):
        return None
    actions = math.ceil(math.exp(highest) - 1e-3 * math.exp(highest))
    return actions if 2 <= actions <= 10_000 and highest / math.log(actions) >= 0.95 else None


def _add_target_scale(made: Translated) -> None:
    """Value loss is the part of the targets' variance that is not explained, so it tells their scale."""
    half = 2.0 if made.dialect is CLEANRL else 1.0  # CleanRL logs half of the squared error
    for row in made.rows:
        loss, explained = row.get("train/loss/value"), row.get("train/explained_variance")
        if loss is None or explained is None or not loss >= 0 or not explained < 0.99:
            continue
        scale = math.sqrt(half * loss / min(1.0, 1.0 - explained))
        row["train/target/abs_max"] = row["train/target/std"] = scale
        made.remarks["train/target/abs_max"] = "estimated from the value loss"


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments that CleanRL writes as a table of Markdown: `|learning_rate|0.00025|`."""
    found: dict[str, Any] = {}
    for name, value in re.findall(r"^\|([a-z_]{1,40})\|([^|\n]{1,80})\|\s*$", text[:100_000], re.MULTILINE):
        try:
            found[name] = int(value)
        except ValueError:
            try:
                found[name] = float(value)
            except ValueError:
                found[name] = value.strip()
    return found
