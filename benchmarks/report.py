"""Turns measurements into text: tables for the terminal and for docs/benchmarks.md."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import checkouts
import same_score
from cases import CASES, Case, Comparison
from measures import Sample
from processes import DISTURBED

CHECKOUTS = checkouts.RECORD
QUANTITIES = {
    "sps": "env steps/s",
    "seconds": "seconds",
    "process_seconds": "seconds, whole process",
    "peak_mib": "peak MiB",
    "env_steps": "env steps",
    "score": "score",
    "solved": "solved",
    "sps_first": "env steps/s, first tenth",
    "sps_last": "env steps/s, last tenth",
    "mib_first": "MiB, second tenth",
    "mib_last": "MiB, last tenth",
}


@dataclass(frozen=True)
class Record:
    """What one case measured: the samples of each side, in the order they were taken."""

    case: str
    when: str
    quick: bool
    machine: str
    samples: dict[str, list[Sample]]

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def processor() -> str:
    """The CPU model, without the machine's name."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = (line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    return next(models, platform.machine())


def graphics() -> str:
    """The GPU model as NVIDIA's driver reports it; empty where there is none."""
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        names = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return names[0].strip() if names else ""


def machine() -> str:
    """The hardware and the versions that matter, in one line."""
    names = ("numpy", "gymnasium", "torch", "stable-baselines3", "sb3-contrib")
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{os.cpu_count()} cores ({processor()}), Python {platform.python_version()}, {packages}"


def number(value: float) -> str:
    """Three significant digits, thousands separated, small numbers with their decimals."""
    if value != value:
        return "–"
    if abs(value) >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """Minimum … median … maximum."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return number(middle) if low == high else f"{number(low)} … **{number(middle)}** … {number(high)}"


def compared(record: Record, comparison: Comparison) -> list[float]:
    """The comparison's value in each repeat: both figures are from the same minute."""
    (top_side, top), (bottom_side, bottom) = comparison.top, comparison.bottom
    pairs = zip(record.samples[top_side], record.samples[bottom_side], strict=True)
    return [comparison.value(a[top], b[bottom]) for a, b in pairs]


def goal(comparison: Comparison) -> str:
    unit = " s" if comparison.difference else " ×"
    if comparison.at_least is not None:
        return f"≥ {number(comparison.at_least)}{unit}"
    return f"≤ {number(comparison.at_most)}{unit}" if comparison.at_most is not None else ""


def case_lines(case: Case, record: Record) -> list[str]:
    """One case as Markdown."""
    quantities = [key for key in QUANTITIES if any(key in s[0] for s in record.samples.values())]
    repeats = len(next(iter(record.samples.values())))
    lines = [f"## {case.name}", "", case.what, ""]
    times = "once" if repeats == 1 else f"{repeats} times"
    mode = ", in the quick mode" if record.quick else ""
    lines += [f"Measured {times} on {record.when}{mode}.{_disturbed(record)}", ""]
    lines += [f"| side | {' | '.join(QUANTITIES[key] for key in quantities)} |"]
    lines += ["| --- |" + " ---: |" * len(quantities)]
    for side, samples in record.samples.items():
        lines.append(f"| {side} | {' | '.join(_cell(samples, key) for key in quantities)} |")
    if case.comparisons:
        lines += ["", "| compared | result | aim | |", "| --- | ---: | ---: | --- |"]
    for comparison in case.comparisons:
        values = compared(record, comparison)
        verdict = ""
        if goal(comparison):
            verdict = "met" if comparison.met(statistics.median(values)) else "missed"
        lines.append(f"| {comparison.what} | {spread(values)} | {goal(comparison)} | {verdict} |")
    return [*lines, ""]


def _disturbed(record: Record) -> str:
    others = max(sample["others"] for samples in record.samples.values() for sample in samples)
    if others < DISTURBED:
        return ""
    return f" **Disturbed: other processes kept up to {others:.1f} cores busy meanwhile.**"


def _cell(samples: list[Sample], key: str) -> str:
    values = [sample[key] for sample in samples if not math.isnan(sample.get(key, math.nan))]
    if not values:
        return ""
    return f"{sum(values):.0f} of {len(values)}" if key == "solved" else spread(values)


INTRODUCTION = """\
# Benchmarks

Written by `make bench ARGS=--write`. Gymnast and Stable-Baselines3 run on the same machine in the same
run, in turn, each measurement in a process of its own; the order changes with every repeat. Figures are
minimum … **median** … maximum. Absolute figures differ between machines, and by some 15 % between runs on
one machine: only the ratios, taken per repeat, are worth quoting.

Stable-Baselines3 runs at its best: one torch thread, evaluation episodes stepped together, and the exit
of its process not counted. Gymnast's seconds to a solved env are those of the whole process, timed from
outside, from before its start until it is gone.
"""


BEFORE_AFTER = """\
Env steps per second of training, one core, medians of runs in turn:
`python benchmarks/checkouts.py BEFORE --write`; the first three rows of 15 runs each, the others of 3. Single
runs lie up to 40 % apart on this machine, and medians of three have differed by 15 %: they cannot show a few
per cent. What does not vary is the number of Python calls per env step (`--calls`), after / before: RL Zoo
settings 0.993, A2C 0.968, LSTM 1.012, 4,096 envs 0.980, LunarLander 1.068 (its actions are recorded, so that
a resume is exact), HalfCheetah 0.997."""


def document(records: dict[str, Record]) -> str:
    """docs/benchmarks.md."""
    machines = sorted({record.machine for record in records.values()})
    lines = [INTRODUCTION, *(f"Machine: {text}." for text in machines), ""]
    for case in CASES:
        if case.name in records:
            lines += case_lines(case, records[case.name])
    lines += same_score.lines(records)
    if CHECKOUTS.exists():
        results = json.loads(CHECKOUTS.read_text())
        lines += [
            "## The last change of structure, before and after",
            "",
            BEFORE_AFTER,
            "",
            *checkouts.lines(results),
            "",
        ]
    opt_in = [*(case.name for case in CASES if case.opt_in), same_score.GROUP]
    commands = [
        ("make bench", "everything but the long cases"),
        ('make bench ARGS="--quick"', "one or two repeats, fewer steps"),
        *((f'make bench ARGS="--only {name}"', "only runs if named") for name in opt_in),
        ('make bench ARGS="--write"', "also updates this page"),
    ]
    lines += ["## Running it", "", "```", *(f"{command:<44} # {what}" for command, what in commands), "```"]
    return "\n".join(lines) + "\n"
