"""The envs of several tasks behind the one contract: each task's own backend, their rows joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.groups import groups_of
from gymnast.envs.contract import EnvFailure, Envs, Step
from gymnast.envs.mix.form import MixForm
from gymnast.envs.states import (
    EnvState,
    begin_new_episodes,
    check_count,
    checked_rows,
    episodes_in,
    rows_by_part,
)
from gymnast.errors import GymnastError


@dataclass(slots=True)
class Part:
    """The envs of one task, and their place among all."""

    task: int
    envs: Envs
    rows: slice


class MixedEnvs:
    """Copies of several tasks, a task's copies in neighbouring rows. A task may have none."""

    def __init__(self, form: MixForm, groups: Sequence[tuple[int, Envs]]) -> None:
        self.form = form
        self._parts: list[Part] = []
        start = 0
        for task, envs in groups:
            self._parts.append(Part(task, envs, slice(start, start + envs.n_envs)))
            start += envs.n_envs
        self.n_envs = start
        self.task_of = np.concatenate([np.full(p.envs.n_envs, p.task) for p in self._parts])
        self.backend = "+".join(dict.fromkeys(part.envs.backend for part in self._parts))
        self.observation_space = form.observation_space
        self.action_space = form.action_space
        self.seeds = [seed for part in self._parts for seed in part.envs.seeds]
        self.reward_parts = _union(part.envs.reward_parts for part in self._parts)
        self.episode_values = _union(part.envs.episode_values for part in self._parts)
        self.carries_state = all(part.envs.carries_state for part in self._parts)
        self.can_capture = all(part.envs.can_capture for part in self._parts)
        # Which choices are a task's own never changes; what its env forbids beyond that may.
        masked = form.blocks is not None or any(p.envs.masks is not None for p in self._parts)
        self._frames = tuple(self._frame(form.n_logits if masked else 0) for _ in range(2))
        self._turn = 0

    def _frame(self, mask_size: int) -> _MixFrame:
        frame = Frame(
            self.n_envs,
            self.observation_space,
            self.reward_parts,
            mask_size=mask_size,
            values=self.episode_values,
        )
        return _MixFrame(frame, self.form, self._parts)

    @property
    def masks(self) -> np.ndarray | None:
        return self._frames[self._turn].frame.masks

    @property
    def restarts(self) -> int:
        """Env processes that were restarted, over all tasks."""
        return sum(getattr(part.envs, "restarts", 0) for part in self._parts)

    def reset(self) -> np.ndarray:
        frame = self._next_frame()
        for index, part in enumerate(self._parts):
            try:
                obs = part.envs.reset()
            except EnvFailure as failure:
                raise self._of_task(failure, part) from failure
            frame.start(index, obs, part.envs.masks)
        return frame.frame.step.obs

    def step(self, actions: np.ndarray) -> Step:
        self.send(actions)
        return self.receive()

    def send(self, actions: np.ndarray) -> None:
        """Every task gets its actions before any is waited for: those in other processes step together."""
        for part in self._parts:
            first, own = self.form.first_choice(part.task), actions[part.rows]
            part.envs.send(own - first if first else own)

    def receive(self) -> Step:
        frame = self._next_frame()
        step = frame.frame.step
        step.final_obs = step.lost = step.life_lost = None
        failed = None
        for index, part in enumerate(self._parts):
            try:
                own = part.envs.receive()
            except EnvFailure as failure:  # all others are heard first, so that none is left half-way
                failed = failed or (self._of_task(failure, part), failure)
                continue
            if own.final_obs is not None:
                step.final_obs = frame.frame.final_obs
            frame.take(index, own, part.envs.masks)
        if failed is not None:
            raise failed[0] from failed[1]
        return step

    def _next_frame(self) -> _MixFrame:
        self._turn = 1 - self._turn
        return self._frames[self._turn]

    def _of_task(self, failure: EnvFailure, part: Part) -> EnvFailure:
        """The failure with the env's number among all."""
        name = self.form.names[part.task]
        return EnvFailure(part.rows.start + failure.index, failure.seed, f"of task '{name}' {failure.reason}")

    def snapshot(self) -> dict[str, Any]:
        return {
            "kind": "mix",
            "tasks": {self.form.names[part.task]: part.envs.snapshot() for part in self._parts},
        }

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        """Tasks by name, so that a resume may add, drop or reorder some. Episodes continue only if
        those of every task can: a caller that gets observations takes all of them as new episodes."""
        saved: dict[str, Any] = snapshot.get("tasks", {}) if snapshot.get("kind") == "mix" else {}
        new = {"kind": "other", "episodes": episodes_in(snapshot)}  # of a task that was not there
        states: list[dict[str, Any]] = [saved.get(self.form.names[part.task], new) for part in self._parts]
        firsts = [part.envs.restore(state) for part, state in zip(self._parts, states, strict=True)]
        if all(first is None for first in firsts):
            return None
        frame = self._next_frame()
        for index, (part, state, first) in enumerate(zip(self._parts, states, firsts, strict=True)):
            obs = begin_new_episodes(part.envs, state) if first is None else first
            frame.start(index, obs, part.envs.masks)
        return frame.frame.step.obs

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        rows = checked_rows(rows, self.n_envs)
        states: dict[int, EnvState] = {}
        for part, places, local in self._by_part(rows):
            try:
                own = part.envs.capture(local)
            except EnvFailure as failure:
                raise self._of_task(failure, part) from failure
            kind = self._task_kind(part)
            states |= zip(places, (EnvState(kind + state.kind, state.data) for state in own), strict=True)
        return [states[place] for place in range(len(rows))]

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        rows = checked_rows(rows, self.n_envs)
        check_count(states, rows)
        frame, shares = self._frames[self._turn], self._by_part(rows)
        for part, places, _ in shares:
            self._check_task(part, [states[place] for place in places])
        for part, places, local in shares:
            kind = self._task_kind(part)
            own = [EnvState(states[i].kind.removeprefix(kind), states[i].data) for i in places]
            try:
                obs = part.envs.begin_from(local, own)
            except EnvFailure as failure:
                raise self._of_task(failure, part) from failure
            frame.put(self._parts.index(part), local, obs, part.envs.masks)
        return frame.frame.step.obs[rows]

    def _by_part(self, rows: Sequence[int]) -> list[tuple[Part, list[int], list[int]]]:
        parts = [part.rows for part in self._parts]
        return [(self._parts[i], places, local) for i, places, local in rows_by_part(rows, parts)]

    def _task_kind(self, part: Part) -> str:
        return f"task {self.form.names[part.task]}: "

    def _check_task(self, part: Part, states: Sequence[EnvState]) -> None:
        """Two tasks may be the same env with other settings, whose states mean something else."""
        kind = self._task_kind(part)
        for state in states:
            if not state.kind.startswith(kind):
                name = self.form.names[part.task]
                raise GymnastError(f"an env of task '{name}' cannot begin from a state of '{state.kind}'")

    def close(self) -> None:
        for part in self._parts:
            part.envs.close()


class _MixFrame:
    """The arrays of one step of all tasks, and the views of them that each task's rows go into."""

    def __init__(self, frame: Frame, form: MixForm, parts: Sequence[Part]) -> None:
        self.frame = frame
        self._rows = [part.rows for part in parts]
        self._obs = [form.columns(frame.step.obs, part.task, part.rows) for part in parts]
        self._final = [form.columns(frame.final_obs, part.task, part.rows) for part in parts]
        self._masks: list[np.ndarray] | None = None
        if frame.masks is not None:
            self._masks = [frame.masks[part.rows, form.block(part.task)] for part in parts]
            for own in self._masks:
                own[...] = True
        for values in frame.step.episode_values.values():
            values.fill(np.nan)  # a task that has no such value never reports it

    def start(self, index: int, obs: np.ndarray, masks: np.ndarray | None) -> None:
        """A task's first observations."""
        _write(self._obs[index], obs)
        if self._masks is not None and masks is not None:
            self._masks[index][...] = masks

    def put(self, index: int, local: Sequence[int], obs: np.ndarray, masks: np.ndarray | None) -> None:
        """What some rows of a task see now."""
        for column, name in self._obs[index]:
            column[local] = obs if name is None else obs[name]
        if self._masks is not None and masks is not None:
            self._masks[index][local] = masks[local]

    def take(self, index: int, own: Step, masks: np.ndarray | None) -> None:
        """A task's share of the step."""
        rows, step = self._rows[index], self.frame.step
        self.start(index, own.obs, masks)
        step.rewards[rows] = own.rewards
        step.terminated[rows] = own.terminated
        step.truncated[rows] = own.truncated
        for name, share in own.reward_parts.items():
            step.reward_parts[name][rows] = share
        if own.final_obs is not None:
            _write(self._final[index], own.final_obs)
            for name, values in own.episode_values.items():
                step.episode_values[name][rows] = values
        step.lost = _marked(step.lost, own.lost, rows, len(step.rewards))
        step.life_lost = _marked(step.life_lost, own.life_lost, rows, len(step.rewards))


def _write(columns: list[tuple[np.ndarray, str | None]], obs: np.ndarray) -> None:
    for column, name in columns:
        column[...] = obs if name is None else obs[name]


def _marked(all_rows: np.ndarray | None, own: np.ndarray | None, rows: slice, n: int) -> np.ndarray | None:
    """Rows [N] that are marked, with a task's own; None while there are none."""
    if own is None:
        return all_rows
    marked: np.ndarray = np.zeros(n, np.bool_) if all_rows is None else all_rows
    marked[rows] = own
    return marked


def _union(names: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for own in names for name in own))


def task_rows(envs: Envs) -> tuple[tuple[str, ...], np.ndarray] | None:
    """The names of the tasks and which of them each env plays [N]; None unless envs are of several."""
    parts: list[Any] = [group.envs for group in groups_of(envs)]
    if not all(hasattr(part, "task_of") for part in parts):
        return None
    return parts[0].form.names, np.concatenate([part.task_of for part in parts])
