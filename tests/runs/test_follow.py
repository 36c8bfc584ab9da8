"""Following a metrics.csv while it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gymnast.metrics.catalogue import COUNTERS
from gymnast.metrics.csv_file import read_metrics
from gymnast.metrics.sinks.metrics_file import Recorder
from gymnast.runs.follow import MetricsFollower


def row(update: int, **more: float) -> dict[str, Any]:
    return {
        **dict.fromkeys(COUNTERS, 0),
        "time/updates": update,
        **{k.replace("__", "/"): v for k, v in more.items()},
    }


def seen(rows: list[dict[str, Any]]) -> list[int]:
    return [found["time/updates"] for found in rows]


@given(st.lists(st.sampled_from(["row", "wider", "look"]), max_size=30))
def test_every_row_is_handed_out_once_also_when_columns_are_added(steps: list[str]) -> None:
    import tempfile

    wider = iter(["train/loss/policy", "train/loss/value", "train/entropy", "train/kl", "eval/best"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.csv"
        follower, found, written = MetricsFollower(path, from_start=True), [], 0
        with Recorder(path) as recorder:
            for step in [*steps, "look"]:
                if step == "look":
                    found += follower.new_rows()
                    continue
                written += 1
                key = next(wider, None) if step == "wider" else None
                recorder.write({**row(written), **({key: 0.5} if key else {})})
        assert seen(found) == list(range(1, written + 1))
        if written:
            assert found[-1] == read_metrics(path)[-1]


def test_begins_with_the_last_row_unless_asked_for_all(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    assert MetricsFollower(path).new_rows() == []
    with Recorder(path) as recorder:
        for update in (1, 2, 3):
            recorder.write(row(update))
        late, whole = MetricsFollower(path), MetricsFollower(path, from_start=True)
        assert seen(late.new_rows()) == [3]
        assert seen(whole.new_rows()) == [1, 2, 3]
        recorder.write(row(4))
        assert seen(late.new_rows()) == seen(whole.new_rows()) == [4]


def test_line_without_its_end_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    follower = MetricsFollower(path)
    path.write_text("time/updates,train/kl\n1,0.5\n2,0.")
    assert follower.new_rows() == [{"time/updates": 1, "train/kl": 0.5}]
    with path.open("a") as file:
        file.write("25\n")
    assert follower.new_rows() == [{"time/updates": 2, "train/kl": 0.25}]


def test_rows_that_a_resume_takes_back_come_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    recorder = Recorder(path)
    for update in (1, 2, 3, 4):
        recorder.write(row(update))
    follower = MetricsFollower(path)
    assert seen(follower.new_rows()) == [4]
    recorder.truncate_after(2)
    assert follower.new_rows() == []
    recorder.write(row(3))
    assert seen(follower.new_rows()) == [3]
    recorder.close()
