"""How long 256 trials of CartPole take, and how much of the CPU time is the driver's own.

    python benchmarks/sweep.py [--trials 256] [--workers 2] [--max-env-steps 50000]

Random search, no race and no test, everything in a folder of its own that is removed at the end. Prints one
line for people and one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time

from gymnast import api


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--max-env-steps", type=int, default=50_000)
    parser.add_argument("--method", default="random")
    parser.add_argument("--no-prune", action="store_true", help="train every trial to its end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began, own = time.perf_counter(), time.process_time()
        sweep = api.sweep(
            "CartPole-v1:ppo",
            overrides={"budget.env_steps": options.max_env_steps},
            trials=options.trials,
            workers=options.workers,
            method=options.method,
            race_seeds=0,
            test_seeds=0,
            prune=not options.no_prune,
            runs_dir=folder,
        )
        seconds, own = time.perf_counter() - began, time.process_time() - own
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    trained = children.ru_utime + children.ru_stime
    values = sweep.to_json()
    found = {
        "trials": values["trials"],
        "best": values["best"]["value"],
        "env_steps": values["env_steps"],
        "seconds": round(seconds, 1),
        "cpu_seconds_of_driver": round(own, 2),
        "cpu_seconds_of_workers": round(trained, 1),
        "share_of_driver": round(own / (own + trained), 4),
        "load": os.getloadavg()[0],
    }
    print(
        f"{options.trials} trials in {seconds:.1f} s with {options.workers} workers; "
        f"CPU: workers {trained:.1f} s, driver {own:.1f} s ({found['share_of_driver']:.1%})"
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
