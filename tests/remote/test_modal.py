"""Training on Modal, against a server on this machine that executes what it is given (modal_server.py)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("modal")

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_columns
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints
from gymnast.runs.store import RunFolder
from gymnast.training.run.start_or_continue import outcome_of
from gymnast.trials.leg import train_leg
from gymnast.trials.trial import Trial
from remote.modal_server import PENDING, SUCCESS, TERMINATED, TIMEOUT, FakeModal
from remote.small_runs import SETTINGS
from training.compare_runs import difference, end_of, rows_of
from wandb_server import wandb_server

LONG = 40_000_000  # such runs are stopped when they are far enough: nothing depends on how fast they are
pytestmark = pytest.mark.timeout(
    900
)  # containers are processes that import everything: slow on a busy machine


def start(runs: Path, env_steps: int = 20_000, **options: Any) -> Any:
    overrides = {**SETTINGS, **options.pop("overrides", {})}
    options = {"max_env_steps": env_steps, "cores": 1.0, "memory": 1024, "runs_dir": runs} | options
    return api.train_on_modal("CartPole-v1:ppo", overrides=overrides, **options)


def whole(folder: Path, env_steps: int) -> api.Run:
    """The same run, trained here without a stop."""
    return api.train("CartPole-v1:ppo", overrides=SETTINGS, max_env_steps=env_steps, runs_dir=folder)


def same_so_far(folder: Path, arrived: RunFolder) -> None:
    """What came of a LONG run has the bits of one that was trained here, as far, without a stop."""
    env_steps = list_checkpoints(arrived)[-1].env_steps
    settings = {**SETTINGS, "budget.env_steps": LONG}
    trial = Trial("whole", "CartPole-v1:ppo", settings, stop_at=env_steps)
    ended = train_leg(trial, folder, lambda steps: None, lambda: False)
    assert (ended.status, ended.env_steps) == ("paused", env_steps)
    here = RunFolder(folder / "whole")
    same(api.Run(here, outcome_of(registry.entry_of(here))), arrived)


def same(first: api.Run, second: RunFolder) -> None:
    other = api.Run(second, first.outcome)
    assert difference(rows_of(first), rows_of(other)) is None
    assert difference(end_of(first), end_of(other)) is None


def steps_saved(modal: FakeModal, run_id: str) -> int:
    points = list_checkpoints(RunFolder(modal.committed / run_id))
    return points[-1].env_steps if points else 0


@pytest.mark.slow
def test_start_list_logs_and_pull(modal: FakeModal, tmp_path: Path) -> None:
    runs, said = tmp_path / "runs", []
    run = start(runs, run_id="pole-1", max_cost=2.0, notify=said.append)
    assert [path.name for path in runs.iterdir()] == [".remote"], "no folder of a run before there is one"
    assert "pole-1: CartPole-v1:ppo on Modal, 1 cores, 1 GiB" in said[0]
    assert "per hour" in said[1]
    assert "$2.00 at most" in said[3]
    modal.wait_for(lambda: modal.calls[run.call].status == SUCCESS)

    (entry,) = api.list_remote(runs_dir=runs)
    assert (entry.status, entry.state.env_steps, entry.state.attempts) == ("done", 20_224, 1)
    assert entry.state.fps
    assert entry.dollars > 0
    assert any("finished" in line for line in api.remote_logs(runs_dir=runs))
    resources = modal.options[modal.calls[run.call].function_id].resources
    assert (resources.milli_cpu, resources.milli_cpu_max, resources.memory_mb) == (1000, 1000, 1024)
    assert modal.function is not None
    assert modal.function.timeout_secs == 24 * 3600
    assert modal.function.single_use_containers
    assert modal.function.retry_policy.retries == 10
    assert any("CartPole-v1.yaml" in name for name in modal.mounted), "presets travel with the code"
    assert any("gymnasium==" in line for image in modal.images for line in image.dockerfile_commands)

    arrived = api.pull_remote(runs_dir=runs)
    assert arrived.source == "modal:gymnast-runs/pole-1"
    same(whole(tmp_path / "whole", 20_000), RunFolder(arrived.path))
    assert api.pull_remote(runs_dir=runs).path == arrived.path, "as often as one likes"
    assert modal.missing == []


@pytest.mark.slow
def test_machines_that_are_taken_away(modal: FakeModal, tmp_path: Path) -> None:
    """Interrupted once, killed once: the same input arrives on another machine, which resumes."""
    runs = tmp_path / "runs"
    run = start(runs, LONG, run_id="pole-2")
    call = modal.calls[run.call]
    modal.wait_for(lambda: steps_saved(modal, "pole-2") > 10_000)
    modal.take_machine_away(call, signal.SIGINT)
    modal.wait_for(lambda: call.containers == 2)
    saved = steps_saved(modal, "pole-2")
    assert any("resumes from step" in text for _, text in call.logs) or modal.wait_for(
        lambda: any("resumes from step" in text for _, text in call.logs)
    )
    modal.wait_for(lambda: steps_saved(modal, "pole-2") > saved + 10_000)
    modal.take_machine_away(call, signal.SIGKILL)
    modal.wait_for(lambda: call.containers == 3)
    saved = steps_saved(modal, "pole-2")
    modal.wait_for(lambda: steps_saved(modal, "pole-2") > saved)
    assert api.stop_remote(runs_dir=runs).status == "stopped"
    assert call.containers == 3
    assert api.remote_run(runs_dir=runs).state.attempts == 3
    same_so_far(tmp_path / "whole", RunFolder(api.pull_remote(runs_dir=runs).path))


@pytest.mark.slow
def test_one_run_at_wandb_through_every_machine(
    modal: FakeModal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    runs = tmp_path / "runs"
    with wandb_server() as server:
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        monkeypatch.setenv("WANDB_PROJECT", "gymnast")
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        few_rows = {"algo.n_steps": 256}
        run = start(runs, LONG, run_id="pole-w", track=["wandb"], overrides=few_rows)
        call = modal.calls[run.call]
        modal.wait_for(lambda: steps_saved(modal, "pole-w") > 4_000)
        modal.take_machine_away(call, signal.SIGINT)
        modal.wait_for(lambda: call.containers == 2)
        saved_first = steps_saved(modal, "pole-w")
        modal.wait_for(lambda: steps_saved(modal, "pole-w") > saved_first)
        assert api.stop_remote(runs_dir=runs).status == "stopped"
    assert call.containers == 2
    (secret,) = modal.secrets.values()
    assert secret["WANDB_API_KEY"] == "a" * 40, (
        "it travels as a secret, and the run's config does not have it"
    )
    assert b"a" * 40 not in call.input.args
    assert list(server.runs) == ["pole-w"]
    pulled = RunFolder(api.pull_remote(runs_dir=runs).path)
    saved = read_columns(pulled.metrics_path, ["time/env_steps"])["time/env_steps"].tolist()
    assert [server.history[line]["time/env_steps"] for line in sorted(server.history)] == saved


@pytest.mark.slow
def test_out_of_time_it_starts_itself_again(modal: FakeModal, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = start(runs, LONG, run_id="pole-3", attempt=2, max_duration=20)
    lines = list(api.remote_logs(follow=True, runs_dir=runs))
    assert any("resumes from step" in line for line in lines), "followed through every call"
    assert all(call.status == SUCCESS for call in modal.calls.values())
    entry = api.remote_run(runs_dir=runs)
    assert entry.status == "limit"
    assert entry.state.attempts == len(modal.calls) >= 2
    assert entry.state.call != run.call
    same_so_far(tmp_path / "whole", RunFolder(api.pull_remote(runs_dir=runs).path))


@pytest.mark.slow
def test_time_out_of_a_container_is_another_attempt(modal: FakeModal, tmp_path: Path) -> None:
    modal.timeout = 10.0
    run = start(tmp_path / "runs", LONG, run_id="pole-4", max_duration=600)
    call = modal.calls[run.call]
    modal.wait_for(lambda: call.containers >= 3 and steps_saved(modal, "pole-4") > 2000)
    saved = steps_saved(modal, "pole-4")
    assert any(
        f"resumes from step {step:,}" in text for _, text in call.logs for step in range(256, saved, 256)
    )
    call.failures = 10
    modal.wait_for(lambda: call.status == TIMEOUT)
    assert "lost" in {modal.wait_for(lambda: _ended(tmp_path / "runs"), 10)}


def _ended(runs: Path) -> str:
    """The state of the last remote run, as if its machine had been silent for a while."""
    from gymnast.remote import state

    silent, state.SILENT_SECONDS = state.SILENT_SECONDS, 0.0
    try:
        return api.remote_run(runs_dir=runs).status
    finally:
        state.SILENT_SECONDS = silent


@pytest.mark.slow
def test_stopped_pulled_and_continued(modal: FakeModal, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = start(runs, LONG, run_id="pole-5")
    for continued in (False, True):  # no machine has it yet
        with pytest.raises(GymnastError, match=r"is being trained on Modal|Modal has a run"):
            start(runs, LONG, run_id="pole-5", continued=continued)
    assert list(modal.calls) == [run.call]
    modal.wait_for(lambda: steps_saved(modal, "pole-5") > 4000)
    with pytest.raises(GymnastError, match="is being trained on Modal"):
        start(runs, LONG, run_id="pole-5", continued=True)
    with pytest.raises(GymnastError, match="Modal has a run pole-5 already"):
        start(tmp_path / "others", LONG, run_id="pole-5")
    entry = api.stop_remote(runs_dir=runs)
    assert entry.status == "stopped"
    modal.wait_for(lambda: modal.calls[run.call].status in (TERMINATED, SUCCESS))
    saved = steps_saved(modal, "pole-5")
    assert entry.state.env_steps == saved
    with pytest.raises(GymnastError, match="is not being trained on Modal"):
        api.stop_remote(runs_dir=runs)

    first = RunFolder(api.pull_remote(runs_dir=runs).path)
    assert list_checkpoints(first)[-1].env_steps == saved
    with pytest.raises(GymnastError, match=r"algo\.gamma is"):
        start(runs, LONG, run_id="pole-5", continued=True, overrides={"algo.gamma": 0.5})
    again = start(runs, LONG, run_id="pole-5", continued=True)
    assert again.call != run.call
    modal.wait_for(lambda: steps_saved(modal, "pole-5") > saved + 2000)
    api.stop_remote(runs_dir=runs)
    second = RunFolder(api.pull_remote(runs_dir=runs).path)
    assert list_checkpoints(second)[-1].env_steps > saved


@pytest.mark.slow
def test_limit_of_time_and_cost(modal: FakeModal, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = start(runs, LONG, run_id="pole-6", max_duration=6)
    modal.wait_for(lambda: modal.calls[run.call].status == SUCCESS)
    entry = api.remote_run(runs_dir=runs)
    assert entry.status == "limit"
    assert 5 < entry.state.seconds < 100
    assert steps_saved(modal, "pole-6") == entry.state.env_steps > 0
    more = start(runs, LONG, run_id="pole-6", max_duration=6, continued=True)  # spent already
    modal.wait_for(lambda: modal.calls[more.call].status == SUCCESS)
    assert api.remote_run(runs_dir=runs).state.env_steps == entry.state.env_steps


@pytest.mark.slow
def test_command_follows_pulls_and_exits_as_training_does(modal: FakeModal, tmp_path: Path) -> None:
    """A closed terminal is a process that is gone: the run trains on, and another command shows it."""
    runs = tmp_path / "runs"
    settings = [f"{key}={json.dumps(value)}" for key, value in SETTINGS.items()]
    command = [sys.executable, "-m", "gymnast"]
    train = [*command, "train", "CartPole-v1:ppo", *settings, "--on", "modal", "--runs-dir", str(runs)]
    first = subprocess.Popen(
        [*train, "--run-id", "pole-7", "--max-env-steps", "60k"], stdout=subprocess.PIPE, text=True
    )
    modal.wait_for(lambda: steps_saved(modal, "pole-7") > 2000)
    first.kill()
    first.communicate()
    (call,) = modal.calls.values()
    modal.wait_for(lambda: call.status == SUCCESS)
    listed = subprocess.run(
        [*command, "remote", "list", "--runs-dir", str(runs)], check=True, capture_output=True, text=True
    )
    assert "pole-7  CartPole-v1:ppo  done" in listed.stdout

    second = subprocess.run(
        [*train, "--run-id", "pole-8", "--max-env-steps", "8k", "--json"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert second.returncode == 0, second.stderr
    result = json.loads(second.stdout)
    assert result["status"] == "done"
    assert Path(result["path"]).is_dir()
    assert RunFolder(Path(result["path"])).origin_path.is_file()


@pytest.mark.slow
def test_a_run_that_fails_has_failed(modal: FakeModal, tmp_path: Path) -> None:
    wild = {"algo.lr": 10.0, "algo.max_grad_norm": 1e30, "algo.value_coef": 1e30}
    run = start(tmp_path / "runs", run_id="pole-9", overrides=wild)
    modal.wait_for(lambda: modal.calls[run.call].status != PENDING)
    entry = api.remote_run(runs_dir=tmp_path / "runs")
    assert entry.status == "failed", entry
    assert "NaN or infinite" in entry.state.reason
    assert modal.calls[run.call].containers == 1, "another machine would fail as well"


def test_without_a_token_nothing_is_started(modal: FakeModal, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MODAL_TOKEN")}
    command = [sys.executable, "-m", "gymnast", "train", "CartPole-v1:ppo", "--on", "modal"]
    done = subprocess.run(
        [*command, "--runs-dir", str(tmp_path / "runs")], check=False, capture_output=True, text=True, env=env
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "modal token new" in done.stderr
    assert modal.asked == []
    assert not (tmp_path / "runs").exists()


def test_a_wrong_token(modal: FakeModal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODAL_TOKEN_SECRET", "as-wrong")
    with pytest.raises(GymnastError, match="modal token new"):
        start(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    assert modal.function is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "L5"}, r"--gpu L5: not a GPU of Modal \(did you mean 'L4'"),
        ({"max_cost": 0.0001}, "pays for 7 s of this machine"),
        ({"max_cost": -1.0}, "max_cost must be more than 0"),
        ({"run_id": "No!"}, "is not a run id"),
        ({"continued": True}, "give run_id as well"),
        ({"overrides": {"hooks": [{"name": "my_module:MyHook"}]}}, "code of your own is not sent to Modal"),
        ({"overrides": {"env.kwargs": {"render_mode": "${NOT_SET}"}}}, "the run reads NOT_SET"),
    ],
)
def test_what_cannot_train_there(
    modal: FakeModal, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(GymnastError, match=message):
        start(tmp_path / "runs", **options)
    assert not (tmp_path / "runs").exists()
    assert modal.function is None
    assert modal.calls == {}


@pytest.mark.parametrize("reference", ["Retro/SuperMarioBros-Nes:ppo", "Retro/SuperMarioBros-Nes:ppo-levels"])
def test_a_game_of_your_own_stays_here(modal: FakeModal, tmp_path: Path, reference: str) -> None:
    pytest.importorskip("stable_retro")
    with pytest.raises(GymnastError, match="Retro/SuperMarioBros-Nes needs a ROM of your own"):
        api.train_on_modal(reference, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    assert modal.function is None


def test_an_env_of_your_own_stays_here(modal: FakeModal, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("env: {id: 'my_module:MyEnv'}\nalgo: {name: ppo}\nbudget: {env_steps: 1000}\n")
    with pytest.raises(GymnastError, match="my_module:MyEnv: code of your own is not sent to Modal"):
        api.train_on_modal(own, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    assert modal.function is None


def test_no_such_run(tmp_path: Path) -> None:
    for use in (api.remote_run, api.pull_remote, api.stop_remote):
        with pytest.raises(GymnastError, match="no remote run 'x'"):
            use("x", runs_dir=tmp_path)
    assert api.list_remote(runs_dir=tmp_path) == []


@pytest.mark.skipif("GYMNAST_TEST_MODAL" not in os.environ, reason="costs money: for those with an account")
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_real_modal(tmp_path: Path) -> None:
    """Set GYMNAST_TEST_MODAL=1, MODAL_TOKEN_ID and MODAL_TOKEN_SECRET: a run of a minute, about a cent."""
    assert "MODAL_TOKEN_ID" in os.environ
    run = start(tmp_path / "runs", 50_000, max_cost=0.10)
    for line in api.remote_logs(run.id, follow=True, runs_dir=tmp_path / "runs"):
        print(line, end="")
    assert api.remote_run(run.id, runs_dir=tmp_path / "runs").status == "done"
    same(whole(tmp_path / "whole", 50_000), RunFolder(api.pull_remote(runs_dir=tmp_path / "runs").path))
