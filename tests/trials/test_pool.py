"""The pool of this machine: what dies, hangs or fails costs itself alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gymnast.errors import GymnastError
from gymnast.runs.store import RunFolder
from gymnast.trials.pool import LocalPool
from gymnast.trials.trial import Trial, TrialState

PRESET = "CartPole-v1:ppo"
SMALL: dict[str, Any] = {
    "budget.env_steps": 4096,
    "eval.every": 2048,
    "eval.episodes": 2,
    "checkpoint.rollout_table": False,
}
Wait = Callable[..., dict[str, TrialState]]
ENVS = "trials.breaking_envs:Breaking"
pytestmark = pytest.mark.timeout(300)  # processes start slowly on a busy machine


@pytest.fixture(autouse=True)
def _own_envs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))


def breaking(run_id: str, how: str, **more: Any) -> Trial:
    settings = {
        **SMALL, "env.n_envs": 2, "env.backend": "sync", "algo.n_steps": 64, "algo.batch_size": 64,
        "env.kwargs": {"how": how, "after": 400, **more}, "eval.every": 0,
    }  # fmt: skip
    return Trial(run_id, ENVS, settings, no_progress_limit=10.0 if how == "hang" else None)


def test_trials_are_trained_one_after_the_other(runs: Path, until_ended: Wait) -> None:
    with LocalPool(2, runs) as pool:
        assert pool.capacity == 2
        for seed in range(5):
            pool.submit(Trial(f"t-{seed}", PRESET, {**SMALL, "seed": seed}))
        ended = until_ended(pool, *(f"t-{seed}" for seed in range(5)))
    assert {state.status for state in ended.values()} == {"finished"}
    assert {RunFolder(runs / f"t-{seed}").info()["seed"] for seed in range(5)} == set(range(5))
    assert pool.poll() == []


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("exit", "lost", "ended with code 7"),
        ("segfault", "lost", "SIGSEGV"),
        ("raise", "failed", "out of order"),
    ],
)
def test_an_env_that_breaks_costs_its_trial_alone(
    runs: Path, until_ended: Wait, how: str, status: str, said: str
) -> None:
    with LocalPool(1, runs) as pool:
        pool.submit(breaking("broken", how))
        pool.submit(Trial("sound", PRESET, SMALL))
        ended = until_ended(pool, "broken", "sound")
    assert ended["broken"].status == status
    assert said in ended["broken"].message
    if status == "lost":
        assert "the last words of step 400" in ended["broken"].message
    assert ended["sound"].status == "finished"


def test_divergence_is_a_failure_and_stays_one(runs: Path, until_ended: Wait) -> None:
    with LocalPool(1, runs) as pool:
        for _ in range(2):
            pool.submit(breaking("wild", "huge"))
            state = until_ended(pool, "wild")["wild"]
            assert state.status == "failed"
            assert "NaN" in state.message


def test_a_trial_that_hangs_is_ended(runs: Path, until_ended: Wait) -> None:
    with LocalPool(1, runs) as pool:
        pool.submit(breaking("stuck", "hang"))
        pool.submit(Trial("sound", PRESET, SMALL))
        ended = until_ended(pool, "stuck", "sound")
    assert ended["stuck"].status == "failed"
    assert "no sign of life for 10 s" in ended["stuck"].message
    assert "the last words" in ended["stuck"].message
    assert ended["sound"].status == "finished"


def test_a_slow_env_is_not_taken_for_a_hanging_one(runs: Path, until_ended: Wait) -> None:
    trial = breaking("slow", "slow")
    one_update = {**trial.overrides, "budget.env_steps": 128}  # of some 15 s
    with LocalPool(1, runs) as pool:
        pool.submit(replace(trial, overrides=one_update, no_progress_limit=10.0))
        ended = until_ended(pool, "slow")
    assert ended["slow"].status == "finished", ended["slow"].message


def test_a_lost_trial_that_is_ordered_again_finishes(runs: Path, until_ended: Wait, tmp_path: Path) -> None:
    trial = breaking("twice", "exit", once=str(tmp_path / "done"))
    with LocalPool(1, runs) as pool:
        pool.submit(trial)
        assert until_ended(pool, "twice")["twice"].status == "lost"
        pool.submit(trial)
        assert until_ended(pool, "twice")["twice"].status == "finished"


def test_a_trial_stops_on_request_and_continues(runs: Path, until_ended: Wait) -> None:
    long = {**SMALL, "budget.env_steps": 3_000_000, "stop.eval_return": None, "eval.every": 0}
    with LocalPool(1, runs) as pool:
        pool.submit(Trial("long", PRESET, long))
        pool.submit(Trial("queued", PRESET, SMALL))
        while not any(state.env_steps for state in pool.poll(1.0)):
            pass
        pool.stop("queued")
        pool.stop("long")
        ended = until_ended(pool, "long", "queued")
        assert {state.status for state in ended.values()} == {"stopped"}
        steps = ended["long"].env_steps
        pool.submit(Trial("long", PRESET, long, stop_at=steps + 2000))
        ended = until_ended(pool, "long")
    assert ended["long"].status == "paused"
    assert ended["long"].env_steps >= steps + 2000
    assert not (runs / "queued").exists()


def test_a_closed_pool_has_saved_what_it_trained(runs: Path) -> None:
    long = {**SMALL, "budget.env_steps": 3_000_000, "stop.eval_return": None, "eval.every": 0}
    pool = LocalPool(1, runs)
    pool.submit(Trial("long", PRESET, long))
    while not any(state.env_steps for state in pool.poll(1.0)):
        pass
    pool.close()
    from gymnast.runs import registry

    entry = registry.entry_of(RunFolder(runs / "long"))
    assert entry.status == "interrupted"
    assert entry.env_steps > 0


def test_workers_die_with_a_driver_that_is_killed(runs: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom gymnast.trials.pool import LocalPool\nfrom gymnast.trials.trial import Trial\n"
        f"pool = LocalPool(1, {str(runs)!r})\n"
        f"pool.submit(Trial('long', {PRESET!r}, {{'budget.env_steps': 9_000_000, 'stop.eval_return': None,"
        " 'eval.every': 0}))\n"
        "while not any(s.env_steps for s in pool.poll(1.0)): pass\n"
        "print(pool._workers[0].child.process.pid, flush=True)\npool.poll(600)\nwhile True: pool.poll(600)\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    worker = int(driver.stdout.readline())
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    deadline = time.monotonic() + 100
    while _lives(worker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _lives(worker)
    assert not RunFolder(runs / "long").is_locked()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_bad_orders_are_refused(runs: Path) -> None:
    with pytest.raises(GymnastError, match="0 workers"):
        LocalPool(0, runs)
    with LocalPool(1, runs) as pool:
        with pytest.raises(GymnastError, match="not a run id"):
            pool.submit(Trial("../x", PRESET, SMALL))
        pool.submit(Trial("twice", PRESET, SMALL))
        with pytest.raises(GymnastError, match="already"):
            pool.submit(Trial("twice", PRESET, SMALL))
    with pytest.raises(GymnastError, match="closed"):
        pool.submit(Trial("late", PRESET, SMALL))
