"""Recordings of every kind of policy: what `record_trace` records, kept on disk, and checked when read."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.errors import GymnastError, UntrustedRun
from gymnast.recordings.pictures import JPEG, PNG, PictureEncoder
from gymnast.recordings.record import Cancelled
from gymnast.runs.store import RunFolder
from gymnast.traces.png import decode_png
from gymnast.web.wire import unpack

ACTIONS = "action_envs:RightAction"


@dataclass(frozen=True)
class Case:
    reference: str
    changes: dict[str, Any] = field(default_factory=dict)
    needs: str = "gymnasium"
    task: str | None = None
    rendered: bool = True
    stack: int = 1


CASES: dict[str, Case] = {
    "bandit": Case("gymnast/Bandit-v0:ppo"),
    "toy text": Case("FrozenLake-v1:ppo"),
    "continuous": Case("Pendulum-v1:ppo"),
    "factored": Case(ACTIONS, {"env.kwargs": {"space": "multi-discrete"}}, rendered=False),
    "dict of actions": Case(ACTIONS, {"env.kwargs": {"space": "dict"}}, rendered=False),
    "dict of observations": Case(
        "observation_envs:Cue", {"env.kwargs": {"kind": "image_dict"}}, "torch", rendered=False
    ),
    "masks": Case("Taxi-v4:ppo-masked"),
    "recurrent": Case("gymnast/TMaze-v0:ppo-lstm", needs="torch"),
    "frame stack": Case("CartPole-v1:ppo", {"policy.frame_stack": 3}, stack=3),
    "mix": Case("LunarLander-v3:ppo-two-moons", needs="Box2D", task=""),
    "minigrid": Case("MiniGrid-DoorKey-5x5-v0:ppo", needs="minigrid"),
    "atari": Case("ALE/Pong-v5:ppo", needs="ale_py", stack=4),
    "vizdoom": Case("VizDoom-Basic-v0:ppo", needs="vizdoom"),
}
SMALL = {
    "eval.every": 0,
    "stop.eval_return": None,
    "env.n_envs": 2,
    "env.backend": "sync",  # the others are measured first
    "algo.n_steps": 32,
    "algo.batch_size": "all",
    "algo.n_epochs": 1,
}


def trained(case: Case, folder: Path) -> str:
    pytest.importorskip(case.needs)
    run = api.train(case.reference, overrides=SMALL | case.changes, max_env_steps=64, runs_dir=folder)
    return run.id


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_recording_of_every_kind_of_policy(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    run = trained(case, tmp_path)
    tasks = api.run_details(run, runs_dir=tmp_path).tasks
    task = tasks[-1] if case.task is not None else None
    assert bool(tasks) == (case.task is not None)
    how: dict[str, Any] = {"seed": 3, "episodes": 3, "max_steps": 25, "stochastic": True, "task": task}
    info = api.record_checkpoint(run, runs_dir=tmp_path, **how)
    recording = api.load_recording(info.id, runs_dir=tmp_path)
    assert recording.info == info
    trace = api.record_trace(run, runs_dir=tmp_path, **how)
    for column, values in trace.columns.items():
        np.testing.assert_array_equal(recording.trace.columns[column], values, err_msg=column)
    assert recording.trace.infos == trace.infos
    assert info.rendered == case.rendered
    assert len(recording.pictures) == len(trace)
    if recording.mime == PNG:
        assert recording.pictures == trace.pictures
    header, arrays = unpack(api.recording_binary(recording))
    meta = header["meta"]
    assert (meta["choices"], meta["numbers"]) == (list(trace.meta.choices), list(trace.meta.numbers))
    assert meta["left_out"] == {}
    assert api.recording_csv(recording) == api.steps_csv(api.steps_table(trace))
    if case.stack > 1:
        check_stack(trace, header, arrays, case.stack)
    else:
        assert "stack/index" not in arrays
        for column in trace.columns:
            np.testing.assert_array_equal(arrays[column], trace.columns[column])


def check_stack(trace: Any, header: dict[str, Any], arrays: dict[str, np.ndarray], size: int) -> None:
    """The newest frame of each row, and where the others are, give back what the policy saw."""
    index, actions = arrays["stack/index"], header["texts"]["stack/action"]
    assert index.shape == (len(trace), size)
    newest, whole = arrays["obs"], trace.columns["obs"]
    for row in range(len(trace)):
        for place, frame in enumerate(trace.stack(row)):
            assert actions[row * size + place] == (frame.action or "")
            shown = None if index[row, place] < 0 else newest[index[row, place]]
            seen = whole[frame.row, frame.frame] if trace.meta.observation_stack > 1 else whole[frame.row]
            if frame.blank:
                assert shown is None
            else:
                np.testing.assert_array_equal(shown, seen)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    trained(Case("CartPole-v1:ppo"), folder)
    return folder


@pytest.fixture
def recorded(runs: Path) -> api.RecordingInfo:
    return api.record_checkpoint("@last", runs_dir=runs, max_steps=12, seed=1)


def folder_of(runs: Path, info: api.RecordingInfo) -> Path:
    return RunFolder(runs / info.run).recordings / info.id.partition("-")[2]


def test_recordings_are_listed_newest_first_and_removed(runs: Path) -> None:
    for known in api.list_recordings(runs_dir=runs):
        api.delete_recording(known.id, runs_dir=runs)
    made = [api.record_checkpoint("@last", runs_dir=runs, max_steps=3, seed=n) for n in range(3)]
    assert api.list_recordings(runs_dir=runs) == made[::-1]
    assert api.list_recordings("@last", runs_dir=runs) == made[::-1]
    assert api.recording_info(made[0].id, runs_dir=runs) == made[0]
    api.delete_recording(made[1].id, runs_dir=runs)
    assert api.list_recordings(runs_dir=runs) == [made[2], made[0]]
    with pytest.raises(GymnastError, match="no recording"):
        api.load_recording(made[1].id, runs_dir=runs)


@pytest.mark.parametrize("name", ["", "x", "../x", "abcdefgh", "abcdefgh-0123456789x", "abcdefgh-../../../"])
def test_what_is_not_an_id_is_refused(runs: Path, name: str) -> None:
    for use in (api.load_recording, api.delete_recording, api.recording_info):
        with pytest.raises(GymnastError, match="not the id of a recording"):
            use(name, runs_dir=runs)


DAMAGE = {
    "recording.json": [b"", b"{}", b"[]", b"\xff", b"null"],
    "pictures.bin": [b"", b"GYM1", b"GYM1\xff\xff\xff\xff{}"],
    "trace/trace.json": [b"", b"{}"],
}


@pytest.mark.parametrize("file", DAMAGE)
def test_damaged_recordings_are_refused_in_words(runs: Path, recorded: api.RecordingInfo, file: str) -> None:
    path = folder_of(runs, recorded) / file
    whole = path.read_bytes()
    cut = [whole[: len(whole) // 2], whole[:-20], whole[:40] + b"\0" * 40 + whole[80:]]
    for data in [*DAMAGE[file], *cut]:
        path.write_bytes(data)
        if file == "pictures.bin" and data == cut[-1]:
            continue  # a changed picture is for the browser to refuse
        with pytest.raises(GymnastError):
            api.load_recording(recorded.id, runs_dir=runs)
    path.write_bytes(whole)
    api.load_recording(recorded.id, runs_dir=runs)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", "x"),
        ("steps", -1),
        ("returns", [float("inf")]),
        ("env", "x" * 1000),
        ("bounds", {"obs": 1}),
        ("format", 2),
        ("more", 1),
        ("rendered", 1),
    ],
)
def test_a_recording_json_with_a_wrong_field_is_not_listed(
    runs: Path, recorded: api.RecordingInfo, key: str, value: Any
) -> None:
    path = folder_of(runs, recorded) / "recording.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {key: value}))
    assert recorded.id not in [info.id for info in api.list_recordings(runs_dir=runs)]
    with pytest.raises(GymnastError, match="cannot be read"):
        api.load_recording(recorded.id, runs_dir=runs)


@pytest.mark.parametrize("part", ["", "trace", "recording.json", "pictures.bin"])
def test_links_in_a_recording_are_not_followed(
    runs: Path, recorded: api.RecordingInfo, part: str, tmp_path: Path
) -> None:
    path = folder_of(runs, recorded) / part if part else folder_of(runs, recorded)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    with pytest.raises(GymnastError, match="link"):
        api.load_recording(recorded.id, runs_dir=runs)
    path.unlink()


def test_nothing_is_left_of_a_cancelled_recording(runs: Path) -> None:
    before = sorted(RunFolder(runs / api.list_runs(runs_dir=runs)[0].id).recordings.glob("*"))
    heard: list[int] = []

    def progress(steps: int) -> bool:
        heard.append(steps)
        return steps < 40

    with pytest.raises(Cancelled):
        api.record_checkpoint("@last", runs_dir=runs, episodes=50, progress=progress)
    assert heard[0] == 0
    assert max(heard) < 80
    assert sorted(RunFolder(runs / api.list_runs(runs_dir=runs)[0].id).recordings.glob("*")) == before


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({"max_steps": 0}, "max_steps"), ({"max_steps": 10**7}, "max_steps"), ({"episodes": 0}, "episodes")],
)
def test_wrong_numbers_are_refused(runs: Path, wrong: dict[str, int], word: str) -> None:
    with pytest.raises(GymnastError, match=word):
        api.record_checkpoint("@last", runs_dir=runs, **wrong)  # type: ignore[arg-type]


def test_a_run_made_elsewhere_is_recorded_only_with_trust(tmp_path: Path) -> None:
    run = trained(CASES["factored"], tmp_path)
    folder = RunFolder(tmp_path / run)
    folder.mark_path.unlink()
    with pytest.raises(UntrustedRun):
        api.record_checkpoint(run, runs_dir=tmp_path, max_steps=3)
    assert api.run_details(run, runs_dir=tmp_path).settings["env.id"] == ACTIONS
    assert api.record_checkpoint(run, runs_dir=tmp_path, max_steps=3, trust=True).steps == 3


def test_a_trace_of_another_player_is_kept_with_its_pictures(runs: Path) -> None:
    trace = api.record_trace("@last", runs_dir=runs, max_steps=5)
    info = api.keep_recording(trace, runs_dir=runs, player="human")
    recording = api.load_recording(info.id, runs_dir=runs)
    assert recording.info.player == "human"
    assert recording.pictures == trace.pictures
    assert unpack(api.recording_binary(recording))[0]["frames"]["mime"] == PNG


def test_pictures_are_encoded_in_order_and_grainy_ones_as_jpeg() -> None:
    rng = np.random.default_rng(0)
    flat = [np.full((40, 60, 3), shade, np.uint8) for shade in range(200)]
    with PictureEncoder() as encoder:
        for picture in flat:
            encoder.add(picture)
        encoded = encoder.finish()
    assert encoder.mime == PNG
    assert [int(decode_png(data)[0, 0, 0]) for data in encoded] == list(range(200))
    with PictureEncoder() as encoder:
        encoder.add(rng.integers(0, 255, (200, 200, 3), dtype=np.uint8))
        (grainy,) = encoder.finish()
    assert encoder.mime == JPEG
    assert grainy[:3] == b"\xff\xd8\xff"


def test_pictures_that_grow_too_large_are_dropped() -> None:
    with PictureEncoder(most_bytes=5_000) as encoder:
        for _ in range(300):
            encoder.add(np.zeros((40, 60, 3), np.uint8))
        assert encoder.finish() == ()
    assert encoder.dropped


@pytest.mark.slow
def test_a_thousand_steps_of_cartpole_take_little_processor_time(tmp_path: Path) -> None:
    """Stepping and drawing take one core, encoding another: within 3 s on a quiet machine. Processor time is
    what a busy one does not change."""
    run = api.train("CartPole-v1:ppo", runs_dir=tmp_path)
    api.record_checkpoint(run, runs_dir=tmp_path, max_steps=20)  # what is imported once
    began = time.process_time()
    info = api.record_checkpoint(run, runs_dir=tmp_path, max_steps=1000, episodes=100)
    assert info.steps == 1000
    assert time.process_time() - began < 5.0
