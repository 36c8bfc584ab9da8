"""A review of a run folder that is damaged or a trap: no traceback, no hang, nothing outside it touched."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import hostile_folders
from hostile_folders import DAMAGES, ID, Case, make_template, try_case
from llm_server import llm_server

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes FIFOs and links")

READ = ("run.log", "config.yaml", "metrics.csv", "run.json", "status.json", "alerts.json", ".")
WRITTEN = ("review.md", "review.json", ".review.lock", ".review.md.tmp", ".review.json.tmp")
EVERY = [Case(*parts, "review") for parts in itertools.product((*READ, *WRITTEN), DAMAGES)]
LINKS = [Case(place, "link", "review") for place in (*WRITTEN, "run.log", ".")]
SOME = list(dict.fromkeys([*LINKS, *random.Random(0).sample(EVERY, 12)]))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template"))


@pytest.fixture
def _reviewing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with llm_server() as server:
        command = ["review", ID, "--model", "m", "--base-url", f"{server.url}/v1"]
        monkeypatch.setitem(hostile_folders.COMMANDS, "review", command)
        monkeypatch.setattr(hostile_folders, "READING", ("review",))
        yield


@pytest.mark.usefixtures("_reviewing")
@pytest.mark.parametrize("case", SOME, ids=str)
def test_some(template: Path, tmp_path: Path, case: Case) -> None:
    result = try_case(template, case, tmp_path)
    assert result.kind in ("survived", "refused"), result.detail


@pytest.mark.slow
@pytest.mark.usefixtures("_reviewing")
@pytest.mark.parametrize("case", [case for case in EVERY if case not in SOME], ids=str)
def test_every(template: Path, tmp_path: Path, case: Case) -> None:
    result = try_case(template, case, tmp_path)
    assert result.kind in ("survived", "refused"), result.detail
