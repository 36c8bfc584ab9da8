"""Whether a rollout of so many envs, and the network, fit into memory, checked before either is built."""

from __future__ import annotations

from gymnast.envs.build import why_not_backend
from gymnast.envs.contract import close_env
from gymnast.envs.measure.memory import available_memory, shown_memory
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.errors import GymnastError
from gymnast.spaces.plain import array_type, check_spaces, plain_space

_FRAMES = 4  # observations that an env holds beside the rollout: two steps, each with what was seen last
_BESIDE = 40  # bytes of a sample beside its observation: action, reward, value, advantage …
_COPY = 5_000  # bytes that an env takes at least, where each copy is an object
_PER_PARAMETER = 16  # bytes while training: the weight, its gradient and two moments of the optimiser
_SURE_TO_FIT = 20_000  # samples; below, no observation is so large that an env need be built to ask


def check_fits(config: EnvConfig, n_envs: int, n_steps: int) -> None:
    """Raise GymnastError if the envs and the arrays of a rollout need more memory than is free."""
    free = available_memory()
    if free is None or n_envs * (n_steps + 1) < _SURE_TO_FIT:
        return
    size = observation_bytes(config)
    objects = why_not_backend(config, n_envs, "native") is not None if config.mix is None else True
    of_each_env = size * (n_steps + 1 + _FRAMES) + _BESIDE * n_steps + (_COPY if objects else 0)
    if n_envs * of_each_env <= free:
        return
    most = free // of_each_env
    way_out = f"at most env.n_envs={most} fits, or a smaller algo.n_steps" if most else "lower algo.n_steps"
    needed = shown_memory(n_envs * of_each_env)
    raise GymnastError(
        f"env.n_envs={n_envs}: a rollout of {n_envs:,} envs × {n_steps:,} steps with observations of"
        f" {shown_memory(size)} takes {needed}, {shown_memory(free)} of memory are free; {way_out}"
    )


def check_network_fits(n_parameters: int) -> None:
    """Raise GymnastError if training a network of so many parameters needs more memory than is free."""
    free = available_memory()
    if free is not None and n_parameters * _PER_PARAMETER > free:
        raise GymnastError(
            f"policy: training a network of {n_parameters:,} parameters takes"
            f" {shown_memory(n_parameters * _PER_PARAMETER)}, {shown_memory(free)} of memory are free; use"
            " smaller layers, such as policy.hidden=[256,256]"
        )


def observation_bytes(config: EnvConfig) -> int:
    """Of one observation as it is stored; of a mix the largest."""
    if config.mix is not None:
        return max(observation_bytes(task.env) for task in config.tasks)
    env = make_env(config)
    try:
        check_spaces(env.observation_space, env.action_space, config.id)
        shape, dtype = array_type(plain_space(env.observation_space))
    finally:
        close_env(env)
    size = dtype.itemsize
    for length in shape:
        size *= length
    return size
