"""How an env is stepped fastest on this machine: backends × numbers of envs × processes or threads, measured.

The result is remembered for the machine; `env.n_envs: auto` goes by it.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gymnast.envs.backends.choice import FEWEST_FOR_NATIVE, WORKERS_MUST_WIN_BY
from gymnast.envs.backends.workers import registration
from gymnast.envs.build import why_not_backend
from gymnast.envs.contract import close_env
from gymnast.envs.measure.cache import measured_key, recall, remember, usable_cores
from gymnast.envs.measure.cell import Measured
from gymnast.envs.measure.memory import available_memory, shown_memory
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env, one_per_process
from gymnast.errors import GymnastError
from gymnast.processes.messages import has_arrived, receive, send
from gymnast.processes.start import how_it_ended, start_child

N_ENVS = (1, 4, 16, 64)
LONGEST_ROLLOUT = 2048  # steps, however rare rewards are
ENOUGH = 0.8  # of the best rate: what more envs gain beyond it is not worth the longer rollouts
_ALIKE = 0.95  # of a rate: fewer processes or threads do as well
_START_SECONDS = 30.0  # to build and reset; with it a cell that hangs is given up
_END_SECONDS = 5.0  # to leave in order after the answer
_SHARE_OF_MEMORY = 0.9


@dataclass(frozen=True, slots=True)
class Cell:
    """One way to step so many envs, and what came of it."""

    n_envs: int
    backend: str
    processes: int | None = None  # of `workers`
    threads: int | None = None  # of native Atari games
    measured: Measured | None = None
    problem: str | None = None  # why there is no measurement

    @property
    def rate(self) -> float:
        return self.measured.steps_per_second if self.measured is not None else 0.0

    @property
    def helpers(self) -> int:
        return self.processes or self.threads or 1

    def alone(self, config: EnvConfig) -> EnvConfig:
        """The config of just these envs, for measuring."""
        update: dict[str, Any] = {"n_envs": self.n_envs, "groups": 1}
        if self.processes is not None:
            update["workers"] = self.processes
        if self.threads is not None:
            update["atari"] = config.atari.model_copy(update={"threads": self.threads})
        return config.model_copy(update=update)

    def applied(self, config: EnvConfig) -> EnvConfig:
        """The config that trains so; `auto` stays where that is the same: evaluation chooses for itself."""
        update: dict[str, Any] = {"groups": config.groups}
        if config.backend == "auto" and _ruled(config, self.n_envs) not in (None, self.backend):
            update["backend"] = self.backend
        if config.groups > 1:  # they share the cores out among themselves
            update |= {"workers": config.workers, "atari": config.atari}
        return self.alone(config).model_copy(update=update)


@dataclass(frozen=True, slots=True)
class Tuning:
    """All cells, the best of them, and why."""

    cells: tuple[Cell, ...]
    choice: Cell
    reason: str

    @property
    def steps_between_rewards(self) -> float | None:
        """As random actions meet them; None if there never was one."""
        return self.choice.measured.steps_between_rewards if self.choice.measured is not None else None


def tune(
    config: EnvConfig,
    n_envs: Sequence[int] = N_ENVS,
    seconds: float = 1.0,
    tell: Callable[[Cell], None] | None = None,
    *,
    brief: bool = False,
) -> Tuning:
    """Measure every cell, choose one, remember it. `tell` hears of each cell as it is done.

    `brief` leaves out what seldom wins: other backends beside a native one, other than one process a core.
    """
    if config.mix is not None:
        raise GymnastError(
            "the envs of a mix cannot be measured together: measure one, say env.n_envs yourself"
        )
    close_env(make_env(config))  # what is wrong with the config itself is reported at once
    cells: list[Cell] = []
    for cell in _cells(config, sorted(set(n_envs)), brief):
        done = _too_large(cell, cells) or _run(config, cell, seconds)
        cells.append(done)
        if tell is not None:
            tell(done)
    if not any(cell.rate for cell in cells):
        raise GymnastError(f"{config.id} could not be stepped: {cells[0].problem}")
    tuning = choose(cells)
    _keep(config, n_envs, tuning)
    return tuning


def remembered(config: EnvConfig, n_envs: Sequence[int]) -> Tuning | None:
    """What was measured before on this machine, for the same env and the same numbers."""
    kept = recall("tuning", _key(config, n_envs))
    try:
        cells = [_cell_from(values) for values in kept["cells"]]
        return choose(cells) if any(cell.rate for cell in cells) else None
    except (TypeError, KeyError, ValueError):
        return None


def choose(cells: Sequence[Cell]) -> Tuning:
    """The fewest envs that are fast enough, stepped in the simplest way that is as fast as any."""
    able = [cell for cell in cells if cell.rate and cell.backend != "envpool"]
    if not able:
        able = [cell for cell in cells if cell.rate]
    fastest = max(able, key=lambda cell: cell.rate)
    fewest = min(cell.n_envs for cell in able if cell.rate >= ENOUGH * fastest.rate)
    choice = _simplest([cell for cell in able if cell.n_envs == fewest])
    if fewest == fastest.n_envs:
        reason = f"the fastest, {_shown(fastest)}"
    else:
        share = choice.rate / fastest.rate
        reason = (
            f"{_shown(choice)}, {share:.0%} of the fastest ({_shown(fastest)} with {fastest.n_envs} envs);"
            " more envs only make rollouts longer"
        )
    return Tuning(tuple(cells), choice, reason)


def rollout_steps(between_rewards: float | None, least: int) -> int:
    """Steps of a rollout in which most envs see a reward: twice as many as rewards are apart.

    Doubled from `least` on, so that minibatches divide it as they do the algorithm's own number.
    """
    wanted = LONGEST_ROLLOUT if between_rewards is None else 2 * between_rewards
    steps = least
    while steps < wanted and 2 * steps <= LONGEST_ROLLOUT:
        steps *= 2
    return steps


def _simplest(cells: list[Cell]) -> Cell:
    best = max(cells, key=lambda cell: cell.rate)
    in_process = max((c for c in cells if c.backend != "workers"), key=lambda cell: cell.rate, default=best)
    if best.rate < WORKERS_MUST_WIN_BY * in_process.rate:
        best = in_process
    alike = [c for c in cells if c.backend == best.backend and c.rate >= _ALIKE * best.rate]
    return min(alike, key=lambda cell: cell.helpers)


def _shown(cell: Cell) -> str:
    return f"{cell.rate:,.0f} steps/s"


def _cells(config: EnvConfig, n_envs: Sequence[int], brief: bool) -> list[Cell]:
    """What is possible at all, few envs first, so that memory is estimated before it runs out."""
    found: list[Cell] = []
    for count in n_envs:
        for backend in ("sync", "native", "workers", "envpool"):
            if config.backend not in ("auto", backend) or _impossible(config, count, backend):
                continue
            if backend == "workers" and count == 1 and any(cell.n_envs == 1 for cell in found):
                continue  # a process for one env only adds a way to go
            if brief and config.backend == "auto" and _ruled(config, count) not in (None, backend):
                continue
            ways = _ways(config, count, backend)
            found += ways[-1:] if brief else ways
    if not found:
        raise GymnastError(f"no backend can step {config.id} with {', '.join(map(str, n_envs))} envs")
    return found


def _ruled(config: EnvConfig, n_envs: int) -> str | None:
    """The backend that `auto` takes by rule; None where it goes by what was measured."""
    if one_per_process(config):
        return "workers"
    if n_envs == 1:
        return "sync"
    return "native" if n_envs >= FEWEST_FOR_NATIVE and not _impossible(config, n_envs, "native") else None


def _impossible(config: EnvConfig, n_envs: int, backend: str) -> bool:
    try:
        return why_not_backend(config, n_envs, backend) is not None
    except GymnastError:  # EnvPool is not installed
        return True


def _ways(config: EnvConfig, n_envs: int, backend: str) -> list[Cell]:
    """With the numbers of processes or threads that are worth a try; one for each core comes last."""
    cores = usable_cores()
    few, many = max(1, cores // 2), 2 * cores
    if backend == "workers":
        if one_per_process(config):
            return [Cell(n_envs, backend, processes=n_envs)]
        counts = (few, many, cores) if config.workers is None else (config.workers,)
        return [Cell(n_envs, backend, processes=n) for n in _distinct(n_envs, *counts)]
    if backend == "native" and config.id.startswith("ALE/") and config.atari.threads is None:
        return [Cell(n_envs, backend, threads=n) for n in _distinct(n_envs, few, cores)]
    return [Cell(n_envs, backend)]


def _distinct(most: int, *counts: int) -> list[int]:
    """Each once, none above `most`; in this order."""
    return list(dict.fromkeys(min(count, most) for count in counts))


def _too_large(cell: Cell, before: Sequence[Cell]) -> Cell | None:
    """The cell with a problem, if fewer envs of this backend already took so much that these cannot fit."""
    sizes = [
        (c.n_envs, c.measured.memory)
        for c in before
        if c.backend == cell.backend and c.measured is not None and c.measured.memory is not None
    ]
    free = available_memory()
    if len(sizes) < 2 or free is None:
        return None
    (few, small), (many, large) = sizes[0], sizes[-1]
    if many == few:
        return None
    needed = large + (large - small) / (many - few) * (cell.n_envs - many)
    if needed <= _SHARE_OF_MEMORY * free:
        return None
    return replace(cell, problem=f"would take about {shown_memory(needed)}, {shown_memory(free)} are free")


def _run(config: EnvConfig, cell: Cell, seconds: float) -> Cell:
    """Measure one cell in a process of its own, which may crash or hang as it likes."""
    order = {
        "config": cell.alone(config).model_dump(mode="json"),
        "registered": registration(config),
        "n_envs": cell.n_envs,
        "backend": cell.backend,
        "seconds": seconds,
    }
    limit = _START_SECONDS + 3 * seconds
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = start_child(
            "gymnast.envs.measure.cell:main",
            (theirs.fileno(),),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()  # kept by the child alone, so that its death closes it
        try:
            send(ours.fileno(), order)
            if not has_arrived(ours.fileno(), limit):
                child.kill()
                return replace(cell, problem=f"took longer than {limit:g} s")
            values = receive(ours.fileno())
        except (EOFError, OSError):
            child.process.wait()
            return replace(cell, problem=f"its process {how_it_ended(child.process.returncode)}")
        finally:
            child.end(_END_SECONDS)
    if "problem" in values:
        return replace(cell, problem=values["problem"])
    return replace(cell, measured=Measured(**values))


def _key(config: EnvConfig, n_envs: Sequence[int]) -> str:
    return measured_key(config, n_envs=sorted(set(n_envs)), backend=config.backend)


def _keep(config: EnvConfig, n_envs: Sequence[int], tuning: Tuning) -> None:
    """Remember the cells, and what `env.backend: auto` would otherwise measure for the chosen one."""
    remember("tuning", _key(config, n_envs), {"cells": [asdict(cell) for cell in tuning.cells]})
    choice = tuning.choice
    if choice.backend in ("sync", "workers"):
        key = measured_key(choice.applied(config), n_envs=choice.n_envs, training=True)
        remember("backends", key, choice.backend)


def _cell_from(values: dict[str, Any]) -> Cell:
    measured = values["measured"]
    return Cell(**{**values, "measured": None if measured is None else Measured(**measured)})
