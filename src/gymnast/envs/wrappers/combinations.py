"""Wrappers over combinations of buttons: those to choose among, and those that are forbidden."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import combinations as subsets
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import EnvWrapper
from gymnast.errors import GymnastError, did_you_mean
from gymnast.spaces.masks import MaskReader

_NAME = "forbidden-combinations"
NOTHING = "none"  # the label of no button at all
_MOST_BUTTONS = 12  # 4096 combinations


class _OtherActions(EnvWrapper):
    """Actions that mean others of the env within, whose masks have to be translated into the new ones."""

    def _translated(self, action: Any) -> Any:
        raise NotImplementedError

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, self._masked(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(self._translated(action))
        return obs, reward, terminated, truncated, self._masked(info)


class ForbiddenCombinations(_OtherActions):
    """Forbid combinations of buttons by action masks; needs env.action_masks=true.

    A policy over a MultiBinary presses each button independently of the others, so no mask of single
    buttons could forbid two at once. The space becomes a Discrete one over combinations of buttons,
    in which the forbidden ones are masked. A Discrete space whose actions are combinations already
    (labels such as `left+jump`) stays as it is.

    combinations: what may not be pressed together, each a list of labels or indices: [[left, right]].
    action_labels: of the buttons of a MultiBinary or the actions of a Discrete space; if unset, those of
        env.spec, or the env's own.
    actions: of a MultiBinary, the combinations to choose among, each a list of buttons; all if unset.
    """

    gives_masks = True

    def __init__(
        self,
        env: gym.Env[Any, Any],
        combinations: Sequence[Sequence[str | int]],
        action_labels: Sequence[str] | None = None,
        actions: Sequence[Sequence[str | int]] | None = None,
    ) -> None:
        super().__init__(env)
        space = env.action_space
        named = None if action_labels is None else [str(label) for label in action_labels]
        if isinstance(space, gym.spaces.MultiBinary) and len(space.shape) == 1:
            buttons = _checked_labels(_NAME, named or own_labels(env), space.shape[0], "button")
            self._pressed: np.ndarray | None = _combinations(_NAME, buttons, actions)
            self.action_labels = _named(buttons, self._pressed)
            held = self._pressed.astype(np.bool_)
            self.action_space = gym.spaces.Discrete(len(held))
        elif isinstance(space, gym.spaces.Discrete):
            if actions is not None:
                raise GymnastError(f"wrapper '{_NAME}': actions is for MultiBinary spaces, not {space}")
            labels = _checked_labels(_NAME, named or own_labels(env), int(space.n), "action")
            self.action_labels = tuple(labels)
            parts = [label.split("+") for label in labels]
            buttons = list(dict.fromkeys(part.strip() for row in parts for part in row))
            self._pressed = None
            held = np.array([[button in map(str.strip, row) for button in buttons] for row in parts])
        else:
            raise GymnastError(
                f"wrapper '{_NAME}' is for a row of buttons (MultiBinary) or combinations of them (Discrete),"
                f" not {space}"
            )
        allowed = np.ones(len(held), np.bool_)
        for combination in _checked_combinations(combinations):
            indices = [_index(_NAME, buttons, button) for button in combination]
            together = held[:, indices].all(1)
            if not together.any():
                shown = "+".join(buttons[i] for i in indices)
                raise GymnastError(f"wrapper '{_NAME}': no action of {space} has {shown} together")
            allowed &= ~together
        if not allowed.any():
            raise GymnastError(f"wrapper '{_NAME}': these combinations leave no action")
        self._mask = allowed.astype(np.int8)

    def _translated(self, action: Any) -> Any:
        return action if self._pressed is None else self._pressed[action].copy()

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        """`info` with our mask, and with what the env itself forbids of the actions we share."""
        own = info.get("action_mask")
        if own is None:
            return {**info, "action_mask": self._mask}
        if self._pressed is None:
            return {**info, "action_mask": self._mask & (np.asarray(own) != 0)}
        return {**info, "action_mask": self._mask & possible(self.env.action_space, self._pressed, own)}


class ActionCombinations(_OtherActions):
    """Choose one of some combinations of buttons, instead of pressing each button by itself.

    A MultiBinary (a row of buttons) or MultiDiscrete (a row of choices) becomes a Discrete space.

    actions: the combinations, each as text (`right+jump`, `none`) or as a list of buttons, by label or
        index; of a MultiDiscrete, lists of its numbers. All that there are if unset.
    action_labels: of the buttons; if unset, those of env.spec, or the env's own.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        actions: Sequence[str | Sequence[str | int]] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env)
        name, space = "action-combinations", env.action_space
        if isinstance(space, gym.spaces.MultiBinary) and len(space.shape) == 1:
            named = None if action_labels is None else [str(label) for label in action_labels]
            buttons = _checked_labels(name, named or own_labels(env), space.shape[0], "button")
            self._rows = _combinations(name, buttons, actions)
            self.action_labels = _named(buttons, self._rows)
        elif isinstance(space, gym.spaces.MultiDiscrete) and len(space.shape) == 1:
            self._rows = _choices(name, space, actions)
            self.action_labels = tuple(",".join(map(str, row + space.start)) for row in self._rows)
        else:
            raise GymnastError(
                f"wrapper '{name}' is for a row of buttons (MultiBinary) or of choices (MultiDiscrete),"
                f" not {space}"
            )
        self._first = space.start if isinstance(space, gym.spaces.MultiDiscrete) else 0
        self.action_space = gym.spaces.Discrete(len(self._rows))

    def _translated(self, action: Any) -> Any:
        return self._rows[action] + self._first

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        own = info.get("action_mask")
        if own is None:
            return info
        return {**info, "action_mask": possible(self.env.action_space, self._rows, own).astype(np.int8)}


def possible(space: gym.Space[Any], rows: np.ndarray, mask: Any) -> np.ndarray:
    """[rows]: which actions a mask of the space's factors allows, each factor as it would be."""
    reader = MaskReader(space)
    allowed = np.zeros(reader.size, np.bool_)
    reader.read(mask, allowed)
    starts = np.concatenate([[0], np.cumsum(reader.form.sizes)[:-1]])
    return np.asarray(allowed[starts + rows].all(1))


def own_labels(env: gym.Env[Any, Any]) -> list[str] | None:
    """What an env calls its actions: ALE's meanings, the names of an Enum, or a console's buttons."""
    base: Any = env.unwrapped
    if callable(getattr(base, "get_action_meanings", None)):
        return [str(label) for label in base.get_action_meanings()]
    actions = getattr(base, "actions", None)
    if isinstance(actions, type) and issubclass(actions, Enum):  # MiniGrid
        return [action.name for action in actions]
    buttons = getattr(base, "buttons", None)
    return None if buttons is None else [str(label) for label in buttons]


def labels_of(env: gym.Env[Any, Any]) -> tuple[str, ...] | None:
    """The labels of the actions: of what a wrapper here has made of them, or what the env calls them."""
    space = env.action_space
    while isinstance(env, gym.Wrapper):
        if isinstance(env, EnvWrapper) and env.action_labels is not None:
            return env.action_labels
        env = env.env
    if not isinstance(space, gym.spaces.Discrete) or space != env.action_space:
        return None  # a wrapper that we know nothing of has made other actions of them
    labels = own_labels(env)
    return tuple(labels) if labels is not None and len(labels) == space.n else None


def _checked_labels(wrapper: str, labels: list[str] | None, count: int, what: str) -> list[str]:
    if labels is None:
        return [f"{what} {index}" for index in range(count)]
    if len(labels) != count:
        raise GymnastError(
            f"wrapper '{wrapper}': {len(labels)} labels are given, but there are {count} {what}s"
        )
    return labels


def _checked_combinations(value: Any) -> list[list[Any]]:
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if (
        not listed
        or not value
        or any(isinstance(c, str) or not isinstance(c, Sequence) or not c for c in value)
    ):
        raise GymnastError(
            f"wrapper '{_NAME}': combinations is a list of lists, such as [[left, right]], not {value!r}"
        )
    return [list(combination) for combination in value]


def _named(buttons: list[str], rows: np.ndarray) -> tuple[str, ...]:
    return tuple("+".join(buttons[i] for i in np.flatnonzero(row)) or NOTHING for row in rows)


def _combinations(wrapper: str, buttons: list[str], actions: Any) -> np.ndarray:
    """Rows of a MultiBinary, [combinations, buttons]."""
    if actions is None:
        if len(buttons) > _MOST_BUTTONS:
            raise GymnastError(
                f"wrapper '{wrapper}': {len(buttons)} buttons have {2 ** len(buttons):,} combinations;"
                " list those to choose among under actions"
            )
        chosen = [list(s) for k in range(len(buttons) + 1) for s in subsets(range(len(buttons)), k)]
    else:
        listed = [_pressed(action) for action in _checked_actions(wrapper, actions, "buttons")]
        chosen = [[_index(wrapper, buttons, button) for button in action] for action in listed]
    rows = np.zeros((len(chosen), len(buttons)), np.int8)
    for row, pressed in zip(rows, chosen, strict=True):
        row[pressed] = 1
    return rows


def _pressed(action: Any) -> Sequence[Any]:
    """The buttons of a combination; a text has them joined by +."""
    if not isinstance(action, str):
        return action if isinstance(action, Sequence) else [action]
    return [] if action.lower() in (NOTHING, "noop") else [button.strip() for button in action.split("+")]


def _choices(wrapper: str, space: gym.spaces.MultiDiscrete, actions: Any) -> np.ndarray:
    """Rows of a MultiDiscrete counted from 0, [combinations, choices]."""
    if actions is None:
        count = int(np.prod(space.nvec))
        if count > 2**_MOST_BUTTONS:
            raise GymnastError(
                f"wrapper '{wrapper}': {space} has {count:,} combinations; list those to choose among under"
                " actions"
            )
        return np.indices(space.nvec.tolist()).reshape(len(space.nvec), -1).T.astype(space.dtype)
    rows = []
    for action in _checked_actions(wrapper, actions, "numbers"):
        row = np.asarray(action)
        if not np.issubdtype(row.dtype, np.integer) or not space.contains(row.astype(space.dtype)):
            raise GymnastError(f"wrapper '{wrapper}': {action!r} is not an action of {space}")
        rows.append(row - space.start)
    return np.array(rows, space.dtype)


def _checked_actions(wrapper: str, actions: Any, of: str) -> Sequence[Any]:
    if isinstance(actions, str) or not isinstance(actions, Sequence) or not actions:
        raise GymnastError(f"wrapper '{wrapper}': actions is a list of lists of {of}, not {actions!r}")
    return actions


def _index(wrapper: str, buttons: list[str], button: Any) -> int:
    if isinstance(button, int) and not isinstance(button, bool) and 0 <= button < len(buttons):
        return button
    if button in buttons:
        return buttons.index(button)
    raise GymnastError(
        f"wrapper '{wrapper}': there is no button {button!r}{did_you_mean(str(button), buttons)};"
        f" there are {', '.join(buttons)}"
    )
