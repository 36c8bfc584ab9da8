"""Whatever a run folder holds: no traceback, no hang, nothing outside it touched, nothing intact lost."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from hostile_folders import (
    COMMANDS,
    DAMAGES,
    ID,
    OTHER,
    Case,
    all_cases,
    call,
    make_template,
    places,
    try_case,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes FIFOs and links")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template"))


# What escaped, hung or ended in a traceback once, and its neighbours.
KNOWN = [
    Case("checkpoints", "link", "resume"),
    Case("metrics.csv", "link", "resume"),
    Case("run.log", "link", "resume"),
    Case("run.log", "dangling link", "resume"),
    Case("run.log", "fifo", "resume"),
    Case("../.registry.json.tmp", "link", "resume"),
    Case("../.registry.lock", "link", "runs"),
    Case(".", "link", "resume"),
    Case(".", "link", "rm"),
    Case("videos/.progress.mp4.part", "link", "progress"),
    Case("videos", "link", "progress"),
    Case("requests", "link", "resume"),
    Case("metrics.csv", "link to /dev/zero", "show"),
    Case("metrics.csv", "sparse", "resume"),
    Case("metrics.csv", "fifo", "show"),
    Case("status.json", "fifo", "runs"),
    Case("status.json", "link to /dev/zero", "runs"),
    Case("status.json", "nested", "runs"),
    Case("run.json", "fifo", "runs"),
    Case("run.json", "link loop", "runs"),
    Case("run.json", "odd values", "show"),
    Case("config.yaml", "fifo", "show"),
    Case("config.yaml", "bomb", "eval"),
    Case("config.yaml", "nested", "resume"),
    Case("checkpoints", "fifo", "show"),
    Case("../registry.json", "fifo", "runs"),
    Case("../registry.json", "sparse", "best"),
    Case(".metrics.csv.tmp", "folder", "resume"),
    Case(".lock", "link", "rm"),
    Case(".lock", "folder", "rm"),
    Case("alerts.json", "fifo", "report"),
    Case("alerts.json", "nested", "report"),
    Case("report", "link", "report"),
    Case("report/score.png", "dangling link", "report"),
    Case("report.md", "link", "report"),
    Case(".report.md.tmp", "link", "report"),
    Case("metrics.csv", "link to /dev/zero", "report"),
    Case("run.json", "odd values", "report"),
    Case("checkpoints", "link", "report"),
]


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_known_traps(template: Path, tmp_path: Path, case: Case) -> None:
    result = try_case(template, case, tmp_path)
    assert result.kind in ("survived", "refused"), f"{case}: {result.kind}: {result.detail}"


@pytest.mark.parametrize(
    ("command", "count"),
    [("runs", 30), ("show", 20), ("best", 10), ("eval", 10), ("resume", 8), ("rm", 20), ("report", 8)],
)
def test_any_damage_anywhere(template: Path, tmp_path: Path, command: str, count: int) -> None:
    cases = [case for case in all_cases(template) if case.command == command]
    for number, case in enumerate(random.Random(0).sample(cases, count)):
        folder = tmp_path / str(number)
        folder.mkdir()
        result = try_case(template, case, folder)
        assert result.kind in ("survived", "refused"), f"{case}: {result.kind}: {result.detail}"


def test_an_unharmed_folder_serves_every_command(template: Path, tmp_path: Path) -> None:
    """The commands of the other tests are right ones: without damage none is refused."""
    for command in COMMANDS:
        folder = tmp_path / command
        folder.mkdir()
        result = try_case(template, Case("nothing", "missing", command), folder)
        assert result.kind == "survived", f"{command}: {result.detail}"


def test_all_places_are_tried(template: Path) -> None:
    found = places(template)
    assert {"config.yaml", "run.json", "status.json", "metrics.csv", "run.log", "checkpoints", ".lock"} < set(
        found
    )
    assert any(place.endswith(".state.safetensors") for place in found)


@pytest.mark.parametrize("damage", [damage for damage in DAMAGES if damage != "missing"])
def test_a_hostile_run_does_not_hide_the_others(template: Path, tmp_path: Path, damage: str) -> None:
    """All of its files at once; `@last` and a rebuilt index find the healthy one."""
    root, outside = tmp_path / "runs", tmp_path / "outside"
    shutil.copytree(template, root)
    outside.mkdir()
    for name in ("run.json", "status.json", "metrics.csv", "config.yaml"):
        DAMAGES[damage](root / ID / name, outside)
    for args in (["runs"], ["runs", "show", OTHER], ["runs", "best"], ["eval", "@best", "--episodes", "1"]):
        code, output = call([*args, "--runs-dir", str(root)])
        assert code == 0, output
        assert OTHER in output


def test_a_fifo_is_reported_where_it_was_asked_for(template: Path, tmp_path: Path) -> None:
    shutil.copytree(template, tmp_path / "runs")
    status = tmp_path / "runs" / ID / "run.json"
    status.unlink()
    os.mkfifo(status)
    code, output = call(["runs", "show", ID, "--json", "--runs-dir", str(tmp_path / "runs")])
    assert code == 0
    assert "run.json is a FIFO instead of a file" in output
