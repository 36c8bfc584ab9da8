"""How large a machine a run needs: cores by what its envs cost to step, memory by what it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec

from gymnast.config.schema import Config
from gymnast.envs.backends.choice import WORTH_WORKERS_SECONDS
from gymnast.envs.measure.capacity import observation_bytes
from gymnast.envs.measure.tuning import N_ENVS, remembered, tune
from gymnast.errors import GymnastError

IN_PROCESS_CORES = 2.0  # envs in the learner's own process: more cores would idle
MOST_CORES = 64.0
_SHARE_SECONDS = 5e-4  # of stepping that is worth a process of its own, for each step of all envs
_MEASURED_SECONDS = 0.3  # for each way to step
_BASE = 1536  # MiB: Python, NumPy, an encoder and its optimiser
_TORCH = 2048
_WORKER = 256  # MiB of a process with envs
_COPIES = 3  # of a rollout: as it is collected, as it is learned from, and minibatches


@dataclass(frozen=True, slots=True)
class Size:
    """A machine, and why it is as large."""

    cores: float  # physical ones; two hardware threads each
    memory: int  # MiB
    reason: str


def size_for(config: Config, cores: float | None = None, memory: int | None = None) -> Size:
    """The machine for a config; what the user gives is taken as it is."""
    wanted, reason = (cores, "as asked for") if cores is not None else _cores(config)
    return Size(wanted, memory if memory is not None else _memory(config, wanted), reason)


def _cores(config: Config) -> tuple[float, str]:
    if config.env.mix is not None:
        return IN_PROCESS_CORES, "envs of a mix are not measured"
    counts = N_ENVS if config.env.n_envs == "auto" else (config.env.copies,)
    try:
        tuning = remembered(config.env, counts) or tune(config.env, counts, _MEASURED_SECONDS, brief=True)
    except GymnastError as error:
        return IN_PROCESS_CORES, f"a step could not be measured here ({str(error).splitlines()[0]})"
    cell = tuning.choice
    # All envs one after the other: with processes, each steps its share at the same time.
    seconds = cell.n_envs * cell.helpers / cell.rate
    cost = f"{cell.n_envs} envs, {1e6 * seconds / cell.n_envs:.3g} µs a step of each, measured here"
    if cell.backend == "native" or cell.n_envs == 1 or seconds < WORTH_WORKERS_SECONDS:
        return IN_PROCESS_CORES, f"{cost}: stepped in one process"
    processes = min(cell.n_envs, math.ceil(seconds / _SHARE_SECONDS))
    return min(MOST_CORES, processes + 1.0), f"{cost}: stepped in {processes} processes"


def _memory(config: Config, cores: float) -> int:
    try:
        steps = 2048 if config.algo.n_steps == "auto" else config.algo.steps
        copies = max(N_ENVS) if config.env.n_envs == "auto" else config.env.copies
        rollout = observation_bytes(config.env) * (steps + 1) * copies * _COPIES / 2**20
    except GymnastError:
        rollout = 0.0
    torch = _TORCH if find_spec("torch") is not None and config.engine != "numpy" else 0
    needed = _BASE + torch + rollout + _WORKER * cores
    return int(math.ceil(needed / 512) * 512)
