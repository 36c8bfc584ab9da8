"""The `envpool` backend: EnvPool's C++ envs, for ids that Gymnasium has too.

EnvPool spends a step on each reset unless it is asked to reset: after each step the finished envs
are, and in its synchronous mode that call waits for those alone. Its envs are rewritten in C++
with random numbers of their own, so `auto` never takes it: results must not depend on whether it
happens to be installed. An env that ends at its time limit's very step is reported by EnvPool as
truncated only, where Gymnasium reports both.
"""

from __future__ import annotations

from importlib.util import find_spec as find_module
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.in_process import episode_seed
from gymnast.envs.contract import EnvFailure, Envs, Step, StepsWhenReceived, close_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import active_wrappers, find_spec, make_env
from gymnast.envs.states import episodes_in
from gymnast.errors import MissingExtra, did_you_mean
from gymnast.spaces.action_form import ActionForm, is_plain
from gymnast.spaces.plain import array_type, check_spaces, first_value, plain_action_space, plain_space


def why_not_envpool(
    config: EnvConfig, *, training: bool = True, render_mode: str | None = None
) -> str | None:
    """Why EnvPool cannot step this env, or None if it can."""
    if find_module("envpool") is None:
        raise MissingExtra("env.backend envpool", "envpool")
    if active_wrappers(config, training=training):
        return "wrappers go around single envs"
    if render_mode is not None:
        return "rendering needs single envs"
    if config.action_masks:
        return "env.action_masks needs single envs, whose infos hold the masks"
    if config.kwargs:
        return "env.kwargs are those of Gymnasium's class"
    import envpool

    spec = find_spec(config.id)
    known = envpool.list_all_envs()
    if spec is None or spec.id not in known:
        name = config.id if spec is None else spec.id
        return f"EnvPool does not have it{did_you_mean(name, known)}"
    return None


def build_envpool(config: EnvConfig, n_envs: int, seed: int) -> Envs:
    """EnvPool behind the contract; `why_not_envpool` must have returned None."""
    spec = find_spec(config.id)
    assert spec is not None
    single = make_env(config)  # EnvPool's own spaces lack bounds in places
    check_spaces(single.observation_space, single.action_space, config.id)
    limit = config.max_episode_steps or spec.max_episode_steps
    envs = EnvPoolEnvs(spec.id, n_envs, seed, limit, single.observation_space, single.action_space)
    close_env(single)
    return envs


class EnvPoolEnvs(StepsWhenReceived):
    """N envs of an EnvPool in synchronous mode."""

    backend = "envpool"
    carries_state = False
    reward_parts: tuple[str, ...] = ()
    episode_values: tuple[str, ...] = ()
    masks: np.ndarray | None = None

    def __init__(
        self,
        env_id: str,
        n_envs: int,
        seed: int,
        max_episode_steps: int | None,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
    ) -> None:
        self.n_envs = n_envs
        self.observation_space = plain_space(observation_space)
        self.action_space = plain_action_space(action_space)
        self._form = None if is_plain(self.action_space) else ActionForm(self.action_space)
        self.seeds = [seed] * n_envs  # EnvPool derives each env's from it
        self._env_id = env_id
        self._options = {} if max_episode_steps is None else {"max_episode_steps": max_episode_steps}
        self._first_obs = first_value(observation_space)
        self._first_action = first_value(action_space)
        self._float_obs = array_type(self.observation_space)[1] == np.float32
        self._frames = (Frame(n_envs, self.observation_space, ()), Frame(n_envs, self.observation_space, ()))
        self._turn = 0
        self._episodes = 0
        self._pool: Any = None

    def reset(self) -> np.ndarray:
        self._episodes = 0
        return self._start(self.seeds[0])

    def _start(self, seed: int) -> np.ndarray:
        """A new pool, since only its making takes a seed."""
        import envpool

        self.close()
        self._pool = envpool.make_gymnasium(self._env_id, num_envs=self.n_envs, seed=seed, **self._options)
        obs, _ = self._pool.reset()
        self._episodes += self.n_envs
        step = self._next_frame().step
        np.subtract(obs, self._first_obs, out=step.obs, casting="unsafe")
        return step.obs

    def _next_frame(self) -> Frame:
        self._turn = 1 - self._turn
        return self._frames[self._turn]

    def step(self, actions: np.ndarray) -> Step:
        frame = self._next_frame()
        step = frame.step
        if self._form is not None:
            actions = self._form.batch(actions)
        actions = np.array(actions, dtype=self._pool.action_space.dtype)
        if self._first_action:
            actions += self._first_action
        obs, step.rewards[:], step.terminated[:], step.truncated[:], _ = self._pool.step(actions)
        np.subtract(obs, self._first_obs, out=step.obs, casting="unsafe")
        self._check_finite(step)
        finished = np.flatnonzero(step.terminated | step.truncated).astype(np.int32)
        step.final_obs = None
        if finished.size:
            step.final_obs = frame.final_obs
            frame.final_obs[finished] = step.obs[finished]
            fresh, info = self._pool.reset(finished)
            step.obs[info["env_id"]] = fresh - self._first_obs
            self._episodes += finished.size
        return step

    def _check_finite(self, step: Step) -> None:
        bad = ~np.isfinite(step.rewards)
        if self._float_obs:
            bad |= ~np.isfinite(step.obs).reshape(self.n_envs, -1).all(axis=1)
        if bad.any():
            index = int(bad.argmax())
            raise EnvFailure(index, self.seeds[0], "returned a reward or observation that is not finite")

    def snapshot(self) -> dict[str, Any]:
        return {"kind": "envpool", "seed": self.seeds[0], "episodes": self._episodes}

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        """EnvPool shows no random state: the number of episodes so far makes a seed not yet used."""
        self._episodes = episodes_in(snapshot)
        return self._start(episode_seed(self.seeds[0], self._episodes))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None
