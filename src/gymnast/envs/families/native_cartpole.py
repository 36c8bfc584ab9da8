"""Gymnasium's vectorised CartPole, stepped in place.

`CartPoleVectorEnv.step` checks the actions element by element, allocates some thirty arrays and
resets a finished env only in the step after. This runs the same equations in the same order on
arrays made once (a test holds both equal bit for bit) and resets within the step. The env object
stays the owner of constants, random generator and spaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.in_process import episode_seed
from gymnast.envs.contract import EnvFailure, Step, StepsWhenReceived
from gymnast.envs.states import (
    EnvState,
    check_kinds,
    checked_rows,
    episodes_in,
    random_state,
    set_random_state,
)
from gymnast.errors import GymnastError

_MANY = 256
_KIND = "gymnasium.envs.classic_control.cartpole.CartPoleVectorEnv"  # of its states


class NativeCartPole(StepsWhenReceived):
    """N CartPoles as one [4, N] state."""

    backend = "native"
    carries_state = True
    can_capture = True
    reward_parts: tuple[str, ...] = ()
    episode_values: tuple[str, ...] = ()
    masks: np.ndarray | None = None

    def __init__(self, env: CartPoleVectorEnv, seed: int, arguments: dict[str, Any]) -> None:
        """`arguments` are those that the env was made with."""
        self.n_envs = n = env.num_envs
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space
        self.seeds = [seed] * n  # one generator starts all of them
        self._env = env
        self._episodes = 0
        self._sutton_barto_reward = bool(arguments.get("sutton_barto_reward", False))
        # Arrays without dimensions: at few envs a ufunc spends half its time converting Python floats.
        self._gravity, self._masspole, self._total_mass = map(
            np.array, (env.gravity, env.masspole, env.total_mass)
        )
        self._length, self._polemass_length = map(np.array, (env.length, env.polemass_length))
        self._tau, self._four_thirds = map(np.array, (env.tau, 4.0 / 3.0))
        self._time_limit = np.array(env.max_episode_steps, dtype=np.int32)
        self._forces = np.array([-env.force_mag, env.force_mag])
        self._limits = np.array([[env.x_threshold], [env.theta_threshold_radians]])
        self._state = np.zeros((4, n))  # x, x_dot, theta, theta_dot
        self._positions, self._speeds = self._state[0::2], self._state[1::2]
        self._state_of_each = self._state.T
        self._steps = np.zeros(n, dtype=np.int32)
        self._change = np.empty((4, n))  # d state / dt
        self._position_change = self._change[0::2]
        self._force, self._cos, self._sin, self._temp, self._a, self._b = np.empty((6, n))
        self._distance = np.empty((2, n))
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
        state: Any = self._env.state  # declared as None in Gymnasium
        self._state[:] = state
        self._steps.fill(0)
        obs = self._next_frame().step.obs
        self._observe(obs)
        return obs

    def _next_frame(self) -> Frame:
        self._turn = 1 - self._turn
        return self._frames[self._turn]

    def _observe(self, obs: np.ndarray) -> None:
        """Write the state as float32 [N, 4]."""
        if self.n_envs < _MANY:
            obs[:] = self._state_of_each
        else:  # NumPy casts and transposes at once three times slower than column by column
            for column, values in enumerate(self._state):
                obs[:, column] = values

    def step(self, actions: np.ndarray) -> Step:
        frame = self._next_frame()
        step = frame.step
        try:
            self._forces.take(actions, out=self._force)
        except (IndexError, TypeError, ValueError) as error:
            raise EnvFailure(0, self.seeds[0], f"was given actions that it does not have: {error}") from error
        self._move()
        np.abs(self._positions, out=self._distance)
        np.greater(self._distance, self._limits, out=self._beyond)
        np.logical_or(self._beyond[0], self._beyond[1], out=step.terminated)
        self._steps += 1
        np.greater_equal(self._steps, self._time_limit, out=step.truncated)
        self._observe(step.obs)
        if self._sutton_barto_reward:
            np.negative(step.terminated, out=step.rewards, dtype=np.float64)
        np.logical_or(step.terminated, step.truncated, out=self._done)
        finished = self._done.nonzero()[0]
        step.final_obs = self._restart(finished, frame) if finished.size else None
        return step

    def _move(self) -> None:
        """The equations of `CartPoleVectorEnv.step`, operation by operation, so that rounding agrees."""
        state, change = self._state, self._change
        theta, theta_dot, theta_acc = state[2], state[3], change[3]
        cos, sin, temp, a, b = self._cos, self._sin, self._temp, self._a, self._b
        np.cos(theta, cos)
        np.sin(theta, sin)
        # temp = (force + polemass_length · theta_dot² · sin) / total_mass
        np.square(theta_dot, temp)
        np.multiply(temp, self._polemass_length, temp)
        np.multiply(temp, sin, temp)
        np.add(temp, self._force, temp)
        np.divide(temp, self._total_mass, temp)
        # theta_acc = (gravity · sin − cos · temp) / (length · (4/3 − masspole · cos² / total_mass))
        np.square(cos, a)
        np.multiply(a, self._masspole, a)
        np.divide(a, self._total_mass, a)
        np.subtract(self._four_thirds, a, a)
        np.multiply(a, self._length, a)
        np.multiply(sin, self._gravity, theta_acc)
        np.multiply(cos, temp, b)
        np.subtract(theta_acc, b, theta_acc)
        np.divide(theta_acc, a, theta_acc)
        # x_acc = temp − polemass_length · theta_acc · cos / total_mass
        np.multiply(theta_acc, self._polemass_length, b)
        np.multiply(b, cos, b)
        np.divide(b, self._total_mass, b)
        np.subtract(temp, b, change[1])
        self._position_change[:] = self._speeds
        np.multiply(change, self._tau, change)
        np.add(state, change, state)

    def _restart(self, finished: np.ndarray, frame: Frame) -> np.ndarray:
        """Draw a new start for each finished env; hand back where they ended."""
        obs, final_obs, env = frame.step.obs, frame.final_obs, self._env
        final_obs[finished] = obs[finished]
        start = env.np_random.uniform(env.low, env.high, (4, finished.size))
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
        if snapshot.get("kind") != "native-cartpole":  # of another backend: a new seed is all there can be
            started = episodes_in(snapshot)
            self._env.reset(seed=episode_seed(self.seeds[0], started))
            self._episodes = started + self.n_envs
            return self._start_all()
        self._env.reset(seed=self.seeds[0])
        set_random_state(self._env.np_random, snapshot["random"])
        self._episodes = int(snapshot["episodes"])
        # The number of envs may have changed, and a mix of tasks carries all episodes on or none.
        if "state" not in snapshot or np.shape(snapshot["state"]) != self._state.shape:
            self._env.reset()
            self._episodes += self.n_envs
            return self._start_all()
        self._state[:] = snapshot["state"]
        self._steps[:] = snapshot["steps"]
        return None

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        """The random generator is left out: one starts the episodes of all rows."""
        if not self._episodes:
            raise GymnastError("envs cannot be captured before their first reset")
        return [
            EnvState.pack(_KIND, {"state": self._state[:, row].copy(), "steps": int(self._steps[row])})
            for row in checked_rows(rows, self.n_envs)
        ]

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        rows = checked_rows(rows, self.n_envs)
        check_kinds(states, rows, _KIND)
        if not self._episodes:
            self.reset()
        obs = self._frames[self._turn].step.obs
        for row, values in zip(rows, (state.unpack() for state in states), strict=True):
            self._state[:, row] = obs[row] = values["state"]
            self._steps[row] = values["steps"]
        return obs[rows]

    def close(self) -> None:
        self._env.close()
