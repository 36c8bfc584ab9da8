"""Whatever a run folder holds, the server answers in words, at once, and shows nothing from elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from gymnast import api
from hostile_folders import DAMAGES, ID, OTHER, make_template
from pages import client_of, serving

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes FIFOs and links")

PLACES = (
    "config.yaml",
    "run.json",
    "status.json",
    "metrics.csv",
    "alerts.json",
    "distributions.bin",
    "report.md",
    "process.json",
    "mark.json",
    "checkpoints",
    "videos",
    "videos/best.mp4",
    "recordings",
    "recordings/0123456789",
    "recordings/0123456789/recording.json",
    "recordings/0123456789/pictures.bin",
    "recordings/0123456789/trace",
    "recordings/0123456789/trace/trace.json",
)
ROUTES = (
    "/api/runs",
    f"/api/runs/{ID}",
    f"/api/runs/{ID}/metrics",
    f"/api/runs/{ID}/distributions",
    f"/api/runs/{ID}/distributions/reward",
    f"/api/runs/{ID}/report",
    f"/api/runs/{ID}/videos/best.mp4",
    "/api/recordings",
    f"/api/recordings/{ID}-0123456789/data",
    f"/api/recordings/{ID}-0123456789/steps.csv",
)
SECRET = "not yours"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_template(tmp_path_factory.mktemp("template"))
    info = api.record_checkpoint(root / ID, max_steps=5)
    folder = root / ID / "recordings"
    (folder / info.id.partition("-")[2]).rename(folder / "0123456789")
    (root / ID / "videos").mkdir(exist_ok=True)
    (root / ID / "videos" / "best.mp4").write_bytes(b"video" * 100)
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "runs"


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[httpx2.Client]:
    with serving(api.inspector_server(root, port=0)) as server, client_of(server) as opened:
        yield opened


def test_the_template_is_sound(template: Path, root: Path, client: httpx2.Client) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)
    for route in ROUTES:
        assert client.get(route).status_code in (200, 404 if "distributions/" in route else 200), route


@pytest.mark.parametrize("place", PLACES)
def test_no_damage_is_a_fault_of_the_server(
    template: Path, root: Path, client: httpx2.Client, tmp_path: Path, place: str
) -> None:
    for name, damage in DAMAGES.items():
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        outside = tmp_path / name.replace("/", "-")
        (outside / "folder").mkdir(parents=True)
        (outside / "sentinel").write_text(f"{SECRET}\n")
        try:
            damage(root / ID / place, outside)
        except (OSError, IsADirectoryError):  # a folder cannot be cut
            continue
        for route in ROUTES:
            answer = client.get(route, timeout=60)
            assert answer.status_code in (200, 400, 404), (name, route, answer.text[:300])
            assert SECRET not in answer.text, (name, route)
            if route == "/api/runs":
                assert OTHER in [run["id"] for run in answer.json()["runs"]], name
        client.delete(f"/api/recordings/{ID}-0123456789")
        assert (outside / "sentinel").read_text() == f"{SECRET}\n"
        assert (outside / "folder").is_dir()
