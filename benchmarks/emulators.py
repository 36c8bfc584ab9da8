"""How much worker processes gain over one process where the game is the cost: raw stepping, no learning.

    python benchmarks/emulators.py
    python benchmarks/emulators.py VizDoom-DefendTheCenter-v0 Retro/Airstriker-Genesis --n-envs 16

The same random actions through the contract that training uses, settings as the preset's if there is one.
Both backends are measured in turn, several times, and the medians compared: what else the machine does
meets both of them alike.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from gymnast.config.load import load_config
from gymnast.envs.build import build_envs
from gymnast.envs.contract import Envs
from gymnast.envs.measure.cache import usable_cores
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import one_per_process
from gymnast.errors import GymnastError
from gymnast.spaces.plain import random_actions

DEFAULT_IDS = ("VizDoom-Basic-v0", "VizDoom-DefendTheCenter-v0", "Retro/Airstriker-Genesis")


def steps_per_second(envs: Envs, seconds: float, drawn: Any) -> float:
    """Env steps a second over about `seconds`; `drawn` makes actions for all envs."""
    taken, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds or taken < 10:
        envs.step(drawn(envs))
        taken += 1
    return taken * envs.n_envs / elapsed


def measure(config: EnvConfig, n_envs: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Medians of both backends and their ratio."""
    import numpy as np

    random = np.random.default_rng(0)

    def drawn(envs: Envs) -> Any:
        return random_actions(envs.action_space, envs.n_envs, random, envs.masks)

    # An emulator that a process can hold only one of is stepped alone there.
    alone = one_per_process(config)
    sizes = {"sync": 1 if alone else n_envs, "workers": n_envs}
    rates: dict[str, list[float]] = {name: [] for name in sizes}
    for _ in range(rounds):
        for name, size in sizes.items():
            envs = build_envs(config, n_envs=size, seed=1, backend=name)
            try:
                envs.reset()
                steps_per_second(envs, seconds / 4, drawn)  # until files are read and caches are warm
                rates[name].append(steps_per_second(envs, seconds, drawn))
            finally:
                envs.close()
    medians = {name: statistics.median(found) for name, found in rates.items()}
    return {
        "id": config.id,
        "n_envs": n_envs,
        "cores": usable_cores(),
        "sync": round(medians["sync"]),
        "workers": round(medians["workers"]),
        "ratio": round(medians["workers"] / medians["sync"], 2),
    }


def env_config(env_id: str) -> EnvConfig:
    """As its preset `ppo` has it; otherwise with the defaults."""
    try:
        return load_config(f"{env_id}:ppo").config.env
    except GymnastError:
        return EnvConfig(id=env_id)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ids", nargs="*", default=DEFAULT_IDS, metavar="ID")
    parser.add_argument("--n-envs", type=int, help="as many as the preset has unless given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for env_id in given.ids:
        try:
            config = env_config(env_id)
            found = measure(config, given.n_envs or config.copies, given.rounds, given.seconds)
        except GymnastError as error:
            raise SystemExit(f"{env_id}: {error}") from error
        if given.json:
            print(json.dumps(found), flush=True)
        else:
            print(
                f"{found['id']}: {found['sync']:,} steps/s in one process, {found['workers']:,} with workers"
                f" ({found['n_envs']} envs, {found['cores']} cores): {found['ratio']:.2f} ×",
                flush=True,
            )


if __name__ == "__main__":
    main()
