"""What is known of an env: labels, names, reward range, threshold, limits."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.contract import close_env
from gymnast.envs.families.table import OTHER, family_of
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import find_spec, make_env, names_after, own_names
from gymnast.envs.wrappers.combinations import labels_of, own_labels
from gymnast.errors import GymnastError
from gymnast.spaces.action_form import ActionForm, why_not_supported


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """One env, described: read from Gymnasium where it knows, from the preset otherwise."""

    id: str
    action_labels: tuple[str, ...]  # one per Discrete action; otherwise one per part (`ActionForm.labels`)
    observation_names: tuple[str, ...]  # one per component; a Discrete observation has one
    reward_range: tuple[float, float]  # of a step; infinite where nothing is known
    solved_at: float | None  # mean return that counts as solved
    max_episode_steps: int | None
    description: str
    family: str
    extra: str | None  # what must be installed beyond the core
    tasks: dict[str, float | None] = field(default_factory=dict)  # of a mix: the threshold of each
    task_limits: dict[str, int | None] = field(default_factory=dict)  # of a mix: the time limit of each

    def is_solved(self, mean: float, by_task: Mapping[str, float]) -> bool | None:
        """Whether a score solves it: of a mix every task with a threshold. None: there is no threshold."""
        if not self.tasks:
            return None if self.solved_at is None else mean >= self.solved_at
        wanted = {name: least for name, least in self.tasks.items() if least is not None}
        return all(by_task[name] >= least for name, least in wanted.items()) if wanted else None


def read_spec(config: EnvConfig) -> EnvSpec:
    """Describe the env of a config. The env is built once for its spaces, then closed."""
    if config.mix is not None:
        from gymnast.envs.mix.spec import read_mix_spec

        return read_mix_spec(config)
    env = make_env(config, training=False)
    try:
        observation_space, action_space = env.observation_space, env.action_space
        names = _observation_names(config, env)
        made_labels, env_labels = labels_of(env), own_labels(env)
        described = _first_sentence(type(env.unwrapped).__doc__ or "")
        own_limits = _own_limits(env)
    finally:
        close_env(env)
    registered = find_spec(config.id)
    given = config.spec
    entry_point = registered.entry_point if registered is not None else None
    family = (
        family_of(config.id, entry_point if isinstance(entry_point, str) else None) if registered else OTHER
    )
    solved_at = given.solved_at
    if solved_at is None and registered is not None:
        solved_at = registered.reward_threshold
    return EnvSpec(
        id=registered.id if registered is not None else config.id,
        action_labels=made_labels or _action_labels(config, action_space, env_labels),
        observation_names=_labels(
            config, "observation_names", names, "obs[{}]", _components(observation_space)
        ),
        reward_range=given.reward_range or (float("-inf"), float("inf")),
        solved_at=solved_at,
        max_episode_steps=_time_limit(config, registered, own_limits),
        description=given.description or described,
        family=family.name,
        extra=family.extra,
    )


def _first_sentence(doc: str) -> str:
    """Of the first paragraph that is not a heading."""
    for paragraph in inspect.cleandoc(doc).split("\n\n"):
        text = " ".join(line for line in paragraph.splitlines() if line.strip() and not line.startswith("#"))
        if text:
            return " ".join(text.split()).split(". ")[0].rstrip(".") + "."
    return ""


def _own_limits(env: gym.Env[Any, Any]) -> list[int]:
    """What the layers of a built env call their limit: `_max_episode_steps` is that of Gymnasium's
    `TimeLimit`, `max_steps` is MiniGrid's name, which others have taken over."""
    limits, layer = [], env
    while True:
        for name in ("max_episode_steps", "_max_episode_steps", "max_steps"):
            limit = getattr(layer, name, None)
            if isinstance(limit, int | np.integer) and not isinstance(limit, bool) and limit > 0:
                limits.append(int(limit))
        if not isinstance(layer, gym.Wrapper):
            return limits
        layer = layer.env


def _time_limit(
    config: EnvConfig, registered: gym.envs.registration.EnvSpec | None, own: list[int]
) -> int | None:
    """The tightest of the limits in force."""
    limit = config.max_episode_steps
    if limit is None and registered is not None:
        limit = registered.max_episode_steps
    limits = own if limit is None else [*own, limit]
    limits += [int(w.arguments["steps"]) for w in config.wrappers if w.name == "time-limit"]
    return min(limits, default=None)


def _observation_names(config: EnvConfig, env: gym.Env[Any, Any]) -> tuple[str, ...] | None:
    """The names given, which are of the env itself, as its wrappers leave them."""
    names = own_names(config, env)
    if names is None or len(names) != _components(env.unwrapped.observation_space):
        return names  # not the env's own: they must fit what the agent sees
    layers: list[gym.Env[Any, Any]] = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    for layer in reversed(layers):
        names = names_after(layer, names)
    return names


def _action_labels(config: EnvConfig, space: gym.Space[Any], env_labels: list[str] | None) -> tuple[str, ...]:
    """Those given, else what the env itself calls its actions, else numbers."""
    given = config.spec.action_labels
    if isinstance(space, gym.spaces.Discrete):
        if given is None and env_labels is not None and len(env_labels) == space.n:
            return tuple(env_labels)
        return _labels(config, "action_labels", given, "action {}", int(space.n))
    labels = ActionForm(space).labels if why_not_supported(space) is None else ("action 0",)
    return labels if given is None else _labels(config, "action_labels", given, "{}", len(labels))


def _components(space: gym.Space[Any]) -> int:
    return int(np.prod(space.shape)) if isinstance(space, gym.spaces.Box) else 1


def _labels(
    config: EnvConfig, field: str, given: tuple[str, ...] | None, pattern: str, count: int
) -> tuple[str, ...]:
    if given is None:
        return tuple(pattern.format(index) for index in range(count))
    if len(given) != count:
        raise GymnastError(f"env.spec.{field}: {len(given)} are given, but {config.id} has {count}")
    return given
