"""The process that records: it may crash or hang, and the next recording is made all the same."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymnast.inspect import jobs as jobs_module
from gymnast.inspect.jobs import Job, Jobs
from pages import wait_until

CRASHING = """
import os, signal
import gymnasium as gym, numpy as np

class Crash(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)
    def __init__(self, how="none"):
        self.how, self.at = how, 0
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}
    def step(self, action):
        self.at += 1
        if self.at == 5 and self.how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.at == 5 and self.how == "raises":
            raise ValueError("the track ends here")
        if self.at == 5 and self.how == "hangs":
            import time
            time.sleep(1000)
        if self.how == "prints":
            print("noise " * 1000, flush=True)
        return np.zeros(2, np.float32), 1.0, self.at % 20 == 0, False, {}
"""


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


@pytest.fixture
def crashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A wish for a run of an env that can be told to crash."""
    from gymnast import api

    (tmp_path / "crash_env.py").write_text(CRASHING)
    monkeypatch.syspath_prepend(str(tmp_path))
    changes = {"env.n_envs": 2, "env.backend": "sync", "eval.every": 0, "algo.n_steps": 32}
    run = api.train("crash_env:Crash", overrides=changes, max_env_steps=64, runs_dir=tmp_path / "runs")
    return {
        "reference": run.id,
        "episodes": 1,
        "steps": 30,
        "seed": 0,
        "stochastic": False,
        "task": None,
        "frames": True,
        "overrides": {},
        "runs_dir": str(tmp_path / "runs"),
        "trust": True,
    }


def finished(job: Job) -> Job:
    wait_until(lambda: job.is_over, 60)
    return job


def test_a_crash_fails_one_recording_and_no_other(jobs: Jobs, crashing: dict[str, Any]) -> None:
    killed = finished(jobs.add(crashing | {"overrides": {"env.kwargs.how": "killed"}}))
    assert killed.state == "failed"
    assert "SIGKILL" in (killed.error or "")
    raised = finished(jobs.add(crashing | {"overrides": {"env.kwargs.how": "raises"}}))
    assert raised.state == "failed"
    assert "the track ends here" in (raised.error or "")
    fine = finished(jobs.add(crashing | {"overrides": {"env.kwargs.how": "prints"}}))
    assert (fine.state, fine.error) == ("done", None)
    assert fine.recording is not None


def test_a_recording_that_hangs_can_be_cancelled(jobs: Jobs, crashing: dict[str, Any]) -> None:
    hanging = jobs.add(crashing | {"overrides": {"env.kwargs.how": "hangs"}})
    wait_until(lambda: hanging.state == "running")
    time.sleep(0.3)
    jobs.cancel(hanging)
    assert finished(hanging).state == "cancelled"
    assert finished(jobs.add(crashing)).state == "done"


def test_a_silent_recording_is_given_up(
    jobs: Jobs, crashing: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert finished(jobs.add(crashing)).state == "done"  # the process is there by now
    monkeypatch.setattr(jobs_module, "_SILENT_SECONDS", 1.0)
    given_up = finished(jobs.add(crashing | {"overrides": {"env.kwargs.how": "hangs"}}))
    assert given_up.state == "failed"
    assert "given up" in (given_up.error or "")


def test_the_process_ends_with_the_server(crashing: dict[str, Any]) -> None:
    jobs = Jobs()
    finished(jobs.add(crashing))
    recorder = jobs._process
    assert recorder is not None
    pid = recorder._child.process.pid
    waiting = jobs.add(crashing | {"overrides": {"env.kwargs.how": "hangs"}})
    jobs.close()
    assert waiting.state in ("cancelled", "queued", "running", "failed")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIG_DFL)


def test_old_jobs_are_forgotten(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_MOST_KEPT", 3)
    for _ in range(10):
        jobs.cancel(jobs.add({"steps": 1}))
    assert len(jobs.all()) <= 4
