"""Trains the presets with several seeds and writes docs/results.md: `python benchmarks/results.py --help`.

Every figure is of a new run: training by `gymnast train`, then an evaluation of the best checkpoint, greedy
unless the preset samples,
by `gymnast eval` on seeds that neither training nor its own evaluations used.
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
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from gymnast.envs.measure.cache import usable_cores
from processes import gymnast, run
from report import graphics, processor

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "results.json"  # the runs behind docs/results.md
DOCUMENT = ROOT / "docs" / "results.md"
EVAL_SEED = 970_000


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    ref: str
    aim: float
    episodes: int = 100
    seeds: int = 3  # how many
    first_seed: int = 1
    opt_in: bool = False  # takes too long to be trained unless it is named


ROWS = (
    Row("CartPole-v1:ppo", 500, seeds=5),
    Row("CartPole-v1:ppo-centred", 475),
    Row("Acrobot-v1:ppo", -85),
    Row("MountainCar-v0:ppo", -110),
    Row("MountainCar-v0:ppo-count", -110),
    Row("MountainCarContinuous-v0:ppo", 90),
    # the best stationary policy scores 0.7402; 2,000 episodes give that ± 0.01, too coarse for this aim
    Row("FrozenLake-v1:ppo", 0.73, episodes=20_000),
    Row("FrozenLake-v1:ppo-sure-footed", 1),
    Row("FrozenLake8x8-v1:ppo", 0.8, episodes=20_000, first_seed=11),
    Row("CliffWalking-v1:ppo", -13),
    Row("Taxi-v4:ppo", 7.5),
    Row("Taxi-v4:ppo-masked", 7.5),
    Row("Pendulum-v1:ppo", -170),
    Row("LunarLander-v3:ppo", 240),
    Row("LunarLander-v3:ppo-short", 200),
    Row("LunarLander-v3:ppo-random-physics", 200),
    Row("LunarLander-v3:ppo-two-moons", 200, seeds=2),
    Row("MinAtar/Mix:ppo", 5, seeds=2, opt_in=True),
    Row("VizDoom-Mix:ppo", 540, opt_in=True),
    Row("LunarLanderContinuous-v3:ppo", 250),
    # the best arm returns 93.5 per episode on average (the next one 91.3), and 130.4 (94.7)
    Row("gymnast/Bandit-v0:ppo", 93, episodes=1000),
    Row("gymnast/Bandit-v0:ppo-gaussian", 128, episodes=1000),
    Row("CartPole-v1:a2c", 475, seeds=5),
    Row("CartPole-v1:reinforce", 475, seeds=5),
    Row("FrozenLake-v1:reinforce", 0.72, episodes=20_000),
    Row("LunarLander-v3:a2c", 200),
    Row("LunarLanderContinuous-v3:a2c", 200),
    # tasks that need a memory: the pole without velocities; a sign that has to be remembered (without: 0)
    Row("CartPole-v1:ppo-lstm", 475, seeds=5),
    Row("gymnast/TMaze-v0:ppo-lstm", 1, episodes=1000),
    Row("gymnast/TMaze-v0:ppo-gru", 1, episodes=1000),
    Row("ALE/Pong-v5:ppo-objects", 20, episodes=20, opt_in=True),
    Row("ALE/Pong-v5:ppo-objects-deterministic", 21, episodes=20, opt_in=True),
    # on a GPU
    Row("ALE/Pong-v5:ppo-gpu", 20, episodes=20, seeds=1, opt_in=True),
    Row("ALE/Pong-v5:ppo-gpu-deterministic", 20, episodes=20, seeds=1, opt_in=True),
    Row("ALE/Breakout-v5:ppo-gpu", 300, episodes=20, seeds=1, opt_in=True),
    Row("VizDoom-Basic-v0:ppo", 80, episodes=200),
    # 2,100 means alive until the timeout; in training, health is rewarded
    Row("VizDoom-HealthGathering-v0:ppo", 1000),
    Row("VizDoom-DefendTheCenter-v0:ppo", 15, opt_in=True),
    Row("MinAtar/Breakout-v1:ppo", 15),
    Row("MiniGrid-DoorKey-5x5-v0:ppo", 0.95, episodes=1000),
    # with an exploration bonus (docs/exploration.md); tuned on other seeds
    Row("MiniGrid-DoorKey-8x8-v0:ppo-count", 0.95, first_seed=11),
    Row("MiniGrid-MultiRoom-N4-S5-v0:ppo-count", 0.75, first_seed=11),
    Row("MountainCar-v0:ppo-rnd", -110, first_seed=11),
    # what CleanRL's PPO reaches after 1M steps on the v4 tasks (docs/environments.md)
    Row("HalfCheetah-v5:ppo", 1443, opt_in=True),
    Row("Hopper-v5:ppo", 2383, opt_in=True),
    Row("Walker2d-v5:ppo", 2288, opt_in=True),
    Row("InvertedPendulum-v5:ppo", 963, opt_in=True),
    # Tianshou's PPO after 1M steps on the v2 and v4 tasks, evaluated with the mean action
    Row("InvertedDoublePendulum-v5:ppo", 9231, first_seed=11, opt_in=True),
    Row("Reacher-v5:ppo", -4.1, first_seed=11, opt_in=True),
    Row("Swimmer-v5:ppo", 67, first_seed=11, opt_in=True),
    Row("Ant-v5:ppo", 3258, first_seed=11, opt_in=True),
    Row("Humanoid-v5:ppo", 787, first_seed=11, opt_in=True),
    # random buttons score about 200
    Row("Retro/Airstriker-Genesis:ppo", 400, episodes=50, seeds=2, opt_in=True),
    Row("BipedalWalker-v3:ppo", 280, opt_in=True),
)


class Cores:
    """Gives each of several parallel runs one core of its own, so that none slows another down."""

    def __init__(self, jobs: int) -> None:
        self.every = sorted(os.sched_getaffinity(0)) if jobs > 1 else []
        if jobs > len(self.every) > 0:
            raise SystemExit(f"--jobs {jobs}: this machine has only {len(self.every)} cores")
        self._free: SimpleQueue[int] = SimpleQueue()
        for core in self.every[:jobs]:
            self._free.put(core)

    def train_and_score(self, row: Row, seed: int, runs_dir: Path) -> dict[str, Any]:
        if not self.every:
            usable, there = usable_cores(), os.cpu_count()
            cores = (
                f"{there} cores"
                if usable == there
                else f"{usable} {'core' if usable == 1 else 'cores'} of {there}"
            )
            return train_and_score(row, seed, runs_dir, [], cores)
        core = self._free.get()
        try:
            pinned = ["taskset", "-c", str(core)]
            return train_and_score(row, seed, runs_dir, pinned, f"1 core of {len(self.every)}")
        finally:
            self._free.put(core)


def train_and_score(row: Row, seed: int, runs_dir: Path, pinned: list[str], cores: str) -> dict[str, Any]:
    """One run: its cost, and its score on new episodes."""
    command = [*pinned, *gymnast("train", row.ref, f"seed={seed}", "--json", "--runs-dir", runs_dir)]
    trained = run(command).json()
    where = ("--runs-dir", runs_dir, "--episodes", row.episodes, "--seed", EVAL_SEED + seed, "--json")
    score = run([*pinned, *gymnast("eval", f"{trained['id']}/@best", *where)]).json()
    return {
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


INTRODUCTION = """\
# Results

Written by `make results` from runs of {when}. Every row is the packaged preset as it is, trained until
its evaluation reached the preset's threshold or its budget was spent. The score is the mean return ±
standard deviation over whole episodes of the env itself (wrappers meant for training are left out), greedy
unless the row says sampled, by the best checkpoint, on seeds not used in training. One line per seed.
Aims of MuJoCo are CleanRL's returns while training, with sampled actions (environments.md): a greedy score of
the best checkpoint is not the same measure, and usually higher.
{machines}

| trained with | score | aim | episodes | env steps | seconds | |
| --- | ---: | ---: | ---: | ---: | ---: | --- |"""


def document(records: dict[str, list[dict[str, Any]]]) -> str:
    """docs/results.md."""
    dates = sorted({found["date"] for runs in records.values() for found in runs})
    machines = list(dict.fromkeys(found["machine"] for row in ROWS for found in records.get(row.ref, [])))
    letters = {machine: chr(ord("a") + i) for i, machine in enumerate(machines)}
    named = "; ".join(f"({letter}) {machine}" for machine, letter in letters.items())
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    lines = [INTRODUCTION.format(when=when, machines=f"The last column names the machine: {named}.")]
    for row in ROWS:
        for found in records.get(row.ref, []):
            score = f"{found['mean_return']:.4g} ± {found['std_return']:.3g}"
            reached = found["mean_return"] >= row.aim and found.get("solved") is not False
            score = f"**{score}**" if reached else score
            if found.get("sampled"):
                score += " sampled"
            if "tasks" in found:
                score += f" ({', '.join(f'{name} {mean:.4g}' for name, mean in found['tasks'].items())})"
            cells = [f"`gymnast train {row.ref} seed={found['seed']}`", score, f"{row.aim:g}"]
            cells += [f"{row.episodes:,}", f"{found['env_steps']:,}", f"{found['seconds']:.1f}"]
            cells.append(letters[found["machine"]])
            lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "FrozenLake is scored over 20,000 episodes: by dynamic programming, the best policy that does not "
        "see the time reaches the goal with probability 0.7402 (0.7442 if it does), and over 2,000 "
        "episodes chance alone moves its score by ± 0.01.",
        "",
        "A mix plays equally many episodes of each task; its score is the mean over tasks, each in brackets.",
        "",
        'A score in bold reached the aim. `make results ARGS="--only Taxi-v4:ppo"` updates one row.',
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=[row.ref for row in ROWS])
    parser.add_argument("--seeds", type=int, help="train with seeds 1 … this; default: as in the table")
    parser.add_argument(
        "--jobs", type=int, default=1, help="parallel runs, each on a core of its own (Linux)"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the runs in this folder")
    options = parser.parse_args()
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    rows = [row for row in ROWS if (row.ref in options.only if options.only else not row.opt_in)]
    runs_dir = options.keep or Path(tempfile.mkdtemp(prefix="gymnast-results-"))
    cores = Cores(options.jobs)
    pool = ThreadPoolExecutor(options.jobs)
    try:
        pending: dict[str, list[Future[dict[str, Any]]]] = {
            row.ref: [
                pool.submit(cores.train_and_score, row, seed, runs_dir)
                for seed in range(row.first_seed, row.first_seed + (options.seeds or row.seeds))
            ]
            for row in rows
        }
        for row in rows:
            found = []
            for run_of_seed in pending[row.ref]:
                found.append(run_of_seed.result())
                print(f"{row.ref} {json.dumps(found[-1])}", file=sys.stderr, flush=True)
            median = statistics.median(one["mean_return"] for one in found)
            print(f"{row.ref}: median {median:.4g}, aim {row.aim:g}")
            records[row.ref] = found
            # after each row: a long run that is stopped keeps what it has
            RECORDS.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n")
            DOCUMENT.write_text(document(records))
    finally:
        pool.shutdown(cancel_futures=True)
        if options.keep is None:
            shutil.rmtree(runs_dir, ignore_errors=True)
    print(f"{DOCUMENT.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
