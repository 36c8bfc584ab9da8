"""`gymnast tune-envs`: a table and a choice, or JSON; and `env.n_envs=auto`, which goes by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.cli.app import main
from gymnast.config.load import load_config
from gymnast.envs.measure import tuning
from gymnast.envs.measure.cell import Measured
from gymnast.envs.measure.tuning import Cell
from gymnast.errors import GymnastError
from gymnast.metrics.sinks.console import QuietConsole
from gymnast.training.run.auto_envs import with_measured_envs


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GYMNAST_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """Cells as they are asked for, answered at once: more envs are faster, up to 16."""
    asked: list[Cell] = []

    def answer(config: Any, cell: Cell, seconds: float) -> Cell:
        asked.append(cell)
        rate = 1000.0 * min(cell.n_envs, 16)
        measured = Measured(rate, 50_000_000, 12.5)
        return Cell(cell.n_envs, cell.backend, cell.processes, cell.threads, measured)

    monkeypatch.setattr(tuning, "_run", answer)
    return asked


def gymnast(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


def test_a_table_and_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    """Measured for real, in two cells."""
    words = ["tune-envs", "FrozenLake-v1", "env.backend=sync", "--envs", "1,2", "--seconds", "0.05"]
    assert gymnast(*words) == 0
    first, header, *cells, empty, choice, reason, kept = capsys.readouterr().out.splitlines()
    assert first.startswith("FrozenLake-v1:ppo: steps of single envs per second")
    assert header.split() == ["envs", "backend", "helpers", "steps/s", "memory"]
    assert [line.split()[:2] for line in cells] == [["1", "sync"], ["2", "sync"]]
    assert empty == ""
    assert choice.startswith("choice: env.n_envs=")
    assert "steps/s" in reason
    assert "env.n_envs=auto" in kept


def test_json(measured: list[Cell], capsys: pytest.CaptureFixture[str]) -> None:
    assert gymnast("tune-envs", "Pendulum-v1", "--envs", "4,16,64", "--json") == 0
    output = json.loads(capsys.readouterr().out)
    assert output["env"] == "Pendulum-v1:ppo"
    assert len(output["cells"]) == len(measured)
    assert output["choice"]["n_envs"] == 16
    assert output["choice"]["backend"] == "sync"
    assert output["choice"]["steps_per_second"] == 16000.0
    assert output["choice"]["memory_bytes"] == 50_000_000
    assert "the fastest" in output["choice"]["reason"]
    assert output["steps_between_rewards"] == 12.5
    assert output["same_experience"] is False


def test_copies_with_the_same_experience_are_reported(
    measured: list[Cell], capsys: pytest.CaptureFixture[str]
) -> None:
    assert gymnast("tune-envs", "CliffWalking-v1", "--envs", "4") == 0
    assert "note: parallel envs give the same experience" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["NoSuch-v0"], "unknown environment 'NoSuch-v0'"),
        (["env.n_envs=3"], "no environment is named"),
        (["CartPole-v1", "Pendulum-v1"], "one thing at a time"),
        (["CartPole-v1", "--envs", "4,many"], "'many' is not a count"),
        (["CartPole-v1", "--envs", "0"], "give numbers from 1"),
        (["CartPole-v1", "env.nonsense=3"], "env.nonsense"),
        (["CartPole-v1", "env.backend=workers", "env.kwargs.gravty=3"], "gravty"),
        (["CartPole-v1", "--envs", "100M"], "at most env.n_envs="),
    ],
)
def test_bad_input_is_one_message(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gymnast("tune-envs", *words, "--seconds", "0.05") == 2
    output = capsys.readouterr().err
    assert output.startswith("error: ")
    assert message in output
    assert "Traceback" not in output


def test_auto_is_measured_once_and_the_run_holds_the_number(measured: list[Cell], tmp_path: Path) -> None:
    changes = {
        "env.n_envs": "auto",
        "algo.n_steps": 16,
        "algo.batch_size": 0.5,
        "eval.every": 0,
        "budget.env_steps": 512,
    }
    run = api.train("Pendulum-v1:ppo", overrides=changes, runs_dir=tmp_path / "runs")
    assert "n_envs: 16" in run.folder.config_path.read_text()
    assert "env.n_envs=16 was measured: the fastest" in run.folder.log_path.read_text()
    assert run.metrics()[0]["time/env_steps"] == 16 * 16
    asked = len(measured)
    assert asked > 3
    again = api.train("Pendulum-v1:ppo", overrides=changes, runs_dir=tmp_path / "runs")
    assert "n_envs: 16" in again.folder.config_path.read_text()
    assert len(measured) == asked
    resumed = api.resume(again.id, overrides={"budget.env_steps": 1024}, runs_dir=tmp_path / "runs")
    assert resumed.outcome.env_steps == 1024


def test_auto_tries_only_what_goes_with_the_other_settings(measured: list[Cell]) -> None:
    changes = {"env.n_envs": "auto", "algo.n_steps": 32, "algo.batch_size": 512}
    config = load_config("Pendulum-v1:ppo", changes).config
    assert with_measured_envs(config, QuietConsole()).env.copies == 16  # fewer make no minibatch of 512
    measured.clear()
    impossible = load_config("Pendulum-v1:ppo", changes | {"algo.batch_size": 100}).config
    with pytest.raises(GymnastError, match="1, 4, 16, 64 envs do not fit the other settings"):
        with_measured_envs(impossible, QuietConsole())
    assert measured == []


def test_rollouts_as_long_as_rewards_are_rare(measured: list[Cell], tmp_path: Path) -> None:
    """Rewards are 12.5 steps apart here."""
    changes = {"env.n_envs": 2, "algo.n_steps": "auto", "eval.every": 0, "budget.env_steps": 80}
    run = api.train("Pendulum-v1:a2c", overrides=changes, runs_dir=tmp_path / "runs")
    assert "n_steps: 40" in run.folder.config_path.read_text()  # A2C's 5, doubled until it is 25 or more
    assert "algo.n_steps=40 was measured from the rewards of random actions: they are 12.5 steps apart" in (
        run.folder.log_path.read_text()
    )
    assert {cell.n_envs for cell in measured} == {2}
    both = load_config("Pendulum-v1:ppo", changes | {"env.n_envs": "auto", "algo.batch_size": 2048}).config
    resolved = with_measured_envs(both, QuietConsole())
    assert (resolved.algo.steps, resolved.env.copies) == (128, 16)


def test_auto_is_an_error_where_nothing_measures() -> None:
    config = load_config("Pendulum-v1:ppo", {"env.n_envs": "auto"}).config
    with pytest.raises(GymnastError, match="only training measures it"):
        config.env.copies
    config = load_config("Pendulum-v1:ppo", {"algo.n_steps": "auto"}).config
    with pytest.raises(GymnastError, match="only training measures it"):
        config.algo.steps


def test_rollouts_beyond_memory_leave_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "CartPole-v1:ppo", "env.n_envs=100M", "algo.batch_size=all"]
    assert gymnast(*words, "--runs-dir", str(tmp_path / "runs"), "-q") == 2
    output = capsys.readouterr().err
    assert output.startswith("error: env.n_envs=100000000: a rollout of 100,000,000 envs × 32 steps")
    assert "memory are free; at most env.n_envs=" in output
    assert not (tmp_path / "runs").exists()
