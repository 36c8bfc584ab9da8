"""What a page may ask to be recorded, checked before anything is built."""

from __future__ import annotations

import re
from typing import Any

from gymnast.inspect.context import Inspector
from gymnast.web.security import Refused

MOST_STEPS = 20_000
MOST_EPISODES = 100
_MOST_OVERRIDES = 64
_KEYS = {
    *("run", "checkpoint", "seed", "stochastic", "steps", "episodes", "task", "frames", "overrides"),
}
_OVERRIDE = re.compile(r"(?:env|eval)(?:\.[A-Za-z0-9_-]{1,80}){1,8}")
_CHECKPOINT = re.compile(r"@best|@last|\d{1,15}")
# Code, environment variables and files: what a page asks for names none of them.
_FOREIGN = re.compile(r"\$\{|^[~/\\]|\.\.|^[A-Za-z]:[\\/]|^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")


def read_wish(said: dict[str, Any], inspector: Inspector) -> dict[str, Any]:
    """A recording to be made; Refused names what is wrong with it."""
    for key in said:
        if key not in _KEYS:
            raise Refused(400, f"a recording has no {key[:40]!r}; it has {', '.join(sorted(_KEYS))}")
    folder = inspector.run(_text(said, "run") or "")
    checkpoint = said.get("checkpoint")
    name = None if checkpoint is None else str(checkpoint)
    if name is not None and (isinstance(checkpoint, bool) or _CHECKPOINT.fullmatch(name) is None):
        raise Refused(400, f"checkpoint is @best, @last or an env step, not {name[:40]!r}")
    return {
        "reference": folder.id if name is None else f"{folder.id}/{name}",
        "episodes": _whole(said, "episodes", 1, 1, MOST_EPISODES),
        "steps": _whole(said, "steps", 1000, 1, MOST_STEPS),
        "seed": None if said.get("seed") is None else _whole(said, "seed", 0, 0, 2**32 - 1),
        "stochastic": _flag(said, "stochastic", False),
        "frames": _flag(said, "frames", True),
        "task": _text(said, "task"),
        "overrides": checked_overrides(said.get("overrides"), trusted=inspector.trust),
        "runs_dir": str(inspector.runs_dir),
        "trust": inspector.trust,
    }


def _whole(said: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = said.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Refused(400, f"{name} is a whole number from {least} to {most:,}, not {str(value)[:40]}")
    return value


def _flag(said: dict[str, Any], name: str, default: bool) -> bool:
    value = said.get(name, default)
    if not isinstance(value, bool):
        raise Refused(400, f"{name} is true or false, not {str(value)[:40]}")
    return value


def _text(said: dict[str, Any], name: str) -> str | None:
    value = said.get(name)
    if value is not None and (not isinstance(value, str) or len(value) > 200):
        raise Refused(400, f"{name} is a text of at most 200 characters")
    return value


def checked_overrides(value: Any, *, trusted: bool) -> dict[str, Any]:
    """Settings from a page, or from the file of a recording, which may come from anybody; Refused where they
    would import code or read something, unless that is trusted."""
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > _MOST_OVERRIDES:
        raise Refused(400, f"overrides are at most {_MOST_OVERRIDES} settings by dotted key")
    for key, item in value.items():
        if _OVERRIDE.fullmatch(key) is None:
            raise Refused(400, f"{key[:80]!r} cannot be changed for a recording; env.… and eval.… can")
        if not trusted:
            _refuse_foreign(key, item)
    return value


def _refuse_foreign(key: str, value: Any) -> None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str) and _FOREIGN.search(item):
            raise Refused(
                400,
                f"{key} names code, a file or an environment variable ({item[:40]!r}); start gymnast inspect"
                " with --trust to allow that",
            )
