"""Whole sweeps, with real trainings in real processes."""

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
from gymnast.errors import GymnastError, RunFailed
from gymnast.runs.score_auc import curve_of
from gymnast.runs.store import RunFolder, run_folders
from gymnast.sweeps.folder import SweepFolder, find_sweep

SMALL = {"budget.env_steps": 6000, "eval.every": 2048, "eval.episodes": 5, "stop.eval_return": None}
BREAKING = "trials.breaking_envs:Breaking"
pytestmark = pytest.mark.timeout(400)  # many processes, on a machine that may be busy


def swept(what: str | Path = "CartPole-v1:ppo", **options: Any) -> api.Sweep:
    chosen: dict[str, Any] = {
        "overrides": SMALL,
        "trials": 4,
        "workers": 2,
        "method": "random",
        "race_seeds": 0,
        "test_seeds": 0,
        "prune": False,
    }
    return api.sweep(what, **{**chosen, **options})


def file_with(tmp_path: Path, parameters: str, rest: str = "") -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        f"command: [gymnast, train, CartPole-v1:ppo]\nmethod: random\n{rest}\nparameters:\n{parameters}\n"
    )
    return path


def test_search_race_and_test(tmp_path: Path) -> None:
    sweep = swept(trials=5, race_seeds=2, test_seeds=5, runs_dir=tmp_path)
    state = sweep.state
    assert (state.status, state.stage, len(state.trials)) == ("finished", "done", 5)
    assert state.trials[0].origin == "baseline"
    assert state.trials[0].settings == {}
    assert all(trial.status == "finished" for trial in state.trials)
    seeds = [run.seed for _, run in state.runs()]
    assert len({run.seed for _, run in state.runs() if run.stage == "search"}) == 5  # each its own
    tests = {run.seed for _, run in state.runs() if run.stage == "test"}
    others = {run.seed for _, run in state.runs() if run.stage != "test"}
    assert len(tests) == 5
    assert not tests & others
    assert len(seeds) >= 5
    # Contenders have the same seeds, and the winner is one of them.
    raced = [trial for trial in state.trials if trial.of("race")]
    assert {tuple(run.seed for run in trial.of("race")) for trial in raced} == {
        tuple(state.plan.seeds.of_race())
    }
    assert state.winner in [trial.number for trial in raced]
    values = sweep.to_json()
    assert values["verdict"]["baseline"]["interval"]["low"] <= values["verdict"]["baseline"]["iqm"]
    assert len(values["verdict"]["baseline"]["values"]) == 5
    # Every trial is an ordinary run.
    ids = {run.id for run in run_folders(tmp_path)}
    assert ids == {run.run_id for _, run in state.runs()}
    text = (sweep.path / "report.md").read_text()
    assert "interquartile mean" in text
    assert "preset" in text
    for picture in ("parallel", "slices", "front"):
        data = (sweep.path / "report" / f"{picture}.png").read_bytes()
        assert data.startswith(b"\x89PNG")


def test_a_grid_has_every_point_and_the_preset(tmp_path: Path) -> None:
    file = file_with(tmp_path, "  algo.gamma: {values: [0.9, 0.99]}\n  algo.n_epochs: {values: [1, 2]}")
    sweep = swept(file, trials=None, method="grid", runs_dir=tmp_path)
    points = [trial.point for trial in sweep.state.trials[1:]]
    assert len(points) == 4
    assert {(p["algo.gamma"], p["algo.n_epochs"]) for p in points if p} == {
        (0.9, 1), (0.9, 2), (0.99, 1), (0.99, 2),
    }  # fmt: skip


def test_bayes_learns_from_trials_and_its_journal_may_be_lost(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    sweep = swept(method="bayes", trials=4, runs_dir=tmp_path)
    journal = sweep.folder.journal_path
    assert journal.is_file()
    journal.unlink()
    longer = api.resume_sweep(sweep.id, trials=6, runs_dir=tmp_path)
    assert [trial.origin for trial in longer.state.trials] == ["baseline"] + ["bayes"] * 5
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    study = optuna.load_study(study_name="sweep", storage=storage)
    told = [trial.value for trial in study.trials]
    assert told == pytest.approx([trial.value for trial in longer.state.trials])
    # Trials of before were not trained again.
    assert [t.settings for t in longer.state.trials[:4]] == [t.settings for t in sweep.state.trials]


def test_earlier_runs_are_tried_first(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    settings = {**SMALL, "algo.gamma": 0.95}
    other = {**settings, "algo.n_epochs": 3, "policy.hidden": [16]}
    same, different = (
        api.train("CartPole-v1:ppo", overrides=s, runs_dir=tmp_path) for s in (settings, other)
    )
    file = file_with(tmp_path, "  algo.gamma: {min: 0.9, max: 0.99}\n  algo.n_epochs: {min: 1, max: 12}")
    sweep = swept(file, method="bayes", trials=3, runs_dir=tmp_path)
    assert [item["run"] for item in sweep.state.observed] == [same.id]  # a value, without a run
    assert [trial.origin for trial in sweep.state.trials] == ["baseline", "earlier", "bayes"]
    assert sweep.state.trials[1].note == f"run {different.id}"
    assert sweep.state.trials[1].point == {"algo.gamma": 0.95, "algo.n_epochs": 3}


def test_a_score_that_other_weights_made_is_no_value_of_its_settings(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    first = api.train("CartPole-v1:ppo", overrides={**SMALL, "algo.n_epochs": 3}, runs_dir=tmp_path)
    tuned = api.train(
        "CartPole-v1:ppo", overrides={**SMALL, "algo.gamma": 0.95}, init_from=first.id, runs_dir=tmp_path
    )
    file = file_with(tmp_path, "  algo.gamma: {min: 0.9, max: 0.985}")
    sweep = swept(file, method="bayes", trials=2, runs_dir=tmp_path)
    assert sweep.state.observed == []
    assert [trial.note for trial in sweep.state.trials if trial.origin == "earlier"] == [f"run {tuned.id}"]


def test_trials_that_wait_at_a_rung_are_promoted_by_exact_resume(tmp_path: Path) -> None:
    file = file_with(
        tmp_path,
        "  algo.gamma: {min: 0.9, max: 0.99}",
        "early_terminate: {type: hyperband, min_iter: 1, eta: 2, s: 1}",
    )
    sweep = swept(file, trials=4, runs_dir=tmp_path)
    runs = [trial.runs[0] for trial in sweep.state.trials]
    assert sweep.state.plan.rungs == (2048,)
    assert all(len(run.rungs) == 1 for run in runs)
    ended = [run for run in runs if run.status == "finished"]
    assert len(ended) == 2
    assert all(run.status == "paused" for run in runs if run not in ended)
    best = sorted((run.rungs[0] or 0.0 for run in runs), reverse=True)[:2]
    assert min(run.rungs[0] or 0.0 for run in ended) >= best[-1] or len(ended) == 2
    for run in ended:
        info = json.loads((tmp_path / run.run_id / "run.json").read_text())
        assert len(info["resumes"]) == 1  # it was continued, not started again
        assert run.env_steps >= 6000


def test_a_rung_counts_the_evaluation_that_came_with_it(tmp_path: Path) -> None:
    file = file_with(
        tmp_path,
        "  algo.gamma: {min: 0.9, max: 0.99}",
        "early_terminate: {type: hyperband, min_iter: 1, eta: 2, s: 1}",
    )
    # Updates of 1,536 steps: the evaluation that is due at 2,048 comes at 3,072.
    sweep = swept(file, trials=2, overrides={**SMALL, "algo.n_steps": 48}, runs_dir=tmp_path)
    (waiting,) = [trial.runs[0] for trial in sweep.state.trials if trial.status == "paused"]
    curve = curve_of(RunFolder(tmp_path / waiting.run_id))
    assert curve is not None
    assert waiting.env_steps == 3072
    (steps, _, score), *_ = curve.evals
    held = (curve.start * steps + max(score, curve.start) * (curve.budget - steps)) / curve.budget
    assert waiting.rungs == [pytest.approx(held)]


def test_breaking_trials_cost_themselves_alone(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        f"command: [gymnast, train, '{BREAKING}']\nmethod: grid\n"
        "parameters:\n  env.kwargs.how: {values: [none, exit, hang, raise, huge]}\n"
        "gymnast: {patience: 12}\n"
    )
    small = {"budget.env_steps": 3000, "eval.every": 1500, "eval.episodes": 3, "env.n_envs": 2,
             "algo.n_steps": 64, "env.kwargs.after": 500, "env.backend": "sync"}  # fmt: skip
    sweep = swept(
        path, overrides={**small, "env.max_episode_steps": 50}, trials=None, method="grid", runs_dir=tmp_path
    )
    by_kind = {(trial.point or {}).get("env.kwargs.how"): trial for trial in sweep.state.trials[1:]}
    assert by_kind["none"].status == "finished"
    assert {kind: by_kind[kind].status for kind in ("exit", "hang", "raise", "huge")} == dict.fromkeys(
        ("exit", "hang", "raise", "huge"), "failed"
    )
    assert by_kind["exit"].runs[0].attempts == 2
    assert "no sign of life for 12 s" in by_kind["hang"].runs[0].message
    assert "NaN" in by_kind["huge"].runs[0].message
    assert sweep.state.status == "finished"
    assert sweep.state.best() is by_kind["none"]


def test_where_everything_fails_the_sweep_stops(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        f"command: [gymnast, train, '{BREAKING}']\nmethod: random\n"
        "parameters:\n  env.kwargs.after: {min: 100, max: 200}\n"
    )
    small = {"env.kwargs.how": "raise", "env.n_envs": 2, "algo.n_steps": 64, "env.backend": "sync",
             "budget.env_steps": 3000, "env.max_episode_steps": 50}  # fmt: skip
    with pytest.raises(RunFailed, match=r"all \d+ runs failed.*out of order"):
        swept(path, overrides=small, trials=3, runs_dir=tmp_path)
    assert find_sweep(tmp_path, "@last").read().status == "failed"


def test_a_metric_that_the_preset_does_not_have_ends_the_sweep_at_once(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"the preset's own run \S+ .*has no env/obs/saturated"):
        swept(objective="env/obs/saturated", trials=20, workers=1, runs_dir=tmp_path)
    state = find_sweep(tmp_path, "@last").read()
    assert (state.status, len(state.trials)) == ("failed", 1)


DRIVER = """
import sys
from gymnast import api
api.sweep("CartPole-v1:ppo", overrides={overrides!r}, trials=6, workers=2, method="random", race_seeds=0,
          test_seeds=0, prune=False, runs_dir=sys.argv[1])
"""


def started(tmp_path: Path) -> subprocess.Popen[bytes]:
    # Long enough that something is left to do when it is killed, also on a fast machine.
    code = DRIVER.format(overrides={**SMALL, "budget.env_steps": 60_000, "eval.every": 20_000})
    return subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], start_new_session=True)


def known_state(tmp_path: Path, process: subprocess.Popen[bytes], finished: int) -> SweepFolder:
    """Wait until that many trials have ended."""
    deadline = time.monotonic() + 250
    while time.monotonic() < deadline and process.poll() is None:
        try:
            folder = find_sweep(tmp_path, "@last")
            if folder.read().count("finished") >= finished:
                return folder
        except GymnastError:
            pass
        time.sleep(0.05)
    raise AssertionError("the sweep did not get that far")


@pytest.mark.parametrize("finished", [0, 2])
def test_a_killed_driver_is_continued(tmp_path: Path, finished: int) -> None:
    process = started(tmp_path)
    folder = known_state(tmp_path, process, finished)
    if finished == 0:  # in the middle of the first trials
        while not any(tmp_path.glob("*-*/metrics.csv")):
            time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = folder.read()
    ended = {run.run_id: run.value for _, run in before.runs() if run.status == "finished"}
    made = {run_id: (tmp_path / run_id / "run.json").stat().st_mtime_ns for run_id in ended}
    assert api.find_sweep(folder.id, runs_dir=tmp_path).to_json()["status"] == "interrupted"
    sweep = api.resume_sweep(folder.id, runs_dir=tmp_path)
    assert sweep.state.status == "finished"
    assert len(sweep.state.trials) == 6
    ends = [(trial.status, trial.runs[0].message) for trial in sweep.state.trials]
    assert all(status == "finished" for status, _ in ends), ends
    for trial, old in zip(sweep.state.trials, before.trials, strict=False):
        assert trial.settings == old.settings  # nothing is drawn again
    after = {run.run_id: run.value for _, run in sweep.state.runs()}
    assert ended.items() <= after.items()
    for run_id, stamp in made.items():  # nothing that had ended was trained again
        assert (tmp_path / run_id / "run.json").stat().st_mtime_ns == stamp
    assert len(run_folders(tmp_path)) == 6


def test_a_driver_that_is_asked_to_stop_leaves_everything_to_be_continued(tmp_path: Path) -> None:
    process = started(tmp_path)
    folder = known_state(tmp_path, process, 1)
    with pytest.raises(GymnastError, match="being worked on by another process"):
        api.resume_sweep(folder.id, runs_dir=tmp_path)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=120) == 0
    state = folder.read()
    assert state.status == "interrupted"
    assert not any(run.status == "running" for _, run in state.runs())
    assert api.resume_sweep(folder.id, runs_dir=tmp_path).state.count("finished") == 6


def test_stop_is_for_sweeps_that_are_worked_on(tmp_path: Path) -> None:
    process = started(tmp_path)
    folder = known_state(tmp_path, process, 1)
    assert api.stop_sweep(folder.id, runs_dir=tmp_path).driven
    assert process.wait(timeout=120) == 0
    assert folder.read().status == "interrupted"
    with pytest.raises(GymnastError, match="is not being worked on"):
        api.stop_sweep(folder.id, runs_dir=tmp_path)


def test_a_finished_sweep_is_not_continued_without_more_trials(tmp_path: Path) -> None:
    sweep = swept(trials=2, runs_dir=tmp_path)
    with pytest.raises(GymnastError, match=r"is finished; more trials: .* --trials 4"):
        api.resume_sweep(sweep.id, runs_dir=tmp_path)
    with pytest.raises(GymnastError, match="has 2 trials already"):
        api.resume_sweep(sweep.id, trials=2, runs_dir=tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    sweep = swept(trials=1, runs_dir=tmp_path)
    sweep.folder.state_path.write_text('{"id": 3')
    with pytest.raises(GymnastError, match=r"sweep\.json cannot be read"):
        api.find_sweep(sweep.id, runs_dir=tmp_path)
    assert api.list_sweeps(runs_dir=tmp_path) == []


def test_trials_may_start_from_a_policy(tmp_path: Path) -> None:
    run = api.train("CartPole-v1:ppo", overrides=SMALL, runs_dir=tmp_path)
    sweep = swept(trials=3, workers=1, init_from="@last", runs_dir=tmp_path)  # when it begins: not a trial
    infos = [
        json.loads((tmp_path / trial.runs[0].run_id / "run.json").read_text()) for trial in sweep.state.trials
    ]
    assert [info["init_from"] for info in infos] == [sweep.state.plan.init_from] * 3
    assert infos[0]["init_from"].startswith(f"{run.id}/")
    with pytest.raises(GymnastError, match="no run 'nothing'"):
        swept(init_from="nothing", runs_dir=tmp_path)


def test_several_seeds_of_a_trial(tmp_path: Path) -> None:
    sweep = swept(trials=2, seeds_per_trial=2, runs_dir=tmp_path)
    for trial in sweep.state.trials:
        values = [run.value for run in trial.runs]
        assert len(values) == 2
        assert trial.value == pytest.approx(sum(v for v in values if v is not None) / 2)


def test_a_target_ends_the_search(tmp_path: Path) -> None:
    file = file_with(
        tmp_path,
        "  algo.gamma: {min: 0.9, max: 0.99}",
        "metric: {name: eval/return/mean, goal: maximize, target: 5}",
    )
    sweep = swept(file, trials=20, workers=1, runs_dir=tmp_path)
    assert len(sweep.state.trials) < 5
    assert sweep.state.status == "finished"
