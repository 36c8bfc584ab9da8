"""How a comparison names the values of a setting where there are too many runs for a column each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gymnast.cli.compare_tables import _by_value


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["4", "10", "4", "1"], "1: A; 4: A B; 10: B"),
        (["0.01", "1e-3", "", "relu"], "1e-3: B; 0.01: B; none: A; relu: A"),
    ],
)
def test_values_are_in_the_order_of_numbers_and_groups_in_that_of_letters(
    values: list[str], shown: str
) -> None:
    found: Any = SimpleNamespace(letter_of_run=lambda place: "BBAA"[place])
    assert _by_value(found, values) == shown
