"""The review that a run's folder keeps, read back. Like all in a run's folder it may have been written by
anybody: texts are cleaned again, and a proposal is ready only if it passes the same checks now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gymnast.errors import GymnastError
from gymnast.reports.text import clean
from gymnast.review.answer import Answer, Suggestion, parse_answer
from gymnast.review.proposals import Proposal, check_proposal
from gymnast.review.record import FORMAT, Review
from gymnast.runs.files import read_json
from gymnast.runs.store import RunFolder, open_run

_MOST_BYTES = 4 << 20
_MOST_RUNS, _MOST_PROPOSALS = 12, 8


def read_review(run: RunFolder) -> Review | None:
    """What was last said about a run; None if nothing was, or it cannot be read."""
    found = read_json(run.review_json_path, _MOST_BYTES)
    if found is None or found.get("format") != FORMAT:
        return None
    try:
        answer = _answer(found)
    except GymnastError:
        return None
    runs = _runs(run, found)
    return Review(
        runs=tuple(runs),
        summary=answer.summary,
        findings=answer.findings,
        proposals=tuple(
            _proposal(suggestion, one, runs)
            for one in _dicts(found, "proposals")[:_MOST_PROPOSALS]
            for suggestion in _as_written({"summary": ".", "proposals": [one]}).suggestions
        ),
        provider=_text(found, "provider"),
        host=_text(found, "host"),
        model=_text(found, "model"),
        answered_by=_text(found, "answered_by"),
        created=_text(found, "created"),
        prompt_hash=_text(found, "prompt_hash"),
        prompt_bytes=_count(found, "prompt_bytes") or 0,
        estimated_tokens=_count(found, "estimated_tokens") or 0,
        input_tokens=_count(found, "input_tokens"),
        output_tokens=_count(found, "output_tokens"),
        structured=found.get("structured") is True,
        path=run.review_path,
    )


def _answer(found: Mapping[str, Any]) -> Answer:
    """Summary and findings, read as those of a model are."""
    findings = [
        {**one, "evidence": [_text(item, "text") for item in _dicts(one, "evidence")]}
        for one in _dicts(found, "findings")
    ]
    # What was in the data then; the data itself has changed if the run was trained further.
    seen = [
        _text(item, "text")
        for one in _dicts(found, "findings")
        for item in _dicts(one, "evidence")
        if item.get("found") is True
    ]
    return _as_written({"summary": found.get("summary"), "findings": findings}, "\n".join(seen))


def _as_written(answer: Mapping[str, Any], data: str = "") -> Answer:
    return parse_answer(json.dumps(answer), data)


def _proposal(suggestion: Suggestion, kept: Mapping[str, Any], runs: Mapping[str, RunFolder]) -> Proposal:
    """What was refused stays so: its settings are cut to be shown, and are not those that were refused."""
    if kept.get("ready") is True:
        return check_proposal(suggestion, runs)
    shown = tuple(clean(f"{key}={value}", 200) for key, value in suggestion.overrides)
    problem = _text(kept, "problem", 400) or "it was rejected"
    return Proposal(suggestion.run, suggestion.title, suggestion.why, shown, None, problem)


def _runs(run: RunFolder, found: Mapping[str, Any]) -> dict[str, RunFolder]:
    """Those under review that are still there, this one first."""
    runs = {run.id: run}
    named = found.get("runs")
    for name in named[:_MOST_RUNS] if isinstance(named, list) else ():
        try:
            other = open_run(run.path.parent, name) if isinstance(name, str) else run
        except GymnastError:
            continue
        runs.setdefault(other.id, other)
    return runs


def _dicts(found: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = found.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(found: Mapping[str, Any], key: str, most: int = 200) -> str:
    value = found.get(key)
    return clean(value, most) if isinstance(value, str) else ""


def _count(found: Mapping[str, Any], key: str) -> int | None:
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
