from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gymnast.trials.trial import Executor, TrialState


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def until_ended() -> Callable[..., dict[str, TrialState]]:
    """Poll until all of these trials have ended; the states in which they did."""

    def wait(pool: Executor, *run_ids: str, seconds: float = 250.0) -> dict[str, TrialState]:
        ended: dict[str, TrialState] = {}
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            ended |= {state.run_id: state for state in pool.poll(0.5) if state.ended}
            if set(run_ids) <= set(ended):
                return ended
        raise AssertionError(f"only {ended} ended")

    return wait
