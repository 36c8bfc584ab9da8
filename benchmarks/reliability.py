"""How the program takes what should never happen, counted: `python benchmarks/reliability.py --help`.

The same trials run in CI, fewer of them: tests/fuzz, tests/hostile and tests/training/test_kill.py. This is
the long form, by hand. `--write` puts the counts into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import json
import os
import platform
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "reliability.json"
DOCUMENT = ROOT / "docs" / "reliability.md"
sys.path.insert(0, str(ROOT / "tests"))

Counts = dict[str, Any]


def wrong_input(count: int) -> Counts:
    """Wrong command lines: commands, references, settings and their values."""
    from fuzz.wrong_input import command_lines, run_command

    return _commands(count, command_lines(), run_command)


def wrong_configs(count: int) -> Counts:
    """Config files with wrong keys, values, sections and YAML, each given to `gymnast config validate`."""
    from fuzz.wrong_input import config_files, run_command

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.yaml"

        def validate(text: str) -> Any:
            file.write_text(text, encoding="utf-8")
            return run_command(["config", "validate", str(file)])

        return _commands(count, config_files(), validate)


def _commands(count: int, inputs: Any, run: Callable[[Any], Any]) -> Counts:
    from hypothesis import HealthCheck, Phase, given, settings

    counts = {"tried": 0, "refused": 0, "tracebacks": 0, "hangs": 0, "other faults": 0}

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs)
    def trial(words: Any) -> None:
        ending = run(words)
        counts["tried"] += 1
        counts["refused"] += ending.code == 2
        counts["hangs"] += ending.hung
        if (fault := ending.fault()) is None or ending.hung:
            return
        kind = "tracebacks" if ending.crash is not None or "traceback" in fault else "other faults"
        counts[kind] += 1
        print(f"{fault}: {words!r:.300}", file=sys.stderr)

    trial()
    return counts


def kills(count: int) -> Counts:
    """`kill -9` at random moments with a resume after each: half of them native, half with workers."""
    from training.compare_runs import difference, end_of, rows_of
    from training.kills import as_run, train_whole_and_killed

    counts = {"tried": 0, "lost": 0, "runs that ended with other bits": 0}
    for backend in ("native", "workers"):
        with tempfile.TemporaryDirectory() as folder:
            steps = f"{15 * count // 2}k"
            whole, killed = (
                as_run(runs)
                for runs in train_whole_and_killed(Path(folder), backend, steps, kills=count // 2, seed=7)
            )
            counts["tried"] += count // 2
            same = difference(end_of(whole), end_of(killed)) or difference(rows_of(whole), rows_of(killed))
            counts["runs that ended with other bits"] += same is not None
            if same is not None:
                print(f"{backend}: {same[:500]}", file=sys.stderr)
    return counts


DAMAGES = ("missing", "cut", "flipped", "empty", "odd values")


def corruptions(count: int) -> Counts:
    """Files of a run folder missing, cut, emptied, with flipped bytes or with values that no program wrote;
    then a command: runs, runs show, runs best, eval, resume, runs rm or video progress."""
    return _run_folders(count, lambda damage: damage in DAMAGES)


def attacks(count: int) -> Counts:
    """A link (to a file outside, to /dev/zero, to itself, to nothing), a FIFO, a folder, a terabyte of zeros,
    100,000 brackets or a YAML bomb in the place of a file or folder of a run; then the same commands."""
    return _run_folders(count, lambda damage: damage not in DAMAGES)


def _run_folders(count: int, wanted: Callable[[str], bool]) -> Counts:
    from hostile_folders import all_cases, make_template, try_case

    counts = dict.fromkeys(("tried", "survived", "refused", "lost", "traceback", "hang", "escape"), 0)
    draw = random.Random(date.today().toordinal())
    with tempfile.TemporaryDirectory() as made, contextlib.redirect_stdout(io.StringIO()):
        template = make_template(Path(made))
        cases = [case for case in all_cases(template) if wanted(case.damage)]
        while counts["tried"] < count:
            case, folder = draw.choice(cases), Path(made) / "case"
            folder.mkdir()
            result = try_case(template, case, folder)
            shutil.rmtree(folder, ignore_errors=True)
            if result.detail == "not possible":  # a folder cannot be cut
                continue
            counts["tried"] += 1
            counts[result.kind] += 1
            if result.kind not in ("survived", "refused"):
                print(f"{case}: {result.kind}: {result.detail}", file=sys.stderr)
    return counts


TRIALS: dict[str, tuple[Callable[[int], Counts], int]] = {
    "wrong input": (wrong_input, 5000),
    "wrong configs": (wrong_configs, 5000),
    "corruptions": (corruptions, 1000),
    "attacks": (attacks, 200),
    "kills": (kills, 100),
}


def lines(record: dict[str, Counts]) -> list[str]:
    """docs/reliability.md."""
    text = [
        "# Reliability",
        "",
        "Written by `python benchmarks/reliability.py --write`: what should never happen was made to happen,",
        "and counted. Fewer of the same trials run in CI.",
        "",
    ]
    for name, counts in record.items():
        trial = TRIALS[name][0]
        text += [f"## {name.capitalize()}", "", inspect.cleandoc(trial.__doc__ or ""), ""]
        text += ["| | |", "| --- | ---: |"]
        text += [f"| {key} | {value:,} |" for key, value in counts.items() if isinstance(value, int)]
        text += ["", f"{counts['date']}, {counts['machine']}, {counts['seconds']:.0f} s.", ""]
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=list(TRIALS), action="append")
    parser.add_argument("--count", type=int, help="how many of each; 5,000 and 100 and so on if left out")
    parser.add_argument("--write", action="store_true", help="also into docs/reliability.md")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    os.environ["NO_COLOR"] = "1"
    for name in options.only or TRIALS:
        trial, usual = TRIALS[name]
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as home:  # the user's own runs and caches stay untouched
            os.environ["GYMNAST_RUNS_DIR"] = f"{home}/runs"
            os.environ["XDG_CACHE_HOME"] = f"{home}/cache"
            os.environ["GYMNAST_STATE_DIR"] = f"{home}/state"
            counts = trial(options.count or usual)
        counts |= {
            "date": date.today().isoformat(),
            "machine": f"{platform.system()}, {os.cpu_count()} cores",
            "seconds": round(time.perf_counter() - began, 1),
        }
        record[name] = counts
        print(f"{name}: {counts}", flush=True)
    if options.write:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        DOCUMENT.write_text("\n".join(lines(record)))


if __name__ == "__main__":
    main()
