"""A wrapper for MiniGrid and BabyAI, whose observations are category numbers and a text."""

from __future__ import annotations

from itertools import chain
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import ObservationChange, checked_flag
from gymnast.errors import GymnastError

# What a cell of MiniGrid's `image` holds: kind of thing, colour, state of a door (or direction of an agent).
COUNTS = (11, 6, 4)
# The three numbers as one, and the planes of each: [11 · 6 · 4, 21] uint8.
_WEIGHTS = np.array([1, COUNTS[0], COUNTS[0] * COUNTS[1]])
PLANES = np.concatenate(
    [
        np.eye(count, dtype=np.uint8)[np.arange(np.prod(COUNTS)) // weight % count]
        for count, weight in zip(COUNTS, _WEIGHTS, strict=True)
    ],
    axis=1,
)
# The words that tell BabyAI's missions apart; the others ("the", "to", "you") add nothing to these.
_BABYAI_WORDS = (
    *("go", "pick", "open", "put", "next", "then", "after", "and", "door", "key", "ball", "box", "object"),
    *("red", "green", "blue", "purple", "yellow", "grey", "front", "behind", "left", "right"),
)
_BABYAI_LENGTH = 36  # four clauses of eight such words ("put the red ball in front of you next to …")


class MiniGridPlanes(ObservationChange):
    """Show MiniGrid's view as planes of zeros and ones instead of category numbers.

    A key is 5 and a ball is 6, but a ball is not a little more than a key: one plane for each kind of
    thing, colour and state is a form that a network can use. Beside `image` there is `direction` and,
    where the text of the mission differs between episodes, `mission`: the numbers of its words, in order,
    leaving out those that are the same in every mission.

    direction: show which way the agent faces.
    mission: show the mission's words, where they can differ.
    """

    def __init__(self, env: gym.Env[Any, Any], direction: bool = True, mission: bool = True) -> None:
        super().__init__(env)
        space: Any = env.observation_space
        image: Any = space.spaces.get("image") if isinstance(space, gym.spaces.Dict) else None
        if image is None or len(image.shape or ()) != 3 or image.shape[2] != len(COUNTS):
            raise GymnastError(f"wrapper 'minigrid-planes' is for MiniGrid's own observations, not {space}")
        self._direction = checked_flag("minigrid-planes", "direction", direction)
        shown = checked_flag("minigrid-planes", "mission", mission)
        self._words, self._length = _vocabulary(space.spaces.get("mission")) if shown else ({}, 0)
        shape: Any = (*image.shape[:2], sum(COUNTS))
        planes = gym.spaces.Box(0, 1, shape, np.uint8)
        parts: dict[str, gym.Space[Any]] = {"image": planes}
        if self._direction:
            parts["direction"] = gym.spaces.Discrete(4)
        if self._words:
            parts["mission"] = gym.spaces.MultiDiscrete([len(self._words) + 1] * self._length)
        self._whole = len(parts) > 1
        self.observation_space = gym.spaces.Dict(parts) if self._whole else planes
        if any(cls.__module__.startswith("minigrid.") for cls in type(env.unwrapped).__mro__):
            from gymnast.envs.families.minigrid.quick_view import quicken_view

            quicken_view(env.unwrapped)

    def observation(self, observation: dict[str, Any]) -> Any:
        planes = PLANES.take(observation["image"] @ _WEIGHTS, axis=0)
        if not self._whole:
            return planes
        shown: dict[str, Any] = {"image": planes}
        if self._direction:
            shown["direction"] = int(observation["direction"])
        if self._words:
            shown["mission"] = self.mission_words(observation["mission"])
        return shown

    @property
    def mission_length(self) -> int:
        """How many words of a mission are shown; 0 if it is left out."""
        return self._length

    def mission_words(self, text: str) -> np.ndarray:
        """The numbers of a mission's words, in order; 0: no further word."""
        found = [self._words[word] for word in _split(text) if word in self._words]
        numbers = np.zeros(self._length, np.int64)
        numbers[: len(found)] = found[: self._length]
        return numbers


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
