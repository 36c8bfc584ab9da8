"""Whether a rollout of so many envs fits into memory, checked before anything large is built."""

from __future__ import annotations

from gymnast.envs.contract import close_env
from gymnast.envs.measure.memory import available_memory, shown_memory
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.errors import GymnastError
from gymnast.spaces.plain import array_type, check_spaces, plain_space

_FRAMES = 4  # observations that an env holds beside the rollout: two steps, each with what was seen last
_SURE_TO_FIT = 20_000  # samples; below, no observation is so large that an env need be built to ask


def check_fits(config: EnvConfig, n_envs: int, n_steps: int) -> None:
    """Raise GymnastError if the observations of a rollout alone are more than the memory that is free."""
    free = available_memory()
    if free is None or n_envs * (n_steps + 1) < _SURE_TO_FIT:
        return
    size = observation_bytes(config)
    of_each_env = size * (n_steps + 1 + _FRAMES)
    if n_envs * of_each_env <= free:
        return
    most = free // of_each_env
    way_out = f"at most env.n_envs={most} fits, or a smaller algo.n_steps" if most else "lower algo.n_steps"
    raise GymnastError(
        f"env.n_envs={n_envs}: observations of {shown_memory(size)} for {n_envs:,} envs × {n_steps:,} steps"
        f" take {shown_memory(n_envs * of_each_env)}, {shown_memory(free)} of memory are free; {way_out}"
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
        close_env(env.close, config.id)
    size = dtype.itemsize
    for length in shape:
        size *= length
    return size
