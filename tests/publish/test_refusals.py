"""What the Hub or the user gets wrong: one message with the way out, and nothing half done, here or there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.errors import GymnastError, MissingExtra, UntrustedRun
from gymnast.runs.files import sha256
from gymnast.runs.store import RunFolder
from hub_server import HubServer, Repository

REPO = "ada/ppo-CartPole-v1"


def publish(run: RunFolder, **options: Any) -> api.Publication:
    return api.publish_run(run.path, **{"evaluate_first": False, "video": False, **options})


@pytest.mark.parametrize(
    ("step", "fault", "message"),
    [
        ("whoami", 401, "token was not accepted"),
        ("whoami", 500, "problem of its own"),
        ("whoami", "cut", "could not be reached"),
        ("info", 500, "problem of its own"),
        ("create", 403, "needs write access"),
        ("create", 409, "name is taken"),
        ("create", "cut", "could not be reached"),
        ("validate", 400, "ada/ppo-CartPole-v1"),
        ("preupload", 403, "needs write access"),
        ("preupload", 413, "more than the account may store"),
        ("batch", 402, "more than the account may store"),
        ("batch", "cut", "could not be reached"),
        ("upload", 403, "needs write access"),
        ("upload", 413, "more than the account may store"),
        ("upload", "cut", "could not be reached"),
        ("verify", 500, "problem of its own"),
        ("commit", 413, "more than the account may store"),
        ("commit", 429, "slow down"),
        ("commit", "cut", "could not be reached"),
    ],
)
def test_failed_upload_leaves_nothing(
    trained: RunFolder, hub: HubServer, step: str, fault: Any, message: str
) -> None:
    hub.faults[step] = fault
    before = {path: path.read_bytes() for path in trained.path.rglob("*") if path.is_file()}
    with pytest.raises(GymnastError, match=message) as error:
        publish(trained)
    assert error.value.exit_code == 2
    assert hub.repositories == {}
    assert {path: path.read_bytes() for path in trained.path.rglob("*") if path.is_file()} == before
    hub.faults.clear()
    assert publish(trained).created  # and once the cause is gone, it works


@pytest.mark.parametrize("fault", [500, "cut"])
def test_failed_update_leaves_what_was_there(trained: RunFolder, hub: HubServer, fault: Any) -> None:
    publish(trained)
    before = [dict(files) for files in hub.repositories[REPO].commits]
    hub.faults["commit"] = fault
    with pytest.raises(GymnastError, match=r"problem of its own|could not be reached"):
        api.publish_run(f"{trained.path}/512", evaluate_first=False, video=False)
    assert hub.repositories[REPO].commits == before


def test_repository_that_cannot_be_removed_is_named(trained: RunFolder, hub: HubServer) -> None:
    hub.faults |= {"commit": 500, "delete": 403}
    with pytest.raises(GymnastError, match=f"the repository {REPO} was made and stays there"):
        publish(trained)


def test_login(trained: RunFolder, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrongwrongwrong0000wrong")
    with pytest.raises(GymnastError, match="the token was not accepted; log in with `hf auth login`"):
        publish(trained)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(GymnastError, match=r"not logged in.*hf auth login.*HF_TOKEN"):
        publish(trained)
    assert hub.repositories == {}


def test_no_network(trained: RunFolder, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    with pytest.raises(GymnastError, match=r"could not be reached.*check the network"):
        publish(trained)
    with pytest.raises(GymnastError, match=r"could not be reached.*check the network"):
        api.pull_run("hf:ada/x")


def test_without_the_extra(trained: RunFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from gymnast.publish import hub as client

    monkeypatch.setattr(client, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'gymnast\[hub\]'"):
        publish(trained)
    with pytest.raises(MissingExtra, match=r"pip install 'gymnast\[hub\]'"):
        api.pull_run("hf:ada/x", runs_dir=tmp_path)
    assert api.publish_run(
        trained.path, dry_run=True, output=tmp_path / "card", evaluate_first=False, video=False
    ).card  # writing the card needs no account


def test_name_that_holds_something_else(trained: RunFolder, copied: RunFolder, hub: HubServer) -> None:
    hub.repositories[REPO] = Repository(private=False)
    hub.repositories[REPO].commits.append({"README.md": b"mine", "model.safetensors": b"x"})
    with pytest.raises(
        GymnastError, match=r"is taken: it holds something else; .*--repo OWNER/NAME, or give --force"
    ):
        publish(trained)
    assert len(hub.repositories[REPO].commits) == 2
    publish(trained, force=True)
    assert hub.repositories[REPO].files["model.safetensors"] == b"x"  # only ours is written
    other = RunFolder(copied.path.rename(copied.path.with_name("otherrun")))
    with pytest.raises(GymnastError, match=f"it holds run {trained.id}"):
        publish(other)


def test_somebody_elses_account(trained: RunFolder, hub: HubServer) -> None:
    with pytest.raises(GymnastError, match="needs write access"):
        publish(trained, repo="grace/model")
    assert hub.repositories == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repo": "no-owner"}, "OWNER/NAME"),
        ({"licence": "MIT License\nx"}, "not an identifier of a licence"),
        ({"episodes": 0}, "episodes"),
        ({"output": "x"}, "--dry-run"),
    ],
)
def test_wrong_options(trained: RunFolder, hub: HubServer, options: dict[str, Any], message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        publish(trained, **options)
    assert hub.steps == []


def test_run_that_trains(copied: RunFolder, hub: HubServer) -> None:
    with copied.lock(), pytest.raises(GymnastError, match="still training"):
        publish(copied)
    assert hub.steps == []


@pytest.mark.parametrize("part", ["policy", "state"])
@pytest.mark.parametrize("size", [None, 500])
def test_half_copied_run(copied: RunFolder, hub: HubServer, part: str, size: int | None) -> None:
    for path in copied.checkpoints.glob(f"*.{part}.safetensors"):
        path.unlink() if size is None else os.truncate(path, size)
    with pytest.raises(GymnastError, match=r"damaged.*copy the run again") as error:
        publish(copied)
    assert error.value.exit_code == 2
    assert hub.steps == []


def test_lost_best_checkpoint_is_not_replaced_by_another(copied: RunFolder, hub: HubServer) -> None:
    best = next(one.env_steps for one in api.show_run(copied.path).checkpoints if one.best)
    other = next(one.env_steps for one in api.show_run(copied.path).checkpoints if not one.best)
    (copied.checkpoints / f"{best:012}.policy.safetensors").unlink()
    with pytest.raises(GymnastError, match=rf"checkpoint {best} .*is missing; copy the run again, or name"):
        publish(copied)
    assert hub.steps == []
    named = api.publish_run(f"{copied.path}/{other}", episodes=2, video=False)
    assert named.checkpoint == other


def test_run_without_its_config(copied: RunFolder, hub: HubServer) -> None:
    copied.config_path.unlink()
    with pytest.raises(GymnastError, match=r"has no config.yaml: .*copy it again") as error:
        publish(copied)
    assert error.value.exit_code == 2
    assert hub.steps == []


# --- pulling ------------------------------------------------------------------------------------


def put(hub: HubServer, files: dict[str, bytes], repo: str = "eve/trap") -> None:
    hub.repositories[repo] = Repository(private=False)
    hub.repositories[repo].commits.append(files)


def refused(source: str, runs: Path, message: str) -> None:
    with pytest.raises(GymnastError, match=message) as error:
        api.pull_run(source, runs_dir=runs)
    assert error.value.exit_code == 2
    assert not runs.exists()


@pytest.mark.parametrize("step", ["info", "head", "download"])
@pytest.mark.parametrize("fault", ["cut", 500])
def test_failed_download_leaves_nothing(
    trained: RunFolder, hub: HubServer, tmp_path: Path, step: str, fault: Any
) -> None:
    publish(trained)
    hub.faults[step] = fault
    refused(f"hf:{REPO}", tmp_path / "runs", "hf:ada")
    hub.faults.clear()
    assert api.pull_run(f"hf:{REPO}", runs_dir=tmp_path / "runs").run == trained.id


def test_what_is_not_there(
    trained: RunFolder, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(trained, private=True)
    runs = tmp_path / "runs"
    refused("hf:ada/nothing", runs, "no such repository")
    refused(f"hf:{REPO}@v9", runs, "no such branch, tag or commit")
    refused("s3://bucket", runs, "is not a place to pull from: hf:OWNER/NAME")
    refused("hf:nonsense", runs, "is not the name of a repository")
    monkeypatch.delenv("HF_TOKEN")
    refused(f"hf:{REPO}", runs, "private and not yours.*hf auth login")


def test_pickles_are_refused_with_the_reason(hub: HubServer, tmp_path: Path) -> None:
    put(hub, {"README.md": b"", "ppo-LunarLander-v2.zip": b"PK\x03\x04"})
    refused("hf:eve/trap", tmp_path / "runs", "pickled.*Stable-Baselines3.*runs whatever code is in it")
    put(hub, {"README.md": b"", "model.safetensors": b"x"})
    refused("hf:eve/trap", tmp_path / "runs", "not a run of Gymnast")


def _climbs(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    files["../../evil"] = b"x"
    listed["../../evil"] = {"sha256": sha256(b"x"), "bytes": 1}


def _marked(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    files["mark.json"] = b"{}"
    listed["mark.json"] = {"sha256": sha256(b"{}"), "bytes": 2}


def _changed(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    data = bytearray(files["metrics.csv"])
    data[0] ^= 1
    files["metrics.csv"] = bytes(data)


def _resized(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    files["metrics.csv"] += b"\n"


def _lost(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    del files["config.yaml"]


def _pickled(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    name = next(name for name in files if name.endswith(".policy.safetensors"))
    files[name] = b"\x80\x04cos\nsystem\n."
    listed[name] = {"sha256": sha256(files[name]), "bytes": len(files[name])}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_climbs, "a file that no run has"),
        (_marked, "a file that no run has"),
        (_changed, "does not match its checksum"),
        (_resized, "another size"),
        (_lost, "is incomplete"),
        (_pickled, "a checkpoint is damaged"),
    ],
)
def test_hostile_repository(
    trained: RunFolder, hub: HubServer, tmp_path: Path, change: Callable[..., None], message: str
) -> None:
    publish(trained)
    files = dict(hub.repositories[REPO].files)
    manifest = json.loads(files["gymnast-run.json"])
    change(files, manifest["files"])
    put(hub, {**files, "gymnast-run.json": json.dumps(manifest).encode()})
    refused("hf:eve/trap", tmp_path / "runs", message)
    assert not (tmp_path / "evil").exists()


def test_code_that_a_pulled_config_names_is_not_imported(
    copied: RunFolder, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(copied)
    files = dict(hub.repositories[REPO].files)
    ran = tmp_path / "ran"
    (tmp_path / "pulled_trap.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = files["config.yaml"].replace(b"id: CartPole-v1", b"id: pulled_trap:Env")
    for name in [name for name in files if name.endswith(".yaml")]:
        del files[name]
    files |= {"config.yaml": config, f"checkpoints/config-{sha256(config)[:16]}.yaml": config}
    sidecar = next(name for name in files if name.startswith("checkpoints/") and name.endswith(".json"))
    document = json.loads(files[sidecar]) | {"config": sha256(config)}
    del document["checksum"]
    plain = json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
    document["checksum"] = sha256(plain)
    files[sidecar] = json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
    manifest = json.loads(files["gymnast-run.json"])
    known = (*manifest["files"], f"checkpoints/config-{sha256(config)[:16]}.yaml")
    manifest["files"] = {
        name: {"sha256": sha256(files[name]), "bytes": len(files[name])} for name in known if name in files
    }
    put(hub, {**files, "gymnast-run.json": json.dumps(manifest).encode()})
    arrived = api.pull_run("hf:eve/trap", runs_dir=tmp_path / "runs")
    assert "pulled_trap:Env" in arrived.needs_trust[0]
    for use in (api.evaluate, api.record_video, api.record_trace, api.resume):
        with pytest.raises(UntrustedRun):
            use(arrived.run, runs_dir=tmp_path / "runs")
    assert not ran.exists()
