"""Gymnast against Stable-Baselines3, side by side in one run: `python benchmarks/compare.py --help`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

import cases
import same_score
from cases import Case
from measures import Sample
from processes import OtherProcesses
from report import Record, case_lines, document, machine

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "records.json"  # the samples behind docs/benchmarks.md
DOCUMENT = ROOT / "docs" / "benchmarks.md"
CASES = (*cases.CASES, *same_score.CASES)


def measure(case: Case, repeats: int, quick: bool) -> Record:
    """Every side of `case`, in turn, `repeats` times; each repeat starts with another side."""
    samples: dict[str, list[Sample]] = {side: [] for side in case.sides}
    sides = list(case.sides)
    for repeat in range(repeats):
        start = repeat % len(sides)
        for side in sides[start:] + sides[:start]:
            print(f"{case.name}: {repeat + 1}/{repeats} {side}", file=sys.stderr, flush=True)
            with OtherProcesses() as others:
                sample = case.sides[side](repeat + 1, quick)
            samples[side].append(sample | {"others": others.cores})
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Record(case.name, today, quick, machine(), samples)


def chosen(names: list[str] | None) -> list[Case]:
    if not names:
        return [case for case in CASES if not case.opt_in]
    return [
        case
        for case in CASES
        if case.name in names or (same_score.GROUP in names and case in same_score.CASES)
    ]


def kept_records() -> dict[str, Record]:
    if not RECORDS.exists():
        return {}
    return {name: Record(**found) for name, found in json.loads(RECORDS.read_text()).items()}


def write(new: dict[str, Record]) -> None:
    """Replace these cases in the records and on the page; the others keep their measurements."""
    records = kept_records() | new
    kept = {name: record.to_json() for name, record in sorted(records.items())}
    RECORDS.write_text(json.dumps(kept, indent=1) + "\n")
    DOCUMENT.write_text(document(records))
    print(f"{DOCUMENT.relative_to(ROOT)} written", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=[*(case.name for case in CASES), same_score.GROUP],
        help="may be repeated",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repeats and steps: to check that it works"
    )
    parser.add_argument("--repeats", type=int, help="instead of each case's own number")
    parser.add_argument("--json", action="store_true", help="print the samples instead of tables")
    parser.add_argument("--write", action="store_true", help="update docs/benchmarks.md")
    parser.add_argument(
        "--render", action="store_true", help="rewrite the page from the kept records, no measuring"
    )
    options = parser.parse_args()
    if options.render:
        write({})
        return
    records: dict[str, Record] = {}
    for case in chosen(options.only):
        repeats = options.repeats or (case.quick_repeats if options.quick else case.repeats)
        records[case.name] = measure(case, repeats, options.quick)
        if not options.json:
            print("\n".join(case_lines(case, records[case.name])), flush=True)
        if options.write:  # after each case: a long run that is stopped keeps what it measured
            write(records)
    if options.json:
        print(json.dumps({name: record.to_json() for name, record in records.items()}))


if __name__ == "__main__":
    main()
