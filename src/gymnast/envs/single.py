"""One environment from a config: the base env by id or import path, and the wrappers around it."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym

from gymnast.envs.aliases import ALIASES, current_id
from gymnast.envs.contract import close_env, pass_on_ctrl_c
from gymnast.envs.families.table import FAMILIES, Family, family_of, load_hook, registered_family
from gymnast.envs.settings import EnvConfig, WrapperConfig
from gymnast.envs.states import layers_of
from gymnast.envs.wrappers import check_wrapper, is_training_only, wrapper_arguments
from gymnast.envs.wrappers.base import EnvWrapper
from gymnast.errors import GymnastError, MissingExtra, described, did_you_mean
from gymnast.import_path import import_module, load_class
from gymnast.redact import redact, redacted
from gymnast.spaces.action_form import ActionForm

_PRESETS = Path(__file__).parent.parent / "presets"


def make_env(
    config: EnvConfig, *, training: bool = True, render_mode: str | None = None
) -> gym.Env[Any, Any]:
    """Build one env with its wrappers; `training=False` leaves out those meant for training only."""
    env = _make_base(config, training, render_mode)
    _check_has_spaces(config, env)
    return wrapped(env, config, training=training)


def wrapped(env: gym.Env[Any, Any], config: EnvConfig, *, training: bool = True) -> gym.Env[Any, Any]:
    """An env that is built already, with the wrappers of a config around it."""
    names = own_names(config, env)
    for wrapper_config in active_wrappers(config, training=training):
        wrapper = check_wrapper(wrapper_config)
        try:
            arguments = _with_labels(wrapper, wrapper_config.resolved_arguments, config.spec.action_labels)
            env = wrapper(env, **_with_names(wrapper, arguments, names))
            names = names_after(env, names)
        except GymnastError:
            raise
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise GymnastError(
                f"wrapper '{wrapper_config.name}' could not be put around {config.id}:"
                f" {redact(described(error))}"
            ) from error
    return env


def _with_names(wrapper: Any, arguments: dict[str, Any], names: tuple[str, ...] | None) -> dict[str, Any]:
    """The names of the observation's components, for a wrapper that takes them and was given none."""
    if "observation_names" in wrapper_arguments(wrapper):
        return {"observation_names": names, **arguments}
    return arguments


def _with_labels(wrapper: Any, arguments: dict[str, Any], labels: tuple[str, ...] | None) -> dict[str, Any]:
    """The labels of the actions, likewise."""
    if labels is not None and "action_labels" in wrapper_arguments(wrapper):
        return {"action_labels": labels, **arguments}
    return arguments


def own_names(config: EnvConfig, base: gym.Env[Any, Any]) -> tuple[str, ...] | None:
    """The names of what the env itself shows: as the config gives them, or as the env does."""
    return config.spec.observation_names or getattr(base.unwrapped, "observation_names", None)


def names_after(layer: gym.Env[Any, Any], names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Names of the components that a wrapper shows, from those it is given; None where they get lost."""
    if names is None or not isinstance(layer, gym.Wrapper):
        return names
    if isinstance(layer, EnvWrapper):
        return layer.names(names)
    return names if layer.observation_space == layer.env.observation_space else None


def active_wrappers(config: EnvConfig, *, training: bool) -> tuple[WrapperConfig, ...]:
    """The wrappers in use; names and arguments of all of them are checked."""
    return tuple(w for w in config.wrappers if training or not is_training_only(check_wrapper(w)))


def reward_parts(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """Names of the shares that the layers of a built env give under info["reward_parts"]."""
    return _declared(env, "reward_parts")


def episode_values(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """Names of what the layers of a built env give in the info of an episode's last step."""
    return _declared(env, "episode_values")


def reports_life_lost(env: gym.Env[Any, Any]) -> bool:
    """Whether a layer of a built env sets info["life_lost"] where learning is to see an end although the
    episode continues; its attribute `reports_life_lost` is then true."""
    return any(getattr(layer, "reports_life_lost", False) for layer in layers_of(env))


def is_alone(env: gym.Env[Any, Any]) -> bool:
    """Whether a process can hold one such env alone: its class has `one_per_process = True`."""
    return bool(getattr(env.unwrapped, "one_per_process", False))


def one_per_process(config: EnvConfig) -> bool:
    """The same, without building one."""
    spec = find_spec(config.id)
    created = load_class(config.id, gym.Env, "env") if spec is None else _entry_class(spec)
    return bool(getattr(created, "one_per_process", False))


def _declared(env: gym.Env[Any, Any], attribute: str) -> tuple[str, ...]:
    """The names that a class attribute (or one of the object's own) lists, from the env outwards."""
    names = [name for layer in reversed(layers_of(env)) for name in getattr(layer, attribute, ())]
    return tuple(dict.fromkeys(names))


def find_spec(env_id: str) -> gym.envs.registration.EnvSpec | None:
    """Gymnasium's entry for an id (`module:Id` imports the module first); None for an import path."""
    env_id = current_id(env_id)
    own: list[str] = []  # classes that the module of an import path has
    registers: str | None = None
    if ":" in env_id:
        module_name, _, name = env_id.partition(":")
        registers = module_name
        module = import_module(module_name, f"env '{env_id}'")
        if name not in gym.registry and name in vars(module):
            return None
        own = [key for key, value in vars(module).items() if _is_env_class(value)]
        env_id = current_id(name)
    if env_id not in gym.registry:
        family = family_of(env_id)
        if family.extra is not None and not family.installed:
            raise MissingExtra(f"environment '{env_id}'", family.extra)
        register_family(family)
    spec = gym.registry.get(env_id)
    if spec is None or registered_family(env_id).is_older_id(env_id):
        hint = _older_hint(env_id) or did_you_mean(env_id, [*own, *known_ids()])
        if registers is not None and _is_of_old_gym(env_id):
            found = f"; '{registers}' registers it with the older Gym, which is not supported"
        elif registers is not None:
            found = f"; importing '{registers}' registers no environment of that name"
        else:
            found = f"; if a package registers it, name that too: package:{env_id}"
        raise GymnastError(f"unknown environment '{env_id}'{hint}{found}")
    return spec


def _is_of_old_gym(env_id: str) -> bool:
    """Whether the package that is imported belongs to Gymnasium's predecessor, which has its own registry."""
    old = sys.modules.get("gym.envs.registration")
    known = vars(old).get("registry", {}) if old is not None else {}
    return env_id in (known if isinstance(known, dict) else getattr(known, "env_specs", {}))


def _older_hint(env_id: str) -> str:
    """A family's hint for an id that was once one of its; "" if there is none."""
    hints = (load_hook(family.hint)(env_id) for family in FAMILIES if family.hint is not None)
    return next((hint for hint in hints if hint), "")


def _is_env_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, gym.Env)


def known_ids() -> list[str]:
    """Every id that can be named: registered ones, ours, older names, and those that presets are for."""
    for family in FAMILIES:
        if family.package is None:
            register_family(family)
    presets = [p.stem.replace("__", "/") for p in _PRESETS.glob("*.yaml") if not p.stem.startswith("_")]
    return list(dict.fromkeys([*gym.registry, *ALIASES, *presets]))


def register_family(family: Family) -> None:
    """Have ids such as ALE/Pong-v5 registered; the family's package must be installed."""
    if family.registers is None:
        return
    if ":" in family.registers:
        load_hook(family.registers)()
    else:
        importlib.import_module(family.registers)


def _make_base(config: EnvConfig, training: bool, render_mode: str | None) -> gym.Env[Any, Any]:
    spec = find_spec(config.id)
    if spec is None:
        created = load_class(config.id, gym.Env, "env")
        env = _construct(config, created, lambda: created(**_arguments(config, render_mode)))
        return (
            env if config.max_episode_steps is None else gym.wrappers.TimeLimit(env, config.max_episode_steps)
        )
    family = registered_family(spec.id)
    if family.extra is not None and not family.installed:  # Gymnasium knows MuJoCo's ids without MuJoCo
        raise MissingExtra(f"environment '{config.id}'", family.extra)
    builds = family.builds
    if builds is None:
        return _construct(config, _entry_class(spec), lambda: make_registered(config, render_mode))

    def make() -> Any:
        return load_hook(builds)(config, training=training, render_mode=render_mode)

    return _construct(config, _entry_class(spec), make)


def make_registered(
    config: EnvConfig, render_mode: str | None, entry_point: str | None = None
) -> gym.Env[Any, Any]:
    """The env of a registered id, as Gymnasium makes it; from another entry point, if one is given."""
    spec = find_spec(config.id)
    assert spec is not None
    if entry_point is not None:
        spec = dataclasses.replace(spec, entry_point=entry_point)
    # The order check costs a call per step and we reset before we step.
    return gym.make(
        dataclasses.replace(spec, order_enforce=False),
        max_episode_steps=config.max_episode_steps,
        disable_env_checker=True,
        **_arguments(config, render_mode),
    )


def _arguments(config: EnvConfig, render_mode: str | None) -> dict[str, Any]:
    """What the env's constructor is given."""
    given = config.resolved_kwargs
    return given if render_mode is None else {**given, "render_mode": render_mode}


def _construct(config: EnvConfig, created: Any, make: Any) -> gym.Env[Any, Any]:
    """Call `make`; what goes wrong becomes an error that the user can fix."""
    try:
        env: gym.Env[Any, Any] = make()
        return env
    except GymnastError:
        raise
    except gym.error.DependencyNotInstalled as error:
        raise GymnastError(f"environment '{config.id}' cannot be built: {error}") from error
    except TypeError as error:
        _check_argument_names(config, created)
        given = f" with env.kwargs {redacted(config.kwargs)}" if config.kwargs else ""
        hint = "; env.kwargs gives arguments" if "required" in str(error) and not given else ""
        raise GymnastError(
            f"environment '{config.id}'{given} could not be built: {redact(described(error))}{hint}"
        ) from error
    except BaseException as error:
        pass_on_ctrl_c(error)
        reason = redact(described(error))
        raise GymnastError(f"environment '{config.id}' could not be built: {reason}") from error


def _check_has_spaces(config: EnvConfig, env: gym.Env[Any, Any]) -> None:
    """Every other error about a space comes later and assumes that there is one."""
    for name in ("observation_space", "action_space"):
        try:
            space = getattr(env, name)
        except Exception as error:
            close_env(env)
            if isinstance(error, AttributeError) and name in str(error):
                reason = "it is not set"
            else:
                reason = f"reading it raised {described(error)}"
            raise GymnastError(_no_space(config, name, reason)) from error
        if not isinstance(space, gym.Space):
            close_env(env)
            kind = type(space)
            reason = "it is None" if space is None else f"it is a {kind.__module__}.{kind.__qualname__}"
            if kind.__module__.partition(".")[0] == "gym":
                reason += ", of the older Gym, which is not supported"
            raise GymnastError(_no_space(config, name, reason))


def _no_space(config: EnvConfig, name: str, reason: str) -> str:
    return (
        f"environment '{config.id}' has no {name}: {reason}; its constructor must set self.{name} to a space"
        " of gymnasium.spaces"
    )


def _entry_class(spec: gym.envs.registration.EnvSpec) -> Any:
    """The env's class for reading its signature; its own import problems are left to `make`."""
    if not isinstance(spec.entry_point, str):
        return spec.entry_point
    try:
        return gym.envs.registration.load_env_creator(spec.entry_point)
    except BaseException as error:
        pass_on_ctrl_c(error)
        return None


def _check_argument_names(config: EnvConfig, created: Any) -> None:
    if created is None:
        return
    parameters = inspect.signature(created).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for name in config.kwargs:
        if name not in parameters:
            known = [parameter for parameter in parameters if parameter != "render_mode"]
            raise GymnastError(
                f"environment '{config.id}' has no argument '{name}' (env.kwargs){did_you_mean(name, known)};"
                f" it takes {', '.join(known) or 'none'}"
            )


def check_masks(config: EnvConfig, space: gym.Space[Any]) -> None:
    """Raise GymnastError if masks are asked for where there is nothing to mask."""
    if config.action_masks and not ActionForm(space).n_logits:
        raise GymnastError(
            f"env.action_masks: the actions of {config.id}, {space}, have no choices that could be masked"
        )
