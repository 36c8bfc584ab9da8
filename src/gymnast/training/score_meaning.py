"""What a score means: the settings that decide which episodes an evaluation plays and what they pay.

Scores of one meaning compare. Where a resume changes it (another time limit, another reward, other tasks of a
mix), the best score so far no longer counts. The one place that decides is `NEUTRAL`: whatever is not listed
there, in the sections that an evaluation reads, changes the meaning of a score.
"""

from __future__ import annotations

from typing import Any

from gymnast.config.schema import Config
from gymnast.envs.settings import EnvConfig
from gymnast.envs.wrappers import WRAPPERS, is_training_only, wrapper_class

# Settings of `env` and `eval` that leave the meaning of a score as it is. Other sections only change how the
# policy learns. A threshold is compared with scores, and is not part of one.
NEUTRAL = frozenset(
    {
        "env.n_envs",
        "env.groups",
        "env.backend",
        "env.workers",
        "env.actors",
        "env.restarts",
        "env.spec",
        "env.task_input",
        "env.task_heads",
        "env.atari.threads",
        "eval.every",
        "eval.episodes",
        "eval.n_envs",
        "eval.warmup",
        "eval.from_train_fraction",
        "eval.background",
        "eval.seed",
    }
)
# Neutral too, as long as evaluation leaves out what is meant for training only.
NEUTRAL_WITHOUT_TRAINING_WRAPPERS = frozenset(
    {
        "env.atari.episodic_life",
        "env.atari.episodic_point",
        "env.atari.clip_reward",
        "env.retro.random_frame_skip",
        "env.retro.sticky",
        "env.retro.end_on_life",
        "env.retro.own_reward",
        "env.retro.rewards",
        "env.vizdoom.rewards",
    }
)


def changed_meaning(before: Config, after: Config) -> list[str]:
    """The settings by which scores of the two configs do not compare, by dotted key."""
    if before.eval.training_wrappers != after.eval.training_wrappers:
        return ["eval.training_wrappers"]
    if (before.env.mix is None) != (after.env.mix is None):
        return ["env.mix"]
    one, other = _meaning(before), _meaning(after)
    return [key for key in dict.fromkeys([*one, *other]) if one.get(key) != other.get(key)]


def _meaning(config: Config) -> dict[str, Any]:
    training = config.eval.training_wrappers
    meaning = _leaves(config.eval.model_dump(mode="json"), "eval", training)
    if config.env.mix is None:
        return meaning | _env_meaning(config.env, training)
    # The mean over tasks: their order, names and shares of the training do not matter.
    tasks = [_env_meaning(task.env, training) for task in config.env.tasks]
    return meaning | {"env.mix": sorted(tasks, key=repr)}


def _env_meaning(env: EnvConfig, training: bool) -> dict[str, Any]:
    plain = env.model_dump(mode="json", exclude={"mix", "wrappers"})
    wrappers = [w.model_dump(mode="json") for w in env.wrappers if training or not _left_out(w.name)]
    return _leaves(plain, "env", training) | {"env.wrappers": wrappers}


def _left_out(wrapper: str) -> bool:
    """Whether evaluation leaves a wrapper out. A user's class is not imported for it: it may be gone."""
    return wrapper in WRAPPERS and is_training_only(wrapper_class(wrapper))


def _leaves(value: Any, key: str, training: bool) -> dict[str, Any]:
    """Nested settings by dotted key, without those that are neutral."""
    if key in NEUTRAL or (not training and key in NEUTRAL_WITHOUT_TRAINING_WRAPPERS):
        return {}
    if not isinstance(value, dict):
        return {key: value}
    return {name: leaf for k, v in value.items() for name, leaf in _leaves(v, f"{key}.{k}", training).items()}
