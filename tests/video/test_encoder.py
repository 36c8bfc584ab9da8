"""Videos: what browsers play, complete or not there, and no more memory for a longer one."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gymnast.errors import MissingExtra, RunFailed
from gymnast.video import mp4 as encoding
from gymnast.video.mp4 import Encoder

av = pytest.importorskip("av")


def write(path: Path, count: int = 5, height: int = 64, width: int = 96, fps: float = 25) -> None:
    with Encoder(path, width, height, fps) as encoder:
        for index in range(count):
            encoder.write(np.full((height, width, 3), 20 * index, np.uint8))


def test_a_browser_plays_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "video.mp4"
    write(path, count=7)
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height, stream.average_rate) == (96, 64, 25)
        levels = [int(frame.to_ndarray(format="rgb24").mean().round()) for frame in file.decode(stream)]
    assert levels == pytest.approx([0, 20, 40, 60, 80, 100, 120], abs=2)
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat"), "the index comes first, to play while it loads"


def test_colours_are_kept(tmp_path: Path) -> None:
    picture = np.zeros((64, 192, 3), np.uint8)
    picture[:, :64], picture[:, 64:128], picture[:, 128:] = (200, 40, 30), (30, 180, 60), (40, 60, 210)
    with Encoder(tmp_path / "video.mp4", 192, 64, 10) as encoder:
        encoder.write(picture, times=3)
    with av.open(str(tmp_path / "video.mp4")) as file:
        frames = [frame.to_ndarray(format="rgb24").astype(int) for frame in file.decode(video=0)]
    assert len(frames) == 3
    for column in (32, 96, 160):
        assert frames[-1][32, column] == pytest.approx(picture[32, column].astype(int), abs=6)


@pytest.mark.parametrize(("height", "width"), [(63, 97), (64, 97), (63, 96)])
def test_odd_sides_get_one_more(tmp_path: Path, height: int, width: int) -> None:
    write(tmp_path / "video.mp4", height=height, width=width)
    with av.open(str(tmp_path / "video.mp4")) as file:
        stream = file.streams.video[0]
        assert (stream.height, stream.width) == (height + height % 2, width + width % 2)


@pytest.mark.parametrize("fps", [0.5, 4, 8.75, 29.97, 60])
def test_any_rate(tmp_path: Path, fps: float) -> None:
    write(tmp_path / "video.mp4", fps=fps)
    with av.open(str(tmp_path / "video.mp4")) as file:
        assert float(file.streams.video[0].average_rate or Fraction(0)) == pytest.approx(fps, rel=1e-3)


def test_an_interrupted_video_is_not_there(tmp_path: Path) -> None:
    def broken(path: Path) -> None:
        with Encoder(path, 64, 64, 25) as encoder:
            encoder.write(np.zeros((64, 64, 3), np.uint8))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken(tmp_path / "video.mp4")
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / "video.mp4")
    before = (tmp_path / "video.mp4").read_bytes()
    with pytest.raises(ZeroDivisionError):
        broken(tmp_path / "video.mp4")
    assert (tmp_path / "video.mp4").read_bytes() == before, "the one that was there stays"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFailed, match="could not write"):
        write(tmp_path / "file" / "video.mp4")


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'gymnast\[video\]'"):
        write(tmp_path / "video.mp4")


LONG = """
import resource, sys
import numpy as np
from pathlib import Path
from gymnast.traces.step import Decision, Outcome, TraceStep
from gymnast.video.write import write_video
picture = np.broadcast_to(np.linspace(0, 255, 480).astype(np.uint8)[:, None], (320, 480, 3))
steps = int(sys.argv[2])
action = np.zeros(1)
rows = (
    TraceStep(
        0, step, np.roll(picture, step, axis=1), {}, {}, {}, 0.5, step,
        Outcome(action, "left", 1.0, {}, step == steps, False) if step else None,
        Decision(action, 0.0, 0.0) if step < steps else None,
    )
    for step in range(steps + 1)
)
video = write_video(Path(sys.argv[1]), rows, fps=10, episodes=1)
assert video.frames == steps + 1 + 8
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2))
"""


def test_memory_does_not_grow_with_the_length(tmp_path: Path) -> None:
    def peak(frames: int) -> float:
        command = [sys.executable, "-c", LONG, str(tmp_path / "video.mp4"), str(frames)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    short, long = peak(60), peak(240)  # both beyond what the encoder looks ahead to
    assert long - short < 20, "180 further frames would be 83 MB"
