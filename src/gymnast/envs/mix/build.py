"""From `env.mix` to envs, and to the spaces that one policy for all its tasks is made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.contract import Envs, close_env
from gymnast.envs.mix.form import MixForm
from gymnast.envs.mix.mixed import MixedEnvs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env, one_per_process
from gymnast.errors import GymnastError, did_you_mean
from gymnast.spaces.plain import check_spaces, plain_action_space, plain_space


def build_mix(
    config: EnvConfig,
    *,
    n_envs: int | None = None,
    counts: Sequence[int] | None = None,
    seed: int,
    training: bool = True,
    render_mode: str | None = None,
    backend: str | None = None,
    groups: int = 1,
) -> MixedEnvs:
    """Copies of every task: `counts` of each, or `n_envs` in all, shared out by weight."""
    from gymnast.envs.build import build_envs

    tasks = config.tasks
    if counts is None:
        n_envs = config.copies if n_envs is None else n_envs
        if n_envs < len(tasks):
            raise GymnastError(f"{n_envs} envs are too few for the {len(tasks)} tasks of env.mix")
        counts = shares([task.weight for task in tasks], n_envs)
    form = mix_form(config, training=training)
    built: list[tuple[int, Envs]] = []
    try:
        for index, (task, count) in enumerate(zip(tasks, counts, strict=True)):
            if count:
                envs = build_envs(
                    task.env,
                    n_envs=count,
                    seed=task_seed(seed, index),
                    training=training,
                    render_mode=render_mode,
                    backend=backend or _backend(task.env, counts, render_mode),
                    groups=groups,
                )
                built.append((index, envs))
        return MixedEnvs(form, built)
    except BaseException:
        for _, envs in built:
            envs.close()
        raise


def _backend(env: EnvConfig, counts: Sequence[int], render_mode: str | None) -> str | None:
    """A process that can hold one such env alone cannot hold those of several tasks either."""
    several = sum(count > 0 for count in counts) > 1
    alone = several and render_mode is None and env.backend == "auto" and one_per_process(env)
    return "workers" if alone else None


def build_task(config: EnvConfig, task: str, n_envs: int = 1, **more: Any) -> MixedEnvs:
    """Copies of one task alone, as the policy for all of them sees it."""
    names = [known.name for known in config.tasks]
    if task not in names:
        raise GymnastError(f"env.mix has no task {task!r}{did_you_mean(task, names)}: {', '.join(names)}")
    return build_mix(config, counts=[n_envs if name == task else 0 for name in names], **more)


def task_seed(seed: int, index: int) -> int:
    """Tasks draw different seeds for their envs from the one that the mix is given."""
    return int(np.random.SeedSequence([seed, index, 0x3117]).generate_state(1)[0] >> 1)


def mix_form(config: EnvConfig, *, training: bool = True) -> MixForm:
    """What one policy sees and does; GymnastError names tasks that do not fit together."""
    tasks = config.tasks
    spaces = [_plain_spaces(task.env, training) for task in tasks]
    return MixForm(
        [task.name for task in tasks],
        [observations for observations, _ in spaces],
        [actions for _, actions in spaces],
        task_input=config.task_input,
        heads=config.task_heads,
    )


def policy_spaces(config: EnvConfig, *, training: bool = True) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Observation and action space that a policy for this config is made for, in plain form."""
    if config.mix is not None:
        form = mix_form(config, training=training)
        return form.observation_space, form.action_space
    return _plain_spaces(config, training)


def _plain_spaces(config: EnvConfig, training: bool) -> tuple[gym.Space[Any], gym.Space[Any]]:
    env = make_env(config, training=training)
    try:
        check_spaces(env.observation_space, env.action_space, config.id)
        return plain_space(env.observation_space), plain_action_space(env.action_space)
    finally:
        close_env(env)


def shares(weights: Sequence[float], n_envs: int) -> list[int]:
    """Copies of each task: one each, then each further one to the task furthest below its share.

    A task's share is its part of all weights times `n_envs`; of tasks that lack the same the first is
    served. So no task is more than one copy away from its share, unless a share is below one copy.
    """
    wanted = [weight / sum(weights) * n_envs for weight in weights]
    counts = [1] * len(weights)
    for _ in range(n_envs - len(weights)):
        lacks = [share - count for share, count in zip(wanted, counts, strict=True)]
        # Rounding must not decide between equals.
        counts[next(i for i, lack in enumerate(lacks) if lack > max(lacks) - 1e-9)] += 1
    return counts
