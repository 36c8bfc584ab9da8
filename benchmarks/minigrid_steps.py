"""What a step of MiniGrid costs, and its parts: `taskset -c 0 python benchmarks/minigrid_steps.py [ID …]`.

CPU time of this process, best of several rounds, so that a busy machine disturbs little. To measure another
checkout, put its `src` first: `PYTHONPATH=…/src`.
"""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from minigrid.minigrid_env import MiniGridEnv

from gymnast.envs.build import build_envs, make_env, why_not_backend
from gymnast.envs.settings import EnvConfig

IDS = ("MiniGrid-DoorKey-5x5-v0", "MiniGrid-DoorKey-8x8-v0", "MiniGrid-MultiRoom-N4-S5-v0")


def microseconds(call: Callable[[], Any], times: int = 200, rounds: int = 15) -> float:
    """CPU time of one call, of the best round."""
    took = []
    for _ in range(rounds):
        start = time.process_time_ns()
        for _ in range(times):
            call()
        took.append((time.process_time_ns() - start) / times / 1e3)
    return min(took)


def parts(env_id: str) -> dict[str, float]:
    """The parts of one step of a single env as it begins, and of a reset."""
    wrapped = make_env(EnvConfig(id=env_id, wrappers=("minigrid-planes",)))
    wrapped.reset(seed=0)
    env: Any = wrapped.unwrapped
    left, top, _, _ = env.get_view_exts()
    seen = env.grid.slice(left, top, 7, 7)
    turns = int(env.agent_dir) + 1
    for _ in range(turns):
        seen = seen.rotate_left()

    def process_vis() -> Any:
        view = copy.copy(seen)
        view.grid = list(seen.grid)  # it forgets what is not visible
        return view.process_vis((3, 6))

    mask, observed = process_vis(), MiniGridEnv.gen_obs(env)
    return {
        "step, with wrappers": microseconds(lambda: wrapped.step(6)),
        "MiniGridEnv.step": microseconds(lambda: env.step(6)),
        "gen_obs": microseconds(env.gen_obs),
        "MiniGrid's slice": microseconds(lambda: env.grid.slice(left, top, 7, 7)),
        f"MiniGrid's {turns} rotations": turns * microseconds(seen.rotate_left),
        "MiniGrid's process_vis": microseconds(process_vis),
        "MiniGrid's encode": microseconds(lambda: seen.encode(mask)),
        "minigrid-planes": microseconds(lambda: wrapped.observation(observed)),  # type: ignore[attr-defined]
        "reset": microseconds(env.reset, times=50),
        "layout (_gen_grid)": microseconds(lambda: env._gen_grid(env.width, env.height), times=50),
    }


def stepped(env_id: str, backend: str, n_envs: int) -> float:
    """Microseconds of an env step under random actions, resets included."""
    config = EnvConfig(id=env_id, wrappers=("minigrid-planes",))
    envs = build_envs(config, n_envs=n_envs, seed=0, backend=backend)
    envs.reset()
    actions = np.random.default_rng(0).integers(0, 7, (300, n_envs))
    turn = iter(range(10**9))
    # A round is longer than the longest episode, so that each has its share of resets.
    return microseconds(lambda: envs.step(actions[next(turn) % 300]), times=1300, rounds=3) / n_envs


def main() -> None:
    warnings.simplefilter("ignore")
    for env_id in sys.argv[1:] or IDS:
        print(env_id)
        for name, took in parts(env_id).items():
            print(f"  {name:28} {took:7.1f} µs")
        config = EnvConfig(id=env_id, wrappers=("minigrid-planes",))
        for backend in ("sync", "native"):
            if why_not_backend(config, 16, backend) is None:
                for n_envs in (16, 64) if backend == "native" else (16,):
                    took = stepped(env_id, backend, n_envs)
                    print(f"  {backend:6} {n_envs:3} envs, one env step {took:8.2f} µs = {1e6 / took:,.0f}/s")


if __name__ == "__main__":
    main()
