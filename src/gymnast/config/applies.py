"""Which settings have an effect in a config: `gymnast config show` leaves the others out.

A setting is left out only where it also has its default, so what is shown reads back as the same config.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymnast.config.fields import default_of
from gymnast.config.schema import Config
from gymnast.config.values import Section
from gymnast.envs.families.table import FAMILY_SETTINGS, family_of

if TYPE_CHECKING:
    import gymnasium as gym


@dataclass(frozen=True, slots=True)
class SpaceFacts:
    """What the settings depend on; where the env cannot be built, anything is possible."""

    images: bool = True  # some part of the observation is, or could be read as, an image
    discrete: bool = True  # some part of the observation is a choice
    real_actions: bool = True  # some part of the action is a real number


def space_facts(observations: gym.Space[Any], actions: gym.Space[Any]) -> SpaceFacts:
    """The facts of a policy's spaces."""
    import gymnasium as gym

    from gymnast.policies.inputs import image_form
    from gymnast.spaces.action_form import ActionForm
    from gymnast.spaces.observation_form import ObservationForm

    parts = [leaf.space for leaf in ObservationForm(observations).leaves]
    # With a layout given, any three axes are an image.
    images = any(isinstance(part, gym.spaces.Box) and image_form(part, "hwc") is not None for part in parts)
    discrete = any(isinstance(part, gym.spaces.Discrete) for part in parts)
    return SpaceFacts(images, discrete, ActionForm(actions).n_means > 0)


Rule = Callable[[Config, SpaceFacts], bool]


def _own_encoder(config: Config) -> bool:
    return ":" in config.policy.encoder


def _family_reads(setting: str) -> Rule:
    def reads(config: Config, facts: SpaceFacts) -> bool:
        ids = [config.env.id, *(task.env.id for task in config.env.tasks)]
        return any(setting in family_of(env_id).takes for env_id in ids)

    return reads


# Dotted key → when it has an effect. What is not listed always has one.
_RULES: dict[str, Rule] = {
    "precision": lambda c, f: f.images or _own_encoder(c),
    "env.workers": lambda c, f: c.env.backend in ("auto", "workers"),
    "env.actors": lambda c, f: c.env.backend == "remote",
    "env.restarts": lambda c, f: c.env.backend in ("auto", "workers", "remote"),
    **{f"env.{setting}": _family_reads(setting) for setting in FAMILY_SETTINGS},
    "env.task_input": lambda c, f: c.env.mix is not None,
    "env.task_heads": lambda c, f: c.env.mix is not None,
    "policy.critic_hidden": lambda c, f: not c.policy.shared,
    "policy.memory_size": lambda c, f: c.policy.memory != "none",
    "policy.encoder": lambda c, f: f.images or _own_encoder(c),
    "policy.encoder_kwargs": lambda c, f: _own_encoder(c),
    "policy.shared_encoder": lambda c, f: f.images or f.discrete or _own_encoder(c),
    "policy.image": lambda c, f: f.images,
    "policy.image.channels": lambda c, f: c.policy.encoder == "impala",
    "policy.popart_rate": lambda c, f: c.policy.popart,
    "policy.clip_obs": lambda c, f: c.policy.normalize_obs != "none",
    "policy.discrete_obs": lambda c, f: f.discrete,
    "policy.embedding_size": lambda c, f: f.discrete and c.policy.discrete_obs == "embedding",
    "policy.gaussian": lambda c, f: f.real_actions,
    "policy.state_dependent_std": lambda c, f: f.real_actions,
    "policy.log_std_init": lambda c, f: f.real_actions,
    "algo.sequence_length": lambda c, f: c.policy.memory != "none",
    "algo.huber_delta": lambda c, f: c.algo.value_loss == "huber",
    "algo.clip_reward": lambda c, f: c.algo.normalize_reward,
    "video.episodes": lambda c, f: c.video.record != "never",
    "video.max_steps": lambda c, f: c.video.record != "never",
    "video.fps": lambda c, f: c.video.record != "never",
}


def without_effect(config: Config, facts: SpaceFacts | None = None) -> set[str]:
    """Dotted keys of settings and sections that have no effect here and have their defaults."""
    data, known = config.model_dump(), facts or SpaceFacts()
    return {key for key, rule in _RULES.items() if not rule(config, known) and _is_default(data, key)}


def _is_default(data: dict[str, Any], key: str) -> bool:
    path = tuple(key.split("."))
    value: Any = data
    for part in path:
        if part not in value:
            return False  # a setting of another algorithm
        value = value[part]
    default = default_of(path, data)
    return bool(value == (default.model_dump() if isinstance(default, Section) else default))
