"""Does the autotuner repair sabotaged presets, and with fewer env steps than random search?

    python benchmarks/tune.py [--repeats 5] [--workers 2] [--only lr] [--runs-dir DIR]

Each preset is spoilt in one way and handed to `api.autotune` twice: once as it is, once with
`method="random"`, which draws its candidates from the whole space of the algorithm's settings. Seeds,
trials, races, acceptance and confirmation are the same. A repair counts if the search ends with all three
seeds at the threshold of the unspoilt preset and at least four of five fresh seeds reach it from step 0.
Env steps are those of all runs, baseline and confirmation included; a tune that repairs nothing counts with
its limit. Each repeat has seeds of its own and remembers nothing of the others.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gymnast import api
from gymnast.runs.score_auc import curve_of
from gymnast.runs.store import RunFolder
from gymnast.terminal.text import echo

CARTPOLE: dict[str, Any] = {"budget.env_steps": 50_000}
# A hundred arms of which one is clearly the best, under noise that hides it from any few pulls.
BANDIT: dict[str, Any] = {
    "env.kwargs": {"arms": 100, "arms_seed": 3, "kind": "gaussian", "horizon": 20, "noise": 20},
    "env.spec.action_labels": None,
    "env.spec.solved_at": 54,  # 20 pulls of the best arm are worth 66, of the second best 41
    "budget.env_steps": 30_000,
    "eval.every": 5000,
    "eval.episodes": 1000,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "lr": ("CartPole-v1:ppo", {**CARTPOLE, "algo.lr": {"kind": "linear", "start": 0.15, "end": 0}}),
    "gamma": ("CartPole-v1:ppo", {**CARTPOLE, "algo.gamma": 0.8}),
    "entropy": (
        "gymnast/Bandit-v0:ppo-gaussian",
        {**BANDIT, "algo.entropy_coef": 0.0, "algo.n_steps": 1, "algo.batch_size": "all"},
    ),
}
TITLES = {
    "lr": "CartPole-v1:ppo, lr × 30",
    "gamma": "CartPole-v1:ppo, γ 0.8",
    "entropy": "gymnast/Bandit-v0:ppo-gaussian, 100 noisy arms, no entropy bonus, rollouts of 1 step",
}
LIMIT = 40  # runs' worth of env steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=[*CASES])
    parser.add_argument("--first", type=int, default=0, help="the first repeat; each has seeds of its own")
    parser.add_argument("--runs-dir", type=Path)
    chosen = parser.parse_args()
    root = chosen.runs_dir or Path(tempfile.mkdtemp(prefix="gymnast-tune-"))
    rows = []
    for case in [chosen.only] if chosen.only else CASES:
        found: dict[str, list[tuple[int, bool]]] = {}
        for method in ("diagnose", "random"):
            found[method] = [
                one(root, case, method, repeat, chosen.workers)
                for repeat in range(chosen.first, chosen.first + chosen.repeats)
            ]
        rows.append((case, found))
        show(rows)


def one(root: Path, case: str, method: str, repeat: int, workers: int) -> tuple[int, bool]:
    """Env steps, and whether it is repaired."""
    reference, settings = CASES[case]
    budget = settings["budget.env_steps"]
    folder = root / f"{case}-{method}-{repeat}"
    os.environ["GYMNAST_STATE_DIR"] = str(folder / "state")
    began = time.monotonic()
    tuned = api.autotune(
        reference,
        overrides={**settings, "seed": 100 * (repeat + 1)},
        max_env_steps=LIMIT * budget,
        workers=workers,
        until_solved=True,
        method=method,
        ask_model=False,
        runs_dir=folder / "runs",
    )
    state = tuned.state
    curves = [curve_of(RunFolder(folder / "runs" / run_id)) for run_id in state.confirmation.values()]
    solved = sum(curve is not None and curve.solved for curve in curves)
    repaired = state.search_over.startswith("the incumbent reaches") and solved >= 4
    steps = state.env_steps if repaired else LIMIT * budget
    changes = ", ".join(f"{key}={value}" for key, value in state.changes.items())
    seconds = time.monotonic() - began
    echo(
        f"{case} {method} {repeat}: {'repaired' if repaired else 'NOT repaired'}, {len(state.rounds)} rounds,"
        f" {state.env_steps:,} env steps, {solved} of {len(curves)} fresh seeds solved, {state.status},"
        f" {seconds:.0f} s: {changes[:200]}"
    )
    sys.stdout.flush()
    return steps, repaired


def show(rows: list[tuple[str, dict[str, list[tuple[int, bool]]]]]) -> None:
    echo("\n| sabotage | tune: repaired | median env steps | random: repaired | median env steps | ratio |")
    echo("| --- | --- | --- | --- | --- | --- |")
    for case, found in rows:
        cells = []
        medians = []
        for method in ("diagnose", "random"):
            results = found[method]
            medians.append(statistics.median(steps for steps, _ in results))
            cells.append(f"{sum(done for _, done in results)} of {len(results)} | {medians[-1]:,.0f}")
        echo(f"| {TITLES[case]} | {' | '.join(cells)} | {medians[0] / medians[1]:.2f} |")
    echo("")


if __name__ == "__main__":
    main()
