"""distributions.bin: read back as written, whatever happened to the process or the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gymnast.errors import GymnastError
from gymnast.metrics.sinks.distributions_file import (
    DistributionsFile,
    Snapshot,
    read_sections,
    truncate_after,
)
from gymnast.observe.distributions import read_distributions
from gymnast.observe.pictures import distribution_pictures
from gymnast.runs.store import RunFolder
from gymnast.training.report import Report


def snapshot(update: int, actions: int = 3) -> Snapshot:
    rng = np.random.default_rng(update)
    arrays = {
        "action/count": rng.integers(0, 99, actions).astype(np.float32),
        "reward": np.sort(rng.standard_normal(21)).astype(np.float32),
        "return": np.full(21, np.nan, np.float32),
    }
    return Snapshot(arrays, {"action/count": tuple(f"a{index}" for index in range(actions))})


def write(path: Path, updates: range, actions: int = 3) -> None:
    sink = DistributionsFile(path)
    for update in updates:
        taken = snapshot(update, actions) if update % 2 else None
        sink.take(Report(env_steps=update * 10, updates=update, row={}, distributions=taken))
    sink.close()


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def updates_of(run: RunFolder) -> list[int]:
    found = read_distributions(run)
    return [update for each in (*found.earlier, found) for update in each.updates.tolist()]


def test_what_is_read_is_what_was_written(run: RunFolder) -> None:
    assert len(read_distributions(run)) == 0  # no file yet
    write(run.distributions_path, range(1, 8))
    found = read_distributions(run)
    assert found.updates.tolist() == [1, 3, 5, 7]
    assert found.env_steps.tolist() == [10, 30, 50, 70]
    assert found.labels == {"action/count": ("a0", "a1", "a2")}
    for row, update in enumerate(found.updates.tolist()):
        for name, array in snapshot(update).items():
            assert_array_equal(found.arrays[name][row], array)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_file_cut_off_anywhere_loses_its_half_record_alone(
    tmp_path_factory: Any, data: st.DataObject
) -> None:
    run = RunFolder(tmp_path_factory.mktemp("cut"))
    path = run.distributions_path
    write(path, range(1, 6))
    content = path.read_bytes()
    kept = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:kept])
    whole = updates_of(run)
    assert whole == [1, 3, 5][: len(whole)]
    assert len(whole) == 3 if kept == len(content) else len(whole) < 3
    write(path, range(7, 10))  # a resumed process continues where the whole records end
    assert updates_of(run) == [*whole, 7, 9]


@given(place=st.integers(0, 10**6), flipped=st.integers(1, 255))
@settings(max_examples=60, deadline=None)
def test_a_flipped_byte_costs_a_record_at_most_or_the_header(
    tmp_path_factory: Any, place: int, flipped: int
) -> None:
    run = RunFolder(tmp_path_factory.mktemp("flip"))
    path = run.distributions_path
    write(path, range(1, 10))
    content = bytearray(path.read_bytes())
    header = content.index(b"\n") + 1
    place = header + place % (len(content) - header)
    content[place] ^= flipped
    path.write_bytes(bytes(content))
    assert len(updates_of(run)) == 4
    assert set(updates_of(run)) < {1, 3, 5, 7, 9}


def test_a_resume_drops_what_came_after_its_checkpoint(run: RunFolder) -> None:
    write(run.distributions_path, range(1, 10))
    truncate_after(run.distributions_path, 5)
    assert updates_of(run) == [1, 3, 5]
    write(run.distributions_path, range(6, 8))
    assert updates_of(run) == [1, 3, 5, 7]
    truncate_after(run.distributions_path, 0)
    assert updates_of(run) == []
    truncate_after(run.path / "missing.bin", 0)


def test_other_arrays_begin_another_section(run: RunFolder) -> None:
    write(run.distributions_path, range(1, 6))
    write(run.distributions_path, range(7, 10), actions=5)
    found = read_distributions(run)
    assert found.arrays["action/count"].shape == (2, 5)
    assert [each.arrays["action/count"].shape for each in found.earlier] == [(3, 3)]
    truncate_after(run.distributions_path, 7)
    assert updates_of(run) == [1, 3, 5, 7]
    truncate_after(run.distributions_path, 5)
    assert updates_of(run) == [1, 3, 5]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\x00" * 5000,
        b'{"kind": "gymnast distributions 1", "arrays": {"a": [99999999999]}, "labels": {}}\n' + b"x" * 99,
        b'{"kind": "gymnast distributions 1", "arrays": {"a": ["9"]}, "labels": {}}\nOBS1' + b"x" * 99,
        b'{"kind": "gymnast distributions 1", "arrays": [], "labels": 3}\n',
        b'{"kind": "gymnast distributions 1", "arrays": {"a": [-1]}, "labels": {}}\n' + b"x" * 99,
        b"[" * 9999,
    ],
    ids=range(8),
)
def test_a_hostile_file_is_read_as_nothing_and_set_aside(run: RunFolder, content: bytes) -> None:
    run.distributions_path.write_bytes(content)
    assert len(read_distributions(run)) == 0
    write(run.distributions_path, range(1, 4))
    assert updates_of(run) == [1, 3]
    aside = list(run.path.glob("distributions.bin.damaged-*"))
    assert [path.read_bytes() for path in aside] == ([content] if content else [])


def test_a_link_is_not_followed(run: RunFolder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"mine")
    run.distributions_path.symlink_to(other)
    with pytest.raises(GymnastError, match="link"):
        read_sections(run.distributions_path)
    with pytest.raises(GymnastError, match="link"):
        write(run.distributions_path, range(1, 4))
    assert other.read_bytes() == b"mine"


def test_arrays_of_odd_shapes_are_read_and_drawn_as_far_as_they_make_sense(run: RunFolder) -> None:
    odd = Snapshot(
        {
            "action/count": np.array([np.nan, np.inf, -1], np.float32),
            "action/quantiles": np.zeros((2, 21), np.float32),
            "reward": np.zeros(3, np.float32),
            "value": np.full(21, np.inf, np.float32),
            "obs/mean": np.zeros((2, 2), np.float32),
        },
        {"action/count": ("\x00", "\x1b[31m" * 50, "…" * 99), "action/quantiles": ("one",)},
    )
    sink = DistributionsFile(run.distributions_path)
    sink.take(Report(env_steps=1, updates=1, row={}, distributions=odd))
    sink.close()
    assert len(read_distributions(run)) == 1
    assert set(distribution_pictures(run)) == {"action/count", "action/quantiles", "value"}
