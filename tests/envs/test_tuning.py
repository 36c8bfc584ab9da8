"""What is measured, what is chosen from it, and that it is remembered."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.envs.build import build_envs
from gymnast.envs.measure import tuning
from gymnast.envs.measure.capacity import check_fits, observation_bytes
from gymnast.envs.measure.cell import Measured
from gymnast.envs.measure.memory import available_memory, shown_memory, tree_memory
from gymnast.envs.measure.tuning import ENOUGH, Cell, choose, remembered, rollout_steps, tune
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError


def cell(n_envs: int, backend: str, rate: float, processes: int | None = None) -> Cell:
    return Cell(n_envs, backend, processes, measured=Measured(rate, 10**7, None))


def test_the_fewest_envs_that_are_fast_enough() -> None:
    cells = [cell(1, "sync", 100), cell(4, "sync", 390), cell(16, "sync", 410), cell(64, "sync", 420)]
    chosen = choose(cells)
    assert chosen.choice is cells[1]
    assert chosen.reason.startswith("390 steps/s, 93% of the fastest (420 steps/s with 64 envs)")
    assert choose(cells[:2]).reason == "the fastest, 390 steps/s"


def test_processes_must_be_worth_it_and_fewer_are_better() -> None:
    sync, two, four = cell(16, "sync", 100), cell(16, "workers", 120, 2), cell(16, "workers", 123, 4)
    assert choose([sync, two, four]).choice is sync
    fast, faster = cell(16, "workers", 190, 2), cell(16, "workers", 195, 4)
    assert choose([sync, fast, faster]).choice is fast
    assert choose([sync, fast, cell(16, "workers", 260, 4)]).choice.processes == 4
    native = cell(16, "native", 180)
    assert choose([sync, native, faster]).choice is native


def test_what_is_another_implementation_is_never_chosen_by_itself() -> None:
    assert choose([cell(16, "sync", 100), cell(16, "envpool", 900)]).choice.backend == "sync"
    assert choose([cell(16, "envpool", 900)]).choice.backend == "envpool"


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 4, 16, 64]),
            st.sampled_from(["sync", "native", "workers"]),
            st.floats(1, 1e6),
            st.integers(1, 8),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_no_choice_has_more_envs_than_a_fast_enough_one(drawn: list[tuple[int, str, float, int]]) -> None:
    cells = [cell(n, backend, rate, k if backend == "workers" else None) for n, backend, rate, k in drawn]
    chosen, best = choose(cells).choice, max(c.rate for c in cells)
    assert chosen in cells
    assert all(c.n_envs >= chosen.n_envs for c in cells if c.rate >= ENOUGH * best)
    assert any(c.rate >= ENOUGH * best for c in cells if c.n_envs == chosen.n_envs)


@pytest.mark.slow
def test_measuring_is_real_and_remembered(own_cache: Path) -> None:
    config = EnvConfig(id="FrozenLake-v1")
    told: list[Cell] = []
    result = tune(config, (1, 2), 0.1, told.append)
    assert told == list(result.cells)
    pools = {(1, "envpool"), (2, "envpool")} if importlib.util.find_spec("envpool") else set()
    assert {(c.n_envs, c.backend) for c in told} == {(1, "sync"), (2, "sync"), (2, "workers")} | pools
    assert all(c.rate > 10 for c in told)
    workers = [c for c in told if c.backend == "workers"]
    assert len({c.processes for c in workers}) == len(workers)
    if sys.platform == "linux":
        assert all(c.measured is not None and (c.measured.memory or 0) > 5e6 for c in told)
    # Rewards are rare here: one in some dozens of steps at best.
    assert result.steps_between_rewards is None or result.steps_between_rewards > 10
    again = remembered(config, (2, 1))
    assert again == result
    assert remembered(config, (1, 8)) is None
    assert remembered(EnvConfig(id="FrozenLake-v1", kwargs={"is_slippery": False}), (1, 2)) is None
    kept = json.loads((own_cache / "backends.json").read_text()) if result.choice.n_envs > 1 else {}
    assert result.choice.n_envs == 1 or result.choice.backend in kept.values()


def test_a_brief_measurement_leaves_out_what_seldom_wins() -> None:
    config = EnvConfig(id="CartPole-v1")
    assert {(c.n_envs, c.backend) for c in tuning._cells(config, (1, 4), True)} == {
        (1, "sync"),
        (4, "native"),
    }
    full = {(c.n_envs, c.backend) for c in tuning._cells(config, (1, 4), False)}
    assert full >= {(1, "sync"), (1, "native"), (4, "sync"), (4, "native"), (4, "workers")}
    fixed = tuning._cells(EnvConfig(id="CartPole-v1", backend="workers", workers=3), (2, 8), False)
    assert [(c.n_envs, c.backend, c.processes) for c in fixed] == [(2, "workers", 2), (8, "workers", 3)]


def test_envs_that_must_be_alone_are_measured_in_a_process_each() -> None:
    cells = tuning._cells(EnvConfig(id="sample_envs:Alone"), (1, 3), False)
    assert [(c.n_envs, c.backend, c.processes) for c in cells] == [(1, "sync", None), (3, "workers", 3)]


def test_the_chosen_way_is_what_a_config_then_steps_in() -> None:
    config = EnvConfig(id="CartPole-v1", n_envs="auto")
    assert cell(16, "native", 9).applied(config).backend == "auto"  # takes it by rule
    assert cell(16, "sync", 9).applied(config).backend == "sync"
    applied = cell(16, "workers", 9, 4).applied(EnvConfig(id="FrozenLake-v1", n_envs="auto"))
    assert (applied.n_envs, applied.workers, applied.backend) == (16, 4, "auto")
    atari = Cell(16, "native", threads=3).applied(EnvConfig(id="ALE/Pong-v5"))
    assert atari.atari.threads == 3


@pytest.mark.parametrize(
    ("between", "least", "steps"),
    [(1.0, 128, 128), (70.0, 128, 256), (64.0, 128, 128), (1e6, 128, 2048), (None, 5, 1280), (12.5, 5, 40)],
)
def test_rollouts_hold_a_reward_of_most_envs(between: float | None, least: int, steps: int) -> None:
    assert rollout_steps(between, least) == steps


def test_groups_share_the_cores_out_among_themselves() -> None:
    config = EnvConfig(id="FrozenLake-v1", n_envs="auto", groups=2)
    way = cell(16, "workers", 9, 4)
    assert (way.applied(config).groups, way.applied(config).workers) == (2, None)
    assert (way.alone(config).groups, way.alone(config).workers) == (1, 4)


@pytest.mark.parametrize(
    ("how", "problem"), [("raise", "the motor broke"), ("die", "its process was killed by SIGKILL")]
)
def test_an_env_that_fails_is_reported(how: str, problem: str) -> None:
    config = EnvConfig(id="sample_envs:Failing", kwargs={"how": how}, backend="sync")
    with pytest.raises(GymnastError, match=f"could not be stepped: .*{problem}"):
        tune(config, (1,), 0.1)


def test_an_env_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_START_SECONDS", 2.0)
    config = EnvConfig(id="sample_envs:Failing", kwargs={"how": "hang"}, backend="sync")
    with pytest.raises(GymnastError, match=r"took longer than 2\.3 s"):
        tune(config, (1,), 0.1)


def test_what_will_not_fit_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Cell(1, "sync", measured=Measured(1.0, 100 * 10**6, None))
    large = Cell(4, "sync", measured=Measured(1.0, 400 * 10**6, None))
    monkeypatch.setattr(tuning, "available_memory", lambda: 10**9)
    refused = tuning._too_large(Cell(64, "sync"), [small, large])
    assert refused is not None
    assert refused.problem == "would take about 6.4 GB, 1 GB are free"
    assert tuning._too_large(Cell(8, "sync"), [small, large]) is None
    assert tuning._too_large(Cell(64, "native"), [small, large]) is None


def test_a_damaged_cache_is_measured_again(own_cache: Path) -> None:
    config = EnvConfig(id="FrozenLake-v1", backend="sync")
    tune(config, (1,), 0.05)
    file = own_cache / "tuning.json"
    (key,) = json.loads(file.read_text())
    for damage in ("{", [1], {"cells": 3}, {"cells": [{"n_envs": 1}]}, {"cells": []}, None):
        file.write_text(json.dumps({key: damage}))
        assert remembered(config, (1,)) is None
    file.write_text("{")
    assert remembered(config, (1,)) is None


def test_a_rollout_beyond_memory_raises_an_error_with_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymnast.envs.measure.capacity.available_memory", lambda: 100_000_000)
    config = EnvConfig(id="CartPole-v1")
    assert observation_bytes(config) == 16
    check_fits(config, 800, 2048)
    with pytest.raises(GymnastError) as told:
        check_fits(config, 100_000, 2048)
    assert str(told.value) == (
        "env.n_envs=100000: a rollout of 100,000 envs × 2,048 steps with observations of 16 B takes 11.5 GB,"
        " 100 MB of memory are free; at most env.n_envs=871 fits, or a smaller algo.n_steps"
    )
    check_fits(config, 871, 2048)
    with pytest.raises(GymnastError):
        check_fits(config, 872, 2048)
    # Copies that are objects take memory of their own.
    with pytest.raises(GymnastError, match=r"at most env\.n_envs=19\d\d\d fits"):
        check_fits(EnvConfig(id="Acrobot-v1"), 30_000, 1)


def test_envs_of_an_evaluation_beyond_memory_are_refused_before_they_are_built() -> None:
    with pytest.raises(GymnastError, match=r"env\.n_envs=1000000000000: "):
        build_envs(EnvConfig(id="Acrobot-v1"), n_envs=10**12, seed=0)


def test_memory_is_read_from_the_system() -> None:
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    free = available_memory()
    assert free is not None
    assert 0 < free < 1e15
    before = tree_memory()
    assert before is not None
    program = "x = bytearray(80_000_000); print('there', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        after, alone = tree_memory(), tree_memory(child.pid)
        child.communicate("\n")
    assert after is not None
    assert alone is not None
    assert after - before > 60_000_000
    assert 80_000_000 < alone < 200_000_000
    assert tree_memory(os.getpid()) is not None


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1.234e9, "1.23 GB"), (5e15, "5e+03 TB")]
)
def test_sizes_as_people_write_them(size: float, shown: str) -> None:
    assert shown_memory(size) == shown
