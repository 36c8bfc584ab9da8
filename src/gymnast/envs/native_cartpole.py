"""Gymnasium's vectorised CartPole, stepped in place.

`CartPoleVectorEnv.step` checks the actions element by element, allocates some thirty arrays and
resets a finished env only in the step after. This runs the same equations in the same order on
arrays made once (a test holds both equal bit for bit) and resets within the step. The env object
stays the owner of constants, random generator and spaces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

from gymnast.envs.contract import EnvFailure, Step
from gymnast.envs.in_process import Frame, episode_seed
from gymnast.envs.snapshot import random_state, set_random_state


class NativeCartPole:
    """N CartPoles as one [4, N] state."""

    backend = "native"
    carries_state = True
    reward_parts: tuple[str, ...] = ()

    def __init__(self, env: CartPoleVectorEnv, seed: int, sutton_barto_reward: bool) -> None:
        self.n_envs = n = env.num_envs
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space
        self.seeds = [seed] * n  # one generator starts all of them
        self._env = env
        self._episodes = 0
        self._sutton_barto_reward = sutton_barto_reward
        self._forces = np.array([-env.force_mag, env.force_mag])
        self._limits = np.array([[env.x_threshold], [env.theta_threshold_radians]])
        self._semi_implicit = env.kinematics_integrator != "euler"
        self._state = np.zeros((4, n))  # x, x_dot, theta, theta_dot
        self._steps = np.zeros(n, dtype=np.int32)
        self._change = np.empty((4, n))  # d state / dt
        self._force, self._cos, self._sin, self._temp, self._a, self._b = np.empty((6, n))
        self._size = np.empty((2, n))
        self._beyond = np.empty((2, n), dtype=np.bool_)
        self._done = np.empty(n, dtype=np.bool_)
        self._frames = (Frame(n, self.observation_space, ()), Frame(n, self.observation_space, ()))
        for frame in self._frames:
            frame.step.rewards.fill(1.0)
        self._turn = 0

    def reset(self) -> np.ndarray:
        self._env.reset(seed=self.seeds[0])
        self._episodes = self.n_envs
        return self._start_all()

    def _start_all(self) -> np.ndarray:
        assert self._env.state is not None
        self._state[:] = self._env.state
        self._steps.fill(0)
        obs = self._next_frame().step.obs
        np.copyto(obs, self._state.T, casting="same_kind")
        return obs

    def _next_frame(self) -> Frame:
        self._turn = 1 - self._turn
        return self._frames[self._turn]

    def step(self, actions: np.ndarray) -> Step:
        frame = self._next_frame()
        step = frame.step
        try:
            self._forces.take(actions, out=self._force)
        except (IndexError, TypeError, ValueError) as error:
            raise EnvFailure(0, self.seeds[0], f"was given actions that it does not have: {error}") from error
        self._move()
        np.abs(self._state[0::2], out=self._size)
        np.greater(self._size, self._limits, out=self._beyond)
        np.logical_or(self._beyond[0], self._beyond[1], out=step.terminated)
        self._steps += 1
        np.greater_equal(self._steps, self._env.max_episode_steps, out=step.truncated)
        np.copyto(step.obs, self._state.T, casting="same_kind")
        if self._sutton_barto_reward:
            np.negative(step.terminated, out=step.rewards, dtype=np.float64)
        np.logical_or(step.terminated, step.truncated, out=self._done)
        step.final_obs = self._restart_finished(frame) if self._done.any() else None
        return step

    def _move(self) -> None:
        """The equations of `CartPoleVectorEnv.step`, operation by operation, so that rounding agrees."""
        env, state, change = self._env, self._state, self._change
        theta, theta_dot = state[2], state[3]
        cos, sin, temp, a, b = self._cos, self._sin, self._temp, self._a, self._b
        x_acc, theta_acc = change[1], change[3]
        np.cos(theta, out=cos)
        np.sin(theta, out=sin)
        # temp = (force + polemass_length · theta_dot² · sin) / total_mass
        np.square(theta_dot, out=temp)
        temp *= env.polemass_length
        temp *= sin
        temp += self._force
        temp /= env.total_mass
        # theta_acc = (gravity · sin − cos · temp) / (length · (4/3 − masspole · cos² / total_mass))
        np.square(cos, out=a)
        a *= env.masspole
        a /= env.total_mass
        np.subtract(4.0 / 3.0, a, out=a)
        a *= env.length
        np.multiply(sin, env.gravity, out=theta_acc)
        np.multiply(cos, temp, out=b)
        theta_acc -= b
        theta_acc /= a
        # x_acc = temp − polemass_length · theta_acc · cos / total_mass
        np.multiply(theta_acc, env.polemass_length, out=b)
        b *= cos
        b /= env.total_mass
        np.subtract(temp, b, out=x_acc)
        if self._semi_implicit:
            np.multiply(change[1::2], env.tau, out=self._size)
            state[1::2] += self._size
            np.multiply(state[1::2], env.tau, out=self._size)
            state[0::2] += self._size
        else:
            change[0::2] = state[1::2]
            change *= env.tau
            state += change

    def _restart_finished(self, frame: Frame) -> np.ndarray:
        """Draw a new start for each finished env; hand back where they ended."""
        finished = np.flatnonzero(self._done)
        obs, final_obs = frame.step.obs, frame.final_obs
        final_obs.fill(0)
        final_obs[finished] = obs[finished]
        env = self._env
        start = env.np_random.uniform(low=env.low, high=env.high, size=(4, finished.size))
        self._state[:, finished] = start
        obs[finished] = start.T
        self._steps[finished] = 0
        self._episodes += finished.size
        return final_obs

    def snapshot(self) -> dict[str, Any]:
        return {
            "kind": "native-cartpole",
            "seed": self.seeds[0],
            "episodes": self._episodes,
            "random": random_state(self._env.np_random),
            "state": self._state.copy(),
            "steps": self._steps.copy(),
        }

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        if snapshot.get("kind") != "native-cartpole":  # another backend took it: only the seed can be heeded
            self._env.reset(seed=episode_seed(self.seeds[0], 1))
            self._episodes = self.n_envs
            return self._start_all()
        self._env.reset(seed=self.seeds[0])
        set_random_state(self._env.np_random, snapshot["random"])
        self._episodes = int(snapshot["episodes"])
        if np.shape(snapshot["state"]) != self._state.shape:  # the number of envs has changed
            self._env.reset()
            self._episodes += self.n_envs
            return self._start_all()
        self._state[:] = snapshot["state"]
        self._steps[:] = snapshot["steps"]
        return None

    def close(self) -> None:
        self._env.close()
