"""The `native` backend of MiniGrid: all grids as one array, stepped and seen together.

MiniGrid's own envs still make every layout, each from its own random numbers, so that episodes are those
of single envs, bit for bit; stepping and seeing, where its Python spends its time, is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.in_process import episode_seed
from gymnast.envs.contract import EnvFailure, Step, StepsWhenReceived, pass_on_ctrl_c
from gymnast.envs.families.minigrid import cells
from gymnast.envs.families.minigrid.layouts import Layouts, why_not_arrays
from gymnast.envs.families.minigrid.sight import Sight
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.envs.states import (
    EnvState,
    check_kinds,
    checked_rows,
    env_kind,
    episodes_in,
    random_state,
    saved_envs,
    set_random_state,
)
from gymnast.spaces.plain import plain_action_space, plain_space


def why_not_native(config: EnvConfig, *, training: bool, render_mode: str | None) -> str | None:
    """Why these episodes cannot be stepped as arrays, or None if they can."""
    return (
        "rendering needs single envs"
        if render_mode is not None
        else why_not_arrays(config, training=training)
    )


def build_native(config: EnvConfig, seeds: list[int], *, training: bool, groups: int) -> NativeMiniGrid:
    """The envs of a config; `why_not_native` must have given None."""
    return NativeMiniGrid([make_env(config, training=training) for _ in seeds], seeds)


class NativeMiniGrid(StepsWhenReceived):
    """N grids behind the contract. An agent's place is its index in the flat array of all grids."""

    backend = "native"
    carries_state = can_capture = True
    reward_parts: tuple[str, ...] = ()
    episode_values: tuple[str, ...] = ()
    masks: np.ndarray | None = None

    def __init__(self, envs: Sequence[gym.Env[Any, Any]], seeds: Sequence[int]) -> None:
        self.n_envs = n = len(envs)
        self.seeds = list(seeds)
        self.observation_space = plain_space(envs[0].observation_space)
        self.action_space = plain_action_space(envs[0].action_space)
        self._layouts = layouts = Layouts(envs)
        self._kind = f"native > {env_kind(envs[0])}"
        self._sight = Sight(layouts.view, layouts.stride, layouts.see_through_walls)
        self._episodes = [0] * n  # started so far, each
        self._grids = np.full((n, layouts.padded_cells), cells.WALL, np.int64)
        self._flat = self._grids.reshape(-1)
        self._starts = np.arange(n) * layouts.padded_cells  # of each grid in the flat array
        self._at = self._starts.copy()
        self._facing = np.zeros(n, np.int64)
        self._carrying = np.full(n, cells.EMPTY, np.int64)
        self._ages = np.zeros(n, np.int64)  # steps into each episode
        self._missions = np.zeros((n, layouts.mission_length), np.int64)
        self._frames = (Frame(n, self.observation_space, ()), Frame(n, self.observation_space, ()))
        self._turn = 0

    def _next_frame(self) -> Frame:
        self._turn = 1 - self._turn
        return self._frames[self._turn]

    def reset(self) -> np.ndarray:
        obs = self._next_frame().step.obs
        for row in range(self.n_envs):
            self._start(row, seed=self.seeds[row])
            self._episodes[row] = 1
        self._observe(obs)
        return obs

    def _start(self, row: int, seed: int | None = None) -> None:
        """Begin the next episode of one env."""
        try:
            layout = self._layouts.make(row, seed)
        except BaseException as error:
            pass_on_ctrl_c(error)
            raise EnvFailure(
                row, self.seeds[row], f"raised {type(error).__name__} on reset: {error}"
            ) from error
        self._layouts.inner(self._grids[row])[:] = layout.grid
        self._at[row] = self._starts[row] + self._layouts.place(*layout.agent)
        self._facing[row] = layout.facing
        self._carrying[row] = cells.EMPTY
        self._ages[row] = 0
        self._missions[row] = layout.mission
        self._episodes[row] += 1

    def _observe(self, obs: np.ndarray, rows: Any = slice(None)) -> None:
        """Write what agents see into their rows of `obs`."""
        facing = self._facing[rows]
        codes = self._sight.codes(self._flat, self._at[rows], facing, self._carrying[rows])
        planes = cells.CODE_PLANES.take(codes, axis=0)
        if obs.dtype.names is None:
            obs[rows] = planes.reshape(-1, *obs.shape[1:])
            return
        image = obs["image"]
        image[rows] = planes.reshape(-1, *image.shape[1:])
        if "direction" in obs.dtype.names:
            obs["direction"][rows] = facing
        if "mission" in obs.dtype.names:
            obs["mission"][rows] = self._missions[rows]

    def step(self, actions: np.ndarray) -> Step:
        frame = self._next_frame()
        step = frame.step
        actions = np.array(actions, np.int64)
        self._check(actions)
        ahead = self._sight.ahead.take(self._facing)
        places = self._at + ahead
        acts = actions * cells.N_CODES
        acts += self._flat.take(places) & cells.OWN
        self._facing += cells.TURNS.take(actions)
        self._facing &= 3
        ahead *= cells.MOVES.take(acts)
        self._at += ahead
        self._ages += 1
        step.rewards.fill(0.0)
        step.terminated[:] = cells.ENDS.take(acts)
        np.greater_equal(self._ages, self._layouts.limit, out=step.truncated)
        for row in cells.MAY_CHANGE.take(acts).nonzero()[0].tolist():
            if self._change(row, int(actions[row]), int(places[row])):
                step.terminated[row] = True
                step.rewards[row] = self._reward(row)
        self._observe(step.obs)
        finished = (step.terminated | step.truncated).nonzero()[0]
        if finished.size:
            for row in cells.REACHES_GOAL.take(acts).nonzero()[0].tolist():
                step.rewards[row] = self._reward(row)
            frame.final_obs[finished] = step.obs[finished]
            for row in finished.tolist():
                self._start(row)
            self._observe(step.obs, finished)
        return frame.finish(bool(finished.size))

    def _check(self, actions: np.ndarray) -> None:
        if actions.view(np.uint64).max() < cells.N_ACTIONS:  # negative ones are huge there
            return
        row = int((actions.view(np.uint64) >= cells.N_ACTIONS).argmax())
        raise EnvFailure(row, self.seeds[row], f"raised ValueError: Unknown action: {actions[row]}")

    def _reward(self, row: int) -> float:
        return 1 - 0.9 * (int(self._ages[row]) / self._layouts.max_steps)

    def _change(self, row: int, action: int, place: int) -> bool:
        """Pick up, drop or toggle at a place; whether that ends the episode with a reward."""
        cell, carrying = int(self._flat[place]), int(self._carrying[row])
        if action == cells.PICKUP:
            if carrying != cells.EMPTY:
                return False
            self._carrying[row], self._flat[place] = cell, cells.EMPTY
            return bool(cell & cells.TARGET)
        if action == cells.DROP:
            if carrying != cells.EMPTY:
                self._flat[place], self._carrying[row] = carrying, cells.EMPTY
            return False
        own = cell & cells.OWN
        if own % cells.KINDS == cells.BOX:
            self._flat[place] = cell >> cells.CONTENTS_SHIFT or cells.EMPTY
            return False
        if own >= cells.LOCKED:
            if carrying & cells.OWN != own - cells.LOCKED - cells.DOOR + cells.KEY:
                return False
            self._flat[place] = cell - cells.LOCKED
        elif own >= cells.CLOSED:
            self._flat[place] = cell - cells.CLOSED
        else:
            self._flat[place] = cell + cells.CLOSED
            return False
        return bool(cell & cells.TARGET)

    def snapshot(self) -> dict[str, Any]:
        """As single envs write it, so that they can resume from it; all that is beyond them is `state`."""
        envs = [
            {"seed": seed, "episodes": episodes, "random": random_state(self._layouts.random(row))}
            for row, (seed, episodes) in enumerate(zip(self.seeds, self._episodes, strict=True))
        ]
        state = {name: array.copy() for name, array in self._state().items()}
        return {"kind": "single", "envs": envs, "state": state}

    def _state(self) -> dict[str, np.ndarray]:
        return {
            "grids": self._grids,
            "at": self._at,
            "facing": self._facing,
            "carrying": self._carrying,
            "ages": self._ages,
            "missions": self._missions,
        }

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        states = []
        for row in checked_rows(rows, self.n_envs):
            state: dict[str, Any] = {name: array[row].copy() for name, array in self._state().items()}
            state["at"] = state["at"] - self._starts[row]  # within its grid
            states.append(
                EnvState.pack(self._kind, state | {"random": random_state(self._layouts.random(row))})
            )
        return states

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        rows = checked_rows(rows, self.n_envs)
        check_kinds(states, rows, self._kind)
        for row, packed in zip(rows, states, strict=True):
            state = packed.unpack()
            set_random_state(self._layouts.random(row), state.pop("random"))
            for name, array in self._state().items():
                array[row] = state[name]
            self._at[row] += self._starts[row]
        obs = self._next_frame().step.obs
        self._observe(obs)
        return obs[rows].copy()

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        saved = saved_envs(snapshot)
        state = snapshot.get("state", {}) if saved else {}  # another backend may use the name in its own way
        if all(np.shape(state.get(name, ())) == array.shape for name, array in self._state().items()):
            for name, array in self._state().items():
                array[:] = state[name]
            for row, env in enumerate(saved):
                set_random_state(self._layouts.random(row), env["random"])
                self._episodes[row] = int(env["episodes"])
            return None
        for row in range(self.n_envs):  # as single envs begin new episodes
            known = row < len(saved)
            episodes = int(saved[row]["episodes"]) if known else episodes_in(snapshot)
            self._start(row, seed=episode_seed(self.seeds[row], episodes))
            if known:
                set_random_state(self._layouts.random(row), saved[row]["random"])
                self._start(row)
            self._episodes[row] = episodes + 1
        obs = self._next_frame().step.obs
        self._observe(obs)
        return obs

    def close(self) -> None:
        self._layouts.close()
