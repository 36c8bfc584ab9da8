"""Runs on Weights & Biases, with the real client against a server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.archive.wandb_artifact import parse_source
from gymnast.errors import GymnastError, MissingExtra
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs.store import RunFolder
from wandb_artifacts import Artifact, md5
from wandb_server import WandbServer, wandb_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WandbServer]:
    with wandb_server() as running:
        yield running


@pytest.fixture
def gymnast(server: WandbServer, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command, logged in; its library keeps state in the process, so each has its own."""

    def call(*words: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
        own = {"WANDB_BASE_URL": server.url, "WANDB_API_KEY": "a" * 40, "HOME": str(tmp_path / "home")}
        own["GYMNAST_STATE_DIR"] = str(tmp_path / "state")
        environment = {name: text for name, text in (os.environ | own | changes).items() if text}
        return subprocess.run(
            [sys.executable, "-m", "gymnast", *map(str, words)],
            capture_output=True, text=True, timeout=240, check=False, env=environment,
        )  # fmt: skip

    (tmp_path / "home").mkdir()
    return call


Command = Callable[..., subprocess.CompletedProcess[str]]


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    """The one message of a command that refused."""
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def archived(server: WandbServer, run: RunFolder, content: bytes, **entry: Any) -> Artifact:
    """An artifact as someone else may have made it."""
    name = entry.pop("name", f"{run.id}.zip")
    facts = {"digest": md5(content), "size": len(content), **entry}
    manifest = {
        "version": 1,
        "storagePolicy": "wandb-storage-policy-v1",
        "storagePolicyConfig": {"storageLayout": "V2"},
        "contents": {name: facts},
    }
    artifact = Artifact(
        "artifact-9", f"run-{run.id}", "gymnast-run", "{}", "0" * 32, ["latest"], 0, "gymnast"
    )
    artifact.files, artifact.manifest, artifact.committed = (
        {name: content},
        json.dumps(manifest).encode(),
        True,
    )
    server.store.artifacts[artifact.id] = artifact
    return artifact


@pytest.mark.slow
def test_run_is_archived_and_comes_back(
    trained: RunFolder, server: WandbServer, gymnast: Command, tmp_path: Path
) -> None:
    done = gymnast("archive", trained.path, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    source = f"wandb:tester/gymnast/{trained.id}"
    assert said["source"] == source
    (artifact,) = server.store.artifacts.values()
    assert (artifact.collection, artifact.kind) == (f"run-{trained.id}", "gymnast-run")
    assert artifact.committed
    assert set(artifact.aliases) == {"latest", "best"}
    facts = json.loads(artifact.metadata)
    assert (facts["env"], facts["algo"], facts["env_steps"]) == ("CartPole-v1", "ppo", 1024)
    assert facts["best_score"] > 0
    assert list(artifact.files) == [f"{trained.id}.zip"]
    runs = tmp_path / "runs"
    missing = error_of(gymnast("eval", trained.id, "--runs-dir", runs))
    assert f"pull {source}" in missing  # names the command that brings it back
    pulled = gymnast("pull", source, "--runs-dir", runs)
    assert pulled.returncode == 0, pulled.stderr
    assert (runs / trained.id / "metrics.csv").read_bytes() == trained.metrics_path.read_bytes()
    assert json.loads((runs / trained.id / "origin.json").read_text())["source"] == source
    assert api.evaluate(trained.id, episodes=2, runs_dir=runs).episodes == 2
    assert api.resume(trained.id, max_env_steps=1536, runs_dir=runs).outcome.env_steps >= 1536
    assert [path for path in runs.iterdir() if path.name.startswith(".new")] == []
    again = error_of(gymnast("pull", source, "--runs-dir", runs))
    assert "--new-id to keep both" in again


@pytest.mark.slow
@pytest.mark.parametrize("status", [403, 413, 507])
def test_upload_that_fails_is_never_a_version(
    trained: RunFolder, server: WandbServer, gymnast: Command, status: int
) -> None:
    server.refuses_artifacts = status
    said = error_of(gymnast("archive", trained.path))
    assert "nothing was archived; look at the storage of the account and at the network" in said
    assert not [artifact for artifact in server.store.artifacts.values() if artifact.committed]
    server.refuses_artifacts = 0
    done = gymnast("archive", trained.path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_second_archive_is_a_new_version(copied: RunFolder, server: WandbServer, gymnast: Command) -> None:
    assert gymnast("archive", copied.path).returncode == 0
    (copied.path / "run.log").write_text("one more line\n")
    done = gymnast("archive", copied.path)
    assert done.returncode == 0, done.stderr
    first, second = server.store.artifacts.values()
    assert (first.aliases, set(second.aliases)) == ([], {"latest", "best"})
    assert "v1" in done.stdout


@pytest.fixture
def _logged_in(server: WandbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what pulls in this process."""
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)


def refused(run_id: str, folder: Path, message: str) -> None:
    before = set(folder.rglob("*"))
    with pytest.raises(GymnastError, match=message) as error:
        api.pull_run(f"wandb:tester/gymnast/{run_id}", runs_dir=folder / "a/runs")
    assert error.value.exit_code == 2
    assert set(folder.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.usefixtures("_logged_in")
@pytest.mark.parametrize("cut", [0.5, 0.0])
def test_cut_download_leaves_nothing(
    trained: RunFolder, packed: Path, server: WandbServer, tmp_path: Path, cut: float
) -> None:
    artifact = archived(server, trained, packed.read_bytes())
    data = artifact.files[f"{trained.id}.zip"]
    artifact.files[f"{trained.id}.zip"] = data[: int(cut * len(data))]
    refused(trained.id, tmp_path, trained.id)
    artifact.files[f"{trained.id}.zip"] = data
    arrived = api.pull_run(f"wandb:tester/gymnast/{trained.id}", runs_dir=tmp_path / "runs")
    assert arrived.run == trained.id


@pytest.mark.usefixtures("_logged_in")
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "../../evil.zip"}, "was not made by gymnast archive"),
        ({"name": "other.zip"}, "was not made by gymnast archive"),
        ({"ref": "file:///etc/passwd"}, "was not made by gymnast archive"),
        ({"ref": "http://127.0.0.1:9/x"}, "was not made by gymnast archive"),
        ({"size": 10**15}, "at most"),
    ],
)
def test_hostile_artifacts(
    trained: RunFolder, packed: Path, server: WandbServer, tmp_path: Path, entry: dict[str, Any], message: str
) -> None:
    archived(server, trained, packed.read_bytes(), **entry)
    refused(trained.id, tmp_path, message)


@pytest.mark.usefixtures("_logged_in")
def test_archive_of_another_run_is_refused(
    trained: RunFolder, packed: Path, server: WandbServer, tmp_path: Path
) -> None:
    archived(server, RunFolder(Path("abcdefgh")), packed.read_bytes())
    refused("abcdefgh", tmp_path, f"holds run {trained.id} instead of abcdefgh")


@pytest.mark.usefixtures("_logged_in")
def test_archive_that_is_a_trap_is_refused(trained: RunFolder, server: WandbServer, tmp_path: Path) -> None:
    archived(server, trained, b"PK\x03\x04 and nothing that follows")
    refused(trained.id, tmp_path, "is not a packed run, or it was cut short")


def test_what_is_not_there_and_who_is_not_logged_in(
    trained: RunFolder, gymnast: Command, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    assert "not found" in error_of(gymnast("pull", "wandb:tester/gymnast/zzzzzzzz", "--runs-dir", runs))
    nobody = {"WANDB_API_KEY": "", "NETRC": str(tmp_path / "none")}
    for words in (("archive", trained.path), ("wandb", "sync", trained.path)):
        said = error_of(gymnast(*words, **nobody))
        assert "not logged in; run `wandb login`, or set WANDB_API_KEY" in said
        assert not (trained.path / "wandb").exists()
    assert not runs.exists()


def test_sources() -> None:
    assert str(parse_source("wandb:ada/gymnast/k3v9x0ab")) == "wandb:ada/gymnast/k3v9x0ab"
    assert parse_source("wandb:ada/gymnast/k3v9x0ab:best").alias == "best"
    for bad in ("wandb:x", "wandb:a/b", "wandb:a/b/../c", "wandb:../b/k3v9x0ab", "wandb:a/b/k3v9x0ab:../x"):
        with pytest.raises(GymnastError, match="is not a run on W&B: wandb:ENTITY/PROJECT/RUN"):
            parse_source(bad)


def test_without_the_extra(trained: RunFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from gymnast.archive import relog, wandb_artifact

    monkeypatch.setattr(wandb_artifact, "find_spec", lambda name: None)
    monkeypatch.setattr(relog, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"gymnast\[wandb\]"):
        api.archive_run(trained.path)
    with pytest.raises(MissingExtra, match=r"gymnast\[wandb\]"):
        api.pull_run("wandb:ada/gymnast/k3v9x0ab", runs_dir=tmp_path / "runs")
    with pytest.raises(MissingExtra, match=r"gymnast\[wandb\]"):
        api.sync_to_wandb([trained.path])
    assert not (tmp_path / "runs").exists()


def test_run_that_trains(copied: RunFolder) -> None:
    with copied.lock():
        with pytest.raises(GymnastError, match="still training"):
            api.archive_run(copied.path)
        with pytest.raises(GymnastError, match="still training"):
            api.sync_to_wandb([copied.path])


@pytest.mark.slow
def test_old_run_is_logged_under_its_id_once(
    copied: RunFolder, server: WandbServer, gymnast: Command
) -> None:
    done = gymnast("wandb", "sync", copied.path, "--json")
    assert done.returncode == 0, done.stderr
    rows = read_metrics(copied.metrics_path)
    assert json.loads(done.stdout)["sent"] == len(rows) == len(server.history)
    for line, row in enumerate(rows):
        found = {key: float(server.history[line][key]) for key in row}
        assert found == pytest.approx({key: float(value) for key, value in row.items()}, nan_ok=True)
    assert list(server.runs) == [copied.id]
    assert server.exit_codes == [0]
    assert server.summary["env_steps"] == 1024
    assert "CartPole-v1" in json.dumps(server.runs[copied.id]["config"])
    again = gymnast("wandb", "sync", copied.path)
    assert again.returncode == 0, again.stderr
    assert f"0 rows, {len(rows)} were there" in again.stdout
    assert len(server.history) == len(rows)


@pytest.mark.slow
def test_rows_that_are_missing_there_are_added(
    copied: RunFolder, server: WandbServer, gymnast: Command
) -> None:
    whole = copied.metrics_path.read_text().splitlines(keepends=True)
    shutil.copy(copied.metrics_path, copied.path.parent / "all.csv")
    copied.metrics_path.write_text("".join(whole[:3]))  # as if the tracker had died then
    assert gymnast("wandb", "sync", copied.path).returncode == 0
    shutil.copy(copied.path.parent / "all.csv", copied.metrics_path)
    assert gymnast("wandb", "sync", copied.path).returncode == 0
    steps = [server.history[line]["time/env_steps"] for line in sorted(server.history)]
    assert steps == [row["time/env_steps"] for row in read_metrics(copied.metrics_path)]


@pytest.mark.slow
@pytest.mark.parametrize("manner", ["rubbish", "empty"])
def test_server_that_answers_nonsense_is_one_message(
    trained: RunFolder, gymnast: Command, tmp_path: Path, manner: Any
) -> None:
    with wandb_server(manner) as broken:
        said = error_of(
            gymnast("pull", "wandb:a/b/k3v9x0ab", "--runs-dir", tmp_path, WANDB_BASE_URL=broken.url)
        )
        assert said.startswith("error: W&B")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_network_is_one_message(trained: RunFolder, gymnast: Command, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    for words in (("archive", trained.path), ("pull", "wandb:a/b/abcdefgh"), ("wandb", "sync", trained.path)):
        said = error_of(gymnast(*words, WANDB_BASE_URL=nowhere))
        assert "could not be reached" in said
        assert "check the network" in said
        assert not (trained.path / "wandb").exists()
