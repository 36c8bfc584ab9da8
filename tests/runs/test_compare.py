"""Comparing real runs: results, thresholds, groups of seeds, and runs of which little can be read."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.charts.plot import PALETTE
from gymnast.errors import GymnastError
from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs.aggregate import Difference
from gymnast.runs.compare import compare
from gymnast.runs.curves import AXES, Curve, normalised_area, reached, read_curve
from gymnast.runs.statistics import Interval
from gymnast.runs.store import RunFolder
from gymnast.runs.summary import evaluations, settings_of
from gymnast.traces.png import decode_png, png_size

SHORT: dict[str, Any] = {"env.n_envs": 8, "eval.every": 1024, "eval.episodes": 5}
FAST, SLOW = 0.005, 0.0001
Trained = dict[tuple[str, float, int], RunFolder]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def trained(root: Path) -> Trained:
    """CartPole with five seeds, FrozenLake with two, each with two learning rates."""
    wanted = [("CartPole-v1", lr, seed) for lr in (FAST, SLOW) for seed in range(5)]
    wanted += [("FrozenLake-v1", lr, seed) for lr in (FAST, SLOW) for seed in range(2)]
    return {
        (env, lr, seed): api.train(
            f"{env}:ppo",
            overrides={**SHORT, "algo.lr": lr, "seed": seed},
            max_env_steps=4096 if env == "CartPole-v1" else 1024,
            runs_dir=root,
        ).folder
        for env, lr, seed in wanted
    }


@pytest.fixture
def copies(trained: Trained, tmp_path: Path) -> list[RunFolder]:
    """Two runs whose files a test may damage."""
    made = []
    for seed in (0, 1):
        run = trained["CartPole-v1", FAST, seed]
        shutil.copytree(run.path, tmp_path / run.id)
        made.append(RunFolder(tmp_path / run.id))
    return made


def cartpole(trained: Trained, *lrs: float, seeds: int = 5) -> list[RunFolder]:
    return [trained["CartPole-v1", lr, seed] for lr in lrs for seed in range(seeds)]


def test_results_are_read_off_the_evaluations(trained: Trained) -> None:
    runs = cartpole(trained, FAST, SLOW, seeds=2)
    found = compare(runs, threshold=200.0)
    assert found.settings == {"seed": [0, 1, 0, 1], "algo.lr": [FAST, FAST, SLOW, SLOW]}
    for run, entry, result in zip(runs, found.runs, found.results, strict=True):
        evals = evaluations(run)
        scores = [point.score for point in evals]
        assert (result.final, result.best) == (scores[-1], max(scores))
        assert (result.env_steps, result.score_auc) == (entry.env_steps, entry.score_auc)
        first = next((point.env_steps for point in evals if point.score >= 200.0), None)
        assert result.steps_to_threshold == first
        assert result.reached is (first is not None)
        assert (result.seconds_to_threshold is None) is (first is None)
        if result.seconds_to_threshold is not None:
            assert 0 < result.seconds_to_threshold <= result.seconds
    assert {result.reached for result in found.results} == {True, False}  # or it would test half of it
    assert compare(runs).envs["CartPole-v1"].threshold == 475.0  # of the config
    assert found.envs["CartPole-v1"].threshold == 200.0


def test_area_is_the_mean_over_every_single_step(trained: Trained) -> None:
    runs = cartpole(trained, FAST, SLOW, seeds=2)
    found = compare(runs, threshold=100.0)
    scale = found.envs["CartPole-v1"]
    assert scale.start is not None
    assert scale.area_budget == min(r.env_steps for r in found.results if not r.reached or r.final != 500)
    assert scale.start == pytest.approx(np.mean([read_curve(run).start for run in runs]))
    for run, result in zip(runs, found.results, strict=True):
        total, score = 0.0, scale.start
        points = {point.env_steps: point.score for point in evaluations(run)}
        for step in range(int(scale.area_budget)):
            score = points.get(step, score)
            total += min(max((score - scale.start) / (100.0 - scale.start), 0.0), 1.0)
        assert result.area == pytest.approx(total / scale.area_budget)


def test_area_of_curves_made_by_hand() -> None:
    def curve(steps: list[float], scores: list[float]) -> Curve:
        x = dict.fromkeys(AXES, np.array(steps))
        return Curve("score", x, np.array(scores), dict.fromkeys(AXES, steps[-1]), 0.0)

    assert normalised_area(curve([50], [10]), 0, 10, 100) == 0.5
    assert normalised_area(curve([0], [20]), 0, 10, 100) == 1.0  # not above 1
    assert normalised_area(curve([0], [-5]), 0, 10, 100) == 0.0  # nor below 0
    assert normalised_area(curve([20, 60, 200], [5, 10, 10]), 0, 10, 100) == pytest.approx(0.2 + 0.4)
    assert normalised_area(curve([0], [1]), 5, 5, 100) is None
    assert reached(curve([1, 2, 3], [1, 9, 5]), 5) == (2, 2)
    assert reached(curve([1, 2, 3], [9, 5, 1]), 5, lower=True) == (2, 2)
    assert reached(curve([1, 2], [1, 2]), 5) is None


def test_five_seeds_have_an_approximate_interval_and_a_verdict(trained: Trained) -> None:
    found = compare(cartpole(trained, FAST, SLOW), group_by="auto")
    fast, slow = found.groups
    assert (fast.name, slow.name) == (f"algo.lr={FAST}", f"algo.lr={SLOW}")
    assert len(fast.runs) == len(slow.runs) == 5
    (numbers,) = fast.envs
    assert numbers.interval is not None
    assert numbers.interval.approximate
    assert numbers.caveat == "approximate"
    assert numbers.interval.low <= numbers.iqm <= numbers.interval.high
    assert numbers.iqm == pytest.approx(np.sort(numbers.scores)[1:-1].mean())
    (difference,) = found.differences
    assert difference.interval is not None
    assert difference.interval.low > 0
    assert difference.verdict() == f"algo.lr={FAST} is better than algo.lr={SLOW} (approximate: 5 seeds)"
    assert difference.probability > 0.9
    (curve,) = fast.curves
    assert curve.x[0] == 0
    assert len(curve.x) == len(curve.iqm) == len(curve.low)
    assert compare(cartpole(trained, FAST, SLOW), group_by="auto").to_json() == found.to_json()


def test_better_is_not_said_of_the_same_settings(trained: Trained) -> None:
    runs = cartpole(trained, SLOW)
    (alone,) = compare(runs, group_by="auto").groups
    assert alone.name == "all runs"
    by_seed = compare(runs, group_by="seed")
    assert len(by_seed.groups) == 5
    assert {d.verdict() for d in by_seed.differences} == {
        "no difference shown: too few seeds (1, an interval needs 5)"
    }


def test_lower_is_better_where_the_catalogue_says_so(trained: Trained) -> None:
    found = compare(cartpole(trained, FAST, SLOW), group_by="algo.lr", metric="time/update_seconds")
    (difference,) = found.differences
    assert found.better == "lower"
    assert difference.probability + _chance_of_higher(found.groups) == pytest.approx(1.0)
    neither = compare(cartpole(trained, FAST, SLOW), group_by="algo.lr", metric="train/value/mean")
    assert neither.better is None
    assert "better" not in neither.differences[0].verdict()
    assert all(result.area is None and result.threshold is None for result in neither.results)


@pytest.mark.parametrize(
    ("better", "gain", "words"),
    [
        ("higher", 3.0, "A is better than B"),
        ("higher", -3.0, "B is better than A"),
        ("lower", 3.0, "B is better than A"),
        ("lower", -3.0, "A is better than B"),
        (None, -3.0, "B is higher than A"),
    ],
)
def test_verdict_names_the_better_one(better: str | None, gain: float, words: str) -> None:
    interval = Interval(gain - 1, gain + 1, approximate=False)
    found = Difference("a", "b", "Env-v0", 10, gain, interval, 0.9, interval, better)
    assert found.verdict("A", "B") == words
    assert replace(found, interval=Interval(-1, 1, approximate=False)).verdict() == "no difference shown"


def _chance_of_higher(groups: Any) -> float:
    first, second = (np.array(group.envs[0].scores) for group in groups)
    return float((first[:, None] > second).mean())


def test_few_seeds_give_points_without_an_interval(trained: Trained) -> None:
    found = compare(cartpole(trained, FAST, SLOW, seeds=3), group_by="algo.lr")
    for group in found.groups:
        assert group.envs[0].interval is None
        assert group.envs[0].caveat == "too few seeds (3) for an interval"
        assert len(group.envs[0].scores) == 3
        assert all(math.isnan(value) for value in group.curves[0].low)
    assert "better" not in found.differences[0].verdict()
    assert "too few seeds (3" in found.differences[0].verdict()


def test_several_envs_are_compared_one_by_one_and_normalised_together(trained: Trained) -> None:
    found = compare(list(trained.values()), group_by="algo.lr")
    assert any("scores compare only within an env" in note for note in found.notes)
    for group in found.groups:
        envs = {one.env: one for one in group.envs}
        assert list(envs) == ["CartPole-v1", "FrozenLake-v1", None]
        assert (envs["CartPole-v1"].seeds, envs["FrozenLake-v1"].seeds, envs[None].seeds) == (5, 2, 2)
        assert envs["CartPole-v1"].interval is not None
        assert envs[None].interval is None
        assert group.profile is not None
        assert group.profile.shares == tuple(sorted(group.profile.shares, reverse=True))
        scale = found.envs["CartPole-v1"]
        assert scale.normalised(scale.start) == 0
        assert scale.normalised(scale.threshold) == 1
    assert [d.env for d in found.differences] == ["CartPole-v1", "FrozenLake-v1", None]


def test_the_same_run_twice_is_one_sample(trained: Trained, root: Path) -> None:
    again = api.train(
        "CartPole-v1:ppo", overrides={**SHORT, "algo.lr": FAST, "seed": 0}, max_env_steps=4096, runs_dir=root
    ).folder
    runs = cartpole(trained, FAST)
    found = compare([*runs, again], group_by="auto")
    assert found.groups[0].envs[0].runs == 5
    assert any(f"without {runs[0].id}" in note and "same settings and seed" in note for note in found.notes)
    shutil.rmtree(again.path)


def test_groups_that_mix_settings_say_so(trained: Trained) -> None:
    found = compare(cartpole(trained, FAST, SLOW), group_by="env")
    assert any("its runs also differ in algo.lr" in note for note in found.notes)


@pytest.mark.parametrize("axis", AXES)
def test_curves_by_any_axis(trained: Trained, axis: str) -> None:
    run = trained["CartPole-v1", FAST, 0]
    found = compare([run, trained["CartPole-v1", SLOW, 0]], axis=axis, group_by="algo.lr")
    curve = found.to_json()["curves"][0]
    assert curve["y"] == [point.score for point in evaluations(run)]
    assert curve["x"] == sorted(curve["x"])
    steps = [point.env_steps for point in evaluations(run)]
    if axis == "env_steps":
        assert curve["x"] == steps
    if axis == "vec_steps":
        assert curve["x"] == [step / 8 for step in steps]


def test_score_aucs_of_different_budgets_are_said_not_to_compare(trained: Trained, root: Path) -> None:
    short = api.train("CartPole-v1:ppo", overrides=SHORT, max_env_steps=2048, runs_dir=root).folder
    found = compare([trained["CartPole-v1", FAST, 0], short])
    assert "CartPole-v1: budgets differ, so score AUCs do not compare; areas do" in found.notes
    assert not [note for note in compare(cartpole(trained, FAST)).notes if "budgets" in note]
    shutil.rmtree(short.path)


def test_run_that_was_never_evaluated_is_compared_by_its_training_return(
    trained: Trained, root: Path
) -> None:
    plain = api.train(
        "CartPole-v1:ppo", overrides={**SHORT, "eval.every": 0}, max_env_steps=1024, runs_dir=root
    ).folder
    found = compare([trained["CartPole-v1", FAST, 0], plain])
    assert found.results[1].metric.startswith("train/return")
    assert found.results[1].final is not None
    assert any(f"{plain.id}: never evaluated" in note for note in found.notes)
    shutil.rmtree(plain.path)


def test_what_is_readable_is_shown(copies: list[RunFolder]) -> None:
    first, second = copies
    whole = compare(copies).results
    with first.metrics_path.open("a") as file:
        file.write("4096,51")  # killed while it wrote a row
    assert compare(copies).results == whole
    second.metrics_path.unlink()
    found = compare(copies, group_by="auto")
    assert replace(found.results[0], area=None) == replace(whole[0], area=None)  # its scale has changed
    assert found.results[1].final is None
    assert any(note == f"{second.id}: no metrics" for note in found.notes)
    first.config_path.write_text("seed: [")
    found = compare(copies, group_by="auto")
    assert any(note.startswith(f"{first.id}: ") and "YAML" in note for note in found.notes)
    assert found.results[0].final == whole[0].final
    assert found.envs["CartPole-v1"].threshold == 475.0  # of the other config
    second.config_path.unlink()
    assert compare(copies).envs["CartPole-v1"].threshold == 475.0  # Gymnasium's own
    assert json.loads(json.dumps(found.to_json()))["results"][0]["final"] == whole[0].final


def test_an_evaluation_in_the_background_counts_for_the_step_of_its_weights(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    with Recorder(run.metrics_path) as recorder:
        for update in (1, 2, 3, 4):
            row = dict.fromkeys(COUNTERS, 0) | {
                "time/env_steps": 800 * update, "time/vec_steps": 100 * update, "time/updates": update,
                "time/seconds": 10 * update, "train/return/mean": 7.0 + update,
            }  # fmt: skip
            recorder.write(row | ({"eval/env_steps": 1600, "eval/return/mean": 50.0} if update == 4 else {}))
    curve = read_curve(run)
    assert {axis: x.tolist() for axis, x in curve.x.items()} == {
        "vec_steps": [200], "env_steps": [1600], "updates": [2], "seconds": [40],  # when it was known
    }  # fmt: skip
    assert (curve.start, curve.last["env_steps"]) == (8.0, 3200)
    assert curve.at("env_steps", np.array([0, 800, 1600, 3200])).tolist() == [8, 29, 50, 50]


def test_edited_thresholds_are_not_believed(copies: list[RunFolder]) -> None:
    for value in (".nan", "abc", "[1]", "true", f"1{'0' * 400}"):
        for run in copies:
            config = run.config_path.read_text()
            run.config_path.write_text(config.replace("solved_at: 475.0", f"solved_at: {value}"))
        assert compare(copies).envs["CartPole-v1"].threshold in (475.0, None)
        assert all(isinstance(result.final, float) for result in compare(copies).results)
        for run in copies:
            run.config_path.write_text(config)


def test_settings_are_those_of_the_whole_config(trained: Trained, copies: list[RunFolder]) -> None:
    from gymnast.config.reading import parse_yaml

    for run in trained.values():
        text = run.config_text()
        settings = settings_of(run)
        assert settings["seed"] == run.info()["seed"]
        assert next(iter(settings)) == "seed"
        flat = parse_yaml(text, "config")
        assert settings["algo.lr"] == flat["algo"]["lr"]
        assert settings["env.spec.solved_at"] == flat["env"]["spec"]["solved_at"]
    run = copies[0]
    run.config_path.write_text(f"{text}seed: 3\n")
    with pytest.raises(GymnastError, match=r"config.yaml.*seed"):
        settings_of(run)  # twice
    run.config_path.write_text("seed: 1\nenv:\n  kwargs: {api_token: hf_abcdefgh12345678}\n")
    assert settings_of(run) == {"seed": 1, "env.kwargs.api_token": "***"}


def test_bad_requests_name_the_nearest(trained: Trained) -> None:
    runs = cartpole(trained, FAST, seeds=2)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"group_by": "algo.nme"}, r"no setting 'algo.nme' .did you mean 'algo.name'"),
        ({"group_by": "lr"}, r"no setting 'lr' .did you mean 'algo.lr'"),
        ({"group_by": " , "}, r"takes settings or auto"),
        ({"metric": "eval/return/men"}, r"no.* metric 'eval/return/men' .did you mean 'eval/return/mean'"),
        ({"axis": "vecsteps"}, r"no x axis 'vecsteps'.*did you mean 'vec_steps'"),
        ({"threshold": float("nan")}, r"the threshold is a number, not nan"),
    ]
    for arguments, message in wrong:
        with pytest.raises(GymnastError, match=message):
            compare(runs, **arguments)


def command(root: Path, *words: str, columns: int = 160) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", "runs", "compare", *words, "--runs-dir", str(root)],
        check=False, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        env=os.environ | {"COLUMNS": str(columns)},
    )  # fmt: skip


def test_command_draws_a_picture_and_keeps_json_clean(trained: Trained, root: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curves.png"
    words = ("--env", "CartPole-v1", "--group-by", "auto", "--picture", str(picture), "--json")
    done = command(root, *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [entry["id"] for entry in found["runs"]] == [run.id for run in cartpole(trained, FAST, SLOW)]
    assert set(found) >= {"runs", "settings", "results", "groups", "differences", "curves", "envs", "notes"}
    assert found["differences"][0]["verdict"].startswith(f"algo.lr={FAST} is better")
    width, height = png_size(picture.read_bytes())
    drawn = decode_png(picture.read_bytes())
    assert drawn.shape == (height, width, 3)
    for colour in PALETTE[:2]:  # two curves
        assert (np.abs(drawn.astype(int) - colour).max(-1) < 10).sum() > 200
    again = command(root, *words)
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists already; --force replaces it" in again.stderr
    for wrong, message in (("curves.jpg", "ends in .png"), ("no/such/folder.png", "there is no folder")):
        refused = command(root, *words[:5], str(tmp_path / wrong))
        assert refused.returncode == 2
        assert message in refused.stderr


@pytest.mark.parametrize("columns", [60, 160])
def test_command_tells_it_in_words(trained: Trained, root: Path, columns: int) -> None:
    done = command(root, "--env", "CartPole-v1", "--group-by", "algo.lr", columns=columns)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    tables = [line for line in text.splitlines() if line.startswith(" ") and "──" not in line]
    assert max(map(len, tables)) <= columns
    assert text.index("settings that differ") < text.index("IQM") < text.index("status")
    assert "A is better than B (approximate: 5 seeds)" in text
    assert "clip((score - start) / (threshold - start), 0, 1)" in text
    assert "1/B · Σ best(k)" in text
    assert ("> 4.1k" if columns == 60 else "not reached, > 4.1k") in text
    assert "AAAAA" in text  # the curve


def test_command_gives_markdown_to_paste(trained: Trained, root: Path) -> None:
    runs = [run.id for run in cartpole(trained, FAST, SLOW, seeds=2)]
    text = command(root, *runs, "--markdown").stdout
    rows = [line for line in text.splitlines() if line.startswith("|")]
    tables = [len(list(group)) for _, group in groupby(text.splitlines(), lambda line: line[:1] == "|")]
    assert len({row.replace("\\|", "").count("|") for row in rows[:4]}) == 1
    assert sum(any(run in row for row in rows) for run in runs) == 4
    assert f"| algo.lr | {FAST} | {FAST} | {SLOW} | {SLOW} |" in rows
    assert 6 in tables  # head, line, four runs
    assert command(root, *runs, "--markdown", "--json").returncode == 2
    assert "at least two different runs" in command(root, runs[0]).stderr


def test_schedule_is_one_setting_beside_a_number(tmp_path: Path) -> None:
    """Grouping by algo.lr keeps two schedules apart, and both from a number."""
    rates: list[Any] = [
        0.003,
        {"kind": "linear", "start": 0.003, "end": 0.0},
        {"kind": "linear", "start": 0.001, "end": 0.0},
    ]
    runs = [
        api.train(
            "CartPole-v1:ppo",
            overrides={**SHORT, "algo.lr": rate, "eval.every": 0, "seed": seed},
            max_env_steps=512,
            runs_dir=tmp_path,
        ).folder
        for seed in range(2)
        for rate in rates
    ]
    found = compare(runs, group_by="algo.lr")
    assert [group.name for group in found.groups] == [
        "algo.lr=0.003",
        "algo.lr={kind: linear, start: 0.003, end: 0.0}",
        "algo.lr={kind: linear, start: 0.001, end: 0.0}",
    ]
    assert [len(group.runs) for group in found.groups] == [2, 2, 2]
    assert found.settings == {"seed": [0, 0, 0, 1, 1, 1], "algo.lr": rates * 2}
    assert found.settings_shown()["algo.lr"][1] == "{kind: linear, start: 0.003, end: 0.0}"
