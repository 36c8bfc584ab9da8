"""What an env's step may return: a reward that is text or a flag that says "no" would train in silence."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from gymnast.spaces.observation_form import ObservationForm

# Types that need no closer look; a value of any other may still be fine (an array of no dimension).
_INTEGERS = frozenset({int, np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32})
NUMBERS = _INTEGERS | {float, bool, np.float64, np.float32, np.float16}
FLAGS = frozenset({bool, np.bool_})
_ARRAYS = frozenset({np.ndarray, list, tuple})
_PARTS = frozenset({dict, OrderedDict, tuple, list})
_SHOWN = 60  # characters of a value in a message


class Returned:
    """Checks what the steps of envs with these observations return; a reason in words, or None."""

    def __init__(self, form: ObservationForm) -> None:
        self._form = form
        leaf = form.leaves[0]
        # Of observations that need no closer look.
        alone = NUMBERS if leaf.dtype.kind == "f" else _INTEGERS
        self.obs_types = _PARTS if form.has_parts else _ARRAYS if leaf.shape else alone

    def wrong_step(self, result: Any) -> str | None:
        """What is wrong with all that a step returned."""
        if not isinstance(result, tuple | list) or len(result) != 5:
            what = f"{len(result)} values" if isinstance(result, tuple | list) else _shown(result)
            return f"returned {what} from step(); expected are obs, reward, terminated, truncated, info"
        obs, reward, terminated, truncated, info = result
        if not isinstance(info, dict):
            return f"returned the info {_shown(info)}; a dict is expected"
        return self.wrong_values(obs, reward) or self.wrong_flags(terminated, truncated)

    def wrong_values(self, obs: Any, reward: Any) -> str | None:
        """What is wrong with an observation or reward."""
        if type(reward) not in NUMBERS:
            value = np.asarray(reward)
            if value.ndim or value.dtype.kind not in "biuf":
                return f"returned the reward {_shown(reward)}; a number is expected"
        return self._form.misfit(obs)

    def wrong_flags(self, terminated: Any, truncated: Any) -> str | None:
        """What is wrong with the flags of an episode's end."""
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            value = np.asarray(flag)
            if value.ndim or value.dtype.kind not in "biu" or value.item() not in (0, 1):
                return f"returned {name} = {_shown(flag)}; True or False is expected"
        return None


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= _SHOWN else text[:_SHOWN] + '…'} ({type(value).__name__})"
