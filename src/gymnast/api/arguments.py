"""What callers pass, as the plain types that the rest works with.

From a notebook come NumPy's numbers, paths, and counts as one writes them on the command line ('300k').
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError

Folders = str | Path | Sequence[str | Path]


def whole(name: str, value: Any, least: int = 0) -> int:
    """A count: 5, np.int64(5), 5e5 or '500k'."""
    from gymnast.config.values import parse_count

    try:
        number = operator.index(parse_count(_plain(value)))
    except (TypeError, ValueError) as error:
        why = str(error) if isinstance(error, ValueError) else f"got {value!r}"
        raise GymnastError(f"{name} must be a whole number: {why}") from None
    if number < least:
        raise GymnastError(f"{name} must be at least {least}, got {number}")
    return number


def maybe_whole(name: str, value: Any, least: int = 0) -> int | None:
    """As `whole`; None stays None."""
    return None if value is None else whole(name, value, least)


def maybe_seconds(name: str, value: Any) -> float | None:
    """A duration: 90, np.float32(90), '90s' or '1.5m'; None stays None."""
    from gymnast.config.values import parse_duration

    if value is None:
        return None
    try:
        return float(parse_duration(_plain(value)))
    except (TypeError, ValueError) as error:
        why = str(error) if isinstance(error, ValueError) else f"got {value!r}"
        raise GymnastError(f"{name} must be a duration: {why}") from None


def maybe_positive(name: str, value: float | None) -> float | None:
    """A number above 0; None stays None."""
    if value is not None and not value > 0:
        raise GymnastError(f"{name} must be more than 0, got {value}")
    return value


def folders(value: Folders) -> tuple[Path, ...]:
    """One folder or several."""
    several = (value,) if isinstance(value, (str, Path)) else value
    return tuple(Path(folder).expanduser() for folder in several)


def plain_overrides(overrides: Any) -> dict[str, Any] | list[str]:
    """A map of settings with plain values, or a list of 'key=value'."""
    if isinstance(overrides, Mapping):
        return {str(key): _plain(value) for key, value in overrides.items()}
    listed = [overrides] if isinstance(overrides, str) else list(overrides)
    for text in listed:
        if not isinstance(text, str):
            raise GymnastError(
                f"overrides are a map, {{'algo.lr': 1e-3}}, or texts, ['algo.lr=1e-3']; got {text!r}"
            )
    return listed


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's, paths as text, also inside maps and lists."""
    import numpy as np

    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
