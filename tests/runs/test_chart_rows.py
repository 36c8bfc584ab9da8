"""Metrics for a chart: from a position on, thinned without losing a peak, whatever happens to the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_columns
from gymnast.runs.chart_rows import read_position, read_rows, thinned


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.csv"
    path.write_text("time/updates,a\n1,0.5\n2,\n3,1.5\n")
    return path


def test_each_row_is_read_once(file: Path) -> None:
    first = read_rows(file)
    assert first.from_start
    assert first.columns["time/updates"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(first.columns["a"], [0.5, np.nan, 1.5])
    assert first.position == read_position(file)
    with file.open("a") as more:
        more.write("4,2\n5,2.5")  # the last line is not whole yet
    second = read_rows(file, first.position)
    assert not second.from_start
    assert second.columns["time/updates"].tolist() == [4]
    with file.open("a") as more:
        more.write("\n")
    assert read_rows(file, second.position).columns["a"].tolist() == [2.5]


def test_a_file_that_was_cut_or_replaced_is_read_from_its_start(file: Path) -> None:
    position = read_rows(file).position
    file.write_text("time/updates,a\n1,0.5\n2,7\n")  # resumed from an earlier checkpoint
    again = read_rows(file, position)
    assert again.from_start
    assert again.columns["a"].tolist() == [0.5, 7]
    position = again.position
    file.write_text("time/updates,a,b\n1,0.5,\n2,7,\n3,8,1\n")  # a column more
    again = read_rows(file, position)
    assert again.from_start
    assert list(again.columns) == ["time/updates", "a", "b"]
    file.write_text("time/updates,a,b\n1,0.5,\n2,7,\n3,9,1\n")  # as long, with another row at the end
    assert read_rows(file, again.position).from_start


def test_what_is_missing_or_damaged_is_left_out(tmp_path: Path, file: Path) -> None:
    assert read_rows(tmp_path / "none.csv").columns == {}
    assert read_position(tmp_path / "none.csv") == "0"
    (tmp_path / "half.csv").write_text("time/upd")
    assert read_rows(tmp_path / "half.csv").columns == {}
    with file.open("a") as more:
        more.write("4,x\n5,1,2\n\0\n6,3\n")
    assert read_rows(file).columns["time/updates"].tolist() == [1, 2, 3, 6]
    file.unlink()
    file.symlink_to(tmp_path / "half.csv")
    with pytest.raises(GymnastError, match="link"):
        read_rows(file)


@pytest.mark.parametrize(
    "since", ["x", "-1", "1", "1.5", "1.0000000g", "9" * 20 + ".00000000", "1.00000000 "]
)
def test_a_wrong_position_is_refused(file: Path, since: str) -> None:
    with pytest.raises(GymnastError, match="position"):
        read_rows(file, since)


def test_many_rows_are_read_as_the_reader_of_single_rows_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cells = ["", "nan", "inf", "-inf", "0", "-0.0", "1e-300", "123456789012", "0.1", repr(1 / 3)]
    path = tmp_path / "metrics.csv"
    for ends in ("\n", "\r\n"):
        rows = [",".join(rng.choice(cells, 5)) for _ in range(1203)]
        path.write_bytes(ends.join(["a,b,c,d,e", *rows, ""]).encode())
        expected = read_columns(path)
        for broken in ("", f"1,2,3{ends}", f"1,2,x,4,5{ends}", f"1-2,3,4,5,6{ends}", f"1_0,2,3,4,5{ends}"):
            with path.open("ab") as more:
                more.write(broken.encode())
            found = read_rows(path).columns
            for name, column in expected.items():
                np.testing.assert_array_equal(found[name], column)


def test_only_the_named_columns(file: Path) -> None:
    assert list(read_rows(file, names=["a", "nothing"]).columns) == ["a"]


@given(
    st.lists(st.one_of(st.just(np.nan), st.floats(-1e6, 1e6)), min_size=1, max_size=300), st.integers(2, 60)
)
def test_thinning_keeps_extremes_order_and_nothing_else(values: list[float], points: int) -> None:
    column = np.array(values)
    both = np.stack([np.arange(len(column), dtype=float), column], 1)
    few = thinned(both, points)
    assert len(few) <= points
    steps, shown = few[:, 0], few[:, 1][~np.isnan(few[:, 1])]
    assert steps[0] == 0
    assert np.nanmax(steps) == len(column) - 1
    assert (np.diff(steps[~np.isnan(steps)]) > 0).all()
    known = column[~np.isnan(column)]
    assert set(shown) <= set(known)
    if len(known):
        assert (shown.min(), shown.max()) == (known.min(), known.max())
