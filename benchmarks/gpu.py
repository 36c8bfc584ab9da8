"""Pong from pixels with learning on, as a share of the rate at which ale-py steps with nothing around it.

python benchmarks/gpu.py [--n-envs 256] [--updates 30] [--json FILE] [KEY=VALUE …]

Meant for a machine with a GPU and many cores. All runs are of one call: ale-py's own vector env with
random actions, then the same training in four forms, from one that waits for everything in turn to one in
which stepping, acting and learning overlap.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np

from ours import train

RAW_SECONDS = 5.0
WARM_UP = 4  # updates that are not counted: kernels are chosen, memory is allocated
AIM = 0.85

# Whether envs come in groups, and whether the next rollout is collected while this one is learnt from.
FORMS = {
    "one after the other": (False, False),
    "groups": (True, False),
    "collecting ahead": (False, True),
    "both": (True, True),
}


def raw_rate(n_envs: int) -> float:
    """Env steps a second of ale-py's vector env: 84 × 84 gray, 4 frames stacked, each action for 4 frames."""
    from ale_py import AtariVectorEnv

    envs = AtariVectorEnv("pong", n_envs, repeat_action_probability=0.25, autoreset_mode="SameStep")
    envs.reset(seed=0)
    drawn = np.random.default_rng(0).integers(0, 6, (64, n_envs))
    for actions in drawn:
        envs.step(actions)
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < RAW_SECONDS:
        for actions in drawn:
            envs.step(actions)
        steps += drawn.size
    seconds = time.perf_counter() - began
    envs.close()
    return steps / seconds


def trained_rate(
    preset: str, n_envs: int, n_steps: int, updates: int, overrides: tuple[str, ...]
) -> dict[str, float]:
    """Env steps a second from the end of the warm-up to the last update; also what learning took of it."""
    fixed = (
        f"env.n_envs={n_envs}",
        f"algo.n_steps={n_steps}",
        f"budget.env_steps={n_envs * n_steps * updates}",
        "eval.every=0",
        "stop.eval_return=null",
    )
    with train(preset, *fixed, *overrides) as trained:
        rows = trained.columns(
            "time/env_steps", "time/seconds", "time/collect_seconds", "time/update_seconds"
        )
    (first_steps, first_seconds, *_), (last_steps, last_seconds, *_) = rows[WARM_UP - 1], rows[-1]
    counted = rows[WARM_UP:]
    return {
        "sps": (last_steps - first_steps) / (last_seconds - first_seconds),
        "collect_seconds": statistics.median(row[2] for row in counted),
        "update_seconds": statistics.median(row[3] for row in counted),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", default="ALE/Pong-v5:ppo-gpu")
    parser.add_argument("--n-envs", type=int, default=256)
    parser.add_argument("--n-steps", type=int, default=64)
    parser.add_argument("--groups", type=int, default=4, help="of the forms that overlap")
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--only", action="append", choices=list(FORMS))
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for count in sorted({128, options.n_envs}):
        name, rate = f"ale-py alone, {count} envs", raw_rate(count)
        found[name] = {"sps": rate}
        print(f"{name:32} {rate:10,.0f} steps/s", flush=True)
    same = found[f"ale-py alone, {options.n_envs} envs"]["sps"]
    for form in options.only or FORMS:
        grouped, ahead = FORMS[form]
        groups = options.groups if grouped else 1
        overrides = (f"env.groups={groups}", f"algo.collect_ahead={str(ahead).lower()}", *options.overrides)
        rates = found[form] = trained_rate(
            options.preset, options.n_envs, options.n_steps, options.updates, overrides
        )
        aim = f" (aim {AIM:.0%})" if form == "both" else ""
        print(
            f"{form:32} {rates['sps']:10,.0f} steps/s  {rates['sps'] / same:6.1%} of ale-py alone{aim}"
            f"   a rollout {rates['collect_seconds']:.2f} s, an update {rates['update_seconds']:.2f} s",
            flush=True,
        )
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
