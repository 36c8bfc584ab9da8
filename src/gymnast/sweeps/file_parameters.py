"""The `parameters` of a sweep file, as W&B defines them, and what each means here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range
from gymnast.errors import GymnastError, did_you_mean
from gymnast.sweeps.distributions import Beta, Dimension, Normal, Quantised
from gymnast.sweeps.space import Space

_KEYS = ("value", "values", "probabilities", "min", "max", "distribution", "mu", "sigma", "q", "a", "b")
_KEYS_BELOW = (*_KEYS, "parameters")
DISTRIBUTIONS = (
    "constant", "categorical", "categorical_w_probabilities", "int_uniform", "uniform", "q_uniform",
    "log_uniform", "q_log_uniform", "inv_log_uniform", "log_uniform_values", "q_log_uniform_values",
    "inv_log_uniform_values", "normal", "q_normal", "log_normal", "q_log_normal", "beta", "q_beta",
)  # fmt: skip
SCALES = ("linear", "log", "one_minus_log", "pow2")


def read_parameters(parameters: Any, scales: Mapping[str, str], where: str) -> Space:
    """The space of a file's `parameters`; `scales` bends ranges that the file gives as plain ones."""
    if not isinstance(parameters, dict) or not parameters:
        raise GymnastError(f"{where}: parameters: must be a map of settings to search, such as algo.lr")
    dimensions: dict[str, Dimension] = {}
    constants: dict[str, Any] = {}
    for key, spec in _flattened(parameters, "", where):
        place = f"{where}: parameters.{key}"
        if key in dimensions or key in constants:
            raise GymnastError(f"{place}: is there twice")
        found = _read(spec, place)
        if isinstance(found, tuple):
            constants[key] = found[0]
        else:
            dimensions[key] = found
    for key, scale in scales.items():
        if key not in dimensions:
            raise GymnastError(
                f"{where}: gymnast.scales: {key} is not searched{did_you_mean(key, dimensions)}"
            )
        dimensions[key] = _bent(dimensions[key], scale, f"{where}: gymnast.scales.{key}")
    if not dimensions:
        raise GymnastError(f"{where}: parameters: every one is constant, so there is nothing to search")
    return Space(dimensions, constants)


def _flattened(parameters: Mapping[str, Any], prefix: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """(dotted key, spec) of each parameter; nested `parameters` join their keys with a dot."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name, spec in parameters.items():
        key = f"{prefix}{name}"
        if not isinstance(spec, dict):
            raise GymnastError(
                f"{where}: parameters.{key}: must be a map such as {{values: [1, 2]}}, got {spec!r}"
            )
        for word in spec:
            if word not in _KEYS_BELOW:
                raise GymnastError(
                    f"{where}: parameters.{key}.{word}: unknown key{did_you_mean(str(word), _KEYS_BELOW)}"
                )
        if "parameters" in spec:
            if len(spec) > 1 or not isinstance(spec["parameters"], dict):
                raise GymnastError(
                    f"{where}: parameters.{key}: nested parameters are a map that stands alone"
                )
            found += _flattened(spec["parameters"], f"{key}.", where)
        else:
            found.append((key, spec))
    return found


def _read(spec: dict[str, Any], place: str) -> Dimension | tuple[Any]:
    """A dimension, or a constant as a tuple of one."""
    kind = spec.get("distribution") or _inferred(spec, place)
    if kind not in DISTRIBUTIONS:
        hint = did_you_mean(str(kind), DISTRIBUTIONS)
        raise GymnastError(f"{place}.distribution: there is no {kind!r}{hint}")
    if kind == "constant":
        if "value" not in spec:
            raise GymnastError(f"{place}: a constant needs value")
        return (spec["value"],)
    if kind.startswith("categorical"):
        return _choice(spec, place)
    quantised = kind.startswith("q_")
    step = _number(spec, "q", place, 1.0) if quantised else None
    if step is not None and step <= 0:
        raise GymnastError(f"{place}.q: must be more than 0, got {step:g}")
    name = kind.removeprefix("q_")
    if name in ("normal", "log_normal"):
        sigma = _number(spec, "sigma", place, 1.0)
        if sigma <= 0:
            raise GymnastError(f"{place}.sigma: must be more than 0, got {sigma:g}")
        return Normal(_number(spec, "mu", place, 0.0), sigma, name == "log_normal", step)
    if name == "beta":
        a, b = _number(spec, "a", place), _number(spec, "b", place)
        if a <= 0 or b <= 0:
            raise GymnastError(
                f"{place}: a and b of a beta distribution are more than 0, got {a:g} and {b:g}"
            )
        return Beta(a, b, step)
    return _range(name, spec, step, place)


def _inferred(spec: dict[str, Any], place: str) -> str:
    """What W&B takes a spec for that names no distribution."""
    if "value" in spec:
        return "constant"
    if "values" in spec:
        return "categorical"
    if "min" in spec and "max" in spec:
        ends = (spec["min"], spec["max"])
        return "int_uniform" if all(type(end) is int for end in ends) else "uniform"
    if "mu" in spec or "sigma" in spec:
        return "normal"
    raise GymnastError(f"{place}: needs value, values, or min and max")


def _choice(spec: dict[str, Any], place: str) -> Dimension | tuple[Any]:
    values = spec.get("values")
    if not isinstance(values, list) or not values:
        raise GymnastError(f"{place}: values must be a list with something in it, got {values!r}")
    weights = spec.get("probabilities")
    if weights is None:
        return Choice(tuple(values)) if len(values) > 1 else (values[0],)
    right = isinstance(weights, list) and all(_is_number(w) and w >= 0 for w in weights)
    if not right or len(weights) != len(values) or not math.isclose(sum(weights), 1.0, abs_tol=1e-6):
        raise GymnastError(
            f"{place}.probabilities: must be one number from 0 for each of the {len(values)} values, 1 in all"
        )
    return Choice(tuple(values), tuple(float(weight) for weight in weights))


def _range(name: str, spec: dict[str, Any], step: float | None, place: str) -> Dimension:
    low, high = _number(spec, "min", place), _number(spec, "max", place)
    if low >= high:
        raise GymnastError(f"{place}: min ({low:g}) must be less than max ({high:g})")
    if name in ("log_uniform", "inv_log_uniform"):
        # W&B gives these two in exponents: people write the values themselves.
        if low > 0 and high < 1:
            raise GymnastError(
                f"{place}: {name} takes exponents, so it would search from {math.exp(low):.4g} to "
                f"{math.exp(high):.4g}; for {low:g} to {high:g} write distribution: log_uniform_values"
            )
        if max(abs(low), abs(high)) > 700:
            raise GymnastError(f"{place}: e^{high:g} is too large; write distribution: log_uniform_values")
        if name.startswith("inv"):
            low, high = -high, -low
        low, high, name = math.exp(low), math.exp(high), "log_uniform_values"
    if name in ("log_uniform_values", "inv_log_uniform_values"):  # 1/X log-uniform: so is X
        if low <= 0:
            raise GymnastError(f"{place}.min: a logarithmic range begins above 0, got {low:g}")
        whole = step == 1 and low >= 1 and low == int(low) and high == int(high)
        inner: Range | LogRange = LogRange(int(low), int(high), True) if whole else LogRange(low, high)
        return inner if step is None or whole else _quantised(inner, step, place)
    if name == "int_uniform":
        for end in ("min", "max"):
            if spec[end] != int(spec[end]):
                raise GymnastError(f"{place}.{end}: int_uniform takes whole numbers, got {spec[end]!r}")
        return Range(int(low), int(high), whole=True)
    return Range(low, high) if step is None else _quantised(Range(low, high), step, place)


def _quantised(inner: Range | LogRange, step: float, place: str) -> Quantised:
    if math.ceil(inner.low / step - 1e-9) > math.floor(inner.high / step + 1e-9):
        raise GymnastError(
            f"{place}: there is no multiple of q={step:g} from {inner.low:g} to {inner.high:g}"
        )
    return Quantised(inner, step)


def _bent(dimension: Dimension, scale: str, place: str) -> Dimension:
    if scale not in SCALES:
        raise GymnastError(f"{place}: there is no scale {scale!r}{did_you_mean(str(scale), SCALES)}")
    if not isinstance(dimension, (Range, LogRange)):
        raise GymnastError(f"{place}: only a range from min to max has a scale")
    low, high = dimension.low, dimension.high
    if scale == "linear":
        return Range(low, high, dimension.whole)
    if scale == "log":
        if low <= 0:
            raise GymnastError(f"{place}: a logarithmic range begins above 0, got {low:g}")
        return LogRange(low, high, dimension.whole)
    if scale == "one_minus_log":
        if high >= 1:
            raise GymnastError(f"{place}: one_minus_log needs a max below 1, got {high:g}")
        return OneMinusLog(low, high)
    if any(end < 1 or end != int(end) or int(end) & (int(end) - 1) for end in (low, high)):
        raise GymnastError(f"{place}: pow2 needs powers of two as min and max, got {low:g} and {high:g}")
    return Pow2(int(low), int(high))


def _number(spec: dict[str, Any], key: str, place: str, default: float | None = None) -> float:
    value = spec.get(key, default)
    if isinstance(value, str):  # 1e-5 is text for YAML 1.1, and W&B's users quote it
        with suppress(ValueError):
            value = float(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        missing = key not in spec
        raise GymnastError(f"{place}: needs {key}" if missing else f"{place}.{key}: not a number: {value!r}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
