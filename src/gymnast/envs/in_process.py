"""The `sync` backend: a plain loop over single envs in this process, writing into arrays made once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs import snapshot as carrying
from gymnast.envs.contract import EnvFailure, Step
from gymnast.envs.spaces import array_type, first_value, plain_space

Allocate = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]


class Frame:
    """The arrays of one step. Two are used in turn, so a step leaves the one before it whole."""

    def __init__(
        self,
        n_envs: int,
        observation_space: gym.Space[Any],
        parts: Sequence[str],
        allocate: Allocate = np.zeros,
    ) -> None:
        shape, dtype = array_type(observation_space)
        self.final_obs = allocate((n_envs, *shape), dtype)
        self.step = Step(
            obs=allocate((n_envs, *shape), dtype),
            rewards=allocate((n_envs,), np.dtype(np.float64)),
            terminated=allocate((n_envs,), np.dtype(np.bool_)),
            truncated=allocate((n_envs,), np.dtype(np.bool_)),
            final_obs=None,
            reward_parts={name: allocate((n_envs,), np.dtype(np.float64)) for name in parts},
        )

    def rows(self, start: int, stop: int) -> Frame:
        """The part of the arrays that belongs to some of the envs, as views."""
        part = object.__new__(Frame)
        part.final_obs = self.final_obs[start:stop]
        part.step = Step(
            obs=self.step.obs[start:stop],
            rewards=self.step.rewards[start:stop],
            terminated=self.step.terminated[start:stop],
            truncated=self.step.truncated[start:stop],
            final_obs=None,
            reward_parts={name: array[start:stop] for name, array in self.step.reward_parts.items()},
        )
        return part


class InProcessEnvs:
    """Single envs stepped one after the other; `workers` runs the same class in each process."""

    backend = "sync"

    def __init__(
        self,
        envs: Sequence[gym.Env[Any, Any]],
        seeds: Sequence[int],
        reward_parts: tuple[str, ...] = (),
        frames: tuple[Frame, Frame] | None = None,
    ) -> None:
        self.n_envs = len(envs)
        self.seeds = list(seeds)
        self.reward_parts = reward_parts
        self.observation_space = plain_space(envs[0].observation_space)
        self.action_space = plain_space(envs[0].action_space)
        self.carries_state = all(carrying.can_carry(env) for env in envs)
        self._envs = list(envs)
        self._step_calls = [env.step for env in envs]
        self._episodes = [0] * self.n_envs  # started so far, each
        self._first_obs = first_value(envs[0].observation_space)
        self._first_action = first_value(envs[0].action_space)
        self._discrete_actions = isinstance(self.action_space, gym.spaces.Discrete)
        self._action_dtype = np.int64 if self._discrete_actions else envs[0].action_space.dtype
        self._obs_shape, obs_dtype = array_type(self.observation_space)
        self._float_obs = obs_dtype == np.float32
        self._frames = frames or (
            Frame(self.n_envs, self.observation_space, reward_parts),
            Frame(self.n_envs, self.observation_space, reward_parts),
        )
        self._turn = 0

    def reset(self) -> np.ndarray:
        return self.reset_into(self._next_frame())

    def step(self, actions: np.ndarray) -> Step:
        return self.step_into(actions, self._next_frame())

    def _next_frame(self) -> int:
        self._turn = 1 - self._turn
        return self._turn

    def reset_into(self, turn: int) -> np.ndarray:
        frame = self._frames[turn]
        for index in range(self.n_envs):
            self._start_episode(index, frame.step.obs, seed=self.seeds[index])
            self._episodes[index] = 1
        if self._first_obs:
            frame.step.obs -= self._first_obs
        self._check_finite(frame.step.obs, None)
        return frame.step.obs

    def step_into(self, actions: np.ndarray, turn: int) -> Step:
        """One step of every env, written into frame `turn`."""
        frame = self._frames[turn]
        step, final_obs = frame.step, frame.final_obs
        obs, rewards, terminated, truncated = step.obs, step.rewards, step.terminated, step.truncated
        # A copy, since an env may keep the action that it was given.
        actions = np.array(actions, dtype=self._action_dtype)
        if self._first_action:
            actions += self._first_action
        terminated.fill(False)
        truncated.fill(False)
        any_done, first_obs, index = False, self._first_obs, 0
        try:
            # Plain ints: an env's `action_space.contains` is faster on them.
            each_action = actions.tolist() if self._discrete_actions else actions
            for index, action in enumerate(each_action):
                ob, reward, is_terminated, is_truncated, info = self._step_calls[index](action)
                rewards[index] = reward
                if self.reward_parts:
                    self._write_parts(index, step.reward_parts, info)
                if is_terminated or is_truncated:
                    terminated[index] = is_terminated
                    truncated[index] = is_truncated
                    any_done = True
                    final_obs[index] = ob - first_obs if first_obs else ob
                    self._start_episode(index, obs)
                else:
                    obs[index] = ob
        except EnvFailure:
            raise
        except Exception as error:
            raise EnvFailure(index, self.seeds[index], f"raised {type(error).__name__}: {error}") from error
        if first_obs:
            obs -= first_obs
        step.final_obs = final_obs if any_done else None
        self._check_finite(obs, rewards)
        if any_done:
            self._check_finite(final_obs, None)
        return step

    def _start_episode(self, index: int, obs: np.ndarray, seed: int | None = None) -> None:
        try:
            ob, _ = self._envs[index].reset(seed=seed)
        except Exception as error:
            raise EnvFailure(
                index, self.seeds[index], f"raised {type(error).__name__} on reset: {error}"
            ) from error
        if np.shape(ob) != self._obs_shape:  # here, since assigning would broadcast it in silence
            raise EnvFailure(
                index,
                self.seeds[index],
                f"returned an observation of shape {np.shape(ob)}; its space says {self._obs_shape}",
            )
        obs[index] = ob
        self._episodes[index] += 1

    def _write_parts(self, index: int, arrays: dict[str, np.ndarray], info: dict[str, Any]) -> None:
        parts = info.get("reward_parts", {})
        for name, array in arrays.items():
            array[index] = parts.get(name, 0.0)

    @np.errstate(over="ignore", invalid="ignore")
    def _check_finite(self, obs: np.ndarray, rewards: np.ndarray | None) -> None:
        """Stop at NaN or infinity. A dot product is the cheapest sum; only if it is off, look closer."""
        flat = obs.reshape(-1)
        if self._float_obs and not math.isfinite(flat.dot(flat)):
            self._raise_where(~np.isfinite(obs).reshape(self.n_envs, -1).all(axis=1), "an observation")
        if rewards is not None and not math.isfinite(rewards.dot(rewards)):
            self._raise_where(~np.isfinite(rewards), "a reward")

    def _raise_where(self, bad: np.ndarray, what: str) -> None:
        if bad.any():  # otherwise the sum overflowed, and each value is fine
            index = int(bad.argmax())
            raise EnvFailure(index, self.seeds[index], f"returned {what} that is not finite")

    def snapshot(self) -> dict[str, Any]:
        return {
            "kind": "single",
            "envs": [
                {"seed": seed, "episodes": episodes, **carrying.env_state(env)}
                for env, seed, episodes in zip(self._envs, self.seeds, self._episodes, strict=True)
            ],
        }

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        saved = saved_envs(snapshot)
        exact = len(saved) == self.n_envs and all(carrying.matches(self._envs[0], state) for state in saved)
        obs = self.restore_into(saved, exact, self._next_frame())
        return None if exact else obs

    def restore_into(self, saved: list[dict[str, Any]], exact: bool, turn: int) -> np.ndarray:
        """Continue from the states in `saved`; new episodes, unless `exact`, begin in frame `turn`."""
        obs = self._frames[turn].step.obs
        for index in range(self.n_envs):
            self._restore_one(index, saved[index] if index < len(saved) else None, exact, obs)
        if self._first_obs:
            obs -= self._first_obs
        return obs

    def _restore_one(self, index: int, state: dict[str, Any] | None, exact: bool, obs: np.ndarray) -> None:
        if state is None:  # there are more envs now than there were
            self._start_episode(index, obs, seed=self.seeds[index])
            self._episodes[index] = 1
            return
        env, episodes = self._envs[index], int(state["episodes"])
        # An env may draw from more than np_random: a seed of its own for this episode reaches all of it.
        self._start_episode(index, obs, seed=episode_seed(self.seeds[index], episodes))
        if exact:
            carrying.set_env_state(env, state)
        else:
            carrying.set_random_state(env.unwrapped.np_random, state["random"])
            self._start_episode(index, obs)
            episodes += 1
        self._episodes[index] = episodes

    def close(self) -> None:
        for env in self._envs:
            env.close()


def saved_envs(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """The states of single envs in a snapshot; none if another backend took it."""
    return list(snapshot["envs"]) if snapshot.get("kind") == "single" else []


def episode_seed(seed: int, episode: int) -> int:
    """A seed for a later episode of the env that `seed` started."""
    return int(np.random.SeedSequence([seed, episode]).generate_state(1)[0] >> 1)
