"""The `native` backend: envs that Gymnasium's registry knows as one vectorised class."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.in_process import episode_seed
from gymnast.envs.contract import EnvFailure, Envs, Step, StepsWhenReceived, close_all, pass_on_ctrl_c
from gymnast.envs.families.table import FAMILIES, family_of, load_hook
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import active_wrappers, find_spec
from gymnast.envs.states import episodes_in, random_state, set_random_state
from gymnast.errors import GymnastError
from gymnast.spaces.action_form import ActionForm, is_plain
from gymnast.spaces.plain import array_type, check_spaces, first_value, plain_action_space, plain_space


def why_not_native(config: EnvConfig, *, training: bool = True, render_mode: str | None = None) -> str | None:
    """Why this env cannot be stepped natively, or None if it can."""
    if (native := _own_module(config.id)) is not None:
        reason: str | None = load_hook(f"{native}:why_not_native")(
            config, training=training, render_mode=render_mode
        )
        return reason
    if (reason := why_single(config, training=training, render_mode=render_mode)) is not None:
        return reason
    if config.action_masks:
        return "env.action_masks needs single envs, whose infos hold the masks"
    spec = find_spec(config.id)
    if spec is None or spec.vector_entry_point is None:
        return "it has no vectorised class of its own"
    if spec.additional_wrappers:
        return "its registration adds wrappers"
    try:
        created = _vector_class(spec)
    except BaseException as error:
        pass_on_ctrl_c(error)
        return f"its vectorised class cannot be imported ({error})"
    parameters = inspect.signature(created).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in {**spec.kwargs, **config.kwargs}:
        if name not in parameters and not takes_any:
            return f"its vectorised class has no argument '{name}'"
    if config.max_episode_steps is not None and "max_episode_steps" not in parameters and not takes_any:
        return "its vectorised class takes no max_episode_steps"
    mode = _autoreset_mode(created)
    if _stepped_by(spec) is None and mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        name = mode.name if mode else "unknown"
        return f"its vectorised class resets in mode {name}, which spends a step on each reset"
    return None


def build_native(config: EnvConfig, seeds: list[int], *, training: bool = True, groups: int = 1) -> Envs:
    """The vectorised env behind the contract; `why_not_native` must have returned None."""
    if (native := _own_module(config.id)) is not None:
        envs: Envs = load_hook(f"{native}:build_native")(config, seeds, training=training, groups=groups)
        return envs
    n_envs, seed = len(seeds), seeds[0]
    spec = find_spec(config.id)
    assert spec is not None
    arguments = dict(config.resolved_kwargs)
    if config.max_episode_steps is not None:
        arguments["max_episode_steps"] = config.max_episode_steps
    try:
        env: Any = gym.make_vec(spec, num_envs=n_envs, vectorization_mode="vector_entry_point", **arguments)
    except BaseException as error:
        pass_on_ctrl_c(error)
        raise GymnastError(
            f"environment '{config.id}' could not be built: {type(error).__name__}: {error}"
        ) from error
    check_spaces(env.single_observation_space, env.single_action_space, config.id)
    if (hook := _stepped_by(spec)) is not None:
        stepped: Envs = load_hook(hook)(env, seed, {**spec.kwargs, **arguments})
        return stepped
    return NativeEnvs(env, seed)


def _own_module(env_id: str) -> str | None:
    """The module of a family that has a vectorised env of its own."""
    family = family_of(env_id)
    return family.native if family.installed else None


def why_single(config: EnvConfig, *, training: bool, render_mode: str | None) -> str | None:
    """Why only single envs will do, whatever the family; None if others might."""
    if active_wrappers(config, training=training):
        return "wrappers go around single envs"
    return None if render_mode is None else "rendering needs single envs"


def _stepped_by(spec: gym.envs.registration.EnvSpec) -> str | None:
    """The class of a family that steps this vectorised class in its own way, if there is one."""
    entry_point = spec.vector_entry_point
    if not isinstance(entry_point, str):
        return None
    return next((f.vectorised[entry_point] for f in FAMILIES if entry_point in f.vectorised), None)


def _vector_class(spec: gym.envs.registration.EnvSpec) -> Any:
    entry_point = spec.vector_entry_point
    return (
        gym.envs.registration.load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    )


def _autoreset_mode(created: Any) -> AutoresetMode | None:
    metadata = getattr(created, "metadata", None)
    return metadata.get("autoreset_mode") if isinstance(metadata, dict) else None


class NativeEnvs(StepsWhenReceived):
    """Any vectorised env that resets in the same step, or leaves resetting to us."""

    backend = "native"
    carries_state = False
    reward_parts: tuple[str, ...] = ()
    episode_values: tuple[str, ...] = ()
    masks: np.ndarray | None = None

    def __init__(self, env: gym.vector.VectorEnv[Any, Any, Any], seed: int) -> None:
        self.n_envs = env.num_envs
        self.observation_space = plain_space(env.single_observation_space)
        self.action_space = plain_action_space(env.single_action_space)
        self._form = None if is_plain(self.action_space) else ActionForm(self.action_space)
        self.seeds = [seed] * self.n_envs
        self._env = env
        self._episodes = 0
        self._resets_itself = env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        self._first_obs = first_value(env.single_observation_space)
        self._first_action = first_value(env.single_action_space)
        _, dtype = array_type(self.observation_space)
        self._float_obs = dtype == np.float32
        self._action_dtype = env.action_space.dtype
        frame = (self.n_envs, self.observation_space, ())
        self._frames = (Frame(*frame), Frame(*frame))
        self._turn = 0

    def reset(self) -> np.ndarray:
        try:
            obs, _ = self._env.reset(seed=self.seeds[0])
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise EnvFailure(0, self.seeds[0], f"raised {type(error).__name__} on reset: {error}") from error
        self._episodes = self.n_envs
        return self._first(obs)

    def _first(self, obs: Any) -> np.ndarray:
        frame = self._next_frame()
        np.subtract(obs, self._first_obs, out=frame.step.obs, casting="unsafe")
        return frame.step.obs

    def _next_frame(self) -> Frame:
        self._turn = 1 - self._turn
        return self._frames[self._turn]

    def step(self, actions: np.ndarray) -> Step:
        frame = self._next_frame()
        step = frame.step
        if self._form is not None:
            actions = self._form.batch(actions)
        else:
            actions = np.array(actions, dtype=self._action_dtype)
            if self._first_action:
                actions += self._first_action
        try:
            obs, rewards, terminated, truncated, infos = self._env.step(actions)
            step.rewards[:] = rewards
            step.terminated[:] = terminated
            step.truncated[:] = truncated
            done = step.terminated | step.truncated
            step.final_obs = None
            if done.any():
                step.final_obs = frame.final_obs
                obs = self._restart_finished(frame.final_obs, obs, infos, done)
                self._episodes += int(done.sum())
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise EnvFailure(0, self.seeds[0], f"raised {type(error).__name__}: {error}") from error
        np.subtract(obs, self._first_obs, out=step.obs, casting="unsafe")
        self._check_finite(step)
        return step

    def _restart_finished(
        self, final_obs: np.ndarray, obs: Any, infos: dict[str, Any], done: np.ndarray
    ) -> Any:
        """Fill in the last observations of finished envs; the observations to act on next."""
        if self._resets_itself:
            for index in np.flatnonzero(done):
                final_obs[index] = infos["final_obs"][index] - self._first_obs
            return obs
        final_obs[done] = np.asarray(obs)[done] - self._first_obs
        fresh, _ = self._env.reset(options={"reset_mask": done})
        return fresh

    def _check_finite(self, step: Step) -> None:
        bad = ~np.isfinite(step.rewards)
        if self._float_obs:
            for obs in (step.obs, step.final_obs):
                if obs is not None:
                    bad |= ~np.isfinite(obs).reshape(self.n_envs, -1).all(axis=1)
        if bad.any():
            index = int(bad.argmax())
            raise EnvFailure(index, self.seeds[0], "returned a reward or observation that is not finite")

    def snapshot(self) -> dict[str, Any]:
        return {
            "kind": "native",
            "seed": self.seeds[0],
            "episodes": self._episodes,
            "random": random_state(self._env.np_random),
        }

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        episodes = episodes_in(snapshot)
        obs, _ = self._env.reset(seed=episode_seed(self.seeds[0], episodes))
        if snapshot.get("kind") == "native" and set_random_state(self._env.np_random, snapshot["random"]):
            obs, _ = self._env.reset()
        self._episodes = episodes + self.n_envs
        return self._first(obs)

    def close(self) -> None:
        close_all([self._env])
