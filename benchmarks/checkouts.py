"""How fast two checkouts train, in turn, on one core: `python benchmarks/checkouts.py BEFORE [AFTER]`.

For a change that should cost nothing: each case is trained under each checkout's `src/`, in a process of its
own, and the medians are compared. `--write` puts the table into docs/benchmarks.md. Seconds vary by several
per cent on a shared machine; `--calls` counts the Python calls of training instead, which do not vary.
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
_COUNT_CALLS = """
import cProfile, pstats, sys
from gymnast.cli.app import main
sys.argv = ["gymnast", *sys.argv[1:]]
profile = cProfile.Profile()
try:
    profile.runcall(main)
finally:
    print("calls:", sum(calls for _, calls, *_ in pstats.Stats(profile).stats.values()), file=sys.stderr)
"""
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


def calls(checkout: Path, words: list[str], env_steps: int) -> int:
    """Python calls of a whole process that trains this long."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "GYMNAST_CACHE_DIR": folder}
        command = [sys.executable, "-c", _COUNT_CALLS, "train", *words, f"budget.env_steps={env_steps}"]
        done = subprocess.run(
            [*command, "--runs-dir", folder], env=environment, capture_output=True, text=True, check=True
        )
    return int(done.stderr.rsplit("calls:", 1)[1])


def compare_calls(before: Path, after: Path) -> list[str]:
    """Python calls per 1,000 env steps, start-up left out, as a Markdown table."""
    table = ["| case | before | after | after / before |", "| --- | ---: | ---: | ---: |"]
    for name, words in CASES.items():
        few, many = (250_000, 1_250_000) if "4,096" in name else (8_192, 40_960)
        grown = [calls(side, words, many) - calls(side, words, few) for side in (before, after)]
        rates = [1000 * count / (many - few) for count in grown]
        table.append(f"| {name} | {rates[0]:,.1f} | {rates[1]:,.1f} | {rates[1] / rates[0]:.3f} |")
    return table


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
    parser.add_argument("--calls", action="store_true", help="count Python calls instead of seconds")
    options = parser.parse_args()
    if options.calls:
        print("\n".join(compare_calls(options.before, options.after)))
        return
    results = compare(options.before, options.after, options.repeats, options.core)
    print("\n".join(lines(results)))
    if options.write:
        RECORD.write_text(json.dumps(results, indent=1) + "\n")
        subprocess.run([sys.executable, ROOT / "benchmarks" / "compare.py", "--render"], check=True)


if __name__ == "__main__":
    main()
