from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gymnast.errors import GymnastError
from gymnast.redact import redact
from gymnast.runs.ids import RUN_ID
from gymnast.runs.provenance import describe_process
from gymnast.runs.store import RunFolder, create_run, delete_run, open_run, run_folders, runs_root

NewRun = Callable[..., RunFolder]


def test_where_runs_live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GYMNAST_RUNS_DIR", raising=False)
    assert runs_root() == Path("runs")
    monkeypatch.setenv("GYMNAST_RUNS_DIR", str(tmp_path))
    assert runs_root() == tmp_path
    assert runs_root(Path("mine")) == Path("mine")
    assert runs_root("~/mine") == Path.home() / "mine"


def test_a_new_run_is_complete(root: Path, new_run: NewRun) -> None:
    run = new_run(seed=7)
    assert RUN_ID.fullmatch(run.id)
    assert run.root == root
    assert run.checkpoints.is_dir()
    assert "lr: 0.001" in run.config_text()
    info = run.info()
    assert (info["id"], info["name"], info["seed"]) == (run.id, "CartPole-v1:ppo", 7)
    assert [path.name for path in root.iterdir()] == [run.id]


def test_info_cannot_rename_the_run(new_run: NewRun) -> None:
    run = new_run(id="../../etc", name="else")
    assert run.info()["id"] == run.id
    assert run.info()["name"] == "CartPole-v1:ppo"


def test_nothing_is_left_when_a_run_cannot_be_created(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from gymnast.errors import GymnastError\n"
        "from gymnast.runs.store import create_run\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: create_run(Path(sys.argv[1]), 'x', 'seed: 1\\n' * 1000, {})\n"
        "except GymnastError as error: print(type(error).__name__, error.exit_code, error)\n"
    )
    target = tmp_path / "new" / "runs"
    done = subprocess.run(
        [sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("GymnastError 2 no run can be created in ")
    assert [path.name for path in tmp_path.iterdir()] == []


def test_a_runs_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(GymnastError, match=r"no run can be created in"):
        create_run(tmp_path / "runs", "x", "", {})
    assert run_folders(tmp_path / "runs") == []


def test_half_made_folders_are_never_runs_and_old_ones_are_swept(root: Path, new_run: NewRun) -> None:
    run = new_run()
    for name in (".new-abcdefgh", ".gone-abcdefgh"):
        (root / name).mkdir()
        (root / name / "run.json").write_text("{}")
    (root / "notarun").mkdir()
    assert [known.id for known in run_folders(root)] == [run.id]
    os.utime(root / ".new-abcdefgh", (1, 1))
    second = new_run()
    assert sorted(path.name for path in root.iterdir()) == sorted(
        [".gone-abcdefgh", "notarun", run.id, second.id]
    )


@pytest.mark.parametrize(
    "bad", ["..", "../abcdefgh", "abcdefgh/..", "ABCDEFGH", "", "a", "abcdefg\n", "1bcdefgh"]
)
def test_ids_never_leave_the_runs_folder(root: Path, run: RunFolder, bad: str) -> None:
    with pytest.raises(GymnastError, match=r"is not a run id"):
        open_run(root, bad)


def test_open_run_offers_the_nearest(root: Path, run: RunFolder) -> None:
    assert open_run(root, run.id) == run
    typo = run.id[:-1] + ("a" if run.id[-1] != "a" else "b")
    with pytest.raises(GymnastError, match=f"did you mean '{run.id}'"):
        open_run(root, typo)


def test_one_process_at_a_time_trains_a_run(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymnast.runs.store._LOCK_SECONDS", 0.05)
    assert not run.is_locked()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from gymnast.runs.store import RunFolder\n"
            "with RunFolder(Path(sys.argv[1])).lock(): print('held', flush=True); sys.stdin.read()",
            str(run.path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert run.is_locked()
    with pytest.raises(GymnastError, match=f"run {run.id} is being trained by another process"), run.lock():
        pass
    with pytest.raises(GymnastError, match=r"is being trained"):
        delete_run(run)
    assert run.info_path.is_file()
    holder.kill()
    holder.communicate()
    assert not run.is_locked()
    with run.lock():
        assert run.is_locked()
    assert not run.is_locked()


def test_delete(root: Path, new_run: NewRun) -> None:
    run, other = new_run(), new_run()
    delete_run(run)
    assert [path.name for path in root.iterdir()] == [other.id]


def test_resumes_are_noted_with_the_config_they_changed(run: RunFolder) -> None:
    before = run.config_text()
    run.note_resume(100, {"command": ["a"]}, before)
    run.note_resume(200, {"command": ["b"], "budget_env_steps": 500}, "seed: 2\n")
    info = run.info()
    assert [resume["env_steps"] for resume in info["resumes"]] == [100, 200]
    assert "config_before" not in info["resumes"][0]
    assert info["resumes"][1]["config_before"] == before
    assert info["budget_env_steps"] == 500
    assert run.config_text() == "seed: 2\n"


def test_a_config_that_cannot_be_read(run: RunFolder) -> None:
    run.config_path.unlink()
    with pytest.raises(GymnastError, match=f"run {run.id} has no config.yaml: .*copy it again"):
        run.config_text()


def test_what_started_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    facts = describe_process(
        ["gymnast", "train", "X", "wandb.api_key=abc", "hub=hf_abcdefgh12345", "--token", "abc"]
    )
    assert facts["command"] == ["gymnast", "train", "X", "wandb.api_key=***", "hub=***", "--token", "***"]
    assert set(facts["versions"]) >= {"python", "gymnast", "numpy", "gymnasium"}
    assert facts["git_commit"] is None
    assert facts["machine"]["cpus"] >= 1
    json.dumps(facts)
    subprocess.run(
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        shell=True,
        check=True,
    )
    commit = describe_process([])["git_commit"]
    assert commit is not None
    assert len(commit) == 40


@pytest.mark.parametrize("text", ["algo.lr=1e-3", "CartPole-v1:ppo", "--max-env-steps", "tokens", "300k"])
def test_ordinary_arguments_are_kept(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("run_id", ["pong-7", "k3v9x0ab", "slurm-1234-0", "abc"])
def test_chosen_id_is_the_run_s(tmp_path: Path, run_id: str) -> None:
    run = create_run(tmp_path, "CartPole-v1", "", {}, run_id)
    assert run.id == run_id
    assert [known.id for known in run_folders(tmp_path)] == [run_id]
    with pytest.raises(GymnastError, match=f"has a run {run_id} already"):
        create_run(tmp_path, "CartPole-v1", "", {}, run_id)


@pytest.mark.parametrize(
    "run_id", ["", "ab", "Pong", "7up", "a--b", "a-", "../abc", "a/b", "sweeps", "tunes", "x" * 41, "abc\n"]
)
def test_other_names_are_refused_as_ids(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(GymnastError, match="is not a run id"):
        create_run(tmp_path, "CartPole-v1", "", {}, run_id)
    assert not list(tmp_path.iterdir())
