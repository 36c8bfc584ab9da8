"""What the rest of the code knows of a policy's memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

Array = Any  # numpy.ndarray or torch.Tensor


class MemoryState(Protocol):
    """What a policy remembers of each of N episodes: `Policy.start` makes it, acting advances it."""

    def reset(self, done: Any) -> None:
        """Forget, where an episode has ended: a mask [N] of bools, or indices."""


class NoState:
    """Of a policy without memory: there is nothing to forget."""

    def reset(self, done: Any) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Reset-free runs of steps that one call of a recurrent layer takes along, longest first.

    They lie in a rectangle [steps, runs] whose columns are filled up where a run is shorter; `places`
    names the cells that are samples, row by row.
    """

    steps: int  # of the longest run
    n_runs: int
    places: Array  # [b] increasing
    states: Array  # [K, runs, H] what each run starts from


@dataclass(frozen=True, slots=True)
class Runs:
    """How the samples of a minibatch hang together in time, group after group."""

    groups: tuple[RunGroup, ...]


@dataclass(frozen=True, slots=True)
class InRuns:
    """Preprocessed observations of a minibatch, in the order of its runs."""

    x: Array  # [B, …]
    runs: Runs


def no_state_error(n: int) -> str:
    """The message for calling a policy with a memory as if it had none."""
    return (
        "this policy has a memory or stacks frames: make state = policy.start(n) for n episodes, pass it "
        f"to every call (predict(obs, state=state), {n} observations here), and state.reset(done) where "
        "episodes ended"
    )
