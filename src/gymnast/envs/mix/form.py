"""How the observations and actions of several tasks become those of one policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.spaces.action_form import ActionForm

TASK = "task"  # the entry of a Dict observation that names the task
OBSERVATION = "observation"  # the entry beside it, where the tasks' own observations are no Dict

Heads = Literal["auto", "shared", "separate"]


class MixForm:
    """The spaces of a mix, and where each task's share of them lies."""

    def __init__(
        self,
        names: Sequence[str],
        observation_spaces: Sequence[gym.Space[Any]],
        action_spaces: Sequence[gym.Space[Any]],
        *,
        task_input: bool = False,
        heads: Heads = "auto",
    ) -> None:
        self.names = tuple(names)
        seen = _common(names, observation_spaces)
        self.own_observation_space = seen  # of each task, before the task is added
        self.observation_space = _with_task(seen, len(names)) if task_input else seen
        self._joined = task_input and isinstance(self.observation_space, gym.spaces.Box)
        self._prefix = f"{OBSERVATION}/" if task_input and not isinstance(seen, gym.spaces.Dict) else ""
        self._task_input = task_input
        self.blocks: tuple[slice, ...] | None = None  # each task's own choices, where heads are separate
        sizes = _own_choices(names, action_spaces, heads)
        if sizes is None:
            self.action_space = action_spaces[0]
        else:
            ends = np.cumsum(sizes).tolist()
            self.blocks = tuple(slice(end - size, end) for end, size in zip(ends, sizes, strict=True))
            self.action_space = gym.spaces.Discrete(ends[-1])
        self.n_logits = ActionForm(self.action_space).n_logits

    def block(self, task: int) -> slice:
        """The choices that are this task's."""
        return slice(0, self.n_logits) if self.blocks is None else self.blocks[task]

    def first_choice(self, task: int) -> int:
        """What a choice of this task counts from among those of all tasks."""
        return 0 if self.blocks is None else self.blocks[task].start

    def columns(self, batch: np.ndarray, task: int, rows: slice) -> list[tuple[np.ndarray, str | None]]:
        """Where in a batch [N, …] this task's observations are written: views, and the part that each takes.

        Marks the rows as this task's, which nothing overwrites.
        """
        mine = batch[rows]
        if not self._task_input:
            return [(mine, None)]
        if self._joined:
            n_own = batch.shape[1] - len(self.names)
            mine[:, n_own + task] = 1.0
            return [(mine[:, :n_own], None)]
        mine[TASK][:, task] = 1.0
        if mine.dtype.names is not None and OBSERVATION in mine.dtype.names and self._prefix:
            return [(mine[OBSERVATION], None)]
        names = [name for name in mine.dtype.names or () if name != TASK]
        return [(mine[name], name.removeprefix(self._prefix)) for name in names]

    def labels(self, labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """The labels of all actions from those of each task."""
        if self.blocks is None:
            return tuple(" / ".join(dict.fromkeys(same)) for same in zip(*labels, strict=True))
        return tuple(
            f"{name}: {label}" for name, own in zip(self.names, labels, strict=True) for label in own
        )


def _with_task(space: gym.Space[Any], n_tasks: int) -> gym.Space[Any]:
    """A vector gets one more component for each task; anything else a Dict with the entry `task`."""
    which = gym.spaces.Box(0.0, 1.0, (n_tasks,), np.float32)
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.dtype != np.uint8:
        return gym.spaces.Box(
            np.concatenate([space.low, which.low]), np.concatenate([space.high, which.high]), dtype=np.float32
        )
    parts = dict(space.spaces) if isinstance(space, gym.spaces.Dict) else {OBSERVATION: space}
    if TASK in parts:
        raise GymnastError(f"env.task_input: the observation has an entry '{TASK}' already")
    return gym.spaces.Dict({**parts, TASK: which})


def _common(names: Sequence[str], spaces: Sequence[gym.Space[Any]]) -> gym.Space[Any]:
    """The one space that holds every task's observations; bounds may differ, nothing else."""
    common = spaces[0]
    for name, space in zip(names[1:], spaces[1:], strict=True):
        if (reason := _difference(common, space)) is not None:
            raise GymnastError(
                f"env.mix: one policy cannot see both '{names[0]}' and '{name}': {reason}."
                " Observations must have the same shape; wrappers may bring them there"
            )
        common = _wider(common, space)
    return common


def _difference(one: gym.Space[Any], other: gym.Space[Any], where: str = "observations") -> str | None:
    if type(one) is not type(other):
        return f"{where} are {_shown(one)} in one and {_shown(other)} in the other"
    if isinstance(one, gym.spaces.Dict | gym.spaces.Tuple):
        assert isinstance(other, gym.spaces.Dict | gym.spaces.Tuple)
        mine, theirs = _parts(one), _parts(other)
        if mine.keys() != theirs.keys():
            odd = sorted(map(str, mine.keys() ^ theirs.keys()))
            return f"{where} have {', '.join(odd)} in one of them alone"
        found = (_difference(mine[key], theirs[key], f"{where} '{key}'") for key in mine)
        return next((reason for reason in found if reason is not None), None)
    if isinstance(one, gym.spaces.Box):
        same = one.shape == other.shape and one.dtype == other.dtype
    else:
        same = one == other
    return None if same else f"{where} are {_shown(one)} in one and {_shown(other)} in the other"


def _parts(space: gym.spaces.Dict | gym.spaces.Tuple) -> dict[Any, gym.Space[Any]]:
    return dict(space.spaces) if isinstance(space, gym.spaces.Dict) else dict(enumerate(space.spaces))


def _wider(one: gym.Space[Any], other: gym.Space[Any]) -> gym.Space[Any]:
    """A space that holds both, of which only the bounds differ."""
    if isinstance(one, gym.spaces.Dict):
        assert isinstance(other, gym.spaces.Dict)
        return gym.spaces.Dict({key: _wider(part, other[key]) for key, part in one.spaces.items()})
    if isinstance(one, gym.spaces.Tuple):
        assert isinstance(other, gym.spaces.Tuple)
        return gym.spaces.Tuple([_wider(a, b) for a, b in zip(one.spaces, other.spaces, strict=True)])
    if isinstance(one, gym.spaces.Box):
        assert isinstance(other, gym.spaces.Box)
        low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
        return gym.spaces.Box(low, high, dtype=one.dtype.type)
    return one


def _own_choices(names: Sequence[str], spaces: Sequence[gym.Space[Any]], heads: Heads) -> list[int] | None:
    """How many choices each task has for itself; None where all tasks share their actions."""
    odd = next((index for index, space in enumerate(spaces) if space != spaces[0]), None)
    if heads == "shared" and odd is not None:
        raise GymnastError(
            f"env.task_heads shared: the actions of '{names[0]}' are {spaces[0]}, those of '{names[odd]}'"
            f" {spaces[odd]}; separate (or auto) gives each task its own"
        )
    if odd is None and heads != "separate":
        return None
    sizes = [int(space.n) for space in spaces if isinstance(space, gym.spaces.Discrete)]
    if len(sizes) < len(spaces):
        which = next(i for i, space in enumerate(spaces) if not isinstance(space, gym.spaces.Discrete))
        what = "env.task_heads separate"
        if odd is not None:
            pair = f"'{names[0]}' are {spaces[0]}, those of '{names[odd]}' {spaces[odd]}"
            what = f"env.mix: the actions of {pair}"
        raise GymnastError(
            f"{what}: heads of their own are for tasks with Discrete actions, and those of '{names[which]}'"
            f" are {spaces[which]}; env.actions or a wrapper may make them Discrete"
        )
    return sizes


def _shown(space: gym.Space[Any]) -> str:
    """A space in short: bounds of a Box do not matter here."""
    if isinstance(space, gym.spaces.Box):
        return f"Box{list(space.shape)} of {space.dtype}"
    return str(space)
