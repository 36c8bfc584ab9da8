"""Videos of a run: one checkpoint, or how it learned."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.arguments import maybe_whole, whole
from gymnast.api.run import Overrides, Run, find_checkpoint, folder_of, log_printed
from gymnast.errors import GymnastError

if TYPE_CHECKING:
    from gymnast.video.write import RecordedVideo


@dataclass(frozen=True, slots=True)
class Video:
    """A video of one checkpoint, or of several from the first to the last."""

    path: Path
    run: str
    checkpoints: tuple[int, ...]  # env steps of those that play, in the order of the video; 0: untrained
    returns: tuple[float, ...]  # of the episodes, in their order
    lengths: tuple[int, ...]
    cut: bool  # whether the step limit cut an episode short
    width: int
    height: int
    fps: float
    frames: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """What `gymnast video … --json` prints."""
        return asdict(self) | {"path": str(self.path)}


def record_video(
    reference: str | Path | Run = "@last",
    *,
    episodes: int = 1,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    fps: float | None = None,
    max_steps: int = 5000,
    out: str | Path | None = None,
    runs_dir: str | Path | None = None,
    overrides: Overrides = (),
    trust: bool = False,
) -> Video:
    """Record a checkpoint (of a run: its best, else its last), into the run's folder unless `out` is given.

    Without a seed it plays the first episodes that training was scored on. `task` is one of `env.mix`; the
    first if not given. `overrides` and `trust` are as in `evaluate`.
    """
    from gymnast.video.record import record_checkpoint

    episodes, max_steps = whole("episodes", episodes, 1), whole("max_steps", max_steps, 1)
    seed = maybe_whole("seed", seed)
    checkpoint = find_checkpoint(reference, runs_dir)
    log_printed(checkpoint.run)
    video = record_checkpoint(
        checkpoint,
        episodes=episodes,
        max_steps=max_steps,
        stochastic=stochastic,
        seed=seed,
        task=task,
        fps=fps,
        out=_checked(out),
        overrides=overrides,
        trust=trust,
    )
    return _video(video, checkpoint.run.id, (checkpoint.env_steps,))


def progress_video(
    run: str | Path | Run = "@last",
    *,
    checkpoints: int = 5,
    seconds: float = 8.0,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    fps: float | None = None,
    out: str | Path | None = None,
    runs_dir: str | Path | None = None,
    overrides: Overrides = (),
    trust: bool = False,
) -> Video:
    """One video of how a run learned: several of its checkpoints, each for at most `seconds`, beside the
    curve of its returns. `overrides` and `trust` are as in `evaluate`."""
    from gymnast.video.progress import record_progress

    checkpoints, seed = whole("checkpoints", checkpoints, 1), maybe_whole("seed", seed)
    folder = folder_of(run, runs_dir)
    log_printed(folder)
    video, chosen = record_progress(
        folder,
        checkpoints=checkpoints,
        seconds=seconds,
        stochastic=stochastic,
        seed=seed,
        task=task,
        fps=fps,
        out=_checked(out),
        overrides=overrides,
        trust=trust,
    )
    return _video(video, folder.id, chosen)


def _checked(out: str | Path | None) -> Path | None:
    if out is None:
        return None
    path = Path(out)
    if path.is_dir():
        raise GymnastError(f"{path} is a folder: name a file, such as {path / 'video.mp4'}")
    if path.suffix.lower() != ".mp4":
        raise GymnastError(f"{path}: videos are MP4; name it {path.with_suffix('.mp4')}")
    return path.expanduser()


def _video(video: RecordedVideo, run_id: str, checkpoints: tuple[int, ...]) -> Video:
    return Video(
        path=video.path,
        run=run_id,
        checkpoints=checkpoints,
        returns=tuple(video.played.returns),
        lengths=tuple(video.played.lengths),
        cut=video.played.cut,
        width=video.width,
        height=video.height,
        fps=video.fps,
        frames=video.frames,
        seconds=video.seconds,
    )
