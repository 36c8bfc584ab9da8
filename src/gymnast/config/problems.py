"""Validation errors as messages for people: which key, what is wrong, the nearest valid name, where."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gymnast.config.fields import Keys, dotted, leaf_keys, section_at
from gymnast.config.values import MisfitError
from gymnast.errors import cut, nearest

Where = Callable[[Keys], str]
_MOST_SHOWN = 20

# What Stable-Baselines3, CleanRL and others call a setting; names that read like ours need no line.
_ELSEWHERE = {
    "learning_rate": "algo.lr",
    "anneal_lr": "algo.lr",
    "discount": "algo.gamma",
    "discount_factor": "algo.gamma",
    "clip_coef": "algo.clip_range",
    "clip_epsilon": "algo.clip_range",
    "num_minibatches": "algo.batch_size",
    "net_arch": "policy.hidden",
    "num_envs": "env.n_envs",
    "n_envs": "env.n_envs",
    "env_id": "env.id",
    "total_timesteps": "budget.env_steps",
    "n_timesteps": "budget.env_steps",
    "timesteps": "budget.env_steps",
}

# pydantic's own words are kept where they are clear; these are the ones that are not.
_PLAIN_WORDS = {
    "missing": "is missing",
    "model_type": "must be a map of settings",
    "dict_type": "must be a map",
    "tuple_type": "must be a list",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "invalid_key": "keys must be text",
}


def explain(error: ValidationError, name: str, data: dict[str, Any], where: Where) -> str:
    """One line per problem, 'place: key: what is wrong', in the order of the keys in the schema; of very many
    only the first, because each takes a search for its line and for what it is nearest to."""
    by_path: dict[Keys, list[str | ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        if detail["type"] == "none_required":
            continue  # the other member of `… | None` has reported what is wrong
        for path, problem in _problems_of(detail, data):
            by_path.setdefault(path, []).append(problem)
    lines = [
        f"{where(path)}: {cut(dotted(path), 60)}: {_join(_words(path, found, data))}"
        for path, found in islice(by_path.items(), _MOST_SHOWN)
    ]
    if len(by_path) > len(lines):
        lines.append(f"and {len(by_path) - len(lines):,} more")
    count = f"{name}: {len(by_path):,} problems\n  " if len(by_path) > 1 else ""
    return count + "\n  ".join(lines)


def _problems_of(detail: ErrorDetails, data: dict[str, Any]) -> list[tuple[Keys, str | ErrorDetails]]:
    """The keys that a problem concerns, each with what is wrong, in words or still to be put into words."""
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, MisfitError):
        return [(_as_path(key), problem) for key, problem in cause.problems.items()]
    path = _path_in_data(detail, data)
    return [((*path, "name") if detail["type"] == "union_tag_invalid" else path, detail)]


def _words(path: Keys, found: list[str | ErrorDetails], data: dict[str, Any]) -> list[str]:
    """Each problem of one key, once."""
    return list(dict.fromkeys(one if isinstance(one, str) else _in_words(path, one, data) for one in found))


def _in_words(path: Keys, detail: ErrorDetails, data: dict[str, Any]) -> str:
    if detail["type"] == "union_tag_invalid":
        return _wrong_name(detail)
    return unknown_key(path, data) if detail["type"] == "extra_forbidden" else _message(detail)


def _as_path(key: str) -> Keys:
    """'interventions.0.key' → ('interventions', 0, 'key')."""
    return tuple(int(part) if part.isdigit() else part for part in key.split("."))


def _path_in_data(detail: ErrorDetails, data: Any) -> Keys:
    """pydantic's location without the union members it tried, which are not keys of the data."""
    path: list[str | int] = []
    for part in detail["loc"]:
        if part in data if isinstance(data, dict) else _has_index(data, part):
            data = data[part]
        elif not (detail["type"] == "missing" and part == detail["loc"][-1]):
            continue
        path.append(part)
    return tuple(path)


def _has_index(data: Any, part: str | int) -> bool:
    return isinstance(data, (list, tuple)) and isinstance(part, int) and part < len(data)


def unknown_key(path: Keys, data: Any) -> str:
    """'unknown key' with the nearest one: beside it, or anywhere for a key that forgot its section."""
    word = str(path[-1])[:100]  # to compare longer ones with our names takes long
    model = section_at(path[:-1], data)
    beside = list(model.model_fields) if model is not None else []
    if (ours := _ELSEWHERE.get(word)) is not None and len(path) <= len(ours.split(".")):
        return f"unknown key (did you mean {ours!r}?)"
    if nearest(word, beside, 1):
        return "unknown key" + _nearest_hint(word, beside)
    elsewhere = [dotted(keys) for keys in leaf_keys() if keys[-1] == word and keys != path]
    if elsewhere:
        return f"unknown key (did you mean {' or '.join(repr(key) for key in elsewhere)}?)"
    return f"unknown key; there are {', '.join(beside)}" if beside else "unknown key"


def _message(detail: ErrorDetails) -> str:
    kind, got = detail["type"], detail["input"]
    if kind == "missing":
        return _PLAIN_WORDS[kind]
    if kind in ("value_error", "assertion_error"):
        return detail["msg"].partition(", ")[2]
    words = _PLAIN_WORDS.get(kind)
    if words is None:
        words = re.sub(r"^Input should (be|have)", r"must \1", detail["msg"])
        words = words.replace("greater than or equal to", "at least").replace(
            "less than or equal to", "at most"
        )
    hint = ""
    if kind == "literal_error" and isinstance(got, str):
        hint = _nearest_hint(got, re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", ""))))
    return f"{words}, got {_short(got)}{hint}"


def _wrong_name(detail: ErrorDetails) -> str:
    """A `name` that no member of a union has."""
    ctx = detail.get("ctx", {})
    names, got = re.findall(r"'([^']*)'", str(ctx.get("expected_tags", ""))), str(ctx.get("tag", ""))
    choices = ", ".join(repr(name) for name in names[:-1]) + f" or {names[-1]!r}"
    return f"must be {choices}, got {got!r}{_nearest_hint(got, names)}"


def _nearest_hint(word: str, choices: list[str]) -> str:
    """The best choice alone: among a section's few short keys the second best is mostly noise."""
    return f" (did you mean {best[0]!r}?)" if (best := nearest(word, choices, 1)) else ""


def _join(problems: list[str]) -> str:
    """The members of a union each complain in their own words: 'must be a number or 'all', got 'x''."""
    if len(problems) == 1:
        return problems[0]
    heads = [text.partition(", got ")[0].removeprefix("must be ") for text in problems]
    tail = problems[-1].partition(", got ")
    return f"must be {' or '.join(heads)}{tail[1]}{tail[2]}"


def _short(value: Any) -> str:
    return cut(repr(value), 60)
