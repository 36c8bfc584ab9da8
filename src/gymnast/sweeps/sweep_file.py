"""Reading a sweep file: W&B's format with our dotted keys, so that one file runs under `wandb agent` too.

What W&B has no words for is below one key of our own, `gymnast`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnast.config.overrides import parse_override
from gymnast.config.reading import read_yaml, shown
from gymnast.errors import GymnastError, did_you_mean
from gymnast.sweeps.file_parameters import read_parameters
from gymnast.sweeps.plan import EXECUTORS, METHODS
from gymnast.sweeps.space import Space

_KEYS = (
    "program", "command", "method", "metric", "parameters", "early_terminate", "run_cap", "name",
    "description", "project", "entity", "gymnast",
)  # fmt: skip
_METRIC_KEYS = ("name", "goal", "target")
_STOP_KEYS = ("type", "min_iter", "max_iter", "s", "eta", "strict")
_OWN_KEYS = (
    "reference", "objective", "cost", "seeds", "scales", "ceiling", "threshold", "prune", "workers", "on",
    "from", "patience", "seed",
)  # fmt: skip
SEED_KEYS = ("first", "per_trial", "race", "contenders", "test")
_WITH_VALUE = {"--max-env-steps": "budget.env_steps", "--wall-time": "budget.wall_time"}
_HARMLESS = {"-q", "--quiet", "--json", "--plain"}
_HARMLESS_WITH_VALUE = {"--track", "--runs-dir"}


@dataclass(frozen=True, slots=True)
class Hyperband:
    """W&B's early_terminate: after so many evaluations, one in `eta` continues."""

    eta: float
    min_iter: int | None = None
    max_iter: int | None = None
    s: int | None = None


@dataclass(frozen=True, slots=True)
class SweepFile:
    """A sweep file, checked by itself; whether its settings exist is for whoever knows the config."""

    path: Path
    space: Space
    method: str
    reference: str | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    metric: str | None = None
    goal: str | None = None
    target: float | None = None
    run_cap: int | None = None
    hyperband: Hyperband | None = None
    name: str = ""
    description: str = ""
    own: dict[str, Any] = field(default_factory=dict)


def is_sweep_file(path: Path) -> bool:
    """Whether a YAML file is a sweep and not a config."""
    data = read_yaml(path)
    return isinstance(data, dict) and "parameters" in data and not {"base", "variants", "env"} & set(data)


def read_sweep_file(path: Path) -> SweepFile:
    """Raises GymnastError for the first thing that is wrong in it."""
    where, data = shown(path), read_yaml(path)
    if not isinstance(data, dict):
        raise GymnastError(f"{where}: a sweep file is a map with method, metric and parameters")
    _known(data, _KEYS, where, "")
    own = _map(data, "gymnast", _OWN_KEYS, where)
    metric = _map(data, "metric", _METRIC_KEYS, where)
    method = data.get("method", "bayes")
    if method not in METHODS:
        raise GymnastError(f"{where}: method: must be {', '.join(METHODS)}, got {method!r}")
    if metric and not isinstance(metric.get("name"), str):
        raise GymnastError(f"{where}: metric: needs a name, such as eval/return/mean")
    reference, overrides = _command(data.get("command"), where)
    if isinstance(own.get("reference"), str):
        reference = own["reference"]
    _check_own(own, where)
    scales = own.get("scales") or {}
    if not isinstance(scales, dict):
        raise GymnastError(f"{where}: gymnast.scales: must be a map such as {{algo.gamma: one_minus_log}}")
    return SweepFile(
        path=path,
        space=read_parameters(data.get("parameters"), scales, where),
        method=method,
        reference=reference,
        overrides=overrides,
        metric=metric.get("name"),
        goal=metric.get("goal"),
        target=_number(metric.get("target"), f"{where}: metric.target"),
        run_cap=_count(data.get("run_cap"), f"{where}: run_cap"),
        hyperband=_hyperband(data, where),
        name=str(data.get("name") or ""),
        description=str(data.get("description") or ""),
        own=own,
    )


def _command(command: Any, where: str) -> tuple[str | None, dict[str, Any]]:
    """(reference, settings) of `[gymnast, train, REFERENCE, key=value …, "${args_no_hyphens}"]`."""
    if command is None:
        return None, {}
    words = command.split() if isinstance(command, str) else command
    if not isinstance(words, list) or not all(isinstance(word, (str, int, float)) for word in words):
        raise GymnastError(f"{where}: command: must be a list of words")
    texts = [str(word) for word in words]
    if "train" not in texts:
        raise GymnastError(
            f"{where}: command: must be a gymnast train, such as "
            '[gymnast, train, CartPole-v1:ppo, "${args_no_hyphens}"]'
        )
    rest = iter(texts[texts.index("train") + 1 :])
    reference: str | None = None
    overrides: dict[str, Any] = {}
    for word in rest:
        if word.startswith("${") or word in _HARMLESS:
            continue
        if word in _WITH_VALUE:
            key = _WITH_VALUE[word]
            overrides[key] = _count_text(next(rest, ""))
        elif word in _HARMLESS_WITH_VALUE:
            next(rest, "")
        elif word.startswith("-"):
            raise GymnastError(f"{where}: command: {word} has no meaning for trials of a sweep; leave it out")
        elif "=" in word:
            path, value = parse_override(word)
            overrides[".".join(path)] = value
        elif reference is not None:
            raise GymnastError(f"{where}: command: trains {reference!r} and {word!r}; one at a time")
        else:
            reference = word
    return reference, overrides


def _hyperband(data: Mapping[str, Any], where: str) -> Hyperband | None:
    stop = _map(data, "early_terminate", _STOP_KEYS, where)
    if not stop:
        return None
    place = f"{where}: early_terminate"
    if stop.get("type") != "hyperband":
        raise GymnastError(f"{place}.type: there is only hyperband, got {stop.get('type')!r}")
    eta = _number(stop.get("eta", 3), f"{place}.eta")
    if eta is None or eta <= 1:
        raise GymnastError(f"{place}.eta: must be more than 1, got {eta!r}")
    least, most = (_count(stop.get(key), f"{place}.{key}") for key in ("min_iter", "max_iter"))
    s = _count(stop.get("s"), f"{place}.s")
    if (least is None) == (most is None):
        raise GymnastError(f"{place}: needs min_iter, or max_iter with s")
    if most is not None and s is None:
        raise GymnastError(f"{place}: max_iter needs s, how often the trials are thinned out")
    return Hyperband(eta, least, most, s)


def _check_own(own: Mapping[str, Any], where: str) -> None:
    from gymnast.sweeps.objective import OBJECTIVES

    seeds = own.get("seeds", {})
    if isinstance(seeds, dict):
        _known(seeds, SEED_KEYS, where, "gymnast.seeds.")
        for key, value in seeds.items():
            _count(
                value, f"{where}: gymnast.seeds.{key}", least=1 if key in ("per_trial", "contenders") else 0
            )
    else:
        _count(seeds, f"{where}: gymnast.seeds")
    objective = own.get("objective")
    if objective is not None and objective not in OBJECTIVES:
        hint = did_you_mean(str(objective), OBJECTIVES)
        raise GymnastError(f"{where}: gymnast.objective: there is no {objective!r}{hint}")
    if own.get("cost", "steps") not in ("steps", "seconds"):
        raise GymnastError(f"{where}: gymnast.cost: must be steps or seconds, got {own['cost']!r}")
    if own.get("on", "local") not in EXECUTORS:
        raise GymnastError(f"{where}: gymnast.on: must be {', '.join(EXECUTORS)}, got {own['on']!r}")
    if not isinstance(own.get("prune", True), bool):
        raise GymnastError(f"{where}: gymnast.prune: must be true or false, got {own['prune']!r}")
    for key in ("ceiling", "threshold", "patience"):
        number = _number(own.get(key), f"{where}: gymnast.{key}")
        if key == "patience" and number is not None and number <= 0:
            raise GymnastError(f"{where}: gymnast.patience: must be more than 0 seconds, got {number:g}")
    for key in ("workers", "seed"):
        _count(own.get(key), f"{where}: gymnast.{key}", least=int(key == "workers"))


def _map(data: Mapping[str, Any], key: str, allowed: tuple[str, ...], where: str) -> dict[str, Any]:
    value = data.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise GymnastError(f"{where}: {key}: must be a map, got {value!r}")
    _known(value, allowed, where, f"{key}.")
    return value


def _known(data: Mapping[str, Any], allowed: tuple[str, ...], where: str, prefix: str) -> None:
    for key in data:
        if key not in allowed:
            hint = did_you_mean(str(key), allowed) or f"; there are {', '.join(allowed)}"
            raise GymnastError(f"{where}: {prefix}{key}: unknown key{hint}")


def _number(value: Any, place: str) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is None or (number and math.isfinite(value)):
        return value
    raise GymnastError(f"{place}: must be a number, got {value!r}")


def _count(value: Any, place: str, least: int = 1) -> int | None:
    from gymnast.config.values import parse_count

    if value is None:
        return None
    try:
        number = parse_count(value)
    except ValueError as error:
        raise GymnastError(f"{place}: {error}") from None
    if not isinstance(number, int) or number < least:
        raise GymnastError(f"{place}: must be a whole number from {least}, got {value!r}")
    return number


def _count_text(text: str) -> Any:
    from gymnast.config.reading import parse_yaml

    return parse_yaml(text, "command")
