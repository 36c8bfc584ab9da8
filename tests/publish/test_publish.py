"""A run is published in one commit, with everything that the Hub and other people need, and comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gymnast import api
from gymnast.errors import GymnastError, RunElsewhere
from gymnast.runs.files import sha256
from gymnast.runs.store import RunFolder
from hub_server import OWNER, TOKEN, HubServer, sha_of

REPO = "ada/ppo-CartPole-v1"


def publish(run: RunFolder, **options: object) -> api.Publication:
    options = {"episodes": 3, "video": False, **options}
    return api.publish_run(run.path, **options)  # type: ignore[arg-type]


def command(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *map(str, words)],
        capture_output=True, text=True, timeout=100, check=False, env=os.environ | environment,
    )  # fmt: skip


def test_all_that_a_model_needs_goes_up_in_one_commit(trained: RunFolder, hub: HubServer) -> None:
    done = publish(trained, video=True)
    assert done.repo == REPO
    assert done.created
    assert done.url == f"{hub.url}/{REPO}"
    repo = hub.repositories[REPO]
    assert len(repo.commits) == 2  # the Hub's own first one, and ours
    assert done.revision == sha_of(1)
    files = repo.files
    assert {"README.md", "replay.mp4", "results.json", "config.yaml", "gymnast-run.json", "run.json"} <= set(
        files
    )
    assert {"score.png", "metrics.csv", "status.json"} <= set(files)
    assert sum(name.endswith(".policy.safetensors") for name in files) == 1
    assert not {
        name for name in files if name.endswith((".log", ".lock")) or "mark" in name or "trackers" in name
    }
    assert files["replay.mp4"][4:8] == b"ftyp"
    results = json.loads(files["results.json"])
    assert results["n_eval_episodes"] == 3
    assert results["is_deterministic"] is True
    assert results["mean_reward"] == done.mean_return
    assert {"mean_reward", "std_reward", "eval_datetime"} <= set(results)
    for name, facts in json.loads(files["gymnast-run.json"])["files"].items():
        assert sha256(files[name]) == facts["sha256"]
    assert {"create", "validate", "preupload", "batch", "upload", "verify", "commit"} <= set(hub.steps)


def test_private_repository(trained: RunFolder, hub: HubServer) -> None:
    publish(trained, private=True, repo="ada/mine")
    assert hub.repositories["ada/mine"].private


def test_score_is_fresh_unless_asked_not_to(trained: RunFolder, hub: HubServer) -> None:
    fresh = publish(trained)
    assert fresh.mean_return == pytest.approx(api.evaluate(trained.path, episodes=3).mean_return)
    kept = publish(trained, evaluate_first=False)
    best = next(one for one in api.show_run(trained.path).checkpoints if one.best)
    assert kept.mean_return == pytest.approx(best.score)
    assert "selected by it" in kept.card
    assert json.loads(hub.repositories[REPO].files["results.json"])["note"]


@pytest.mark.parametrize("which", ["best", "last"])
def test_pulled_run_opens_with_everything(
    trained: RunFolder, hub: HubServer, tmp_path: Path, which: str
) -> None:
    reference = f"{trained.path}/@{which}"
    done = api.publish_run(reference, episodes=3, video=False)
    runs = tmp_path / "runs"
    arrived = api.pull_run(f"hf:{REPO}", runs_dir=runs)
    assert arrived.run == trained.id
    assert arrived.needs_trust == ()
    again = api.evaluate(arrived.run, episodes=3, runs_dir=runs)
    assert again.mean_return == done.mean_return  # the same weights, the same episodes
    assert again.env_steps == done.checkpoint
    assert len(api.record_trace(arrived.run, runs_dir=runs, frames=False)) > 0
    assert api.play(arrived.run, where="headless", episodes=1, runs_dir=runs).run == arrived.run
    assert api.record_video(arrived.run, max_steps=20, runs_dir=runs).path.is_file()
    weights = api.load_policy(arrived.run, runs_dir=runs).arrays()
    assert weights.keys() == api.load_policy(reference).arrays().keys()
    started = api.train(
        "CartPole-v1:ppo",
        init_from=arrived.run,
        runs_dir=runs,
        overrides={"env.n_envs": 8},
        max_env_steps=256,
    )
    assert started.outcome.status == "finished"
    resumed = api.resume(arrived.run, runs_dir=runs, max_env_steps=1536)
    assert resumed.outcome.env_steps >= 1536
    origin = json.loads((arrived.path / "origin.json").read_text())
    assert (origin["source"], origin["revision"]) == (f"hf:{REPO}", done.revision)
    assert not (arrived.path / "mark.json").exists() or which  # resume marks it, which the user chose


def test_publishing_again_replaces_and_old_revisions_stay(
    trained: RunFolder, hub: HubServer, tmp_path: Path
) -> None:
    first = api.publish_run(f"{trained.path}/512", episodes=2, video=True)
    second = api.publish_run(f"{trained.path}/1024", episodes=2, video=False)
    assert not second.created
    files = hub.repositories[REPO].files
    assert "replay.mp4" not in files  # it would show another checkpoint
    assert [name for name in files if "000000000512" in name] == []
    old = api.pull_run(f"hf:{REPO}@{first.revision}", runs_dir=tmp_path)
    assert [one.env_steps for one in api.show_run(old.run, runs_dir=tmp_path).checkpoints] == [512]


def test_dry_run_asks_nobody_and_writes_the_folder(
    copied: RunFolder, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    done = publish(copied, dry_run=True)
    assert hub.steps == []
    assert done.folder == copied.path / "hub"
    assert (done.folder / "README.md").read_text() == done.card
    assert done.url is None
    assert sorted(done.files) == sorted(
        str(path.relative_to(done.folder)) for path in done.folder.rglob("*") if path.is_file()
    )
    assert publish(copied, dry_run=True).folder == done.folder  # again: replaced
    elsewhere = publish(copied, dry_run=True, output=tmp_path / "card")
    assert (elsewhere.folder or Path()) / "README.md" == tmp_path / "card/README.md"
    with pytest.raises(GymnastError, match="not an empty folder"):
        publish(copied, dry_run=True, output=tmp_path / "card")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(GymnastError, match="not an empty folder"):
        publish(copied, dry_run=True, output=tmp_path / "file")
    with pytest.raises(GymnastError, match="could not write"):
        publish(copied, dry_run=True, output=tmp_path / "no/such/folder")
    assert list(copied.path.glob(".hub*")) == []


@pytest.mark.slow
def test_commands(trained: RunFolder, hub: HubServer, tmp_path: Path) -> None:
    words = ("publish", trained.path, "--episodes", "2", "--no-video", "--repo", "ada/mine", "--json")
    environment = {"HF_HOME": str(tmp_path)}
    done = command(*words, **environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["repo"] == "ada/mine"
    runs = tmp_path / "runs"
    pulled = command("pull", "hf:ada/mine", "--runs-dir", runs, **environment)
    assert pulled.returncode == 0, pulled.stderr
    assert f"eval {trained.id} --runs-dir" in pulled.stdout
    again = command("pull", "hf:ada/mine", "--runs-dir", runs, **environment)
    assert again.returncode == 2
    assert "--new-id" in again.stderr
    shown = command("publish", trained.path, "--dry-run", "--no-eval", "--no-video", "-o", tmp_path / "out")
    assert shown.returncode == 0, shown.stderr
    assert "# PPO agent playing CartPole-v1" in shown.stdout
    assert "nothing was uploaded" in shown.stdout


def test_token_appears_nowhere(trained: RunFolder, hub: HubServer) -> None:
    publish(trained)
    assert OWNER in REPO
    assert not [body for body in hub.bodies if TOKEN.encode() in body]


def test_missing_run_names_the_command_that_brings_it(
    trained: RunFolder, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYMNAST_STATE_DIR", str(tmp_path / "state"))
    publish(trained)
    with pytest.raises(GymnastError, match=f"gymnast pull hf:{REPO}"):
        api.evaluate(trained.id, runs_dir=tmp_path)
    with pytest.raises(RunElsewhere, match=f"run {trained.id} can be brought back: gymnast pull hf:{REPO}"):
        api.evaluate(f"{trained.id[:4]}/@best", runs_dir=tmp_path)
    with pytest.raises(RunElsewhere, match="gymnast pull hf:other/model"):
        api.evaluate("hf:other/model/@best", runs_dir=tmp_path)
    with pytest.raises(RunElsewhere, match=f"gymnast pull hf:{REPO}"):
        api.play(trained.id, where="headless", episodes=1, runs_dir=tmp_path)
    with pytest.raises(GymnastError, match="write wandb:ENTITY/PROJECT/RUN"):
        api.diagnose("wandb:ada/x", runs_dir=tmp_path)
    pulled = api.pull_run(f"hf:{REPO}", runs_dir=tmp_path)
    assert api.find_run(f"hf:{REPO}", runs_dir=tmp_path).id == pulled.run
    assert api.evaluate(f"hf:{REPO}/@best", episodes=1, runs_dir=tmp_path).episodes == 1


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["y", "n"])
def test_terminal_is_asked_whether_to_pull(
    trained: RunFolder, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setenv("GYMNAST_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    publish(trained)
    runs = tmp_path / "runs"
    code, said = on_terminal(answer, "eval", trained.id, "--episodes", "2", "--runs-dir", runs)
    assert f"pull it from hf:{REPO} now?" in said
    assert code == (0 if answer == "y" else 2), said
    assert (runs / trained.id).exists() == (answer == "y")
    assert ("episodes 2" in said) == (answer == "y")


def on_terminal(answer: str, *words: str | Path) -> tuple[int, str]:
    """A command on a terminal of its own, and the answer to the question that it asks."""
    import pty

    own, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gymnast", *map(str, words)], stdin=other, stdout=other, stderr=other
    )
    os.close(other)
    os.write(own, f"{answer}\n".encode())  # it lies there until it is read
    said = b""
    with suppress(OSError):  # the other end is closed
        while piece := os.read(own, 4096):
            said += piece
    os.close(own)
    return process.wait(60), said.decode(errors="replace")
