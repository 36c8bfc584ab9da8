"""An env that calls sys.exit(), or raises what is not an Exception, fails like any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.config.load import load_config
from gymnast.envs.build import env_seeds
from gymnast.errors import GymnastError, RunFailed
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.store import run_folders
from gymnast.training.evaluator import evaluation_seed

N_STEPS, UPDATE = 16, 64
RAISED = {
    "exit": "raised SystemExit: 7",
    "interrupt": "raised KeyboardInterrupt: by the env itself",
    "quit": "raised Quit: cancelled",
}


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return tmp_path / "switch"


def settings(switch: Path, at: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "env.kwargs": {"switch": str(switch), "at": at},
        "env.n_envs": 4,
        "env.backend": "sync",
        "algo.n_steps": N_STEPS,
        "algo.batch_size": "all",
        "budget.env_steps": 5 * UPDATE,
        "eval.every": 0,
        **{key.replace("__", "."): value for key, value in changes.items()},
    }


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sync", "workers"])
@pytest.mark.parametrize("fault", RAISED)
def test_env_that_quits_in_a_step_ends_the_run_as_failed(
    fault: str, backend: str, tmp_path: Path, switch: Path
) -> None:
    switch.write_text(fault)
    changes = settings(switch, at=2 * N_STEPS + 3, env__backend=backend, env__workers=1)
    raised = rf"env 0 \(seed \d+\) {RAISED[fault]} \(faulty_envs.py:\d+\)"
    with pytest.raises(RunFailed, match=rf"{raised} in step .*step 128 is saved"):
        api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    (entry,) = registry.entries(tmp_path)
    assert entry.status == "failed"
    switch.unlink()
    assert api.resume(runs_dir=tmp_path).outcome.status == "finished"


@pytest.mark.parametrize("backend", ["sync", "workers"])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("exit-construct", "could not be built: SystemExit: 7"),
        ("exit-reset", r"env 0 \(seed \d+\) raised SystemExit on reset: 7"),
    ],
)
def test_env_that_quits_before_training_leaves_nothing(
    fault: str, message: str, backend: str, tmp_path: Path, switch: Path
) -> None:
    switch.write_text(fault)
    with pytest.raises(GymnastError, match=message):
        api.train(
            "faulty_envs:Faulty", overrides=settings(switch, env__backend=backend), runs_dir=tmp_path / "runs"
        )
    assert not (tmp_path / "runs").exists()


def test_module_that_quits_when_imported_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "quits.py").write_text("import sys\nsys.exit('not today')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(GymnastError, match="importing 'quits' raised SystemExit: not today"):
        api.train("quits:Env", runs_dir=tmp_path / "runs")


@pytest.mark.parametrize("background", [False, True])
def test_env_that_quits_in_evaluation_ends_the_run(background: bool, tmp_path: Path, switch: Path) -> None:
    changes = settings(switch, eval__every=1, eval__n_envs=1, eval__background=background)
    bad_seed = env_seeds(evaluation_seed(load_config("faulty_envs:Faulty", changes).config), 1)[0]
    changes["env.kwargs"] |= {"seed": bad_seed, "at": 4}
    changes["budget.env_steps"] = 3000 * UPDATE
    switch.write_text("exit")
    with pytest.raises(RunFailed, match=rf"evaluation.*env 0 \(seed {bad_seed}\) raised SystemExit: 7"):
        api.train("faulty_envs:Faulty", overrides=changes, runs_dir=tmp_path)
    (run,) = run_folders(tmp_path)
    assert list_checkpoints(run)
    with pytest.raises(RunFailed, match=r"env 0 \(seed \d+\) raised SystemExit: 7"):
        api.evaluate(f"{run.id}/@last", episodes=3, seed=evaluation_seed_of(changes), runs_dir=tmp_path)


def evaluation_seed_of(changes: dict[str, Any]) -> int:
    return evaluation_seed(load_config("faulty_envs:Faulty", changes).config)


def test_env_that_quits_when_closed_is_reported_and_the_run_is_complete(tmp_path: Path, switch: Path) -> None:
    switch.write_text("exit-close")
    run = api.train("faulty_envs:Faulty", overrides=settings(switch), runs_dir=tmp_path)
    assert run.outcome.status == "finished"
    reported = [line for line in run.folder.log_path.read_text().splitlines() if "close()" in line]
    assert len(reported) == 3, (
        "of what was closed at the start, by the table of steps and at the end, once each"
    )
    assert "close() of Faulty raised SystemExit: 7 (faulty_envs.py:" in reported[-1]
    assert api.evaluate(run.id, episodes=2, runs_dir=tmp_path).mean_return == 10


def command(tmp_path: Path, switch: Path, changes: dict[str, Any]) -> subprocess.Popen[str]:
    words = [f"{key}={value}" for key, value in changes.items() if key != "env.kwargs"]
    kwargs = f"env.kwargs={{switch: {switch}, at: {changes['env.kwargs']['at']}}}"
    options = ("-q", "--runs-dir", str(tmp_path / "runs"))
    return subprocess.Popen(
        [sys.executable, "-m", "gymnast", "train", "faulty_envs:Faulty", *words, kwargs, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_command_reports_an_env_that_quits_in_one_line(tmp_path: Path, switch: Path) -> None:
    switch.write_text("exit")
    done = command(tmp_path, switch, settings(switch, at=N_STEPS + 3))
    _, stderr = done.communicate(timeout=60)
    assert done.returncode == 1, "not the env's own code"
    assert stderr.startswith("error: faulty_envs:Faulty: env 0 (seed ")
    assert len(stderr.splitlines()) == 1, stderr


def test_second_ctrl_c_still_aborts_at_once(tmp_path: Path, switch: Path) -> None:
    """The user's own KeyboardInterrupt, within a step of the env, is not taken for a failure of it."""
    changes = settings(switch, algo__n_steps=8192, budget__env_steps=10**9)
    process = command(tmp_path, switch, changes)
    end = time.monotonic() + 60
    while time.monotonic() < end and not list((tmp_path / "runs").glob("*/run.log")):
        time.sleep(0.05)
    time.sleep(0.3)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode not in (0, 1), stderr
    assert "raised KeyboardInterrupt" not in stderr
    (entry,) = registry.entries(tmp_path / "runs")
    assert entry.status == "interrupted"
