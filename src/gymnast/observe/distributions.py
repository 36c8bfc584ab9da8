"""Reading distributions.bin: how actions, rewards, values … were distributed over a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from gymnast.metrics.sinks.distributions_file import Section, read_sections
from gymnast.runs.store import RunFolder


@dataclass(frozen=True, slots=True)
class Distributions:
    """Observed updates in order; row i of every array is of `env_steps[i]`.

    `arrays` by name, each [R, …] float32: `action/count`, `action/probability`, `action/mean`, `action/std`
    (over actions or components), `action/quantiles` [R, K, 21]; `reward`, `return`, `advantage`, `value`,
    `target`: 21 quantiles; `obs/mean`, `obs/std`, `obs/min`, `obs/max` of the first components. What a run
    does not have is not there. Where a resume has changed the names or shapes of the arrays, they are those
    of the last part of the run; `earlier` has the parts before.
    """

    env_steps: np.ndarray  # [R] int64
    updates: np.ndarray  # [R] int64
    arrays: dict[str, np.ndarray]
    labels: dict[str, tuple[str, ...]]  # of the components of some arrays
    earlier: tuple[Distributions, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.updates)


def read_distributions(run: RunFolder) -> Distributions:
    """All that can be read; nothing where a run has observed nothing yet, or keeps no distributions."""
    *earlier, last = [_arrays_of(section) for section in read_sections(run.distributions_path)] or [_NOTHING]
    return Distributions(last.env_steps, last.updates, last.arrays, last.labels, tuple(earlier))


_NOTHING = Distributions(np.empty(0, np.int64), np.empty(0, np.int64), {}, {})


def _arrays_of(section: Section) -> Distributions:
    counters = np.array(section.counters, np.int64).reshape(-1, 2)
    numbers = np.frombuffer(b"".join(section.numbers), "<f4").reshape(len(counters), -1)
    arrays: dict[str, np.ndarray] = {}
    at = 0
    for name, shape in section.shapes.items():
        arrays[name] = numbers[:, at : at + prod(shape)].reshape(len(counters), *shape)
        at += prod(shape)
    labels = {name: names for name, names in section.labels.items() if name in arrays}
    return Distributions(counters[:, 0], counters[:, 1], arrays, labels)
