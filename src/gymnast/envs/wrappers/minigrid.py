"""A wrapper for MiniGrid and BabyAI, whose observations are numbers that stand for things, and a text."""

from __future__ import annotations

from itertools import chain
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import ObservationChange, checked_flag
from gymnast.errors import GymnastError

# What a cell of MiniGrid's `image` says: kind of thing, colour, state of a door (or direction of an agent).
_COUNTS = (11, 6, 4)
_OFFSETS = np.concatenate([[0], np.cumsum(_COUNTS)[:-1]])
# The words that tell BabyAI's missions apart; the others ("the", "to", "you") add nothing to these.
_BABYAI_WORDS = (
    *("go", "pick", "open", "put", "next", "then", "after", "and", "door", "key", "ball", "box", "object"),
    *("red", "green", "blue", "purple", "yellow", "grey", "front", "behind", "left", "right"),
)
_BABYAI_LENGTH = 36  # four clauses of eight such words ("put the red ball in front of you next to …")


class MiniGridPlanes(ObservationChange):
    """Show MiniGrid's view as planes of zeros and ones instead of numbers that stand for things.

    A key is 5 and a ball is 6, but a ball is not a little more than a key: one plane for each kind of
    thing, colour and state says it in a way that a network can use. Beside `image` there is `direction`,
    and where the text of the mission differs from episode to episode `mission`: which of its words stand
    where, in order, of those that can differ.

    direction: show where the agent looks.
    mission: show the mission's words, where they can differ.
    """

    def __init__(self, env: gym.Env[Any, Any], direction: bool = True, mission: bool = True) -> None:
        super().__init__(env)
        space: Any = env.observation_space
        image: Any = space.spaces.get("image") if isinstance(space, gym.spaces.Dict) else None
        if image is None or len(image.shape or ()) != 3 or image.shape[2] != len(_COUNTS):
            raise GymnastError(f"wrapper 'minigrid-planes' is for MiniGrid's own observations, not {space}")
        self._direction = checked_flag("minigrid-planes", "direction", direction)
        shown = checked_flag("minigrid-planes", "mission", mission)
        self._words, self._length = _vocabulary(space.spaces.get("mission")) if shown else ({}, 0)
        shape: Any = (*image.shape[:2], sum(_COUNTS))
        planes = gym.spaces.Box(0, 1, shape, np.uint8)
        parts: dict[str, gym.Space[Any]] = {"image": planes}
        if self._direction:
            parts["direction"] = gym.spaces.Discrete(4)
        if self._words:
            parts["mission"] = gym.spaces.MultiDiscrete([len(self._words) + 1] * self._length)
        self._whole = len(parts) > 1
        self.observation_space = gym.spaces.Dict(parts) if self._whole else planes
        self._eye = np.eye(sum(_COUNTS), dtype=np.uint8)

    def observation(self, observation: dict[str, Any]) -> Any:
        # A row of the identity for each of the three numbers; no two of them share a plane, so they add up.
        planes = self._eye[observation["image"] + _OFFSETS].sum(2, dtype=np.uint8)
        if not self._whole:
            return planes
        shown: dict[str, Any] = {"image": planes}
        if self._direction:
            shown["direction"] = int(observation["direction"])
        if self._words:
            found = [self._words[word] for word in _split(observation["mission"]) if word in self._words]
            shown["mission"] = np.zeros(self._length, np.int64)  # 0: no further word
            shown["mission"][: len(found)] = found[: self._length]
        return shown


def _split(text: str) -> list[str]:
    return text.lower().replace(",", " ").split()


def _vocabulary(space: Any) -> tuple[dict[str, int], int]:
    """(the words that can differ between missions, from 1; how many of them a mission may have)."""
    if type(space).__name__ == "BabyAIMissionSpace":  # it knows nothing of what it holds
        return {word: number for number, word in enumerate(_BABYAI_WORDS, 1)}, _BABYAI_LENGTH
    choices = getattr(space, "ordered_placeholders", None)
    if not choices:
        return {}, 0  # every episode has the same mission
    words = sorted(set(chain.from_iterable(_split(choice) for slot in choices for choice in slot)))
    length = sum(max(len(_split(choice)) for choice in slot) for slot in choices)
    return {word: number for number, word in enumerate(words, 1)}, length
