"""A time limit for evaluation episodes of an env that has none: a policy may play it forever."""

from __future__ import annotations

from gymnast.config.schema import Config
from gymnast.envs.backends.native import why_not_native
from gymnast.envs.settings import EnvConfig, WrapperConfig
from gymnast.envs.spec import EnvSpec

DEFAULT_STEPS = 10_000


def with_episode_limit(config: Config, spec: EnvSpec) -> Config:
    """The config to build evaluation envs from. One that has a limit, and no other is asked for, stays as
    it is; so do the tasks of a mix, each by itself."""
    asked = config.eval.max_episode_steps
    if config.env.mix is None:
        env = _limited(config.env, spec.max_episode_steps, asked)
    else:
        tasks = [
            entry.model_copy(update=_changes(task.env, spec.task_limits[task.name], asked))
            for entry, task in zip(config.env.mix, config.env.tasks, strict=True)
        ]
        env = config.env.model_copy(update={"mix": tuple(tasks)})
    return config.model_copy(update={"env": env})


def limit_notice(config: Config, spec: EnvSpec) -> str | None:
    """What to report before the first evaluation; None if every env has a limit or one is given."""
    if config.eval.max_episode_steps is not None:
        return None
    limits = spec.task_limits or {config.env.id: spec.max_episode_steps}
    endless = [name for name, limit in limits.items() if limit is None]
    if not endless:
        return None
    have = "has" if len(endless) == 1 else "have"
    return (
        f"{', '.join(endless)} {have} no time limit: evaluation episodes are cut after"
        f" {DEFAULT_STEPS:,} steps (eval.max_episode_steps)"
    )


def _limited(env: EnvConfig, own: int | None, asked: int | None) -> EnvConfig:
    return env.model_copy(update=_changes(env, own, asked))


def _changes(env: EnvConfig, own: int | None, asked: int | None) -> dict[str, object]:
    """The settings of an env to change."""
    steps = asked if own is None or asked is None else min(own, asked)
    if steps is None and own is not None:
        return {}
    steps = steps or DEFAULT_STEPS
    if env.wrappers and env.backend not in ("native", "envpool"):
        # Around all others: `frame-skip` makes several steps of the env one of the agent.
        limit = WrapperConfig.model_validate({"name": "time-limit", "steps": steps})
        return {"wrappers": (*env.wrappers, limit)}
    changes: dict[str, object] = {"max_episode_steps": steps}
    if env.backend == "native":
        limited = env.model_copy(update=changes)
        if why_not_native(limited, training=False) is not None:  # its vectorised class has no limit
            changes["backend"] = "auto"
    return changes
