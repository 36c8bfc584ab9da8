from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from gymnast.config.values import BatchSize, Count, CountOrAuto, PositiveCount, Seconds, resolve_batch_size


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("300k", 300_000),
        ("2M", 2_000_000),
        ("1e6", 10**6),
        (1e6, 10**6),
        ("1.5k", 1500),
        ("1_000", 1000),
        (7, 7),
        ("0", 0),
    ],
)
def test_counts_are_written_as_people_write_them(written: object, count: int) -> None:
    assert TypeAdapter(Count).validate_python(written) == count


@pytest.mark.parametrize("written", ["abc", "3x", "1.2345", 0.5, True, -1, "-3", "", None])
def test_text_that_is_not_a_count_is_rejected(written: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Count).validate_python(written)


def test_a_positive_count_is_at_least_one() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        TypeAdapter(PositiveCount).validate_python("0")


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("2d", 172_800), (30, 30), ("30", 30)]
)
def test_durations(written: object, seconds: float) -> None:
    assert TypeAdapter(Seconds).validate_python(written) == seconds


@pytest.mark.parametrize("written", ["10 parsecs", "m", True, -1])
def test_text_that_is_not_a_duration_is_rejected(written: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Seconds).validate_python(written)


@given(st.integers(0, 10**12))
def test_a_count_survives_any_spelling(count: int) -> None:
    for written in (count, str(count), f"{count:_}"):
        assert TypeAdapter(Count).validate_python(written) == count


@pytest.mark.parametrize(
    ("written", "size"), [("32k", 32_000), ("0.25", 0.25), ("all", "all"), (256, 256), (0.5, 0.5)]
)
def test_batch_sizes(written: object, size: object) -> None:
    assert TypeAdapter(BatchSize).validate_python(written) == size


@pytest.mark.parametrize(
    ("batch_size", "rollout", "size"),
    [("all", 1024, 1024), (0.25, 1024, 256), (1, 1024, 1024), (1.0, 7, 7), (64, 1024, 64), (1 / 3, 96, 32)],
)
def test_batch_size_of_a_rollout(batch_size: float, rollout: int, size: int) -> None:
    assert resolve_batch_size(batch_size, rollout) == size


@pytest.mark.parametrize(
    ("batch_size", "message"),
    [
        (100, r"^100 does not divide the rollout of 1024 samples; nearest that do: 64 or 128$"),
        (5000, r"nearest that do: 1024$"),
        (
            0.3,
            r"^0\.3 of the rollout is 307\.2 samples, which does not divide .* nearest that do: 256 or 512$",
        ),
        (1e-6, r"nearest that do: 1$"),
    ],
)
def test_a_batch_that_does_not_divide_names_the_nearest(batch_size: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve_batch_size(batch_size, 1024)


@given(st.integers(1, 5000), st.floats(1e-4, 6000))
def test_a_batch_size_divides_or_is_refused(rollout: int, batch_size: float) -> None:
    try:
        size = resolve_batch_size(batch_size, rollout)
    except ValueError:
        return
    assert rollout % size == 0


@given(st.sampled_from([math.inf, -math.inf, math.nan, "1e400", "-1e400", "9" * 400, "1e308M"]))
def test_what_is_not_finite_is_neither_a_count_nor_a_duration(written: object) -> None:
    for kind in (Count, PositiveCount, CountOrAuto, Seconds, BatchSize):
        with pytest.raises(ValidationError):
            TypeAdapter(kind).validate_python(written)
