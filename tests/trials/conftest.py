from __future__ import annotations

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

    def wait(pool: Executor, *run_ids: str, polls: int = 200) -> dict[str, TrialState]:
        ended: dict[str, TrialState] = {}
        for _ in range(polls):
            ended |= {state.run_id: state for state in pool.poll(0.5) if state.ended}
            if set(run_ids) <= set(ended):
                return ended
        raise AssertionError(f"only {ended} ended")

    return wait
