"""Which alerts healthy runs raise: trains every preset with several seeds and writes docs/preset-health.md.

`python benchmarks/preset_health.py train DIR` trains and keeps each run's metrics and config in DIR; what is
there already is not trained again. `… check DIR …` replays the metrics through the rules as they are now, so
that a changed rule is tried on every preset in seconds. It takes any folder of runs, also one that
`benchmarks/results.py --keep DIR` trained. With `--write`, presets found there replace their rows in
preset_health.json and in the page; the other rows stay.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import gymnast

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "preset-health.md"
RECORDS = ROOT / "benchmarks" / "preset_health.json"  # the rows of docs/preset-health.md
SEVERITIES = ("critical", "warning", "info")
KEPT = ("metrics.csv", "config.yaml", "status.json", "run.json")


@dataclass(frozen=True)
class Case:
    """One preset and seed."""

    ref: str
    seed: int

    @property
    def folder(self) -> str:
        return f"{self.ref.replace('/', '__').replace(':', '.')}@{self.seed}"


def presets() -> list[str]:
    """Every packaged preset whose family is installed here."""
    listed = subprocess.run(gymnast("envs", "--json"), capture_output=True, text=True, check=True).stdout
    return [
        f"{entry['name']}:{variant}"
        for entry in json.loads(listed)
        if entry["installed"]
        for variant in entry["variants"]
    ]


def train(case: Case, folder: Path, limit: float) -> str:
    """Train one case; what there is after `limit` seconds is kept too."""
    kept = folder / case.folder
    if (kept / "metrics.csv").exists():
        return "kept"
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gymnast-health-") as runs:
        command = gymnast("train", case.ref, f"seed={case.seed}", "-q", "--runs-dir", runs)
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        child = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        try:
            _, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            child.terminate()  # it saves and ends
            try:
                _, errors = child.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()
                _, errors = child.communicate()
        found = [path for path in Path(runs).iterdir() if (path / "metrics.csv").exists()]
        if not found:
            return f"no metrics: {errors.strip().splitlines()[-1] if errors.strip() else child.returncode}"
        kept.mkdir(parents=True, exist_ok=True)
        for name in reversed(KEPT):  # metrics last: a folder with them is complete
            if (found[0] / name).exists():
                shutil.copyfile(found[0] / name, kept / name)
    return f"{time.monotonic() - began:.0f} s"


def settings_of(config: str) -> dict[str, Any]:
    """The settings of a config file's text, by dotted key."""
    from gymnast.config.dump import flat_data
    from gymnast.config.reading import parse_yaml

    return flat_data(parse_yaml(config, "config.yaml"))


def changed_settings(ref: str, run: Path) -> list[str]:
    """Where a run's config is not what the preset is now, apart from its seed."""
    from gymnast.config.dump import dump_config
    from gymnast.config.load import load_config

    packaged = settings_of(dump_config(load_config(ref).config))
    there = settings_of((run / "config.yaml").read_text())
    return [
        key
        for key in there.keys() - {"seed"}  # settings that are newer than the run are not in it
        if key not in packaged or there[key] != packaged[key] != "auto"
    ]


def check(run: Path) -> dict[str, Any]:
    """The alerts of one kept run, and how far it was trained."""
    from gymnast.metrics.alerts.monitor import Monitor, facts_of
    from gymnast.metrics.csv_file import read_metrics

    monitor = Monitor(facts_of(settings_of((run / "config.yaml").read_text())))
    rows = read_metrics(run / "metrics.csv")
    for row in rows:
        monitor.take(row)
    status = json.loads((run / "status.json").read_text())
    return {
        "alerts": [alert.to_json() for alert in monitor.raised()],
        "env_steps": rows[-1]["time/env_steps"] if rows else 0,
        "whole": status.get("status") == "finished",
    }


def runs_in(folders: Iterable[Path]) -> dict[str, dict[int, Path]]:
    """The runs that have ended, by preset and seed; the newest, where a preset has two of one seed."""
    found: dict[str, dict[int, tuple[str, Path]]] = {}
    for folder in folders:
        for run in folder.iterdir():
            if not all((run / name).exists() for name in KEPT):
                continue
            about = json.loads((run / "run.json").read_text())
            if json.loads((run / "status.json").read_text())["status"] == "running":
                continue
            ref, seed, made = f"{about['env']}:{about['variant']}", about["seed"], about["created"]
            if changed := changed_settings(ref, run):
                print(f"{run.name} left out: {ref} has another {', '.join(sorted(changed))}", file=sys.stderr)
                continue
            seeds = found.setdefault(ref, {})
            if seed not in seeds or seeds[seed][0] < made:
                seeds[seed] = (made, run)
    return {ref: {seed: run for seed, (_, run) in sorted(seeds.items())} for ref, seeds in found.items()}


def record(seeds: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The row of one preset: how many of its runs raised which alert."""
    raised = {
        severity: Counter(
            alert["id"] for one in seeds.values() for alert in one["alerts"] if alert["severity"] == severity
        )
        for severity in SEVERITIES
    }
    return {
        "seeds": sorted(seeds),
        "cut_off": [seed for seed, one in sorted(seeds.items()) if not one["whole"]],
        "env_steps": max(one["env_steps"] for one in seeds.values()),
        **{severity: dict(sorted(raised[severity].items())) for severity in SEVERITIES},
    }


def document(records: dict[str, dict[str, Any]]) -> str:
    """docs/preset-health.md."""
    runs = sum(len(row["seeds"]) for row in records.values())
    total = {
        severity: sum(sum(row[severity].values()) for row in records.values()) for severity in SEVERITIES
    }
    lines = [
        "# What healthy runs raise",
        "",
        "Written by `python benchmarks/preset_health.py`: presets as they are packaged, whole runs, and",
        "the alerts that each run raised, once per run however often it was seen. In brackets: how many of",
        "the preset's runs raised it, where not all did. A preset without a row has not been trained for",
        "this page yet. `fps.drop` is about the machine: these runs shared its cores with other work.",
        "Three are not healthy, and what they raise is right: `CartPole-v1:a2c-zoo`, with settings of RL",
        "Zoo, loses half of its score on the way; `gymnast/TMaze-v0:ppo` lacks the memory that its task",
        "needs; `MiniGrid-MultiRoom-N4-S5-v0:ppo`, a control, lacks the bonus and sees no reward.",
        "`Reacher-v5:ppo` learns well, but with single steps that are as large as the alert says.",
        "",
        f"{len(records)} of {len(presets())} presets, {runs} runs: {total['critical']} critical alerts, "
        f"{total['warning']} warnings ({total['warning'] / max(1, runs):.1f} per run), "
        f"{total['info']} infos.",
        "",
        "| preset | seeds | env steps | critical | warning | info |",
        "| --- | --- | ---: | --- | --- | --- |",
    ]
    for ref, row in sorted(records.items()):
        count = len(row["seeds"])
        cells = [
            ", ".join(f"{id_} ({n})" if n < count else id_ for id_, n in row[severity].items())
            for severity in SEVERITIES
        ]
        names = ", ".join(f"{seed} (part)" if seed in row["cut_off"] else f"{seed}" for seed in row["seeds"])
        lines.append(f"| {ref} | {names} | {row['env_steps']:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=["train", "check"])
    parser.add_argument("folder", type=Path, nargs="+", help="train: where to keep them; check: all of these")
    parser.add_argument("--only", action="append", help="these presets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=86_400.0, help="stop all training after so long")
    parser.add_argument("--write", action="store_true", help="with check: write the page")
    options = parser.parse_args()
    if options.action == "train":
        end = time.monotonic() + options.seconds
        cases = [Case(ref, seed) for seed in options.seeds for ref in options.only or presets()]

        def one(case: Case) -> None:
            left = end - time.monotonic()
            if left > 5:
                print(case.ref, case.seed, train(case, options.folder[0], left), file=sys.stderr, flush=True)

        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, cases))
        return
    found = {
        ref: {seed: check(run) for seed, run in seeds.items()}
        for ref, seeds in runs_in(options.folder).items()
        if not options.only or ref in options.only
    }
    rows = {ref: record(seeds) for ref, seeds in found.items()}
    if options.write:
        rows = (json.loads(RECORDS.read_text()) if RECORDS.exists() else {}) | rows
        RECORDS.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")
        DOCUMENT.write_text(document(rows))
    print(document(rows))
    for ref, seeds in sorted(found.items()):
        for seed, one_run in sorted(seeds.items()):
            for alert in one_run["alerts"]:
                if alert["severity"] != "info":
                    print(
                        f"{ref} seed {seed}: {alert['severity']} {alert['id']} × {alert['count']} "
                        f"({alert['first_step']:,}–{alert['last_step']:,}): {alert['message']}"
                    )


if __name__ == "__main__":
    main()
