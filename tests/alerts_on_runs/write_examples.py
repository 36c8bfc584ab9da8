"""Writes the examples on the pages of alerts: what a sick run of each rule says.

Run it after a rule is new or says something else, then `make docs`:
    python tests/alerts_on_runs/write_examples.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from alerts_on_runs import sick_environment, sick_policy
from gymnast import api
from gymnast.errors import RunFailed
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.alerts.diagnosis import replay
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.pages import EXAMPLES


def trained(env: str, overrides: dict[str, object], steps: int | None, root: Path) -> dict[str, Alert]:
    with suppress(RunFailed):  # some are so sick that they die of it
        api.train(env, overrides=overrides, max_env_steps=steps, runs_dir=root)
    return {alert.id: alert for alert in api.diagnose("@last", runs_dir=root).alerts}


def main() -> None:
    found: dict[str, dict[str, Alert]] = {
        name: {alert.id: alert for alert in replay(rows, RunFacts({"device": "auto"})).raised()}
        for name, rows in (*sick_policy.RECORDED.items(), *sick_environment.RECORDED.items())
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, sick in sick_policy.RUNS.items():
            found[name] = trained(sick.env, sick.overrides(), sick.steps, Path(folder, str(len(found))))
        for name, run in sick_environment.RUNS.items():
            found[name] = trained(run.env, run.overrides(), None, Path(folder, str(len(found))))
    examples = {}
    for id_, (name, _) in sorted({**sick_policy.SICK, **sick_environment.SICK}.items()):
        if (alert := found[name].get(id_)) is None:
            print(f"the run {name!r} does not raise {id_} here: its page gets no example")
            continue
        examples[id_] = {"severity": alert.severity, "message": alert.message, "advice": alert.advice}
    EXAMPLES.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
