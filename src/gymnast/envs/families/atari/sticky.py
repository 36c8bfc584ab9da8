"""The action that ALE's sticky actions repeat: part of a game's state that ALE's own states leave out.

With `repeat_action_probability` ALE draws for each frame whether the asked action replaces the one it is
doing. That one can be neither read nor set. But the draws can be read off the random numbers in a state
(of two words per frame the first, over 2³², is below the probability where the action sticks), so it
follows from what was asked last; and it can be set by asking until a draw lets the action through.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import numpy as np

_NOOP = 0
_WORDS = 624  # of a Mersenne Twister's block
_TWISTER = re.compile(rb"(?:\d+ ){624}\d+")  # as ALE writes one: its words, then how many are used up
_MOST_FRAMES = _WORDS // 2  # of history; a chain of more repeats does not happen


class StickyAction:
    """Follows the action that one game is doing."""

    def __init__(self, ale: Any, probability: float) -> None:
        self._ale, self._probability = ale, probability
        self._asked: deque[tuple[int, int]] = deque(maxlen=_MOST_FRAMES)  # (action, frames), oldest first
        self._before = _NOOP  # what was done before those

    def loaded(self) -> None:
        """The game was loaded: it begins with no action."""
        self._asked.clear()
        self._before = _NOOP

    def asked(self, code: int, frames: int) -> None:
        self._asked.append((code, frames))

    def get(self) -> int:
        """The action that a sticky draw would repeat in the next frame."""
        if not self._probability:
            return _NOOP  # it does not matter
        words, used = self._random()
        draws = self._draws(words[:used])
        back = 0
        for code, frames in reversed(self._asked):
            for _ in range(frames):
                if back == len(draws):
                    words = _block_before(words)
                    draws = np.concatenate([self._draws(words), draws])
                back += 1
                if draws[-back]:
                    return code
        return self._before

    def set(self, code: int) -> None:
        """Make `code` what is repeated next. It plays some frames: restore the game's state after it."""
        while self._probability:
            words, used = self._random()
            let_through = np.flatnonzero(self._draws(words[used:]))
            for _ in range(int(let_through[0]) + 1 if len(let_through) else max(1, (_WORDS - used) // 2)):
                self._ale.act(code)
            if len(let_through) or self._probability >= 1.0:
                break
        self._asked.clear()
        self._before = code

    def _draws(self, words: np.ndarray) -> np.ndarray:
        """For each frame whether the action that was asked for is done."""
        done: np.ndarray = _tempered(words[::2]) / 2.0**32 >= self._probability
        return done

    def _random(self) -> tuple[np.ndarray, int]:
        """The words of ALE's generator, and how many of them were used."""
        found = _TWISTER.findall(self._ale.cloneState(include_rng=True).serialize())
        if len(found) != 2:  # the console's own, and that of the env
            raise RuntimeError("ale-py writes its random numbers in another way than 0.12 does")
        *words, used = map(int, found[1].split())
        return np.array(words, np.uint64), used


def _tempered(words: np.ndarray) -> np.ndarray:
    """What a Mersenne Twister gives out for the words of its block."""
    words = words ^ (words >> np.uint64(11))
    words ^= (words << np.uint64(7)) & np.uint64(0x9D2C5680)
    words ^= (words << np.uint64(15)) & np.uint64(0xEFC60000)
    return words ^ (words >> np.uint64(18))


def _block_before(words: np.ndarray) -> np.ndarray:
    """The block that a Mersenne Twister made this one of."""
    x = [int(word) for word in words]
    for i in reversed(range(_WORDS)):
        # x[i] came of the highest bit of the word at i, the others of the one after, and the word 397 on.
        mixed = x[i] ^ x[(i + 397) % _WORDS]
        if mixed & 0x80000000:
            mixed ^= 0x9908B0DF
        word = (mixed << 1) & 0x80000000
        mixed = x[i - 1] ^ x[(i + 396) % _WORDS]
        if mixed & 0x80000000:
            mixed ^= 0x9908B0DF
            word |= 1
        x[i] = word | ((mixed << 1) & 0x7FFFFFFF)
    return np.array(x, np.uint64)
