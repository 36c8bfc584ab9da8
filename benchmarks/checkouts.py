"""How fast two checkouts train, in turn, on one core: `python benchmarks/checkouts.py BEFORE [AFTER]`.

For a change that should cost nothing: each case is trained under each checkout's `src/`, in a process of its
own, and the medians are compared. `--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "checkouts.json"

_TRAIN = "import sys; from gymnast.cli.app import main; sys.argv = ['gymnast', *sys.argv[1:]]; main()"
_ZOO = ["CartPole-v1:ppo-zoo", "eval.every=0"]
_LSTM = ["policy.memory=lstm", "policy.memory_size=64", "policy.hidden=[64]", "policy.activation=relu"]
_HUGE = [
    "env.n_envs=4096",
    "algo.n_steps=64",
    "algo.batch_size=32768",
    "algo.n_epochs=1",
    "policy.hidden=[128]",
]

CASES = {
    "CartPole, RL Zoo settings": [*_ZOO, "budget.env_steps=100k"],
    "CartPole, A2C": ["CartPole-v1:a2c", "eval.every=0", "budget.env_steps=200k"],
    "CartPole, LSTM": [*_ZOO, *_LSTM, "budget.env_steps=20k"],
    "CartPole, 4,096 envs": [*_ZOO, *_HUGE, "budget.env_steps=4M"],
    "LunarLander, sync": ["LunarLander-v3:ppo", "eval.every=0", "env.backend=sync", "budget.env_steps=60k"],
    "HalfCheetah": ["HalfCheetah-v5:ppo", "eval.every=0", "env.backend=sync", "budget.env_steps=30k"],
    "MiniGrid-DoorKey-5x5": ["MiniGrid-DoorKey-5x5-v0:ppo", "eval.every=0", "budget.env_steps=50k"],
}
FIRST_UPDATE = "first update, seconds of the process"


def trained(checkout: Path, words: list[str], core: int) -> tuple[float, float]:
    """Env steps per second of training, and seconds of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "GYMNAST_CACHE_DIR": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = ["taskset", "-c", str(core), sys.executable, "-c", _TRAIN, "train", *words]
        began = time.perf_counter()
        done = subprocess.run(
            [*command, "--json", "--runs-dir", folder],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - began
    report = json.loads(done.stdout.splitlines()[-1])
    return report["env_steps"] / report["seconds"], seconds


def compare(before: Path, after: Path, repeats: int, core: int) -> dict[str, list[float]]:
    """Median before, median after and their ratio, by case; higher is better but for the first update."""
    results: dict[str, list[float]] = {}
    for name, words in CASES.items():
        rates: tuple[list[float], list[float]] = ([], [])
        for repeat in range(repeats):
            for side in (0, 1) if repeat % 2 else (1, 0):
                rates[side].append(trained((before, after)[side], words, core)[0])
        results[name] = _medians(rates)
        print(f"{name}: {results[name][2]:.3f}", file=sys.stderr, flush=True)
    seconds: tuple[list[float], list[float]] = ([], [])
    for repeat in range(3 * repeats + 1):
        for side in (0, 1) if repeat % 2 else (1, 0):
            took = trained((before, after)[side], [*_ZOO, "budget.env_steps=256"], core)[1]
            if repeat:  # the first one writes bytecode
                seconds[side].append(took)
    results[FIRST_UPDATE] = _medians(seconds)
    return results


def _medians(sides: tuple[list[float], list[float]]) -> list[float]:
    before, after = (statistics.median(side) for side in sides)
    return [before, after, after / before]


def lines(results: dict[str, list[float]]) -> list[str]:
    """The table, as Markdown."""
    table = ["| case | before | after | after / before |", "| --- | ---: | ---: | ---: |"]
    for name, (before, after, ratio) in results.items():
        form = "{:.3f}" if name == FIRST_UPDATE else "{:,.0f}"
        table.append(f"| {name} | {form.format(before)} | {form.format(after)} | {ratio:.3f} |")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the repository")
    parser.add_argument("after", type=Path, nargs="?", default=ROOT, help="another; this one if left out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=0, help="the core that everything runs on")
    parser.add_argument("--write", action="store_true", help="also into docs/benchmarks.md")
    options = parser.parse_args()
    results = compare(options.before, options.after, options.repeats, options.core)
    print("\n".join(lines(results)))
    if options.write:
        RECORD.write_text(json.dumps(results, indent=1) + "\n")
        subprocess.run([sys.executable, ROOT / "benchmarks" / "compare.py", "--render"], check=True)


if __name__ == "__main__":
    main()
