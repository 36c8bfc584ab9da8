"""What actors collect is what one process would have collected, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster.short_runs import CASES, assert_same, train
from gymnast import api
from gymnast.training.requests import Request
from gymnast.training.run.keys import TerminalKeys
from training.conftest import PressAt

pytestmark = pytest.mark.timeout(400)  # three processes and more for each run


def stop_after(updates: int) -> TerminalKeys:
    return PressAt({updates: Request.STOP})


@pytest.mark.parametrize("name", [name for name in CASES if name != "pixels"])
def test_three_actors_give_the_bits_of_one_process(name: str, tmp_path: Path) -> None:
    here = train(name, tmp_path)
    there = train(name, tmp_path, cluster__on="local", cluster__actors=3)
    assert_same(here, there)
    assert there.metrics()[-1]["time/actors/connected"] == 3


@pytest.mark.parametrize("actors", [1, 5])
def test_bits_do_not_depend_on_the_number_of_actors(actors: int, tmp_path: Path) -> None:
    """One env per actor: without the rows of others beside it, a product of one row has other bits."""
    here = train("pendulum", tmp_path)
    assert_same(here, train("pendulum", tmp_path, cluster__on="local", cluster__actors=actors))


def test_torch_gives_the_same_bits_too(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    here = train("pendulum", tmp_path, engine="torch")
    assert_same(here, train("pendulum", tmp_path, engine="torch", cluster__on="local", cluster__actors=2))


def test_actors_that_only_step_give_the_same_bits(tmp_path: Path) -> None:
    on = {"cluster__on": "local", "cluster__mode": "steps", "cluster__actors": 2}
    there = train("pendulum", tmp_path, **on)
    assert there.metrics()[-1]["time/actors/connected"] == 2
    assert_same(train("pendulum", tmp_path), there)


def test_pixels_give_the_same_bits_if_asked_to(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("minatar")
    changes: dict[str, Any] = {"env__n_envs": 4, "updates": 2, "budget__env_steps": 2 * 4 * 16}
    here = train("pixels", tmp_path, **changes)
    there = train(
        "pixels", tmp_path, cluster__on="local", cluster__actors=2, cluster__same_bits=True, **changes
    )
    assert_same(here, there)


@pytest.mark.parametrize("name", ["pendulum", "taxi-masked-frames"])
def test_lag_of_one_is_collecting_ahead(name: str, tmp_path: Path) -> None:
    here = train(name, tmp_path, algo__collect_ahead=True)
    there = train(name, tmp_path, cluster__on="local", cluster__actors=2, cluster__lag=1)
    assert [row["train/policy_lag/max"] for row in there.metrics()] == [0, 1, 1, 1, 1, 1]
    assert_same(here, there)


def test_collect_ahead_is_the_default_of_the_lag(tmp_path: Path) -> None:
    run = train("cartpole", tmp_path, cluster__on="local", cluster__actors=2, algo__collect_ahead=True)
    assert run.metrics()[-1]["train/policy_lag/mean"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1, 3])
@pytest.mark.parametrize("name", ["pendulum", "taxi-masked-frames"])
def test_resumes_exactly_on_another_number_of_actors(name: str, lag: int, tmp_path: Path) -> None:
    on: dict[str, Any] = {"cluster__on": "local", "cluster__lag": lag}
    if lag > 1:
        on["algo__advantage"] = "vtrace"
    whole = train(name, tmp_path, updates=8, **on, cluster__actors=2)
    lags = [row["train/policy_lag/max"] for row in whole.metrics()]
    assert lags == [min(update, lag) for update in range(8)]
    run = train(name, tmp_path, stop_after(3), updates=8, **on, cluster__actors=2)
    assert run.outcome.status == "interrupted"
    run = api.resume(run.id, runs_dir=tmp_path, overrides={"cluster.actors": 3}, requests=stop_after(2))
    run = api.resume(run.id, runs_dir=tmp_path, overrides={"cluster.actors": 1})
    assert run.outcome.status == "finished"
    assert "new episodes" not in run.folder.log_path.read_text()
    assert_same(whole, run)


def test_moves_to_actors_and_back(tmp_path: Path) -> None:
    whole = train("pendulum", tmp_path)
    run = train("pendulum", tmp_path, stop_after(2))
    on = {"cluster.on": "local", "cluster.actors": 2}
    run = api.resume(run.id, runs_dir=tmp_path, overrides=on, requests=stop_after(2))
    run = api.resume(run.id, runs_dir=tmp_path, overrides={"cluster.on": "none"})
    assert_same(whole, run)


def test_resume_with_another_number_of_envs_starts_new_episodes(tmp_path: Path) -> None:
    on: dict[str, Any] = {"cluster__on": "local", "cluster__actors": 2}
    run = train("pendulum", tmp_path, stop_after(2), **on)
    run = api.resume(run.id, runs_dir=tmp_path, overrides={"env.n_envs": 7, "budget.env_steps": 1000})
    log = run.folder.log_path.read_text()
    assert run.outcome.status == "finished"
    assert "another number of envs: new episodes start" in log
