"""Which arrays of a frame travel with an answer, in which order; both sides lay them out alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.remote_wire import Wire, WireError, bytes_of
from gymnast.envs.backends.worker_process import Answer, Command
from gymnast.spaces.plain import action_array_type, array_type


def turn_of(command: int) -> int:
    """Which of the two frames a command fills or reads."""
    return command % 2 if command < Command.SNAPSHOT else (command - Command.RESTORE_0) % 2


def layout(observations: gym.Space[Any], actions: gym.Space[Any]) -> list[str]:
    """What rows of a frame and of actions look like; the same on both sides, or they have different envs."""
    types = (array_type(observations), action_array_type(actions))
    return [f"{dtype.descr if dtype.fields else dtype.str} {list(shape)}" for shape, dtype in types]


@dataclass(slots=True)
class FrameArrays:
    """The memory of one frame's rows, as it is sent and received."""

    frame: Frame
    seen: list[memoryview]  # after a reset: what to act on, and what may be done
    stepped: list[memoryview]  # after a step, in addition
    ended: list[memoryview]  # if an env finished, in addition, with the last observations of those that did

    @classmethod
    def of(cls, frame: Frame) -> FrameArrays:
        step = frame.step
        masks = [] if frame.masks is None else [frame.masks]
        return cls(
            frame,
            [bytes_of(array) for array in (step.obs, *masks)],
            [
                bytes_of(array)
                for array in (step.rewards, step.terminated, step.truncated, *step.reward_parts.values())
            ],
            [bytes_of(array) for array in (frame.life_lost, frame.lost, *step.episode_values.values())],
        )

    def to_send(self, command: int, answer: Answer) -> list[memoryview]:
        """What follows the header of an answer."""
        if command > Command.STEP_1:
            return self.seen
        if answer != Answer.SOME_FINISHED:
            return self.seen + self.stepped
        return [*self.seen, *self.stepped, *self.ended, bytes_of(self.frame.final_obs[self._done])]

    def receive(self, wire: Wire, command: int, answer: int, length: int, deadline: float | None) -> None:
        """Fill the frame from what follows a header; WireError if that is not as long as it has to be."""
        views = self.seen if command > Command.STEP_1 else self.seen + self.stepped
        left = length - sum(view.nbytes for view in views)
        if left < 0 or (left and answer != Answer.SOME_FINISHED):
            raise WireError(f"a frame of {length:,} bytes does not fit these envs")
        wire.read(views, deadline)
        if answer != Answer.SOME_FINISHED:
            return
        done = self._done
        last = np.empty((np.count_nonzero(done), *self.frame.final_obs.shape[1:]), self.frame.final_obs.dtype)
        if left != last.nbytes + sum(view.nbytes for view in self.ended):
            raise WireError(f"a frame of {length:,} bytes does not fit these envs")
        wire.read([*self.ended, bytes_of(last)], deadline)
        self.frame.final_obs[done] = last

    @property
    def _done(self) -> np.ndarray:
        done: np.ndarray = self.frame.step.terminated | self.frame.step.truncated
        return done
