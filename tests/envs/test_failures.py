"""Envs that raise, return NaN or die: said with index and seed, and never a hang or a leftover process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gymnast.envs.build import build_envs, env_seeds
from gymnast.envs.contract import EnvFailure
from gymnast.envs.settings import EnvConfig
from gymnast.errors import GymnastError

SEEDS = env_seeds(0, 4)
GO = np.zeros(4, np.int64)


def failing(how: str, bad: int | None = 2) -> EnvConfig:
    seeds = [] if bad is None else [SEEDS[bad]]
    return EnvConfig(id="sample_envs:Failing", kwargs={"how": how, "seeds": seeds}, workers=2)


def wait_until_gone(pids: list[int], seconds: float) -> list[int]:
    end = time.monotonic() + seconds
    while pids and time.monotonic() < end:
        pids = [pid for pid in pids if Path(f"/proc/{pid}").exists() and not is_zombie(pid)]
        time.sleep(0.02)
    return pids


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("backend", "how", "reason"),
    [
        ("sync", "raise", "RuntimeError: the motor broke"),
        ("sync", "nan-obs", "an observation that is not finite"),
        ("sync", "nan-final-obs", "an observation that is not finite"),
        ("sync", "nan-reward", "a reward that is not finite"),
        ("workers", "raise", "RuntimeError: the motor broke"),
        ("remote", "raise", "RuntimeError: the motor broke"),
        ("remote", "nan-reward", "a reward that is not finite"),
        ("workers", "nan-reward", "a reward that is not finite"),
    ],
)
def test_a_failing_env_is_named_with_its_seed(backend: str, how: str, reason: str) -> None:
    envs = build_envs(failing(how), n_envs=4, seed=0, backend=backend)
    try:
        envs.reset()
        envs.step(GO)
        envs.step(GO)
        with pytest.raises(EnvFailure) as failure:
            envs.step(GO)
        assert (failure.value.index, failure.value.seed) == (2, SEEDS[2])
        assert reason in str(failure.value)
        assert f"env 2 (seed {SEEDS[2]})" in str(failure.value)
    finally:
        envs.close()


def test_an_observation_of_the_wrong_shape_is_not_broadcast() -> None:
    envs = build_envs(failing("reset-shape", None), n_envs=4, seed=0, backend="sync")
    with pytest.raises(EnvFailure, match=r"shape \(2,\); its space has \(3,\)"):
        envs.reset()


def test_values_too_large_to_sum_are_no_failure() -> None:
    envs = build_envs(EnvConfig(id="sample_envs:Huge"), n_envs=4, seed=0, backend="sync")
    envs.reset()
    assert envs.step(GO).rewards.tolist() == [1e300] * 4


def test_native_cartpole_refuses_actions_that_it_does_not_have() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1"), n_envs=4, seed=0, backend="native")
    envs.reset()
    with pytest.raises(EnvFailure, match="actions that it does not have"):
        envs.step(np.array([0, 1, 2, 0]))


def test_a_killed_worker_is_reported_at_once_if_nothing_may_be_restarted() -> None:
    config = EnvConfig(id="CartPole-v1", workers=2, restarts={"budget": 0})
    envs = build_envs(config, n_envs=4, seed=0, backend="workers")
    try:
        envs.reset()
        os.kill(envs.process_ids[1], signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(EnvFailure, match="SIGKILL") as failure:
            envs.step(GO)
        assert failure.value.index == 2
        with pytest.raises(EnvFailure):
            envs.snapshot()
        envs.close()
        assert time.monotonic() - start < 3.0
    finally:
        envs.close()


def test_workers_ignore_ctrl_c_and_end_with_close() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1", workers=2), n_envs=4, seed=0, backend="workers")
    pids = envs.process_ids
    envs.reset()
    for pid in pids:
        os.kill(pid, signal.SIGINT)
        assert os.getpgid(pid) != os.getpgid(0)  # the terminal's Ctrl-C does not even reach them
    for _ in range(20):
        envs.step(GO)
    start = time.monotonic()
    envs.close()
    envs.close()
    assert time.monotonic() - start < 1.5
    assert wait_until_gone(pids, 1.0) == []
    with pytest.raises(GymnastError, match="closed"):
        envs.step(GO)


HOLDER = """
import sys, time
import numpy as np
sys.path.insert(0, {here!r})
from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
config = EnvConfig(id="sample_envs:Failing", kwargs={{"how": {how!r}, "at": 1}}, workers=2)
envs = build_envs(config, n_envs=4, seed=0, backend="workers")
envs.reset()
print(*envs.process_ids, flush=True)
envs.step(np.zeros(4, np.int64))
time.sleep(100)
"""


@pytest.mark.parametrize("how", ["nothing", "hang"])
def test_no_worker_outlives_a_killed_parent(how: str) -> None:
    before = set(Path("/dev/shm").iterdir())
    # Run as text, without a `__main__` guard: workers must not run it again.
    program = HOLDER.format(here=str(Path(__file__).parent), how=how)
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    time.sleep(0.1)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_until_gone(pids, 4.0) == []
    assert set(Path("/dev/shm").iterdir()) <= before


def test_close_does_not_wait_for_an_env_that_hangs() -> None:
    envs = build_envs(failing("nothing"), n_envs=4, seed=0, backend="workers")
    envs.reset()
    pids = envs.process_ids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    start = time.monotonic()
    envs.close()
    assert time.monotonic() - start < 3.0
    assert wait_until_gone(pids, 1.0) == []
