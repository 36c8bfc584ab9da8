"""A wrapper that forbids combinations of buttons, such as left and right at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as subsets
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import EnvWrapper
from gymnast.errors import GymnastError, did_you_mean
from gymnast.policies.masks import MaskReader

_NAME = "forbidden-combinations"
_MOST_BUTTONS = 12  # 4096 combinations


class ForbiddenCombinations(EnvWrapper):
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
            buttons = _checked_labels(named or own_labels(env), space.shape[0], "button")
            self._pressed: np.ndarray | None = _combinations(buttons, actions)
            self.action_labels = tuple(
                "+".join(buttons[i] for i in np.flatnonzero(row)) or "none" for row in self._pressed
            )
            held = self._pressed.astype(np.bool_)
            self.action_space = gym.spaces.Discrete(len(held))
        elif isinstance(space, gym.spaces.Discrete):
            if actions is not None:
                raise GymnastError(f"wrapper '{_NAME}': actions is for MultiBinary spaces, not {space}")
            self.action_labels = tuple(_checked_labels(named or own_labels(env), int(space.n), "action"))
            parts = [label.split("+") for label in self.action_labels]
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
            indices = [_index(buttons, button) for button in combination]
            together = held[:, indices].all(1)
            if not together.any():
                shown = "+".join(buttons[i] for i in indices)
                raise GymnastError(f"wrapper '{_NAME}': no action of {space} has {shown} together")
            allowed &= ~together
        if not allowed.any():
            raise GymnastError(f"wrapper '{_NAME}': these combinations leave no action")
        self._mask = allowed.astype(np.int8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, self._masked(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        pressed = action if self._pressed is None else self._pressed[action].copy()
        obs, reward, terminated, truncated, info = self.env.step(pressed)
        return obs, reward, terminated, truncated, self._masked(info)

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        """`info` with our mask, and with what the env itself forbids of the actions we share."""
        own = info.get("action_mask")
        if own is None:
            return {**info, "action_mask": self._mask}
        if self._pressed is None:
            return {**info, "action_mask": self._mask & (np.asarray(own) != 0)}
        allowed = np.zeros((len(self._pressed[0]), 2), np.bool_)
        MaskReader(self.env.action_space).read(own, allowed.reshape(-1))
        possible = allowed[np.arange(len(allowed)), self._pressed].all(1)  # each button as it would be
        return {**info, "action_mask": self._mask & possible}


def own_labels(env: gym.Env[Any, Any]) -> list[str] | None:
    """What an env calls its actions: ALE's meanings, or a console's buttons."""
    base: Any = env.unwrapped
    if callable(getattr(base, "get_action_meanings", None)):
        return [str(label) for label in base.get_action_meanings()]
    buttons = getattr(base, "buttons", None)
    return None if buttons is None else [str(label) for label in buttons]


def labels_of(env: gym.Env[Any, Any]) -> tuple[str, ...] | None:
    """The labels of the actions: of what a wrapper here has made of them, or what the env calls them."""
    space = env.action_space
    while isinstance(env, gym.Wrapper):
        if isinstance(env, ForbiddenCombinations):
            return env.action_labels
        env = env.env
    if not isinstance(space, gym.spaces.Discrete) or space != env.action_space:
        return None  # a wrapper that we know nothing of has made other actions of them
    labels = own_labels(env)
    return tuple(labels) if labels is not None and len(labels) == space.n else None


def _checked_labels(labels: list[str] | None, count: int, what: str) -> list[str]:
    if labels is None:
        return [f"{what} {index}" for index in range(count)]
    if len(labels) != count:
        raise GymnastError(
            f"wrapper '{_NAME}': {len(labels)} labels are given, but there are {count} {what}s"
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


def _combinations(buttons: list[str], actions: Any) -> np.ndarray:
    """Rows of a MultiBinary, [combinations, buttons]."""
    if actions is None:
        if len(buttons) > _MOST_BUTTONS:
            raise GymnastError(
                f"wrapper '{_NAME}': {len(buttons)} buttons have {2 ** len(buttons):,} combinations;"
                " list those to choose among under actions"
            )
        chosen = [list(s) for k in range(len(buttons) + 1) for s in subsets(range(len(buttons)), k)]
    else:
        if isinstance(actions, str) or not isinstance(actions, Sequence) or not actions:
            raise GymnastError(f"wrapper '{_NAME}': actions is a list of lists of buttons, not {actions!r}")
        chosen = [[_index(buttons, button) for button in action] for action in actions]
    rows = np.zeros((len(chosen), len(buttons)), np.int8)
    for row, pressed in zip(rows, chosen, strict=True):
        row[pressed] = 1
    return rows


def _index(buttons: list[str], button: Any) -> int:
    if isinstance(button, int) and not isinstance(button, bool) and 0 <= button < len(buttons):
        return button
    if button in buttons:
        return buttons.index(button)
    raise GymnastError(
        f"wrapper '{_NAME}': there is no button {button!r}{did_you_mean(str(button), buttons)};"
        f" there are {', '.join(buttons)}"
    )
