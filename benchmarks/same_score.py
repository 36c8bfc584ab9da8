"""The same score, how many seconds: both sides train until a greedy evaluation reaches it, in turn.

Cases of `compare.py` that are shown in one table: `python benchmarks/compare.py --only same-score --write`.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ours
from cases import GYMNAST, SB3, Case
from measures import Measure, Sample, until_solved
from processes import DISTURBED, run, script

GROUP = "same-score"
AIM = 4  # times sooner
_GIVE_UP, _GIVE_UP_QUICKLY = 1_500, 20  # seconds, either side


@dataclass(frozen=True)
class Task:
    """One row: the score, how it is checked, and the Zoo's budget."""

    env_id: str
    threshold: float
    zoo_steps: int
    every: int  # env steps between evaluations
    few: int = 10  # SB3 evaluates so many episodes first …
    many: int = 100  # … and so many if those reach the threshold; ours always evaluates all of them

    @property
    def case(self) -> str:
        return f"{GROUP}-{self.env_id}"


TASKS = (
    Task("Acrobot-v1", -80, 1_000_000, 10_000),
    Task("MountainCar-v0", -110, 1_000_000, 25_000),
    Task("Pendulum-v1", -180, 100_000, 25_000),
    Task("LunarLander-v3", 200, 1_000_000, 25_000, few=20),
    Task("LunarLanderContinuous-v3", 200, 1_000_000, 25_000, few=20),
    Task("BipedalWalker-v3", 280, 5_000_000, 50_000, many=50),
    Task("HalfCheetah-v5", 4_000, 1_000_000, 50_000, few=5, many=20),
    Task("Hopper-v5", 2_400, 1_000_000, 50_000, few=5, many=20),
)


def _sb3(task: Task) -> Measure:
    def measure(seed: int, quick: bool) -> Sample:
        command = script("sb3.py", "solve", "--env", task.env_id, "--seed", seed)
        command += ["--env-steps", str(2_000 if quick else task.zoo_steps)]
        command += ["--threshold", str(task.threshold), "--every", str(2_000 if quick else task.every)]
        command += ["--few", str(task.few), "--many", str(task.many), "--wall-time"]
        command.append(str(_GIVE_UP_QUICKLY if quick else _GIVE_UP))
        return until_solved(run(command), task.threshold)

    return measure


def _ours(task: Task) -> Measure:
    def measure(seed: int, quick: bool) -> Sample:
        settings = [f"stop.eval_return={task.threshold}", f"eval.episodes={task.many}"]
        settings.append(f"eval.every={2_000 if quick else task.every}")
        if quick:
            settings.append("budget.env_steps=2000")
        preset = f"{task.env_id}:ppo"
        with ours.train(preset, f"seed={seed}", *settings, f"--wall-time={_GIVE_UP}s") as trained:
            best = trained.report["best_score"]  # None if it gave up before its first evaluation
            reached = best is not None and best >= task.threshold
            return {
                "seconds": trained.process.seconds,
                "env_steps": float(trained.report["env_steps"]),
                "score": ours.verified_score(trained, task.env_id, task.many) if reached else float("nan"),
                "solved": float(reached),
            }

    return measure


CASES = tuple(
    Case(
        task.case,
        f"{task.env_id} until a greedy evaluation over {task.many} episodes reaches {task.threshold:g}.",
        {SB3: _sb3(task), GYMNAST: _ours(task)},
        opt_in=True,
    )
    for task in TASKS
)

_INTRODUCTION = f"""\
Seconds from process start until a greedy evaluation over many episodes reaches the score: SB3's PPO with RL
Zoo's settings beside `gymnast train ENV:ppo`, in turn, evaluated at the same env steps. SB3 tries a few
episodes first; ours is the whole process, its exit included. Each side gives up after {_GIVE_UP:,} s, or when
its budget (the Zoo's, the preset's) is spent: `>` marks times that did not suffice. Medians over the repeats;
the ratio is taken per repeat."""


def lines(records: dict[str, Any]) -> list[str]:
    """The table as Markdown; nothing if none of it was measured."""
    rows = [_row(task, records[task.case]) for task in TASKS if task.case in records]
    if not rows:
        return []
    head = "| env | score | repeats | SB3, s | Gymnast, s | times sooner | aim | | measured |"
    return [
        "## Same score, how many seconds",
        "",
        _INTRODUCTION,
        "",
        head,
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |",
        *rows,
        "",
    ]


def _row(task: Task, record: Any) -> str:
    theirs, own = record.samples[SB3], record.samples[GYMNAST]
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(theirs, own, strict=True)]
    reached = all(sample["solved"] for sample in own)
    ratio = statistics.median(ratios)
    when = record.when + (", quick" if record.quick else "")
    others = max(sample["others"] for sample in (*theirs, *own))
    cells = [
        f"`{task.env_id}`",
        f"{task.threshold:g}",
        str(len(own)),
        _seconds(theirs),
        _seconds(own),
        (f"{_over(theirs)}{ratio:.1f}" if reached else "–"),
        f"≥ {AIM}",
        "met" if reached and ratio >= AIM else "missed",
        when + (f", beside {others:.1f} busy cores" if others >= DISTURBED else ""),
    ]
    return f"| {' | '.join(cells)} |"


def _seconds(samples: Sequence[Sample]) -> str:
    middle = statistics.median(sample["seconds"] for sample in samples)
    reached = sum(sample["solved"] for sample in samples)
    note = "" if reached == len(samples) else f" (reached {reached:.0f} of {len(samples)})"
    return f"{_over(samples)}{middle:,.1f}{note}"


def _over(samples: Sequence[Sample]) -> str:
    return "" if all(sample["solved"] for sample in samples) else "> "
