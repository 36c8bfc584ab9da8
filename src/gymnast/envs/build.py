"""From the `env` section to N stepped copies behind one contract."""

from __future__ import annotations

import numpy as np

from gymnast.envs.contract import Envs
from gymnast.envs.in_process import InProcessEnvs
from gymnast.envs.native import build_native, why_not_native
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env, reward_parts
from gymnast.envs.spaces import check_spaces
from gymnast.envs.workers import WorkerEnvs, why_not_workers
from gymnast.errors import GymnastError

BACKENDS = ("sync", "workers", "native", "envpool")


def build_envs(
    config: EnvConfig,
    *,
    n_envs: int | None = None,
    seed: int,
    training: bool = True,
    render_mode: str | None = None,
    backend: str | None = None,
) -> Envs:
    """Build `n_envs` copies (the config's number if unset), each started from its own seed.

    `training=False` leaves out wrappers that are meant for training only; `backend` goes before the
    config's.
    """
    n_envs = config.n_envs if n_envs is None else n_envs
    seeds = env_seeds(seed, n_envs)
    chosen = backend or config.backend
    if chosen == "auto":
        chosen = "sync" if why_not_native(config, training=training, render_mode=render_mode) else "native"
    if chosen == "native":
        reason = why_not_native(config, training=training, render_mode=render_mode)
        if reason is not None:
            raise GymnastError(f"env.backend native cannot step '{config.id}': {reason}; use sync or workers")
        return build_native(config, n_envs, seeds[0])
    if chosen == "workers":
        reason = why_not_workers(config, render_mode)
        if reason is not None:
            raise GymnastError(f"env.backend workers cannot step '{config.id}': {reason}; use sync")
        return WorkerEnvs(config, seeds, training=training)
    envs = [make_env(config, training=training, render_mode=render_mode) for _ in range(n_envs)]
    check_spaces(envs[0].observation_space, envs[0].action_space, config.id)
    return InProcessEnvs(envs, seeds, reward_parts(config, training=training))


def env_seeds(seed: int, count: int) -> list[int]:
    """`count` different seeds of 31 bits from one; asking for more leaves the first ones as they are."""
    words = np.random.SeedSequence(seed).generate_state(2 * count + 8) >> 1
    return list(dict.fromkeys(words.tolist()))[:count]


__all__ = ["BACKENDS", "build_envs", "env_seeds", "make_env"]
