"""Value types that a YAML or a command line may write in short forms such as 300k."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from gymnast.errors import GymnastError
from gymnast.redact import remember_secret

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_NUMBER = re.compile(r"([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)", re.IGNORECASE)
_UNIT = re.compile(r"(\d+)([dhms])")
_SEVERAL_UNITS = re.compile(r"(?=\d+[dhms]\d)(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?")  # 23h30m
_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)\}", re.ASCII)  # $${ is a literal ${


class Section(BaseModel):
    """Base of every config section: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


class MisfitError(ValueError):
    """Settings that are fine by themselves and do not fit together, by dotted key."""

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__("; ".join(f"{key}: {problem}" for key, problem in problems.items()))
        self.problems = problems


def from_environment(value: Any, key: str) -> Any:
    """A value of the setting `key` with `${NAME}` replaced by the environment variable's text.

    Only what builds an env or a plugin calls it: configs, and so run folders, keep `${NAME}`.
    """
    if isinstance(value, dict):
        return {name: from_environment(item, f"{key}.{name}") for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(from_environment(item, f"{key}.{index}") for index, item in enumerate(value))
    if not isinstance(value, str) or "${" not in value:
        return value

    def text(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "${"
        if name not in os.environ:
            raise GymnastError(
                f"{key} is {value!r}, but there is no environment variable {name}; set it, "
                "or write $${ for a literal ${"
            )
        for secret_name in (name, key.rpartition(".")[2]):
            remember_secret(secret_name, os.environ[name])
        return os.environ[name]

    return _VARIABLE.sub(text, value)


def variables_in(value: Any) -> Iterator[str]:
    """The environment variables that `from_environment` would read."""
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from variables_in(item)
    elif isinstance(value, str):
        yield from (match[1] for match in _VARIABLE.finditer(value) if match[1] is not None)


def parse_count(value: Any) -> Any:
    """1e6, '300k', '2M', 1_000 → int; anything else is left to pydantic."""
    if isinstance(value, bool):
        raise ValueError("must be a count, not true or false")
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is None or match[2].lower() not in _SUFFIXES:
            raise ValueError(f"{value!r} is not a count; write 500000, 5e5, 500k or 2M")
        value = float(match[1].replace("_", "")) * _SUFFIXES[match[2].lower()]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"must be a count, and {value} is not one; write 500000, 5e5, 500k or 2M")
        if abs(value - round(value)) > 1e-6 * max(1.0, abs(value)):
            raise ValueError(f"{value} is not a whole number")
        value = round(value)
    return value


def parse_duration(value: Any) -> Any:
    """'90s', '10m', '1.5h', '23h30m', 30 → seconds as float."""
    if isinstance(value, bool):
        raise ValueError("must be a duration, not true or false")
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if _SEVERAL_UNITS.fullmatch(value.strip()):
            value = sum(float(number) * _SECONDS[unit] for number, unit in _UNIT.findall(value))
        elif match is None or match[2].lower() not in _SECONDS:
            raise ValueError(f"{value!r} is not a duration; write 30, 30s, 10m or 2h")
        else:
            value = float(match[1].replace("_", "")) * _SECONDS[match[2].lower()]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"must be a duration, and {value} is not one; write 30, 30s, 10m or 2h")
    return value


Count = Annotated[int, BeforeValidator(parse_count), Field(ge=0)]
PositiveCount = Annotated[int, BeforeValidator(parse_count), Field(ge=1)]
Seconds = Annotated[float, BeforeValidator(parse_duration), Field(ge=0)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


# A count, or what is measured to be best before a run starts.
CountOrAuto = Annotated[
    Annotated[int, Field(ge=1)] | Literal["auto"],
    BeforeValidator(lambda value: value if value == "auto" else parse_count(value)),
]


def _parse_batch_size(value: Any) -> Any:
    return (
        parse_count(value) if isinstance(value, str) and value[:1].isdigit() and "." not in value else value
    )


# Samples of a minibatch: a count, a fraction of the rollout (at most 1), or all of it.
BatchSize = Annotated[
    Annotated[float, Field(gt=0, allow_inf_nan=False)] | Literal["all"],
    BeforeValidator(_parse_batch_size, json_schema_input_type=Any),
    PlainSerializer(lambda size: int(size) if isinstance(size, float) and size > 1 else size),
]


def resolve_batch_size(batch_size: float | Literal["all"], rollout_size: int) -> int:
    """Samples in a minibatch of a rollout of `rollout_size`; raises ValueError unless it divides."""
    if batch_size == "all":
        return rollout_size
    size = batch_size * rollout_size if batch_size <= 1 else batch_size
    whole = round(size)
    if whole >= 1 and abs(size - whole) <= 1e-6 * size and rollout_size % whole == 0:
        return whole
    divisors = [d for d in range(1, rollout_size + 1) if rollout_size % d == 0]
    lower = max((d for d in divisors if d < size), default=None)
    upper = min((d for d in divisors if d > size), default=None)
    near = " or ".join(str(d) for d in (lower, upper) if d is not None)
    what = f"{batch_size:g} of the rollout is {size:g} samples, which" if batch_size <= 1 else f"{size:g}"
    raise ValueError(f"{what} does not divide the rollout of {rollout_size} samples; nearest that do: {near}")
