"""Every rule about environments and runs is raised by a run that has what it looks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from alerts_on_runs.sick_environment import RECORDED, RUNS, SICK
from gymnast import api
from gymnast.metrics.alerts.diagnosis import Diagnosis
from gymnast.metrics.alerts.pages import examples
from gymnast.metrics.alerts.table import all_rules


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Diagnosis]:
    """Each run is trained once, for all rules that it serves."""
    root = tmp_path_factory.mktemp("sick")

    @cache
    def of(name: str) -> Diagnosis:
        if name in RECORDED:
            return api.diagnose(written(root / "rows.csv", RECORDED[name]))
        sick = RUNS[name]
        return api.diagnose(api.train(sick.env, overrides=sick.overrides(), runs_dir=root))

    return of


def written(file: Path, rows: list[dict[str, int]]) -> Path:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.mark.parametrize("id_", SICK)
def test_a_sick_run_raises_it(id_: str, diagnosed: Callable[[str], Diagnosis]) -> None:
    name, severity = SICK[id_]
    found = {alert.id: alert for alert in diagnosed(name).alerts}
    assert id_ in found, sorted(found)
    alert = found[id_]
    assert alert.severity == severity
    assert len(alert.message) <= 80
    assert re.search(r"\b[a-z]+\.\w+:? .*: try \S|\btry [a-z]+\.\w+ \S|--track wandb=offline", alert.advice)


def test_every_rule_of_these_groups_has_a_sick_run() -> None:
    assert set(SICK) == {rule.id for rule in all_rules() if rule.group in ("environment", "run")}


def test_pages_have_examples_of_these_rules_and_of_none_that_is_gone() -> None:
    again = "run: python tests/alerts_on_runs/write_examples.py"
    assert set(SICK) <= set(examples()), again
    assert set(examples()) <= {rule.id for rule in all_rules()}, again
