"""The state of an env as plain data: exact resume and beginning from a captured state rest on this.

An env is a chain of layers: wrappers around a base env. A layer with `get_state`/`set_state` (ours, or a
user's) carries its own state; for envs of other packages their family has a class that does
(`Family.states`). If one layer has neither, the env cannot be brought back: a snapshot then holds the
random state alone, and the env starts a new episode from it.

States are JSON values: nothing is pickled, and no class that a state names is ever imported.
"""

from __future__ import annotations

import base64
import json
import math
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from gymnast.envs.contract import pass_on_ctrl_c
from gymnast.envs.families.table import family_of_class, load_hook
from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.envs.contract import Envs

FORMAT = 2  # of the values below; a snapshot of another format starts new episodes
_COMPRESSED = 1024  # arrays of more bytes than this are compressed

# Gymnasium's own wrappers around every env. Exact classes only: a subclass may hold more.
_WRAPPERS = {
    "gymnasium.wrappers.common.TimeLimit": ("_elapsed_steps",),
    "gymnasium.wrappers.common.OrderEnforcing": ("_has_reset",),
}


@runtime_checkable
class CarriesItself(Protocol):
    """A wrapper or env that knows its own state: a dict of what `encode` takes."""

    def get_state(self) -> dict[str, Any]: ...

    def set_state(self, state: dict[str, Any]) -> None: ...


class Attributes:
    """The state of a layer that consists of some of its attributes."""

    def __init__(self, layer: Any, names: Sequence[str]) -> None:
        self._layer, self._names = layer, names

    def get_state(self) -> dict[str, Any]:
        # An attribute that the first reset or step creates is None until then.
        return {name: getattr(self._layer, name, None) for name in self._names}

    def set_state(self, state: dict[str, Any]) -> None:
        for name in self._names:
            setattr(self._layer, name, state[name])


@dataclass(frozen=True, slots=True)
class EnvState:
    """One env at one moment, as data: it means the same in any row, process or run of the same config."""

    kind: str  # the layers it is of: only envs of the same kind can begin from it
    data: bytes  # compressed JSON

    @classmethod
    def pack(cls, kind: str, values: dict[str, Any]) -> EnvState:
        return cls(kind, zlib.compress(json.dumps(encode(values)).encode(), 1))

    def unpack(self) -> dict[str, Any]:
        values: dict[str, Any] = decode(json.loads(zlib.decompress(self.data)))
        return values

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "data": base64.b64encode(self.data).decode()}

    @classmethod
    def from_json(cls, values: dict[str, str]) -> EnvState:
        return cls(values["kind"], base64.b64decode(values["data"]))


def env_kind(env: gym.Env[Any, Any]) -> str:
    """The layers of an env in words, outermost first."""
    return " > ".join(map(_class_name, layers_of(env)))


def check_kinds(states: Sequence[EnvState], rows: Sequence[int], kind: str) -> None:
    """Raise GymnastError unless there is a state of this kind for every row."""
    check_count(states, rows)
    for row, state in zip(rows, states, strict=True):
        if state.kind != kind:
            raise GymnastError(f"env {row} is '{kind}' and cannot begin from a state of '{state.kind}'")


def check_count(states: Sequence[EnvState], rows: Sequence[int]) -> None:
    """Raise GymnastError unless there is a state for every row."""
    if len(states) != len(rows):
        raise GymnastError(f"{len(states)} states are given for {len(rows)} envs")


def checked_rows(rows: Sequence[int], n_envs: int) -> list[int]:
    """Rows as ints; GymnastError for one that does not exist or is given twice."""
    checked = [int(row) for row in rows]
    for row in checked:
        if not 0 <= row < n_envs:
            raise GymnastError(f"there is no env {row}; they are 0 to {n_envs - 1}")
    if len(set(checked)) != len(checked):
        raise GymnastError(f"a row is given twice: {checked}")
    return checked


def rows_by_part(rows: Sequence[int], parts: Sequence[slice]) -> list[tuple[int, list[int], list[int]]]:
    """For rows of envs that consist of parts: (part, places among `rows`, rows within the part), each."""
    found = []
    for index, part in enumerate(parts):
        places = [place for place, row in enumerate(rows) if part.start <= row < part.stop]
        if places:
            found.append((index, places, [rows[place] - part.start for place in places]))
    return found


def can_carry(env: gym.Env[Any, Any]) -> bool:
    """Whether `env_state` can bring this env back exactly."""
    return all(_carrier(layer) is not None for layer in layers_of(env))


def why_not_carried(env: gym.Env[Any, Any]) -> str:
    """The layers whose state is unknown."""
    unknown = [_class_name(layer) for layer in layers_of(env) if _carrier(layer) is None]
    return f"{', '.join(unknown)} cannot report its state (get_state and set_state)"


def env_state(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """Random state and, where every layer is known, the state of each; JSON values only."""
    state: dict[str, Any] = {"format": FORMAT, "random": random_state(env.unwrapped.np_random)}
    if can_carry(env):
        layers = [_written(layer) for layer in layers_of(env)]
        if None not in layers:
            state["layers"] = layers
    return state


def _written(layer: gym.Env[Any, Any]) -> dict[str, Any] | None:
    """A layer's class and state, or None, with a warning, if it fails: a run need not end for that."""
    try:
        carrier = _carrier(layer)
        assert carrier is not None
        return {"class": _class_name(layer), "state": encode(carrier.get_state())}
    except BaseException as error:  # a user's class may raise anything
        pass_on_ctrl_c(error)
        warnings.warn(
            f"get_state of {_class_name(layer)} does not give plain data ({type(error).__name__}: {error}): "
            "when the run is resumed its env begins a new episode",
            stacklevel=2,
        )
        return None


def fresh_state(seed: int) -> dict[str, Any]:
    """In place of the state of an env that is lost: restoring it begins a new episode."""
    other = np.random.default_rng([seed, 0x105])  # not those that the env's first episode was drawn from
    return {"seed": seed, "episodes": 1, "random": random_state(other)}


def saved_envs(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """The states of single envs in a snapshot, also of several groups; none if another backend took it."""
    match snapshot.get("kind"):
        case "single":
            return list(snapshot["envs"])
        case "groups":
            groups = [saved_envs(group) for group in snapshot["groups"]]
            return [env for group in groups for env in group] if all(groups) else []
    return []


def episodes_in(snapshot: Any) -> int:
    """Episodes that envs had started when a snapshot of any kind was taken, all together.

    It grows with every resume, so that seeds made with it were never used before.
    """
    match snapshot:
        case {"episodes": list(counts)}:
            return sum(counts)
        case {"episodes": count}:
            return int(count)
        case {"envs": list(parts)} | {"groups": list(parts)}:
            return sum(map(episodes_in, parts))
        case {"tasks": dict(parts)}:
            return sum(map(episodes_in, parts.values()))
    return 0


def begin_new_episodes(envs: Envs, snapshot: dict[str, Any]) -> np.ndarray:
    """Leave the episodes of a snapshot for new ones, which no run before it has played."""
    first = envs.restore(without_episodes(snapshot))
    return envs.reset() if first is None else first


def without_episodes(snapshot: dict[str, Any]) -> dict[str, Any]:
    """A snapshot of `Envs` with its random states and no episode to continue."""
    kept = {key: value for key, value in snapshot.items() if key not in ("state", "layers")}
    for key in ("envs", "groups"):
        if key in kept:
            kept[key] = [without_episodes(part) for part in kept[key]]
    if "tasks" in kept:
        kept["tasks"] = {name: without_episodes(part) for name, part in kept["tasks"].items()}
    return kept


def matches(env: gym.Env[Any, Any], state: dict[str, Any]) -> bool:
    """Whether `state` holds all layers of this very chain, so that the same episode can continue."""
    layers = state.get("layers")
    if layers is None or state.get("format") != FORMAT:
        return False
    return [layer["class"] for layer in layers] == [_class_name(layer) for layer in layers_of(env)]


def set_env_state(env: gym.Env[Any, Any], state: dict[str, Any]) -> None:
    """Put an env that was reset once into the state that `env_state` took; needs `matches`."""
    for layer, saved in zip(layers_of(env), state["layers"], strict=True):
        carrier = _carrier(layer)
        assert carrier is not None
        carrier.set_state(decode(saved["state"]))
    set_random_state(env.unwrapped.np_random, state["random"])


def random_state(generator: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as JSON values (its integers may have 128 bits)."""
    return _without_numpy(generator.bit_generator.state)


def _without_numpy(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _without_numpy(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def set_random_state(generator: np.random.Generator, state: dict[str, Any]) -> bool:
    """Continue `generator` from `state`; False, and nothing done, if it is of another kind."""
    if state["bit_generator"] != type(generator.bit_generator).__name__:
        return False
    generator.bit_generator.state = state
    return True


def layers_of(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    """An env and its wrappers, outermost first."""
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    return layers


def _class_name(layer: object) -> str:
    return f"{type(layer).__module__}.{type(layer).__qualname__}"


def _carrier(layer: gym.Env[Any, Any]) -> CarriesItself | None:
    """What knows a layer's state: the layer itself, or what its family has for it."""
    if isinstance(layer, CarriesItself):
        return layer
    if (names := _WRAPPERS.get(_class_name(layer))) is not None:
        return Attributes(layer, names)
    hook = family_of_class(type(layer)).states
    carrier: CarriesItself | None = None if hook is None else load_hook(hook)(layer)
    return carrier


def encode(value: Any) -> Any:
    """JSON values that `decode` makes the same of, bit for bit: NumPy arrays and numbers with their dtype,
    bytes, tuples, lists, dicts, and what JSON itself knows."""
    match value:
        case np.ndarray() | np.generic():
            if value.dtype.hasobject or value.dtype.names is not None:
                raise TypeError(f"arrays of {value.dtype} cannot be written")
            raw = np.ascontiguousarray(value).tobytes()
            return {"$array": [value.dtype.str, list(value.shape), *_packed(raw)]}
        case bytes():
            return {"$bytes": _packed(value)}
        case float() if not math.isfinite(value):
            return {"$float": repr(value)}
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return {"$tuple": [encode(item) for item in value]}
        case list():
            return [encode(item) for item in value]
        case dict():
            if all(isinstance(key, str) and not key.startswith("$") for key in value):
                return {key: encode(item) for key, item in value.items()}
            return {"$items": [[encode(key), encode(item)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__name__} cannot be written")


def decode(value: Any) -> Any:
    """The inverse of `encode`."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        dtype, shape, *packed = value["$array"]
        array = np.frombuffer(_unpacked(packed), np.dtype(dtype)).reshape(shape)
        return array.copy() if array.ndim else array[()]
    if "$bytes" in value:
        return _unpacked(value["$bytes"])
    if "$float" in value:
        return float(value["$float"])
    if "$tuple" in value:
        return tuple(decode(item) for item in value["$tuple"])
    if "$items" in value:
        return {decode(key): decode(item) for key, item in value["$items"]}
    return {key: decode(item) for key, item in value.items()}


def _packed(raw: bytes) -> list[str]:
    """Bytes as text; large ones compressed."""
    if len(raw) <= _COMPRESSED:
        return ["plain", base64.b64encode(raw).decode()]
    return ["zlib", base64.b64encode(zlib.compress(raw, 1)).decode()]


def _unpacked(packed: list[str]) -> bytes:
    how, text = packed
    raw = base64.b64decode(text)
    return raw if how == "plain" else zlib.decompress(raw)
