"""Whole tunes, with real trainings on CartPole."""

from __future__ import annotations

import json
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
from gymnast.errors import GymnastError, RunFailed
from gymnast.runs.store import RunFolder
from gymnast.tune.arms import Arms
from gymnast.tune.planning import make_plan

PRESET = "CartPole-v1:ppo"
SPOILT: dict[str, Any] = {
    "algo.lr": {"kind": "linear", "start": 0.15, "end": 0},
    "budget.env_steps": 16_384,
    "eval.every": 2048,
    "eval.episodes": 10,
    "seed": 7,
}


@pytest.fixture(autouse=True)
def _own_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMNAST_STATE_DIR", str(tmp_path / "state"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_spoilt_learning_rate_is_repaired_and_the_evidence_is_kept(tmp_path: Path) -> None:
    said: list[str] = []
    tuned = api.autotune(
        PRESET, overrides=SPOILT, max_env_steps=600_000, workers=2, ask_model=False, runs_dir=tmp_path,
        notify=said.append,
    )  # fmt: skip
    state = tuned.state
    assert state.status == "confirmed"
    assert state.changes
    assert state.env_steps <= 600_000
    first = state.rounds[0]
    assert {"steps-too-large"} <= {symptom["name"] for symptom in first.symptoms}
    for candidate in first.candidates:
        assert set(candidate.runs) == {"7", "8", "9"}
    for run_id in (*state.baseline.values(), *state.confirmation.values()):
        assert RunFolder(tmp_path / run_id).info()["env"] == "CartPole-v1"
    assert {RunFolder(tmp_path / run_id).info()["seed"] for run_id in state.confirmation.values()} == set(
        range(1007, 1012)
    )
    report = tuned.report.read_text()
    for part in ("## Round 1", "steps-too-large", "accepted", "curves.png", f"{state.env_steps:,} env steps"):
        assert part in report
    assert (tuned.path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert state.variant is not None
    found = load_config(state.variant).config
    expected = load_config(PRESET, {k: v for k, v in {**SPOILT, **state.changes}.items() if k != "seed"})
    assert found.algo == expected.config.algo
    assert any("accepted" in line for line in said)
    counts = Arms().counts()
    tried = [each for every in state.rounds for each in every.candidates if each.arm is not None]
    assert {each.arm for each in tried} == set(counts)
    assert sum(wins for wins, _ in counts.values()) == sum(each.status == "accepted" for each in tried)
    # One that is over is returned as it is.
    assert api.resume_autotune(tuned.id, runs_dir=tmp_path).to_json() == tuned.to_json()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_tune_continues_to_the_same_end(tmp_path: Path) -> None:
    settings = {**SPOILT, "budget.env_steps": 8192, "eval.every": 1024, "eval.episodes": 4}
    words = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    limits = {"max_env_steps": 130_000, "workers": 2, "ask_model": False}
    whole = api.autotune(PRESET, overrides=settings, runs_dir=tmp_path / "whole", **limits)  # type: ignore[arg-type]
    Path(os.environ["GYMNAST_STATE_DIR"], "tune-arms.json").unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "gymnast", "tune", PRESET, *words, "--max-env-steps", "130k", "--workers", "2",
        "--no-model", "--runs-dir", str(tmp_path / "killed"), "-q",
    ]  # fmt: skip
    for moment in ("*-b1", "*-r1c?s?"):  # in the baseline, and in the first race
        again = ["--resume", "@last", "--runs-dir", str(tmp_path / "killed"), "-q"]
        driver = subprocess.Popen(command)
        deadline = time.monotonic() + 120
        while not list((tmp_path / "killed").glob(moment)) and time.monotonic() < deadline:
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        command = [sys.executable, "-m", "gymnast", "tune", *again]
    continued = api.resume_autotune("@last", workers=1, runs_dir=tmp_path / "killed")
    assert continued.state.status == whole.state.status
    assert continued.state.changes == whole.state.changes
    assert [[each.edit for each in every.candidates] for every in continued.state.rounds] == [
        [each.edit for each in every.candidates] for every in whole.state.rounds
    ]
    assert [continued.state.scores[run] for run in continued.state.baseline.values()] == [
        whole.state.scores[run] for run in whole.state.baseline.values()
    ]


def test_advice_for_a_run_trains_nothing(tmp_path: Path) -> None:
    run = api.train(PRESET, overrides=SPOILT, runs_dir=tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    advice = api.tuning_advice(run.id, runs_dir=tmp_path)
    assert advice.runs == (run.id,)
    assert advice.symptoms
    assert advice.proposals
    for proposed in advice.proposals:
        load_config(PRESET, {**SPOILT, **proposed.changes})
    assert api.tuning_advice(PRESET, runs_dir=tmp_path).runs == (run.id,)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_run_that_had_other_weights_is_no_baseline(tmp_path: Path) -> None:
    first = api.train(PRESET, overrides=SPOILT, runs_dir=tmp_path)
    second = api.train(PRESET, overrides=SPOILT, init_from=first.id, runs_dir=tmp_path)

    def baseline_of(run: api.Run) -> str | None:
        plan = make_plan(PRESET, SPOILT, from_run=run.folder, workers=1, seconds=60)
        return plan.from_run

    assert baseline_of(first) == first.id
    assert baseline_of(second) is None


@pytest.mark.parametrize(
    ("reference", "more", "said"),
    [
        ("CartPool-v1:ppo", {}, "CartPool-v1"),
        (PRESET, {"overrides": {"algo.lrr": 1}}, "algo.lrr"),
        (PRESET, {"max_env_steps": 1000}, "too few"),
        (PRESET, {"budget": "0s"}, "no time"),
        (PRESET, {"budget": "soon"}, "duration"),
        (PRESET, {"workers": 0}, "workers"),
        (PRESET, {"method": "luck"}, "method"),
        (PRESET, {"overrides": {"budget.env_steps": None, "budget.wall_time": 5}}, "budget.env_steps"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(
    tmp_path: Path, reference: str, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(GymnastError, match=said) as caught:
        api.autotune(reference, runs_dir=tmp_path / "runs", **more)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "runs").exists()


def test_a_baseline_that_cannot_be_trained_ends_the_tune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    broken = {
        "env.kwargs": {"how": "raise", "after": 200}, "env.n_envs": 2, "env.backend": "sync",
        "env.max_episode_steps": 50, "algo.n_steps": 64, "budget.env_steps": 2000, "eval.every": 0,
    }  # fmt: skip
    said: list[str] = []
    with pytest.raises(RunFailed, match=r"the baseline cannot be trained.*out of order") as caught:
        api.autotune(
            "trials.breaking_envs:Breaking", overrides=broken, workers=2, ask_model=False, runs_dir=tmp_path,
            notify=said.append,
        )  # fmt: skip
    assert caught.value.exit_code == 1
    assert sum("failed: " in line and "out of order" in line for line in said) == 3


def test_a_run_that_is_being_trained_and_unknown_tunes_are_refused(tmp_path: Path) -> None:
    small = {**SPOILT, "budget.env_steps": 2048}
    run = api.train(PRESET, overrides=small, runs_dir=tmp_path)
    with run.folder.lock(), pytest.raises(GymnastError, match="is being trained"):
        api.autotune(run.id, runs_dir=tmp_path)
    assert not (tmp_path / "tunes").exists()
    with pytest.raises(GymnastError, match="no tunes"):
        api.resume_autotune("@last", runs_dir=tmp_path)
    with pytest.raises(GymnastError, match="nothing to look at"):
        api.tuning_advice("CartPole-v1:a2c", runs_dir=tmp_path)


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    resume = ["--resume", "@last"]
    for words in (
        ["CartPool-v1:ppo"], [PRESET, "--max-env-steps", "10"], resume, [*resume, "--until-solved"],
        [*resume, "--no-model"], [],
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "gymnast", "tune", *words, "--runs-dir", str(tmp_path / "runs")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2, words
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
        assert ("leave out everything else" in done.stderr) == (words[:1] == resume[:1] and words != resume)
    assert not (tmp_path / "runs").exists()
