"""What is known of a mix: what its tasks have in common, and the threshold of each."""

from __future__ import annotations

import math

import gymnasium as gym

from gymnast.envs.mix.build import mix_form
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import EnvSpec, read_spec


def read_mix_spec(config: EnvConfig) -> EnvSpec:
    """Describe the tasks of a config as one env."""
    tasks = config.tasks
    specs = [read_spec(task.env) for task in tasks]
    form = mix_form(config, training=False)
    names = specs[0].observation_names
    if config.task_input:
        vector = isinstance(form.observation_space, gym.spaces.Box)
        names = (*names, *(f"task {name}" for name in form.names)) if vector else ("obs[0]",)
    thresholds = {task.name: spec.solved_at for task, spec in zip(tasks, specs, strict=True)}
    reached = [value for value in thresholds.values() if value is not None]
    limits = [spec.max_episode_steps for spec in specs]
    known_limits = [limit for limit in limits if limit is not None]
    families = list(dict.fromkeys(spec.family for spec in specs))
    listed = ", ".join(form.names[:-1]) + f" and {form.names[-1]}" if len(tasks) > 1 else form.names[0]
    return EnvSpec(
        id=config.id,
        action_labels=form.labels([spec.action_labels for spec in specs]),
        observation_names=names,
        reward_range=(
            min(spec.reward_range[0] for spec in specs),
            max(spec.reward_range[1] for spec in specs),
        ),
        # The score is the mean over tasks; this is what it is when each stands just at its own threshold.
        solved_at=math.fsum(reached) / len(reached) if len(reached) == len(tasks) else None,
        max_episode_steps=max(known_limits) if len(known_limits) == len(limits) else None,
        description=config.spec.description or f"{listed} at once.",
        family=families[0] if len(families) == 1 else "several",
        extra=next((spec.extra for spec in specs if spec.extra is not None), None),
        tasks=thresholds,
        task_limits={task.name: limit for task, limit in zip(tasks, limits, strict=True)},
    )
