"""The table of steps: returns, advantages and TD errors as the definitions have them, for any γ and λ."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.errors import GymnastError
from gymnast.traces.table import steps_table, to_csv
from gymnast.traces.trace import Trace
from trace_steps import traces

UNIT = st.floats(0, 1)


def by_definition(trace: Trace, gamma: float, lam: float) -> dict[str, list[float]]:
    """Every sum written out, step by step and episode by episode."""
    columns: dict[str, list[float]] = {
        k: [] for k in ("td_error", "advantage", "return_to_go", "return_so_far")
    }
    reward, value, last = (trace.columns[name] for name in ("reward", "value", "last"))
    begins = [row for row in range(len(trace)) if trace.columns["step"][row] == 0]
    for begin in begins:
        end = next(row for row in range(begin, len(trace)) if last[row])
        terminated = bool(trace.columns["terminated"][end - 1])
        future = 0.0 if terminated else value[end]  # of the true last observation
        deltas = []
        for row in range(begin, end):
            after = future if row == end - 1 else value[row + 1]
            deltas.append(reward[row] + gamma * after - value[row])
        for row in range(begin, end):
            ahead = range(row, end)
            columns["td_error"].append(deltas[row - begin])
            columns["advantage"].append(sum((gamma * lam) ** (r - row) * deltas[r - begin] for r in ahead))
            paid = sum(gamma ** (r - row) * reward[r] for r in ahead)
            columns["return_to_go"].append(paid + gamma ** (end - row) * future)
            columns["return_so_far"].append(sum(reward[begin : row + 1]))
    return columns


@given(traces(critic=True), UNIT, UNIT)
def test_returns_and_advantages_are_those_of_the_definition(trace: Trace, gamma: float, lam: float) -> None:
    table = steps_table(trace, gamma, lam)
    for name, expected in by_definition(trace, gamma, lam).items():
        assert table[name] == pytest.approx(expected, rel=1e-9, abs=1e-6), name
    assert np.array_equal(table["baseline"], trace.columns["value"][trace.steps])


@given(traces(critic=True), UNIT)
def test_with_lambda_1_the_advantage_is_the_return_less_the_baseline(trace: Trace, gamma: float) -> None:
    table = steps_table(trace, gamma, 1.0)
    expected = np.asarray(table["return_to_go"]) - np.asarray(table["baseline"])
    assert table["advantage"] == pytest.approx(expected, rel=1e-9, abs=1e-5)
    assert steps_table(trace, gamma, 0.0)["advantage"] == pytest.approx(table["td_error"])


@given(traces(critic=False), UNIT)
def test_without_a_critic_there_are_returns_alone(trace: Trace, gamma: float) -> None:
    table = steps_table(trace, gamma)
    assert table.keys().isdisjoint({"value", "baseline", "td_error", "advantage"})
    rewards, total = trace.columns["reward"][trace.steps], 0.0
    ended = trace.columns["last"][trace.steps + 1]
    for row in reversed(range(len(rewards))):
        total = rewards[row] + (0.0 if ended[row] else gamma * total)
        assert np.asarray(table["return_to_go"])[row] == pytest.approx(total)


@given(traces())
def test_the_table_reads_back_from_csv(trace: Trace) -> None:
    table = steps_table(trace)
    header, *rows = csv.reader(io.StringIO(to_csv(table), newline=""))
    assert header == list(table)
    assert len(rows) == len(trace.steps)
    for index, name in enumerate(header):
        cells = [row[index] for row in rows]
        column = table[name]
        if isinstance(column, list):
            assert cells == column
        else:
            numbers = [float(cell) if cell else np.nan for cell in cells]
            assert np.array_equal(np.array(numbers), column.astype(float), equal_nan=True), name


@given(traces())
def test_discounts_outside_their_range_are_refused(trace: Trace) -> None:
    with pytest.raises(GymnastError, match=r"gamma must be from 0 to 1, got 1\.5"):
        steps_table(trace, gamma=1.5)
    with pytest.raises(GymnastError, match="lam must be from 0 to 1"):
        steps_table(trace, lam=float("nan"))
