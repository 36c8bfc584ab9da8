"""A memory along an episode: replayed from its observations, since a trace keeps only its norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from gymnast.errors import GymnastError
from gymnast.insight.quiet import random_numbers_kept

if TYPE_CHECKING:
    from gymnast.insight.subject import Subject


@dataclass(frozen=True, slots=True)
class MemoryStates:
    """What each memory held after every row."""

    names: tuple[str, ...]  # actor_memory hidden, actor_memory cell …
    values: np.ndarray  # [S, R, H]; the row after an episode's end begins with an empty memory again


def replayed_states(subject: Subject) -> torch.Tensor | None:
    """[R, K, H]: the states before each row; None without a memory."""
    network = subject.network
    if network.memory is None:
        return None
    from gymnast.insight.subject import chunks

    rows = np.arange(len(subject.trace))
    with random_numbers_kept(), torch.no_grad():
        encoded = [network.features(subject.inputs.batch(part)) for part in chunks(rows)]
        features = [torch.cat(own) for own in zip(*encoded, strict=True)]
        both = [features[0], features[-1]][: len(network.layout.memories)]
        state = network.start(1)
        states = torch.empty(len(rows), *state.values.shape[::2])  # [R, K, H]
        steps = subject.trace.columns["step"]
        for row in rows.tolist():
            if steps[row] == 0:
                state.values.zero_()
            states[row] = state.values[:, 0]
            network.memory.step([own[row : row + 1] for own in both], state)
    return states


def memory_states(subject: Subject) -> MemoryStates:
    """The recurrent state over the episode. GymnastError if the policy has no memory."""
    states, network = subject.states, subject.network
    if states is None or network.memory is None:
        raise GymnastError("this policy has no memory (policy.memory: none): there is no state to show")
    parts = ("hidden", "cell") if network.memory.parts == 2 else ("hidden",)
    names = tuple(f"{owner} {part}" for owner in network.layout.memories for part in parts)
    # The state after a row is the one before the next; the last row of an episode decides nothing.
    before = states.numpy()
    after = before.copy()
    going = np.flatnonzero(~subject.trace.columns["last"])
    after[going] = before[going + 1]
    return MemoryStates(names, np.ascontiguousarray(after.transpose(1, 0, 2)))
