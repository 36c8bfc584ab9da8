"""Which run is the best: `@best`, `gymnast runs best` and `api.best_runs` on the same folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gymnast import api
from gymnast.cli.runs import app
from gymnast.errors import GymnastError
from gymnast.runs import registry
from gymnast.runs.registry import RunEntry
from gymnast.runs.selection import best_by_env, select
from gymnast.runs.store import RunFolder

NewRun = Callable[..., RunFolder]


def best_of(root: Path) -> str:
    """The best run's id, which every way to ask for it gives."""
    listed = CliRunner().invoke(app, ["best", "--json", "--runs-dir", str(root)])
    assert listed.exit_code == 0, listed.output
    (entry,) = json.loads(listed.output)
    (from_python,) = api.best_runs(runs_dir=root)
    assert entry["id"] == from_python.id == api.find_run("@best", runs_dir=root).id
    return str(entry["id"])


def scored(root: Path, new_run: NewRun, score: float | None, **changes: Any) -> RunFolder:
    run = new_run()
    registry.update(root, run.id, status="finished", best_score=score, **changes)
    return run


def make_mix(run: RunFolder) -> None:
    run.metrics_path.write_text("time/env_steps,eval/return/mean,eval/task/left/return/mean\n")


def test_highest_score_is_best(root: Path, new_run: NewRun) -> None:
    scored(root, new_run, -5.0)
    high = scored(root, new_run, -3.0)
    scored(root, new_run, -4.0)
    scored(root, new_run, None)
    assert best_of(root) == high.id


def test_newest_of_equal_scores_is_best(root: Path, new_run: NewRun) -> None:
    for _ in range(3):
        newest = scored(root, new_run, 500.0)
        assert best_of(root) == newest.id


def test_solved_mix_ranks_above_a_higher_mean(root: Path, new_run: NewRun) -> None:
    solved = scored(root, new_run, 50.0, solved=True)
    unsolved = scored(root, new_run, 80.0)
    assert best_of(root) == unsolved.id, "without tasks the score decides, whatever a threshold was"
    for run in (solved, unsolved):
        make_mix(run)
    assert best_of(root) == solved.id
    better = scored(root, new_run, 60.0, solved=True)
    make_mix(better)
    assert best_of(root) == better.id


def test_runs_of_several_envs_have_a_best_each(root: Path, new_run: NewRun) -> None:
    cart = scored(root, new_run, 100.0)
    pendulum = new_run("Pendulum-v1")
    registry.update(root, pendulum.id, status="finished", best_score=-200.0)
    found = {entry.env: entry.id for entry in api.best_runs(runs_dir=root)}
    assert found == {"CartPole-v1": cart.id, "Pendulum-v1": pendulum.id}
    assert [entry.id for entry in api.best_runs("pend", runs_dir=root)] == [pendulum.id]
    with pytest.raises(GymnastError, match=r"scores of CartPole-v1, Pendulum-v1 do not compare"):
        api.find_run("@best", runs_dir=root)


def test_nothing_evaluated_is_an_error_both_ways(root: Path, new_run: NewRun) -> None:
    scored(root, new_run, None)
    with pytest.raises(GymnastError, match=r"was evaluated yet"):
        api.find_run("@best", runs_dir=root)
    with pytest.raises(GymnastError, match=r"was evaluated yet"):
        api.best_runs(runs_dir=root)


ENTRIES = st.lists(
    st.builds(
        RunEntry,
        id=st.text("abc", min_size=3, max_size=3),
        env=st.sampled_from(["A", "B"]),
        created=st.text("123", min_size=2, max_size=2),
        best_score=st.none() | st.sampled_from([-1.0, 0.0, float("nan"), 1.0]),
        status=st.sampled_from(["finished", "failed"]),
    ),
    unique_by=lambda entry: entry.id,
)


@given(ENTRIES, st.randoms())
def test_order_of_the_runs_does_not_matter(found: list[RunEntry], random: Any) -> None:
    best = best_by_env(Path("nowhere"), found)
    shuffled = list(found)
    random.shuffle(shuffled)
    assert best_by_env(Path("nowhere"), shuffled) == best
    for entry in found:
        if entry.best_score is not None and entry.best_score == entry.best_score:
            assert (best[entry.env].best_score or 0.0) >= entry.best_score


@given(ENTRIES)
def test_filters_keep_the_order(found: list[RunEntry]) -> None:
    failed = select(found, status="failed")
    assert failed == [entry for entry in found if entry.status == "failed"]
    assert select(found, status="failed", limit=1) == failed[:1]
