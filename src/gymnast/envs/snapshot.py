"""Carrying an env's state exactly across a resume, as plain data: nothing is pickled.

An env is a chain of layers: wrappers around a base env. For each class named below the attributes
that make up its state are known; a class with `get_state`/`set_state` (ours, or a user's) carries
itself. If one layer is of neither kind, the env cannot be brought back: a snapshot then holds the
random state alone, and the env starts a new episode from it.
"""

from __future__ import annotations

import json
import warnings
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

# Exact classes only: a subclass may hold more. Read from the sources of Gymnasium 1.4.
STATE_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "gymnasium.envs.classic_control.cartpole.CartPoleEnv": ("state", "steps_beyond_terminated"),
    "gymnasium.envs.classic_control.acrobot.AcrobotEnv": ("state",),
    "gymnasium.envs.classic_control.mountain_car.MountainCarEnv": ("state",),
    "gymnasium.envs.classic_control.continuous_mountain_car.Continuous_MountainCarEnv": ("state",),
    "gymnasium.envs.classic_control.pendulum.PendulumEnv": ("state", "last_u"),
    "gymnasium.envs.toy_text.frozen_lake.FrozenLakeEnv": ("s", "lastaction"),
    "gymnasium.envs.toy_text.cliffwalking.CliffWalkingEnv": ("s", "lastaction"),
    "gymnasium.envs.toy_text.taxi.TaxiEnv": ("s", "lastaction", "fickle_step"),
    "gymnasium.wrappers.common.TimeLimit": ("_elapsed_steps",),
    "gymnasium.wrappers.common.OrderEnforcing": ("_has_reset",),
}


@runtime_checkable
class CarriesItself(Protocol):
    """A wrapper or env that knows its own state, as JSON values (NumPy's become plain ones)."""

    def get_state(self) -> dict[str, Any]: ...

    def set_state(self, state: dict[str, Any]) -> None: ...


def can_carry(env: gym.Env[Any, Any]) -> bool:
    """Whether `env_state` can bring this env back exactly."""
    return all(
        _carrier(layer) is not None or _class_name(layer) in STATE_ATTRIBUTES for layer in _layers(env)
    )


def env_state(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """Random state and, where every layer is known, the state of each; JSON values only."""
    state: dict[str, Any] = {"random": random_state(env.unwrapped.np_random)}
    if can_carry(env):
        layers = [_written(layer) for layer in _layers(env)]
        if None not in layers:
            state["layers"] = layers
    return state


def _written(layer: gym.Env[Any, Any]) -> dict[str, Any] | None:
    """A layer's class and state, or None, told once, if it cannot say it: a run need not end for that."""
    try:
        written = {"class": _class_name(layer), "state": _layer_state(layer)}
        json.dumps(written)
    except Exception as error:  # of a user's class anything may come
        warnings.warn(
            f"get_state of {_class_name(layer)} gives no plain data ({type(error).__name__}: {error}): "
            "when the run is resumed its env begins a new episode",
            stacklevel=2,
        )
        return None
    return written


def fresh_state(seed: int) -> dict[str, Any]:
    """Stands for an env whose state is lost: whoever restores it begins a new episode."""
    return {"seed": seed, "episodes": 1, "random": random_state(np.random.default_rng(seed))}


def matches(env: gym.Env[Any, Any], state: dict[str, Any]) -> bool:
    """Whether `state` holds all layers of just this chain, so that the very same episode can go on."""
    layers = state.get("layers")
    return layers is not None and [layer["class"] for layer in layers] == [
        _class_name(x) for x in _layers(env)
    ]


def set_env_state(env: gym.Env[Any, Any], state: dict[str, Any]) -> None:
    """Put an env that was reset once into the state that `env_state` took; needs `matches`."""
    for layer, saved in zip(_layers(env), state["layers"], strict=True):
        if (carrier := _carrier(layer)) is not None:
            carrier.set_state(saved["state"])
        else:
            for name in STATE_ATTRIBUTES[_class_name(layer)]:
                setattr(layer, name, _decoded(saved["state"][name]))
    set_random_state(env.unwrapped.np_random, state["random"])


def random_state(generator: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as JSON values (its integers may have 128 bits)."""
    plain: dict[str, Any] = _plain(generator.bit_generator.state)
    return plain


def set_random_state(generator: np.random.Generator, state: dict[str, Any]) -> bool:
    """Continue `generator` from `state`; False, and nothing done, if it is of another kind."""
    if state["bit_generator"] != type(generator.bit_generator).__name__:
        return False
    generator.bit_generator.state = state
    return True


def _layers(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    """The chain, outermost first."""
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    return layers


def _class_name(layer: object) -> str:
    return f"{type(layer).__module__}.{type(layer).__qualname__}"


def _carrier(layer: gym.Env[Any, Any]) -> CarriesItself | None:
    """What knows a layer's state: the layer itself, or for MuJoCo's envs what is ours beside them."""
    if isinstance(layer, CarriesItself):
        return layer
    if type(layer).__module__.startswith("gymnasium.envs.mujoco."):
        from gymnast.envs.families.mujoco import MujocoState

        return MujocoState(layer)
    return None


def _layer_state(layer: gym.Env[Any, Any]) -> dict[str, Any]:
    if (carrier := _carrier(layer)) is not None:
        state: dict[str, Any] = _plain(carrier.get_state())
        return state
    # An attribute that the first reset or step makes is None until then.
    return {name: _encoded(getattr(layer, name, None)) for name in STATE_ATTRIBUTES[_class_name(layer)]}


def _encoded(value: Any) -> Any:
    """JSON values that remember what JSON forgets: NumPy dtypes (they steer rounding) and tuples."""
    if isinstance(value, np.ndarray | np.generic):
        return {"dtype": value.dtype.str, "values": value.tolist()}
    if isinstance(value, tuple):
        return {"tuple": [_encoded(item) for item in value]}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and "dtype" in value:
        array = np.asarray(value["values"], dtype=value["dtype"])
        return array if array.ndim else array[()]
    if isinstance(value, dict) and "tuple" in value:
        return tuple(_decoded(item) for item in value["tuple"])
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
