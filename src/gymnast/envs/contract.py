"""The one contract between environments and everything that steps them.

Gymnasium's vector envs reset in one of three modes, EnvPool and native vector envs in theirs.
`build_envs` hands out this contract whatever the backend, so no consumer ever sees an autoreset
artefact: every step is a real transition of every env, a finished env is reset within the step
that finished it, and the true last observation is handed out beside the first of the new episode.
"""

from __future__ import annotations

import logging
import signal
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError, described

if TYPE_CHECKING:
    from gymnast.envs.states import EnvState


@dataclass(slots=True)
class Step:
    """One step of N envs. Arrays may be overwritten by the next step: copy what you keep."""

    obs: np.ndarray  # [N, …] what to act on next; the new episode's first where an env finished
    rewards: np.ndarray  # [N] float64
    terminated: np.ndarray  # [N] bool
    truncated: np.ndarray  # [N] bool; never merged with terminated
    # [N, …] the true last obs in the rows that finished, what was there before in the others; None if
    # no env finished.
    final_obs: np.ndarray | None
    # Shares of `rewards` that the env or wrappers added, by name (`Envs.reward_parts`), each [N] float64:
    # rewards minus their sum is the env's own reward.
    reward_parts: dict[str, np.ndarray] = field(default_factory=dict)
    # Totals of a finished episode, by name (`Envs.episode_values`), each [N] float64. Valid only in the
    # rows that finished; NaN there if the env did not report one.
    episode_values: dict[str, np.ndarray] = field(default_factory=dict)
    # [N] bool: rows whose env (or its game's engine) died or hung and was restarted. Their episodes are
    # truncated at the last observation; their totals are unknown. None: there are none.
    lost: np.ndarray | None = None
    # [N] bool: rows that terminated for learning alone (a lost life): the game continues, and so do its
    # return and length, time limits, and all that wrappers and the policy remember. None: there are none.
    life_lost: np.ndarray | None = None


class EnvFailure(Exception):
    """An env raised, returned NaN or was lost for good: which one, with which seed, and why."""

    def __init__(self, index: int, seed: int, reason: str, trace: str = "") -> None:
        super().__init__(f"env {index} (seed {seed}) {reason}")
        self.index, self.seed, self.reason = index, seed, reason
        if trace:  # where it was raised, in another process
            self.add_note(trace)


def pass_on_ctrl_c(error: BaseException) -> None:
    """Raise the user's own Ctrl-C again; whatever else an env raises, `sys.exit()` too, is a failure of it.

    Ctrl-C comes to the main thread alone, from the handler of SIGINT, and never where that is ignored.
    """
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, FunctionType):  # ours: one that it did not raise is the env's own
        frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
        if handler.__code__ in frames:
            raise error
    elif handler is not signal.SIG_IGN:
        raise error


def close_env(env: gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]) -> str | None:
    """Close an env that is not needed any more; an error in that ends nothing, and is returned in words."""
    try:
        env.close()
    except BaseException as error:
        pass_on_ctrl_c(error)
        return f"close() of {type(env.unwrapped).__name__} raised {described(error)}"
    return None


def close_all(envs: Iterable[gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]]) -> None:
    """Close the envs of a run; what goes wrong with several of them in the same way is reported once."""
    for problem in dict.fromkeys([close_env(env) for env in envs]):
        if problem is not None:
            logging.getLogger("gymnast").warning("%s", problem)


class Envs(Protocol):
    """N copies of one environment, stepped together."""

    backend: str  # sync, workers, native, envpool or remote
    n_envs: int
    reward_parts: tuple[str, ...]  # names of the shares of the reward that the env or wrappers report
    episode_values: tuple[str, ...]  # names of what the env or wrappers report about a finished episode
    carries_state: bool  # whether `snapshot` can bring every env back exactly
    can_capture: bool  # whether `capture` and `begin_from` work here; elsewhere they raise GymnastError

    @property
    def observation_space(self) -> gym.Space[Any]:
        """Of a single env, as `spaces/plain.py` gives it: Box float32 (or uint8), Discrete from 0."""

    @property
    def action_space(self) -> gym.Space[Any]:
        """Discrete from 0; any other as the env has it."""

    @property
    def seeds(self) -> list[int]:
        """The seed each env was first reset with, or restarted with."""

    @property
    def restarts(self) -> int:
        """Processes that died or hung and were restarted."""

    @property
    def masks(self) -> np.ndarray | None:
        """[N, M] bool: what may be done on the observations handed out last (`spaces/masks.py`).

        None unless env.action_masks is on. Like the arrays of a step, it may be overwritten by the next.
        """

    def reset(self) -> np.ndarray:
        """Start every env from its own seed; the first observations [N, …]."""

    def step(self, actions: np.ndarray) -> Step:
        """`send` and `receive` in one."""

    def send(self, actions: np.ndarray) -> None:
        """Begin a step of every env; backends with processes or threads of their own step meanwhile.

        Exactly one `receive` must follow before anything else is asked for, and until then the array
        must be left as it is. Discrete actions count from 0, whatever the env's own numbering; those of
        several parts are flat, [N, K] (`spaces/action_form.py`), whatever the env wants them to be.
        """

    def receive(self) -> Step:
        """The end of the step that was begun; raises EnvFailure if an env raises or returns NaN.

        One that is lost with its process is restarted, if its budget allows: see `Step.lost`.
        """

    def snapshot(self) -> dict[str, Any]:
        """All that `restore` needs: nested dicts and lists of JSON values and NumPy arrays.

        Without `carries_state` it holds the random states alone, so that a resumed run
        continues with new episodes instead of repeating the first ones.
        """

    def restore(self, snapshot: dict[str, Any]) -> np.ndarray | None:
        """Continue from `snapshot`. None if the same episodes continue; otherwise the first
        observations of the new episodes that had to be started."""

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        """The states of single envs between two steps, to begin from later: data that does not depend on
        the row, process or run it came from, as long as the config is the same.

        A state holds all layers of an env with their random numbers, what the agent sees and its mask.
        Raises EnvFailure if the env's process is found lost; the next step replaces it as usual.
        """

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        """Leave the current episodes of `rows` for the given states, one each; what to act on in these
        rows now [len(rows), …]. `masks` is up to date; observations handed out before may not be.

        From here the same actions give the same observations, rewards and flags, also in the episodes
        after this one, since the env's random generator is part of its state: rows that begin from one
        state and act alike stay alike. (Native CartPole draws the starts of all rows from one generator,
        which stays as it is: there only the episode itself repeats.) `seeds` do not change.

        No step reports the end of an episode left in this way: whoever counts returns and lengths, or
        keeps recurrent states or frames of these rows, must set them to those of the given states.
        """

    def close(self) -> None:
        """Release processes and windows."""


class CannotCapture:
    """`capture` and `begin_from` of a backend that cannot read the state of a single env."""

    backend: str
    can_capture: bool = False

    def capture(self, rows: Sequence[int]) -> list[EnvState]:
        self._refuse()

    def begin_from(self, rows: Sequence[int], states: Sequence[EnvState]) -> np.ndarray:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise GymnastError(
            f"env.backend {self.backend} cannot capture the states of single envs; use sync or workers"
        )


class StepsWhenReceived(CannotCapture, ABC):
    """`send` and `receive` of a backend that can only step while it is waited for."""

    restarts = 0  # what is not in a process of its own cannot be replaced
    _sent: np.ndarray | None = None

    @abstractmethod
    def step(self, actions: np.ndarray) -> Step: ...

    def send(self, actions: np.ndarray) -> None:
        if self._sent is not None:
            raise RuntimeError("send was called twice without receive")
        self._sent = actions

    def receive(self) -> Step:
        actions, self._sent = self._sent, None
        if actions is None:
            raise RuntimeError("receive was called without send")
        return self.step(actions)
