"""Envs in groups that are stepped in turn: while the policy acts for one group, the others step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gymnast.envs.contract import EnvFailure, Envs, Step
from gymnast.envs.states import (
    EnvState,
    begin_new_episodes,
    check_count,
    checked_rows,
    episodes_in,
    rows_by_part,
    saved_envs,
)
from gymnast.errors import GymnastError


@dataclass(frozen=True, slots=True)
class Group:
    """Some of the envs, and which rows of all of them they are."""

    envs: Envs
    rows: slice

    @property
    def start(self) -> int:
        return int(self.rows.start)


class GroupedEnvs:
    """Several vector envs of one environment, one after the other in the rows."""

    def __init__(self, parts: Sequence[Envs]) -> None:
        first = parts[0]
        ends = np.cumsum([part.n_envs for part in parts]).tolist()
        self.groups = tuple(
            Group(_InGroup(part, end - part.n_envs), slice(end - part.n_envs, end))
            for part, end in zip(parts, ends, strict=True)
        )
        self._parts = list(parts)
        self.backend = first.backend
        self.n_envs = int(ends[-1])
        self.observation_space, self.action_space = first.observation_space, first.action_space
        self.reward_parts, self.episode_values = first.reward_parts, first.episode_values
        self.carries_state = all(part.carries_state for part in parts)
        self.can_capture = all(part.can_capture for part in parts)

    @property
    def seeds(self) -> list[int]:
        return [seed for part in self._parts for seed in part.seeds]

    @property
    def restarts(self) -> int:
        return sum(part.restarts for part in self._parts)

    @property
    def masks(self) -> np.ndarray | None:
        masks = [part.masks for part in self._parts]
        return None if masks[0] is None else np.concatenate([mask for mask in masks if mask is not None])

    def reset(self) -> np.ndarray:
        return np.concatenate([part.reset() for part in self._parts])

    def step(self, actions: np.ndarray) -> Step:
        self.send(actions)
        return self.receive()

    def send(self, actions: np.ndarray) -> None:
        for group in self.groups:
            group.envs.send(actions[group.rows])

    def receive(self) -> Step:
        return _joined([group.envs.receive() for group in self.groups])

    def snapshot(self) -> dict[str, Any]:
        return {"kind": "groups", "groups": [part.snapshot() for part in self._parts]}

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        saved = self._saved(snapshot)
        fresh = [part.restore(one) for part, one in zip(self._parts, saved, strict=True)]
        if all(obs is None for obs in fresh):
            return None
        # A caller takes the episodes of all envs as new ones.
        return np.concatenate(
            [
                begin_new_episodes(part, one) if obs is None else obs
                for part, one, obs in zip(self._parts, saved, fresh, strict=True)
            ]
        )

    def _saved(self, snapshot: dict[str, Any]) -> list[dict[str, Any]]:
        """What each group is to continue from, also if there were other groups, or none."""
        groups = snapshot.get("groups", ()) if snapshot.get("kind") == "groups" else ()
        if len(groups) == len(self._parts):
            return list(groups)
        envs, episodes = saved_envs(snapshot), episodes_in(snapshot)
        return [
            {"kind": "single" if envs else "other", "envs": envs[group.rows], "episodes": episodes}
            for group in self.groups
        ]

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        rows = checked_rows(rows, self.n_envs)
        states: dict[int, EnvState] = {}
        for index, places, local in self._by_group(rows):
            states |= zip(places, self.groups[index].envs.capture(local), strict=True)
        return [states[place] for place in range(len(rows))]

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        rows = checked_rows(rows, self.n_envs)
        check_count(states, rows)
        obs: dict[int, np.ndarray] = {}
        for index, places, local in self._by_group(rows):
            given = [states[place] for place in places]
            obs |= zip(places, self.groups[index].envs.begin_from(local, given), strict=True)
        return np.stack([obs[place] for place in range(len(rows))])

    def _by_group(self, rows: Sequence[int]) -> list[tuple[int, list[int], list[int]]]:
        return rows_by_part(rows, [group.rows for group in self.groups])

    def close(self) -> None:
        for part in self._parts:
            part.close()


class _InGroup:
    """A group's envs; a failure has the env's number among all of them."""

    def __init__(self, envs: Envs, start: int) -> None:
        self._envs, self._start = envs, start
        self.send = envs.send

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)

    def receive(self) -> Step:
        try:
            return self._envs.receive()
        except EnvFailure as failure:
            raise self._placed(failure) from failure

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        try:
            return self._envs.capture(rows)
        except EnvFailure as failure:
            raise self._placed(failure) from failure

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        try:
            return self._envs.begin_from(rows, states)
        except EnvFailure as failure:
            raise self._placed(failure) from failure

    def _placed(self, failure: EnvFailure) -> EnvFailure:
        return EnvFailure(failure.index + self._start, failure.seed, failure.reason)


def groups_of(envs: Envs) -> tuple[Group, ...]:
    """The groups that envs come in; most come in one."""
    groups: tuple[Group, ...] | None = getattr(envs, "groups", None)
    return (Group(envs, slice(0, envs.n_envs)),) if groups is None else groups


def group_sizes(n_envs: int, n_groups: int) -> list[int]:
    """As even as can be."""
    if n_groups > n_envs:
        raise GymnastError(f"env.groups={n_groups} needs at least as many envs, env.n_envs is {n_envs}")
    edges = [n_envs * share // n_groups for share in range(n_groups + 1)]
    return [stop - start for start, stop in pairwise(edges)]


def _joined(steps: list[Step]) -> Step:
    """One step of all groups."""
    first = steps[0]
    final = None
    if any(step.final_obs is not None for step in steps):
        final = np.concatenate([step.obs if step.final_obs is None else step.final_obs for step in steps])
    return Step(
        obs=np.concatenate([step.obs for step in steps]),
        rewards=np.concatenate([step.rewards for step in steps]),
        terminated=np.concatenate([step.terminated for step in steps]),
        truncated=np.concatenate([step.truncated for step in steps]),
        final_obs=final,
        reward_parts={name: _column(steps, "reward_parts", name) for name in first.reward_parts},
        episode_values={name: _column(steps, "episode_values", name) for name in first.episode_values},
        lost=_flags(steps, "lost"),
        life_lost=_flags(steps, "life_lost"),
    )


def _column(steps: list[Step], field: str, name: str) -> np.ndarray:
    return np.concatenate([getattr(step, field)[name] for step in steps])


def _flags(steps: list[Step], field: str) -> np.ndarray | None:
    """Flags that most steps have none of."""
    found = [getattr(step, field) for step in steps]
    if all(flags is None for flags in found):
        return None
    return np.concatenate(
        [
            np.zeros(len(step.rewards), bool) if flags is None else flags
            for step, flags in zip(steps, found, strict=True)
        ]
    )
