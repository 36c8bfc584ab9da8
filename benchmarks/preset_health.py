"""Which alerts healthy runs raise: trains every preset with several seeds and writes docs/preset-health.md.

`python benchmarks/preset_health.py train DIR` trains and keeps each run's metrics and config in DIR; what is
there already is not trained again. `… check DIR` replays the metrics through the rules as they are now, so
that a changed rule is tried on every preset in seconds.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import gymnast

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "preset-health.md"
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


def check(run: Path) -> dict[str, Any]:
    """The alerts of one kept run, and how far it was trained."""
    from gymnast.config.dump import flat_data
    from gymnast.config.reading import parse_yaml
    from gymnast.metrics.alerts.monitor import Monitor, facts_of
    from gymnast.metrics.csv_file import read_metrics

    settings = flat_data(parse_yaml((run / "config.yaml").read_text(), str(run / "config.yaml")))
    monitor = Monitor(facts_of(settings))
    rows = read_metrics(run / "metrics.csv")
    for row in rows:
        monitor.take(row)
    status = json.loads((run / "status.json").read_text())
    return {
        "alerts": [alert.to_json() for alert in monitor.raised()],
        "env_steps": rows[-1]["time/env_steps"] if rows else 0,
        "whole": status.get("status") == "finished",
    }


def document(found: dict[str, dict[int, dict[str, Any]]]) -> str:
    """docs/preset-health.md."""
    runs = [one for seeds in found.values() for one in seeds.values()]
    worst = Counter(alert["severity"] for one in runs for alert in one["alerts"])
    lines = [
        "# What healthy runs raise",
        "",
        "Written by `python benchmarks/preset_health.py`: presets as they are packaged, whole runs, and",
        "the alerts that each run raised, once per run however often it was seen. In brackets: how many of",
        "the preset's runs raised it, where not all did. A preset without a row has not been trained for",
        "this page yet. `fps.drop` is about the machine: these runs shared its cores with other work.",
        "",
        f"{len(found)} of {len(presets())} presets, {len(runs)} runs: {worst['critical']} critical alerts, "
        f"{worst['warning']} warnings ({worst['warning'] / max(1, len(runs)):.1f} per run), "
        f"{worst['info']} infos.",
        "",
        "| preset | seeds | env steps | critical | warning | info |",
        "| --- | --- | ---: | --- | --- | --- |",
    ]
    for ref, seeds in sorted(found.items()):
        cells = []
        for severity in ("critical", "warning", "info"):
            ids = Counter(
                alert["id"]
                for one in seeds.values()
                for alert in one["alerts"]
                if alert["severity"] == severity
            )
            cells.append(
                ", ".join(f"{id_} ({n})" if n < len(seeds) else id_ for id_, n in sorted(ids.items()))
            )
        names = ", ".join(
            f"{seed}" if one["whole"] else f"{seed} (part)" for seed, one in sorted(seeds.items())
        )
        steps = max(one["env_steps"] for one in seeds.values())
        lines.append(f"| {ref} | {names} | {steps:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=["train", "check"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="these presets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=86_400.0, help="stop all training after so long")
    parser.add_argument("--write", action="store_true", help="with check: write docs/preset-health.md")
    options = parser.parse_args()
    if options.action == "train":
        end = time.monotonic() + options.seconds
        cases = [Case(ref, seed) for seed in options.seeds for ref in options.only or presets()]

        def one(case: Case) -> None:
            left = end - time.monotonic()
            if left > 5:
                print(case.ref, case.seed, train(case, options.folder, left), file=sys.stderr, flush=True)

        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(one, cases))
        return
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for run in sorted(options.folder.iterdir()):
        if not (run / "metrics.csv").exists():
            continue
        name, _, seed = run.name.rpartition("@")
        env, _, variant = name.rpartition(".")
        ref = f"{env.replace('__', '/')}:{variant}"
        if options.only and ref not in options.only:
            continue
        found.setdefault(ref, {})[int(seed)] = check(run)
    text = document(found)
    if options.write:
        DOCUMENT.write_text(text)
    print(text)
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
