"""The space of a sweep without a file: what the algorithm's settings declare; and where a preset is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnast.config.fields import Keys, section_at
from gymnast.config.schedules import Schedule
from gymnast.config.schema import Config
from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range
from gymnast.errors import GymnastError
from gymnast.sweeps.distributions import Dimension
from gymnast.sweeps.file_parameters import read_parameters
from gymnast.sweeps.space import Point, Space

_DECLARED = (Range, LogRange, OneMinusLog, Pow2, Choice)
_UPDATES = 10  # that a run should have at least: rollouts are no longer than that allows


def default_space(config: Config, budget: int) -> Space:
    """The declared ranges of the algorithm's settings. Where the preset gives a schedule, its start moves."""
    dimensions: dict[str, Dimension] = {}
    for name, field in type(config.algo).model_fields.items():
        declared = next((mark for mark in field.metadata if isinstance(mark, _DECLARED)), None)
        value = getattr(config.algo, name)
        if declared is None or value is None or value == "auto":
            continue
        key = f"algo.{name}"
        if isinstance(value, Schedule):
            if value.start is None:  # a list of points has no single number to move
                continue
            if value.kind != "constant":
                key = f"{key}.start"
        dimensions[key] = declared
    n_envs = config.env.n_envs
    steps = dimensions.get("algo.n_steps")
    if isinstance(steps, Pow2) and isinstance(n_envs, int) and budget:
        most = max(1, budget // (_UPDATES * n_envs))
        high = min(steps.high, 1 << (most.bit_length() - 1))
        if high <= steps.low:
            del dimensions["algo.n_steps"]
        else:
            dimensions["algo.n_steps"] = Pow2(steps.low, high)
    return narrowed(Space(dimensions), config)


def narrowed(space: Space, config: Config) -> Space:
    """With the ranges of the preset's own `sweep` section in place of the declared ones; null leaves out."""
    given: Mapping[str, Any] = getattr(config, "sweep", None) or {}
    dimensions = dict(space.dimensions)
    for key in [key for key, spec in given.items() if spec is None]:
        dimensions.pop(key, None)
    wanted = {key: spec for key, spec in given.items() if spec is not None}
    constants = dict(space.constants)
    if wanted:
        own = read_parameters(wanted, {}, "the preset's sweep")
        for key, dimension in own.dimensions.items():
            declared = dimensions.get(key)
            if isinstance(declared, OneMinusLog) and isinstance(dimension, Range) and dimension.high < 1:
                dimension = OneMinusLog(dimension.low, dimension.high)  # narrower, of the same shape
            elif isinstance(declared, LogRange) and isinstance(dimension, Range) and dimension.low > 0:
                dimension = LogRange(dimension.low, dimension.high, declared.whole)
            dimensions[key] = dimension
        for key, value in own.constants.items():
            dimensions.pop(key, None)
            constants[key] = value
    return Space(dimensions, constants)


def own_values(config: Config, space: Space) -> Point:
    """The config's own value of each searched setting, where it is a plain one."""
    data = config.model_dump()
    found: Point = {}
    for key in space.dimensions:
        path = key.split(".")
        value: Any = data
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, Mapping) or value is None:
            continue
        if key == "algo.batch_size" and isinstance(space.dimensions[key], Choice):
            value = _as_share(value, config)
        found[key] = value
    return found


def _as_share(size: Any, config: Config) -> Any:
    """A minibatch of a count of samples as a share of the rollout, which is what is searched by default."""
    n_envs, n_steps = config.env.n_envs, config.algo.n_steps
    if size == "all":
        return 1.0
    if isinstance(n_envs, int) and isinstance(n_steps, int) and isinstance(size, (int, float)) and size > 1:
        return size / (n_envs * n_steps)
    return size


def check_keys(space: Space, config: Config, where: str) -> None:
    """Raise GymnastError for a searched key that the config does not have."""
    from gymnast.config.fields import leaf_keys
    from gymnast.errors import did_you_mean

    data = config.model_dump()
    for key in (*space.dimensions, *space.constants):
        path: Keys = tuple(key.split("."))
        parent = section_at(path[:-1], data)
        free = parent is None and any(section_at(path[:depth], data) for depth in range(1, len(path)))
        if parent is not None and path[-1] in parent.model_fields:
            continue
        if free and _inside_a_map(path, data):
            continue
        known = [".".join(leaf) for leaf in leaf_keys(data=data)]
        raise GymnastError(f"{where}: parameters.{key}: there is no such setting{did_you_mean(key, known)}")


def _inside_a_map(path: Keys, data: Any) -> bool:
    """Whether it goes into a map of the user's own keys, such as env.kwargs."""
    for part in path[:-1]:
        data = data.get(part) if isinstance(data, Mapping) else None
        if data is None:
            return False
    return isinstance(data, Mapping)
