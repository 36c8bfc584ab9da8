"""Trains the presets with several seeds and writes docs/results.md: `python benchmarks/results.py --help`.

Every figure is of a new run: training by `gymnast train`, then an evaluation of the best checkpoint, greedy
unless the preset samples, by `gymnast eval` on seeds that neither training nor its own evaluations used.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import statistics
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import learning_curves
from gymnast.envs.measure.cache import usable_cores
from gymnast.runs.store import RunFolder
from processes import gymnast, run
from report import graphics, processor
from result_rows import ROWS, Row
from results_page import page

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "results.json"  # the runs behind docs/results.md
DOCUMENT = ROOT / "docs" / "results.md"
EVAL_SEED = 970_000

Trained = tuple[dict[str, Any], learning_curves.Points]


class Cores:
    """Gives each of several parallel runs one core of its own, so that none slows another down."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.every = sorted(os.sched_getaffinity(0)) if jobs > 1 else []
        if jobs > len(self.every) > 0:
            raise SystemExit(f"--jobs {jobs}: this machine has only {len(self.every)} cores")
        self._free: SimpleQueue[int] = SimpleQueue()
        for core in self.every[:jobs]:
            self._free.put(core)

    def train_and_score(self, row: Row, seed: int, runs_dir: Path) -> Trained:
        if not self.every:
            usable, there = usable_cores(), os.cpu_count()
            cores = (
                f"{there} cores"
                if usable == there
                else f"{usable} {'core' if usable == 1 else 'cores'} of {there}"
            )
            return self._noted(row, seed, runs_dir, [], cores)
        core = self._free.get()
        try:
            pinned = ["taskset", "-c", str(core)]
            return self._noted(row, seed, runs_dir, pinned, f"1 core of {len(self.every)}")
        finally:
            self._free.put(core)

    def _noted(self, row: Row, seed: int, runs_dir: Path, pinned: list[str], cores: str) -> Trained:
        """A run, and how many cores processes that are neither it nor a job beside it kept busy."""
        found, points, others = train_and_score(row, seed, runs_dir, pinned, cores)
        return found | {"others": round(max(0.0, others - (self.jobs - 1)), 2)}, points


def train_and_score(
    row: Row, seed: int, runs_dir: Path, pinned: list[str], cores: str
) -> tuple[dict[str, Any], learning_curves.Points, float]:
    """One run: its cost, its score on new episodes, its curve, and the cores that others kept busy."""
    command = [*pinned, *gymnast("train", row.ref, f"seed={seed}", "--json", "--runs-dir", runs_dir)]
    training = run(command)
    trained = training.json()
    where = ("--runs-dir", runs_dir, "--episodes", row.episodes, "--seed", EVAL_SEED + seed, "--json")
    score = run([*pinned, *gymnast("eval", f"{trained['id']}/@best", *where)]).json()
    found = {
        "seed": seed,
        "env_steps": trained["env_steps"],
        "seconds": round(trained["seconds"], 2),
        "mean_return": score["mean_return"],
        "std_return": score["std_return"],
        **({"sampled": True} if score["stochastic"] else {}),
        # Of a mix, the score of each task, and whether each reached its own threshold.
        **(
            {"tasks": {task["name"]: task["mean_return"] for task in score["tasks"]}}
            if "tasks" in score
            else {}
        ),
        **({"solved": score["solved"]} if "tasks" in score else {}),
        "machine": ", ".join(filter(None, (cores, processor(), graphics()))),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    return found, learning_curves.points_of(RunFolder(runs_dir / trained["id"])), training.others


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=[row.ref for row in ROWS])
    parser.add_argument("--seeds", type=int, help="train with seeds 1 … this; default: as in the table")
    parser.add_argument(
        "--jobs", type=int, default=1, help="parallel runs, each on a core of its own (Linux)"
    )
    parser.add_argument("--missing", action="store_true", help="only seeds that have no run yet")
    parser.add_argument("--page", action="store_true", help="train nothing; write the page again")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the runs in this folder")
    options = parser.parse_args()
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    if options.page:
        learning_curves.draw(row.ref for row in ROWS)
        DOCUMENT.write_text(page(records))
        return
    rows = [row for row in ROWS if (row.ref in options.only if options.only else not row.opt_in)]
    known = records if options.missing else {}
    seeds = {row.ref: _seeds(row, options.seeds, known.get(row.ref, [])) for row in rows}
    runs_dir = options.keep or Path(tempfile.mkdtemp(prefix="gymnast-results-"))
    cores = Cores(options.jobs)
    pool = ThreadPoolExecutor(options.jobs)
    try:
        pending: dict[str, list[Future[Trained]]] = {
            row.ref: [pool.submit(cores.train_and_score, row, seed, runs_dir) for seed in seeds[row.ref]]
            for row in rows
        }
        for row in rows:
            found = list(known.get(row.ref, []))
            curves = learning_curves.read().get(row.ref, {}) if found else {}
            for run_of_seed in pending[row.ref]:
                one, curve = run_of_seed.result()
                print(f"{row.ref} {json.dumps(one)}", file=sys.stderr, flush=True)
                found = sorted([*found, one], key=lambda each: int(each["seed"]))
                curves[str(one["seed"])] = curve
                if options.missing:  # without it a row is replaced as a whole: its preset may have changed
                    _keep(records, row, found, curves)
            if pending[row.ref]:
                median = statistics.median(one["mean_return"] for one in found)
                print(f"{row.ref}: median {median:.4g}, aim {row.aim:g}")
                # after each row: a long run that is stopped keeps what it has
                _keep(records, row, found, curves)
                learning_curves.draw(each.ref for each in ROWS)
                DOCUMENT.write_text(page(records))
    finally:
        pool.shutdown(cancel_futures=True)
        if options.keep is None:
            shutil.rmtree(runs_dir, ignore_errors=True)
    print(f"{DOCUMENT.relative_to(ROOT)} written")


def _seeds(row: Row, seeds: int | None, known: list[dict[str, Any]]) -> list[int]:
    there = {one["seed"] for one in known}
    wanted = range(row.first_seed, row.first_seed + (seeds or row.seeds))
    return [seed for seed in wanted if seed not in there]


def _keep(
    records: dict[str, Any],
    row: Row,
    found: list[dict[str, Any]],
    curves: dict[str, learning_curves.Points],
) -> None:
    records[row.ref] = found
    RECORDS.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n")
    learning_curves.keep({row.ref: curves})


if __name__ == "__main__":
    main()
