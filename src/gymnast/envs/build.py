"""From the `env` section to N stepped copies behind one contract."""

from __future__ import annotations

import numpy as np

from gymnast.envs.backends.choice import choose_backend
from gymnast.envs.backends.envpool import build_envpool, why_not_envpool
from gymnast.envs.backends.in_process import InProcessEnvs
from gymnast.envs.backends.native import build_native, why_not_native
from gymnast.envs.contract import Envs, close_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import (
    active_wrappers,
    check_masks,
    episode_values,
    make_env,
    one_per_process,
    reward_parts,
)
from gymnast.envs.wrappers import check_wrapper, gives_masks
from gymnast.errors import GymnastError, did_you_mean
from gymnast.spaces.plain import check_spaces

_MANY = 100_000  # copies; fewer fit anywhere
BACKENDS = ("sync", "workers", "native", "envpool", "remote")


def build_envs(
    config: EnvConfig,
    *,
    n_envs: int | None = None,
    seed: int,
    training: bool = True,
    render_mode: str | None = None,
    backend: str | None = None,
    groups: int = 1,
    seeds: list[int] | None = None,
) -> Envs:
    """Build `n_envs` copies (the config's number if unset), each started from its own seed.

    A config's backend `remote` is for the envs to learn from (`build_training_envs`); other envs are stepped
    here. `training=False` leaves out wrappers that are meant for training only; `backend` goes before the
    config's. These are one of so many `groups` that step at the same time, and share the cores.
    `seeds`, one per copy, replace those that are made from `seed`.
    """
    if config.mix is not None:
        from gymnast.envs.mix.build import build_mix

        return build_mix(
            config,
            n_envs=n_envs,
            seed=seed,
            training=training,
            render_mode=render_mode,
            backend=backend,
            groups=groups,
        )
    n_envs = config.copies if n_envs is None else n_envs
    _check_masks_wanted(config, training)
    if n_envs > _MANY:  # also for evaluation, which keeps no rollout
        from gymnast.envs.measure.capacity import check_fits

        check_fits(config, n_envs, 1)
    seeds = env_seeds(seed, n_envs) if seeds is None else seeds

    def build(name: str, groups: int = groups) -> Envs:
        if name == "native":
            return build_native(config, seeds, training=training, groups=groups)
        if name == "workers":
            from gymnast.envs.backends.workers import WorkerEnvs

            return WorkerEnvs(config, seeds, training=training, groups=groups)
        if name == "remote":
            from gymnast.envs.backends.remote import RemoteEnvs

            return RemoteEnvs(config, seeds, training=training, groups=groups)
        if name == "envpool":
            return build_envpool(config, n_envs, seeds[0])
        return _in_process(config, seeds, training, render_mode)

    def why_not(name: str) -> str | None:
        return why_not_backend(config, n_envs, name, training=training, render_mode=render_mode)

    chosen = backend or ("auto" if config.backend == "remote" else config.backend)
    if chosen == "auto":
        chosen = choose_backend(
            config,
            n_envs,
            build=lambda name: build(name, 1),  # all groups together have all cores
            native_possible=lambda: why_not("native") is None,
            workers_possible=lambda: why_not("workers") is None,
            alone=one_per_process(config),
            training=training,
        )
    elif chosen not in BACKENDS:
        raise GymnastError(
            f"unknown env.backend '{chosen}'{did_you_mean(chosen, (*BACKENDS, 'auto'))};"
            f" there are auto, {', '.join(BACKENDS)}"
        )
    else:
        reason = why_not(chosen)
        if reason is not None:
            raise GymnastError(
                f"env.backend {chosen} cannot step '{config.id}': {reason}; {_other_way(chosen)}"
            )
    return build(chosen)


def build_training_envs(config: EnvConfig, *, seed: int) -> Envs:
    """The envs to learn from, in groups if the config wants them so."""
    backend = "remote" if config.backend == "remote" else None
    if config.groups == 1:
        return build_envs(config, seed=seed, backend=backend)
    from gymnast.envs.backends.groups import GroupedEnvs, group_sizes

    parts: list[Envs] = []
    try:
        for index, size in enumerate(group_sizes(config.copies, config.groups)):
            own_seed = int(np.random.SeedSequence([seed, index]).generate_state(1)[0])
            parts.append(
                build_envs(config, n_envs=size, seed=own_seed, backend=backend, groups=config.groups)
            )
    except BaseException:
        for part in parts:
            part.close()
        raise
    return GroupedEnvs(parts)


def why_not_backend(
    config: EnvConfig, n_envs: int, backend: str, *, training: bool = True, render_mode: str | None = None
) -> str | None:
    """Why a backend cannot step these envs, or None if it can."""
    if backend == "native":
        return why_not_native(config, training=training, render_mode=render_mode)
    if backend == "envpool":
        return why_not_envpool(config, training=training, render_mode=render_mode)
    if backend in ("workers", "remote"):
        from gymnast.envs.backends.workers import (
            why_not_workers,  # brings subprocess, which sync runs do without
        )

        return why_not_workers(config, render_mode)
    if n_envs > 1 and one_per_process(config):
        return f"a process can hold one of them, not {n_envs}"
    return None


def _other_way(backend: str) -> str:
    return "use workers or auto" if backend == "sync" else "use sync or auto"


def _check_masks_wanted(config: EnvConfig, training: bool) -> None:
    """A wrapper that forbids actions would silently do nothing if its masks were not used."""
    if config.action_masks:
        return
    for wrapper in active_wrappers(config, training=training):
        if gives_masks(check_wrapper(wrapper)):
            raise GymnastError(f"wrapper '{wrapper.name}' works by action masks: set env.action_masks=true")


def _in_process(
    config: EnvConfig, seeds: list[int], training: bool, render_mode: str | None
) -> InProcessEnvs:
    first = make_env(config, training=training, render_mode=render_mode)
    try:
        check_spaces(first.observation_space, first.action_space, config.id)
        check_masks(config, first.action_space)
    except GymnastError:
        close_env(first)
        raise
    others = [make_env(config, training=training, render_mode=render_mode) for _ in seeds[1:]]
    return InProcessEnvs(
        [first, *others],
        seeds,
        reward_parts(first),
        masked=config.action_masks,
        episode_values=episode_values(first),
    )


def env_seeds(seed: int, count: int) -> list[int]:
    """`count` different seeds of 31 bits from one; asking for more leaves the first ones as they are."""
    words = np.random.SeedSequence(seed).generate_state(2 * count + 8) >> 1
    return list(dict.fromkeys(words.tolist()))[:count]


__all__ = ["BACKENDS", "build_envs", "env_seeds", "make_env", "why_not_backend"]
