"""A model's answer as data. It is untrusted text like that of a run: checked, cut and cleaned."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnast.reports.text import clean
from gymnast.review.failures import ReviewFailed
from gymnast.review.prompt import SEVERITIES
from gymnast.runs.files import parse_json

_MOST_FINDINGS, _MOST_PROPOSALS, _MOST_EVIDENCE, _MOST_OVERRIDES = 20, 8, 8, 20
_MOST_LINE, _MOST_PROSE = 200, 2000
_MOST_VALUE = 500
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Evidence:
    """An excerpt that a finding is based on."""

    text: str
    found: bool  # whether the data of the runs really has it


@dataclass(frozen=True, slots=True)
class Finding:
    """What a model sees in a run."""

    severity: str  # one of SEVERITIES
    title: str
    detail: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A training that a model proposes, as it wrote it."""

    run: str
    title: str
    why: str
    overrides: tuple[tuple[str, str], ...]  # key, value in YAML


@dataclass(frozen=True, slots=True)
class Answer:
    """All that a model said."""

    summary: str
    findings: tuple[Finding, ...]
    suggestions: tuple[Suggestion, ...]


def parse_answer(text: str, data: str) -> Answer:
    """From the text of an answer; `data` is what evidence must be found in. ReviewFailed if it has no JSON of
    our form."""
    found = _json_in(text)
    if found is None:
        raise ReviewFailed(
            "the answer is not the JSON that was asked for"
            f" (it begins {clean(text.strip(), 60)!r}): try again, or another model"
        )
    summary = _prose(found.get("summary"))
    findings = tuple(filter(None, (_finding(item, _plain(data)) for item in _list(found, "findings"))))
    suggestions = tuple(filter(None, (_suggestion(item) for item in _list(found, "proposals"))))
    if not summary and not findings:
        raise ReviewFailed("the answer has neither a summary nor findings: try again, or another model")
    return Answer(summary, findings[:_MOST_FINDINGS], suggestions[:_MOST_PROPOSALS])


def _json_in(text: str) -> dict[str, Any] | None:
    """The object that a text is, has in a fenced block, or has between its outermost braces."""
    outermost = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, *_FENCED.findall(text), outermost):
        try:
            value = parse_json(candidate.strip())
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def _finding(item: Any, data: str) -> Finding | None:
    if not isinstance(item, dict) or not (title := _line(item.get("title"))):
        return None
    severity = str(item.get("severity", "")).lower()
    evidence = [clean(text, _MOST_LINE) for text in _list(item, "evidence") if isinstance(text, str)]
    return Finding(
        severity if severity in SEVERITIES else "info",
        title,
        _prose(item.get("detail")),
        tuple(Evidence(text, _is_in(text, data)) for text in evidence[:_MOST_EVIDENCE] if text.strip()),
    )


def _suggestion(item: Any) -> Suggestion | None:
    if not isinstance(item, dict):
        return None
    given = item.get("overrides")
    pairs: Sequence[Any] = list(given.items()) if isinstance(given, dict) else _list(item, "overrides")
    overrides = tuple(filter(None, map(_override, pairs)))[:_MOST_OVERRIDES]
    title = _line(item.get("title")) or _line(item.get("why"))
    if not title and not overrides:
        return None
    return Suggestion(clean(item.get("run") or "", 60), title, _prose(item.get("why")), overrides)


def _override(pair: Any) -> tuple[str, str] | None:
    """From {key, value}, or `key=value`, or an entry of a map: all three are written."""
    if isinstance(pair, str):
        pair = tuple(pair.split("=", 1))
    if isinstance(pair, dict):
        pair = pair.get("key"), pair.get("value")
    if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
        return None
    key, value = pair
    text = value.strip() if isinstance(value, str) else json.dumps(value)
    return key.strip()[:_MOST_LINE], text[: _MOST_VALUE + 1]  # one more: too long is seen, not hidden


def _list(found: dict[str, Any], key: str) -> list[Any]:
    value = found.get(key)
    return value[:100] if isinstance(value, list) else []


def _line(value: Any) -> str:
    return clean(_SPACES.sub(" ", value).strip(), _MOST_LINE) if isinstance(value, str) else ""


def _prose(value: Any) -> str:
    return clean(_SPACES.sub(" ", value).strip(), _MOST_PROSE) if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text)


def _is_in(excerpt: str, data: str) -> bool:
    """Whether the data has an excerpt; dots at its ends stand for what was left out."""
    wanted = _plain(excerpt).strip(" .…-|")
    return len(wanted) > 1 and wanted in data
