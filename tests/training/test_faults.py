"""Failures: the run reports them, keeps what it has, and continues or resumes when it can."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.envs.build import env_seeds
from gymnast.errors import GymnastError, MissingExtra, RunFailed
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints, verify
from gymnast.runs.store import RunFolder
from gymnast.training.evaluator import evaluation_seed
from gymnast.training.run.keys import TerminalKeys
from gymnast.training.run.log import RunLog

HERE = Path(__file__).parent
N_ENVS, N_STEPS = 4, 16
UPDATE = N_ENVS * N_STEPS


@pytest.fixture(autouse=True)
def faulty_envs_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", str(HERE))


@pytest.fixture
def switch(tmp_path: Path) -> Path:
    return tmp_path / "switch"


def settings(switch: Path, **kwargs: Any) -> dict[str, Any]:
    return {
        "env.n_envs": N_ENVS,
        "env.backend": "sync",
        "env.kwargs": {"switch": str(switch), **kwargs},
        "algo.n_steps": N_STEPS,
        "algo.batch_size": "all",
        "algo.n_epochs": 2,
        "algo.normalize_reward": False,
        "budget.env_steps": 6 * UPDATE,
        "eval.every": 0,
    }


def only_run(runs: Path) -> RunFolder:
    (entry,) = registry.entries(runs)
    return RunFolder(runs / entry.id)


def gymnast(runs: Path, *words: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    def with_limit() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words, "--runs-dir", str(runs)],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=with_limit,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sync", "workers"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise", "raised RuntimeError: the motor broke"),
        ("nan-reward", "returned a reward that is not finite"),
        ("inf-obs", "returned an observation that is not finite"),
    ],
)
def test_failing_env_is_named_and_the_run_can_be_resumed(
    fault: str, message: str, backend: str, tmp_path: Path, switch: Path
) -> None:
    switch.write_text(fault)
    bad_seed = env_seeds(0, N_ENVS)[2]
    changes = settings(switch, at=2 * N_STEPS + 3, seed=bad_seed) | {"env.backend": backend, "env.workers": 2}
    with pytest.raises(RunFailed) as caught:
        api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    reported = str(caught.value)
    assert caught.value.exit_code == 1
    assert f"env 2 (seed {bad_seed}) {message}" in reported
    assert f"everything up to step {2 * UPDATE} is saved" in reported
    # In its third rollout, three steps in: the steps of all envs up to there.
    assert f"in step {2 * UPDATE + 3 * N_ENVS}" in reported

    run = only_run(tmp_path)
    assert [c.env_steps for c in list_checkpoints(run)] == [2 * UPDATE]
    (entry,) = registry.entries(tmp_path)
    assert (entry.status, entry.env_steps) == ("failed", 2 * UPDATE)
    assert reported in (entry.reason or "")
    assert reported in run.log_path.read_text()

    switch.unlink()
    resumed = api.resume(runs_dir=tmp_path)
    assert (resumed.outcome.status, resumed.outcome.env_steps) == ("finished", 6 * UPDATE)
    assert [row["time/updates"] for row in resumed.metrics()] == [1, 2, 3, 4, 5, 6]
    assert "new episodes start" in run.log_path.read_text()


def test_failure_in_the_first_rollout_leaves_a_run_that_can_start_again(tmp_path: Path, switch: Path) -> None:
    switch.write_text("raise")
    with pytest.raises(RunFailed, match=r"in step 20.*nothing was learned yet"):
        api.train("faulty_envs:Faulty", overrides=settings(switch, at=5), runs_dir=tmp_path)
    switch.unlink()
    assert api.resume(runs_dir=tmp_path).outcome.status == "finished"


def test_killed_worker_is_replaced_and_the_run_continues(
    tmp_path: Path, switch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    switch.write_text("die")
    bad_seed = env_seeds(0, N_ENVS)[2]
    changes = settings(switch, at=2 * N_STEPS + 4, seed=bad_seed)
    changes |= {"env.backend": "workers", "env.workers": 2, "env.restarts.backoff": 0}
    run = api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    assert (run.outcome.status, run.outcome.env_steps) == ("finished", 6 * UPDATE)
    rows = run.metrics()
    assert [row["env/restarts"] for row in rows] == [0, 0, 1, 1, 1, 1]
    # Complete episodes return 10; the two that were lost at the sixth of their ten steps are not counted.
    assert {row["train/return/min"] for row in rows} == {row["train/return/max"] for row in rows} == {10.0}
    lost = "envs 2 to 3 are lost: the worker process was killed by SIGKILL; restarted in a new process"
    assert lost in run.folder.log_path.read_text()
    assert f"warning: {lost}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 2])
def test_worker_killed_too_often_ends_the_run(budget: int, tmp_path: Path, switch: Path) -> None:
    """Each new process of env 0 or 1 lives for another update and a bit."""
    switch.write_text("die")
    changes = settings(switch, at=N_STEPS + 3) | {"env.backend": "workers", "env.workers": 1}
    changes |= {"env.restarts.budget": budget, "env.restarts.backoff": 0}
    saved = UPDATE * (1 if budget == 0 else 3)
    spent = "" if budget == 0 else r"; all 2 restarts are spent \(env.restarts.budget\)"
    with pytest.raises(RunFailed, match=f"killed by SIGKILL{spent} in step .*up to step {saved} is saved"):
        api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    switch.unlink()
    resumed = api.resume(runs_dir=tmp_path)
    assert resumed.outcome.status == "finished"
    assert resumed.metrics()[-1]["env/restarts"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("background", [False, True])
def test_worker_killed_in_evaluation_is_replaced(background: bool, tmp_path: Path, switch: Path) -> None:
    changes = settings(switch) | {"eval.every": 6 * UPDATE, "eval.n_envs": 2, "eval.episodes": 5}
    changes |= {"eval.background": background, "env.backend": "workers", "env.restarts.backoff": 0}
    config = load_config("faulty_envs:Faulty", changes).config
    changes["env.kwargs"] |= {"seed": env_seeds(evaluation_seed(config), 1)[0], "at": 14}
    switch.write_text("die")
    run = api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    last = run.metrics()[-1]
    # The lost episode is played again, so that all five are complete.
    assert (last["eval/episodes"], last["eval/return/min"], last["eval/length/mean"]) == (5, 10.0, 10.0)
    assert "env 0 is lost: the worker process was killed by SIGKILL" in run.folder.log_path.read_text()


def test_env_that_fails_on_reset_leaves_nothing(tmp_path: Path, switch: Path) -> None:
    switch.write_text("reset")
    with pytest.raises(
        GymnastError, match=r"faulty_envs:Faulty: env 0 \(seed \d+\) raised RuntimeError on reset"
    ) as caught:
        api.train("faulty_envs:Faulty", overrides=settings(switch), runs_dir=tmp_path / "runs")
    assert caught.value.exit_code == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("background", [False, True])
def test_env_that_fails_in_evaluation_ends_the_run(background: bool, tmp_path: Path, switch: Path) -> None:
    changes = settings(switch) | {"eval.every": 1, "eval.n_envs": 1, "eval.background": background}
    config = load_config("faulty_envs:Faulty", changes).config
    bad_seed = env_seeds(evaluation_seed(config), 1)[0]
    changes["env.kwargs"] |= {"seed": bad_seed, "at": 4}
    changes["budget.env_steps"] = 3000 * UPDATE  # ends long before, in the background too
    switch.write_text("raise")
    with pytest.raises(
        RunFailed, match=rf"evaluation.*after step \d+, env 0 \(seed {bad_seed}\) raised"
    ) as caught:
        api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    assert "Traceback" not in str(caught.value)
    run = only_run(tmp_path)
    assert list_checkpoints(run), "the update before it is not lost"
    steps = list_checkpoints(run)[-1].env_steps
    with pytest.raises(RunFailed, match=r"env 0 \(seed \d+\) raised"):
        api.evaluate(f"{run.id}/@last", episodes=3, seed=evaluation_seed(config), runs_dir=tmp_path)
    switch.unlink()
    resumed = api.resume(max_env_steps=steps + 2 * UPDATE, runs_dir=tmp_path)
    assert resumed.outcome.status == "finished"
    assert resumed.outcome.best_score == 10
    assert "new episodes" not in run.log_path.read_text(), "the training envs were fine"


def test_nan_loss_ends_the_run(tmp_path: Path, switch: Path) -> None:
    switch.write_text("huge-reward")
    changes = settings(switch, at=2 * N_STEPS + 3) | {"checkpoint.every": UPDATE, "policy.hidden": [8]}
    with pytest.raises(RunFailed, match=r"loss became NaN or infinite in update 3, after step 128.*algo.lr"):
        api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    run = only_run(tmp_path)
    saved = list_checkpoints(run)
    assert [c.env_steps for c in saved] == [UPDATE, 2 * UPDATE]
    for checkpoint in saved:
        verify(checkpoint)
        policy = api.load_policy(f"{run.id}/{checkpoint.env_steps}", runs_dir=tmp_path)
        assert all(np.isfinite(array).all() for array in policy.arrays().values())
    switch.unlink()
    assert api.resume(runs_dir=tmp_path).outcome.status == "finished"


def test_nan_loss_is_one_line_on_the_command_line(tmp_path: Path, switch: Path) -> None:
    switch.write_text("huge-reward")
    words = [f"{key}={value}" for key, value in settings(switch).items() if key != "env.kwargs"]
    kwargs = f"env.kwargs={{switch: {switch}, at: 3}}"
    done = gymnast(tmp_path / "runs", "train", "faulty_envs:Faulty", *words, kwargs, "-q")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the loss became NaN or infinite in update 1")
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_kl_limit_of_zero_ends_every_update_at_once(tmp_path: Path) -> None:
    """No step of the optimiser is taken then, so there is no gradient to report either."""
    changes = {"algo.target_kl": 0, "algo.n_steps": 16, "algo.batch_size": 16, "env.n_envs": 4}
    run = api.train(
        "CartPole-v1:ppo",
        overrides={**changes, "algo.n_epochs": 3, "budget.env_steps": 256, "eval.every": 0},
        runs_dir=tmp_path,
    )
    assert run.outcome.status == "finished"
    assert run.metrics()[-1]["train/kl_stops"] > 0


@pytest.mark.parametrize(
    ("reference", "changes", "message"),
    [
        ("CartPol-v1:ppo", {}, "CartPole-v1"),
        ("CartPole-v1:pop", {}, "ppo"),
        ("no/Such-v0", {}, "unknown environment"),
        ("CartPole-v1:ppo", {"algo.lrr": 1}, "algo.lr"),
        ("CartPole-v1:ppo", {"algo.gamma": 1.5}, "algo.gamma"),
        ("CartPole-v1:ppo", {"algo.batch_size": 7}, "divide"),
        ("CartPole-v1:ppo", {"env.wrappers": ["mountaincar-shapin"]}, "mountaincar-shaping"),
        ("CartPole-v1:ppo", {"env.wrappers": ["mountaincar-shaping"]}, "is for MountainCar"),
        ("CartPole-v1:ppo", {"env.kwargs": {"gravty": 1}}, "gravty"),
        ("CartPole-v1:ppo", {"policy.normalize_obs": "bounds"}, "running"),
        ("CartPole-v1:ppo", {"env.spec.action_labels": ["one"]}, "1 are given"),
        ("CartPole-v1:ppo", {"policy.shared": True, "policy.critic_hidden": [4]}, "critic_hidden"),
        ("faulty_envs:Speaking", {}, "not supported"),
        ("faulty_envs:Fauty", {}, "Faulty"),
        ("nowhere.here:Env", {}, "nowhere"),
        ("broken.yaml", {}, "broken.yaml"),
    ],
    ids=str,
)
def test_training_that_never_starts_creates_nothing(
    reference: str, changes: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text("base: [unclosed\n")
    before = set(tmp_path.rglob("*"))
    with pytest.raises(GymnastError) as caught:
        api.train(reference, overrides=changes, runs_dir=tmp_path / "new" / "runs")
    assert caught.value.exit_code == 2
    assert message in str(caught.value)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("reference", ["ALE/Pong-v5:ppo-objects", "ALE/Boxing-v5"])
def test_family_that_is_not_installed_leaves_nothing(
    reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)  # what Python does for what cannot be imported
    with pytest.raises(GymnastError, match=r"pip install 'gymnast\[atari\]'") as caught:
        api.train(reference, runs_dir=tmp_path / "runs")
    assert caught.value.exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("init_from", ["@last", "nosuchrun", "zzz/@best", "@bset"])
def test_unknown_start_leaves_nothing(init_from: str, tmp_path: Path) -> None:
    with pytest.raises(GymnastError):
        api.train("CartPole-v1:ppo", init_from=init_from, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_start_of_another_env_leaves_no_second_run(tmp_path: Path, switch: Path) -> None:
    run = api.train("faulty_envs:Faulty", overrides=settings(switch), runs_dir=tmp_path)
    with pytest.raises(GymnastError, match="another policy section"):
        api.train("CartPole-v1:ppo", init_from=run.id, runs_dir=tmp_path)
    assert [entry.id for entry in registry.entries(tmp_path)] == [run.id]


def test_missing_engine_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymnast.policies.build.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'gymnast\[torch\]'"):
        api.train("CartPole-v1:ppo", overrides={"engine": "torch"}, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be written to: by its mode, or for root, whom modes do not stop, by its mount."""
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        yield tmp_path
        tmp_path.chmod(0o700)
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", tmp_path], check=False)
    if mounted.returncode:
        pytest.skip("root without the right to mount (a container)")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def test_read_only_folder_is_reported_at_once(read_only_folder: Path) -> None:
    with pytest.raises(GymnastError, match=r"no permission|read-only") as caught:
        api.train("CartPole-v1:ppo", runs_dir=read_only_folder / "runs")
    assert caught.value.exit_code == 2


def test_runs_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(GymnastError, match="no run can be created in"):
        api.train("CartPole-v1:ppo", runs_dir=tmp_path / "runs")


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "changed", "lost", "json"])
def test_damaged_newest_checkpoint_falls_back_and_ends_the_same(
    damage: str,
    tmp_path: Path,
    train: Callable[..., api.Run],
    stop_after: Callable[[int], TerminalKeys],
    assert_same_run: Callable[[api.Run, api.Run], None],
) -> None:
    whole = train("CartPole-v1:ppo", tmp_path, checkpoint__every=UPDATE)
    run = train("CartPole-v1:ppo", tmp_path, checkpoint__every=UPDATE, requests=stop_after(4))
    newest = list_checkpoints(run.folder)[-1]
    arrays = newest.arrays_path("state", newest.sidecar().copy)
    if damage == "cut":
        os.truncate(arrays, 1000)
    elif damage == "changed":
        data = bytearray(arrays.read_bytes())
        data[len(data) // 2] ^= 1
        arrays.write_bytes(data)
    elif damage == "lost":
        arrays.unlink()
    else:
        newest.json_path.write_text("{")
    resumed = api.resume(run.id, runs_dir=tmp_path)
    assert_same_run(whole, resumed)
    log = run.folder.log_path.read_text()
    assert f"checkpoint {4 * UPDATE} of run {run.id} is damaged" in log
    assert f"resumes from step {3 * UPDATE}" in log


def test_run_with_only_damaged_checkpoints_is_reported(
    tmp_path: Path, train: Callable[..., api.Run], stop_after: Callable[[int], TerminalKeys]
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, requests=stop_after(3))
    for checkpoint in list_checkpoints(run.folder):
        os.truncate(checkpoint.arrays_path("policy", checkpoint.sidecar().copy), 10)
    with pytest.raises(RunFailed, match=r"every checkpoint of run .* is damaged"):
        api.resume(run.id, runs_dir=tmp_path)


def test_second_process_on_one_run_is_refused(
    tmp_path: Path, train: Callable[..., api.Run], stop_after: Callable[[int], TerminalKeys]
) -> None:
    run = train("CartPole-v1:ppo", tmp_path, requests=stop_after(2))
    before = run.folder.metrics_path.read_bytes()
    with run.folder.lock():
        done = gymnast(tmp_path, "train", "--resume", run.id, "-q")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"error: run {run.id} is being trained by another process"]
    assert run.folder.metrics_path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("limit", [4_000, 40_000])
def test_file_that_cannot_grow_is_reported_and_checkpoints_are_intact(limit: int, tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: writes fail in the same places."""
    typed = (
        "train CartPole-v1:ppo eval.every=0 checkpoint.every=1k env.n_envs=4 algo.n_steps=32"
        " policy.hidden=[4] algo.batch_size=all stop.eval_return=null --max-env-steps 40k -q"
    )
    done = gymnast(tmp_path, *typed.split(), limit=limit)
    assert done.returncode == 1
    assert done.stderr.startswith("error: could not write")
    assert "past the size limit" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    run = only_run(tmp_path)
    for checkpoint in list_checkpoints(run):
        verify(checkpoint)
    (entry,) = registry.entries(tmp_path)
    assert entry.status == "failed"
    assert not list(run.path.rglob("*.tmp"))
    if not list_checkpoints(run):  # the metrics alone were too much
        with pytest.raises(GymnastError, match="has no checkpoint though it was trained"):
            api.resume(max_env_steps=20_000, runs_dir=tmp_path)
        return
    assert api.resume(max_env_steps=20_000, runs_dir=tmp_path).outcome.status == "finished"


def test_log_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunLog(tmp_path / "run.log") as log:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
        try:
            with pytest.raises(RunFailed, match="would grow past the size limit"):
                log.write("something")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.slow
def test_full_disk_ends_the_run_and_it_can_be_resumed(tmp_path: Path) -> None:
    """On a file system of 700 kB, in a mount namespace of its own; skipped where that is not allowed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=700k none {disk}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("needs user namespaces")
    gymnast = f"{sys.executable} -m gymnast train -q --runs-dir {disk}/runs"
    train = (
        f"{gymnast} CartPole-v1:ppo --max-env-steps 1M eval.every=0 checkpoint.every=1k checkpoint.keep=1000"
        " env.n_envs=4 algo.n_steps=32 algo.batch_size=all"
    )
    resume = f"{gymnast} --resume --max-env-steps 40k checkpoint.keep=1"
    make_room = f"ls {disk}/runs/*/checkpoints/* | head -n 6 | xargs rm"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount}; {train}; echo $?; {make_room}; {resume}; echo $?"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    codes = [line for line in done.stdout.splitlines() if line.isdigit()]
    assert codes == ["1", "0"], done.stdout + done.stderr
    assert done.stderr.startswith("error: could not write")
    assert done.stderr.rstrip().endswith("the disk is full")
    assert len(done.stderr.splitlines()) == 1
