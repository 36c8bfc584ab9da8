from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.errors import GymnastError
from gymnast.metrics.catalogue import COUNTERS, UnknownMetric, all_metrics
from gymnast.metrics.csv_file import read_columns, read_header, read_metrics
from gymnast.metrics.sinks.metrics_file import Recorder, increasing

KEYS = [key for key in (metric.key for metric in all_metrics()) if "*" not in key and key not in COUNTERS] + [
    "env/reward_part/centre",
    "task/Level1-1/return/mean",
]


def counters(updates: int) -> dict[str, float]:
    return dict.fromkeys(COUNTERS, 0) | {"time/updates": updates, "time/env_steps": 8 * updates}


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats())


def equal(a: float | None, b: float | None) -> bool:
    if not isinstance(a, float) or not isinstance(b, float):
        return a == b
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), max_size=6))
def test_any_rows_are_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, float | None]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "metrics.csv"
    full = [counters(index) | row for index, row in enumerate(rows)]
    with Recorder(path) as recorder:
        for row in full:
            recorder.write(row)
    back = read_metrics(path)
    assert len(back) == len(full)
    for row, found in zip(full, back, strict=True):
        expected = {key: value for key, value in row.items() if value is not None}
        assert found.keys() == expected.keys()
        assert all(equal(value, found[key]) for key, value in expected.items())


def test_numpy_numbers_are_read_back_as_columns(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    with Recorder(path) as recorder:
        recorder.write(
            counters(1)
            | {"train/kl": np.float32(0.1), "time/epochs": np.int64(4), "eval/solved": np.bool_(True)}
        )
        recorder.write(counters(2) | {"train/kl": np.array(0.25), "train/entropy": float("inf")})
    columns = read_columns(path, ["train/kl", "train/entropy", "opt/lr", "time/updates"])
    np.testing.assert_array_equal(columns["train/kl"], [float(np.float32(0.1)), 0.25])
    np.testing.assert_array_equal(columns["train/entropy"], [np.nan, np.inf])
    np.testing.assert_array_equal(columns["opt/lr"], [np.nan, np.nan])
    assert list(read_columns(path)) == read_header(path)
    assert read_header(path)[: len(COUNTERS)] == list(COUNTERS)


def test_undeclared_keys_and_values_that_are_not_numbers_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    with Recorder(path) as recorder:
        recorder.write(counters(1))
        before = path.read_bytes()
        with pytest.raises(
            UnknownMetric, match=r"no metric 'train/kll' in the catalogue .did you mean 'train/kl'"
        ):
            recorder.write(counters(2) | {"train/kll": 0.1})
        with pytest.raises(GymnastError, match=r"a metric is a number, not str"):
            recorder.write(counters(2) | {"train/kl": "high"})  # type: ignore[dict-item]
        with pytest.raises(GymnastError, match=r"needs every counter; it lacks time/seconds"):
            recorder.write({key: value for key, value in counters(2).items() if key != "time/seconds"})
        kept = [line.split(b",")[:7] for line in path.read_bytes().splitlines()]
        assert kept == [line.split(b",")[:7] for line in before.splitlines()]
        recorder.write(counters(2))
    assert [row["time/updates"] for row in read_metrics(path)] == [1, 2]
    with pytest.raises(UnknownMetric):
        Recorder(tmp_path / "other.csv", ["nonsense"])
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]


def test_new_key_widens_the_header_and_keeps_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    with Recorder(path, ["opt/lr"]) as recorder:
        recorder.write(counters(1) | {"opt/lr": 0.1})
        recorder.write(counters(2) | {"opt/lr": 0.1, "train/kl": 0.5})
        recorder.write(counters(3) | {"env/reward_part/b": 1.0, "env/reward_part/a": 2.0})
    with Recorder(path) as recorder:
        recorder.write(counters(4) | {"eval/best": 3})
    assert read_header(path)[len(COUNTERS) :] == [
        "train/kl",
        "opt/lr",
        "env/reward_part/a",
        "env/reward_part/b",
        "eval/best",
    ]
    rows = read_metrics(path)
    assert [{key: row[key] for key in row if key not in COUNTERS} for row in rows] == [
        {"opt/lr": 0.1},
        {"opt/lr": 0.1, "train/kl": 0.5},
        {"env/reward_part/a": 2.0, "env/reward_part/b": 1.0},
        {"eval/best": 3},
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]


def test_resume_drops_later_rows_and_a_half_written_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    with Recorder(path) as recorder:
        for updates in range(1, 8):
            recorder.write(counters(updates) | {"opt/lr": 0.1})
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b"8,8,8,")
    assert len(read_metrics(path)) == 7
    with Recorder(path) as recorder:
        assert path.read_bytes() == whole
        recorder.truncate_after(5)
        assert [row["time/updates"] for row in read_metrics(path)] == [1, 2, 3, 4, 5]
        for updates in (6, 7):
            recorder.write(counters(updates) | {"opt/lr": 0.1})
    assert path.read_bytes() == whole  # as if it had never stopped


@pytest.mark.parametrize("cut", [1, 20, 90])
def test_half_written_header_is_replaced(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "metrics.csv"
    with Recorder(path) as recorder:
        recorder.write(counters(1))
    path.write_bytes(path.read_bytes()[:cut])
    assert read_metrics(path) == []
    with Recorder(path) as recorder:
        recorder.truncate_after(0)
        recorder.write(counters(1))
    assert [row["time/updates"] for row in read_metrics(path)] == [1]


def test_missing_file_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    assert read_metrics(path) == []
    assert read_columns(path, ["opt/lr"])["opt/lr"].shape == (0,)
    with Recorder(path) as recorder:
        recorder.truncate_after(3)
        recorder.sync()
    assert not path.exists()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "short": lambda row: row.rsplit(b",", 2)[0] + b"\n",
    "long": lambda row: row[:-1] + b",7\n",
    "bad byte": lambda row: row[:3] + b"\xff" + row[4:],
    "zeros": lambda row: b"\0" * (len(row) - 1) + b"\n",
    "text": lambda row: b"x" + row[1:],
    "another update": lambda row: row.replace(b"4,", b"9000,", 3),
    "split": lambda row: row[:4] + b"\n" + row[5:],
    "empty": lambda row: b"\n",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_row_alone_is_left_out(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "metrics.csv"
    with Recorder(path) as recorder:
        for updates in range(1, 9):
            recorder.write(counters(updates) | {"opt/lr": 0.1})
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = DAMAGES[damage](lines[4])
    path.write_bytes(b"".join(lines))
    left_out = damage != "another update"  # it reads as a row: only the order tells that it is none
    assert [r["time/updates"] for r in read_metrics(path) if r["time/updates"] < 9] == [1, 2, 3, 5, 6, 7, 8]
    assert len(read_columns(path, ["opt/lr"])["opt/lr"]) == 7 + (not left_out)
    assert path.read_bytes() == b"".join(lines), "reading changes nothing"
    assert sum("damaged and left out" in record.message for record in caplog.records) == left_out
    caplog.clear()
    with Recorder(path) as recorder:
        recorder.truncate_after(7)
        recorder.write(counters(8) | {"opt/lr": 0.1, "train/kl": 1.0})
    assert [row["time/updates"] for row in read_metrics(path)] == [1, 2, 3, 5, 6, 7, 8]
    assert (tmp_path / "metrics.csv.damaged-1").read_bytes() == b"".join(lines)
    assert len(caplog.records) == 1, "one warning"
    assert "the old file is now metrics.csv.damaged-1" in caplog.text
    Recorder(path).close()
    assert len(list(tmp_path.iterdir())) == 2, "it is mended once"


@pytest.mark.parametrize("at", [0, 6, 16, 40])
def test_damaged_header_keeps_the_rows(at: int, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    with Recorder(path) as recorder:
        for updates in range(1, 6):
            recorder.write(counters(updates))
    data = bytearray(path.read_bytes())
    assert data[at] != ord(",")
    data[at] = 0xFF
    path.write_bytes(data)
    with Recorder(path) as recorder:
        recorder.truncate_after(4)
        recorder.write(counters(5))
    assert [row["time/updates"] for row in read_metrics(path)] == [1, 2, 3, 4, 5]
    assert (tmp_path / "metrics.csv.damaged-1").read_bytes() == data


@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), max_size=40))
def test_longest_increasing_part_is_kept(numbers: list[int | None]) -> None:
    kept = sorted(increasing(numbers))
    values = [number for place in kept if (number := numbers[place]) is not None]
    assert len(values) == len(kept)
    assert all(a < b for a, b in pairwise(values))
    longest: list[int] = []  # by the definition: the longest that ends at each place
    for place, number in enumerate(numbers):
        earlier = [longest[k] for k in range(place) if _below(numbers[k], number)]
        longest.append(0 if number is None else 1 + max(earlier, default=0))
    assert len(kept) == max(longest, default=0)


def _below(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other


def test_full_disk_leaves_complete_rows_only(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from gymnast.errors import RunFailed; from gymnast.metrics.sinks.metrics_file import Recorder\n"
        "from gymnast.metrics.catalogue import COUNTERS\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "recorder = Recorder(Path(sys.argv[1]))\n"
        "try:\n"
        "    for n in range(1, 1000): recorder.write(dict.fromkeys(COUNTERS, 0) | {'time/updates': n})\n"
        "except RunFailed as error: print(n, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    failed_at, _, message = done.stdout.partition(" ")
    assert "metrics.csv: the file would grow past" in message
    assert path.read_bytes().endswith(b"\n")
    assert [row["time/updates"] for row in read_metrics(path)] == list(range(1, int(failed_at)))
