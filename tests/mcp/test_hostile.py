"""Damaged run folders and traps: each tool answers, or says in one message what is wrong."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from gymnast.mcp.serving import Serving
from hostile_folders import DAMAGES, ID, OTHER, make_template
from mcp_clients import in_memory

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes FIFOs and links")
PLACES = ("config.yaml", "run.json", "status.json", "metrics.csv", "run.log", "alerts.json", "checkpoints")
TOOLS = (
    "list_runs",
    "describe_run",
    "watch_run",
    "get_metrics",
    "compare_runs",
    "diagnose_run",
    "suggest_changes",
    "get_report",
    "read_log",
)
EVERY = list(itertools.product(PLACES, DAMAGES))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template"))


def problems(template: Path, folder: Path, place: str, damage: str, tools: tuple[str, ...]) -> list[str]:
    root, outside = folder / "runs", folder / "outside"
    shutil.copytree(template, root)
    outside.mkdir()
    try:
        DAMAGES[damage](root / ID / place, outside)
    except OSError:  # a folder cannot be cut
        return []

    async def session(client: Any) -> list[str]:
        found = []
        for tool in tools:
            arguments: dict[str, Any] = {"list_runs": {}, "compare_runs": {"runs": [ID, OTHER]}}.get(
                tool, {"run": ID}
            )
            began = time.monotonic()
            result = await client.call_tool(tool, arguments)
            text = result.content[0].text
            if text.startswith("Error executing tool") or "Traceback" in text:
                found.append(f"{tool}: {text}")
            if time.monotonic() - began > 60:
                found.append(f"{tool} took {time.monotonic() - began:.0f} s")
            if tool == "list_runs" and OTHER not in text:
                found.append("the other run is not listed")
        return found

    return list(in_memory(Serving(root), session))


@pytest.mark.parametrize(("place", "damage"), random.Random(3).sample(EVERY, 12))
def test_some_damage(template: Path, tmp_path: Path, place: str, damage: str) -> None:
    assert problems(template, tmp_path, place, damage, TOOLS) == []


@pytest.mark.slow
@pytest.mark.parametrize(("place", "damage"), EVERY)
def test_any_damage(template: Path, tmp_path: Path, place: str, damage: str) -> None:
    assert problems(template, tmp_path, place, damage, TOOLS) == []
