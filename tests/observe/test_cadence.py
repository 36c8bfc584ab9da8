"""Which updates are observed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gymnast.observe.cadence import FIRST, build_cadence

_SOME = {"total_steps": st.integers(1, 10**9), "rollout_steps": st.integers(1, 10**6)}


@given(**_SOME, n_epochs=st.integers(1, 30))
def test_a_budget_is_observed_about_200_times_at_most_and_never_too_often(
    total_steps: int, rollout_steps: int, n_epochs: int
) -> None:
    cadence = build_cadence(total_steps, rollout_steps, n_epochs)
    updates = -(-total_steps // rollout_steps)
    last = min(updates, 300 * cadence.gap)
    due = [update for update in range(1, last + 1, 1) if cadence.due(update)] if last <= 20_000 else []
    assert updates // cadence.gap <= 200
    assert cadence.gap >= 8
    assert cadence.gap * rollout_steps * (3 + n_epochs) >= 75_000
    assert due[:FIRST] == list(range(1, min(last, FIRST) + 1))[: len(due[:FIRST])]
    assert all(
        later - earlier >= 8 for earlier, later in zip(due[FIRST + 1 :], due[FIRST + 2 :], strict=False)
    )


def test_a_run_without_a_budget_is_observed_ever_more_rarely() -> None:
    cadence = build_cadence(None, 2048, 10)
    counts = [sum(map(cadence.due, range(1, n + 1))) for n in (3_200, 6_400, 51_200)]
    assert counts[0] == 10 + 200
    assert counts[1] == counts[0] + 100
    assert counts[2] == counts[0] + 4 * 100


def test_small_updates_are_observed_less_often_than_they_could_be() -> None:
    assert build_cadence(100_000, 2048, 10).gap == 8
    assert build_cadence(100_000, 256, 20).gap == 13
    assert build_cadence(100_000, 256, 1).gap == 74
