"""A video of how a run learnt: one checkpoint after another, beside the growing curve of its returns."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.drawing import FAINT, TEXT, Canvas
from gymnast.envs.contract import EnvFailure
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError, RunFailed
from gymnast.policies.device import limit_threads
from gymnast.rollout.settings import EvalConfig
from gymnast.runs.checkpoint import Checkpoint, DamagedCheckpoint, list_checkpoints, sidecar_or_none
from gymnast.runs.files import refuse_link
from gymnast.runs.store import RunFolder
from gymnast.traces.checkpoint import build_recorded_env, player_of
from gymnast.traces.env import RecordedEnv
from gymnast.traces.recorder import iter_steps
from gymnast.traces.step import TraceStep
from gymnast.video.curve import Curve, draw_curve, read_curve
from gymnast.video.mp4 import Encoder, require_video
from gymnast.video.overlay import Layout, paste
from gymnast.video.write import Played, RecordedVideo, encode_steps, held_frames

logger = logging.getLogger("gymnast")

PANEL_WIDTH = 400
CARD_SECONDS = 1.6
_DIMMED = 0.25  # of a picture behind the text of a card


@dataclass(frozen=True, slots=True)
class Chapter:
    """One player of the video."""

    env_steps: int
    checkpoint: Checkpoint | None  # None: before training
    score: float | None

    @property
    def lines(self) -> tuple[str, str]:
        """The text of its card."""
        if self.checkpoint is None:
            return "before training", ""
        score = "" if self.score is None else f"score {self.score:,.4g}"
        return f"{self.env_steps:,} steps", score


def record_progress(
    run: RunFolder,
    *,
    checkpoints: int,
    seconds: float,
    stochastic: bool = False,
    seed: int | None = None,
    task: str | None = None,
    fps: float | None = None,
    out: Path | None = None,
) -> tuple[RecordedVideo, tuple[int, ...]]:
    """The video, and the env steps of the checkpoints that play in it."""
    require_video("gymnast video")
    config = load_config(str(run.config_path)).config
    stage = Stage(run, seed, task)
    curve = read_curve(run, read_spec(config.env).solved_at)
    chapters = choose_chapters(run, curve, checkpoints)
    if out is None:
        refuse_link(run.videos)
    path, played = out or run.progress_video_path, Played()
    shown_chapters: list[int] = []
    try:
        env, _ = stage.set_for(chapters[0].checkpoint)
        fps = fps or env.fps
        layout = Layout(env.first_picture(), panel=PANEL_WIDTH)
        title = str(run.info().get("name") or config.env.id)
        panels = Panels(curve, layout.height, title, chapters[-1].env_steps)
        with Encoder(path, layout.width, layout.height, fps) as encoder:
            shown = 0
            for chapter in chapters:
                try:
                    env, config = stage.set_for(chapter.checkpoint)
                    player = player_of(env, config, chapter.checkpoint, stochastic=stochastic, seed=seed)
                except DamagedCheckpoint as error:
                    logger.warning("%s; the video goes without it", error)
                    continue
                steps = iter_steps(env, player, episodes=1, max_steps=max(1, round(seconds * fps)))
                with limit_threads(player.policy.network, 1):
                    _encode_chapter(encoder, layout, panels, chapter, steps, shown, fps, played)
                shown = chapter.env_steps
                shown_chapters.append(shown)
            if not shown_chapters:
                raise RunFailed(f"every checkpoint of run {run.id} is damaged")
    except EnvFailure as failure:
        raise RunFailed(f"{config.env.id}: {failure}") from failure
    finally:
        stage.close()
    video = RecordedVideo(path, encoder.width, encoder.height, fps, encoder.frames, played)
    return video, tuple(shown_chapters)


class Stage:
    """The env that chapters play in, as each was trained: built again where a resume changed its settings."""

    def __init__(self, run: RunFolder, seed: int | None, task: str | None) -> None:
        self._run, self._seed, self._task = run, seed, task
        self._env: RecordedEnv | None = None
        self._built: tuple[EnvConfig, EvalConfig, int] | None = None

    def set_for(self, checkpoint: Checkpoint | None) -> tuple[RecordedEnv, Config]:
        """The env and the config of a checkpoint; None: of the start of the run."""
        checkpoint = checkpoint or next(
            (c for c in list_checkpoints(self._run) if sidecar_or_none(c) is not None), None
        )
        if checkpoint is None:
            raise RunFailed(f"every checkpoint of run {self._run.id} is damaged")
        config = load_config(str(checkpoint.config_path())).config
        wanted = (config.env, config.eval, config.seed)
        if self._env is None or wanted != self._built:
            self.close()
            self._env, self._built = build_recorded_env(config, self._seed, self._task), wanted
        return self._env, config

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None


def choose_chapters(run: RunFolder, curve: Curve, count: int) -> list[Chapter]:
    """At most `count`, as evenly over the run as the kept checkpoints allow; the last one always."""
    saved = list_checkpoints(run)
    if not saved:
        raise GymnastError(f"run {run.id} has no checkpoint yet")
    known: dict[int, Checkpoint | None] = {
        c.env_steps: c for c in saved if sidecar_or_none(c, logger.warning) is not None
    }
    if not known:
        raise RunFailed(f"every checkpoint of run {run.id} is damaged")
    if "init_from" not in run.info():
        known.setdefault(
            0, None
        )  # made by its seed; a run that began with other weights has a checkpoint at 0
    steps = np.array(sorted(known))
    wanted = np.linspace(steps[0], steps[-1], count) if count > 1 else steps[-1:]
    chosen = sorted({int(steps[np.abs(steps - target).argmin()]) for target in wanted})
    return [Chapter(at, known[at], _score(known[at], curve)) for at in chosen]


def _score(checkpoint: Checkpoint | None, curve: Curve) -> float | None:
    if checkpoint is None:
        return None
    sidecar = sidecar_or_none(checkpoint)
    if sidecar is not None and sidecar.score is not None:
        return sidecar.score
    return curve.at(checkpoint.env_steps)


@dataclass(frozen=True, slots=True)
class Panels:
    """What is beside the picture: title, chapter, and the curve up to a moment."""

    curve: Curve
    height: int
    title: str
    last: int  # env steps at the right end

    def draw(self, chapter: Chapter, upto: float) -> np.ndarray:
        about = " · ".join(line for line in chapter.lines if line)
        return draw_curve(
            self.curve, PANEL_WIDTH, self.height, upto=upto, last=self.last, lines=(self.title, about)
        )


def _encode_chapter(
    encoder: Encoder,
    layout: Layout,
    panels: Panels,
    chapter: Chapter,
    steps: Iterator[TraceStep],
    shown: int,
    fps: float,
    played: Played,
) -> None:
    """A card, during which the curve grows from env step `shown`, then the episode."""
    first = next(steps)
    assert first.picture is not None
    card, frames = _card(layout, first.picture, chapter), held_frames(CARD_SECONDS, fps)
    for index in range(frames):
        upto = shown + (chapter.env_steps - shown) * (index + 1) / frames
        encoder.write(layout.assemble(card, None, panels.draw(chapter, upto)))
    panel = panels.draw(chapter, chapter.env_steps)
    encode_steps(encoder, layout, chain([first], steps), fps, played, panel)


def _card(layout: Layout, picture: np.ndarray, chapter: Chapter) -> np.ndarray:
    """The chapter's lines over its first picture, dimmed."""
    height, width = layout.area
    card = np.zeros((height, width, 3), np.uint8)
    paste(card, (layout.enlarged(picture) * _DIMMED).astype(np.uint8))
    text = Canvas(width, 90)
    main, below = chapter.lines
    text.text(main, width / 2, 8 if below else 24, 48, TEXT, "centre", width=width - 20)
    text.text(below, width / 2, 52, 32, FAINT, "centre", width=width - 20)
    top = (height - 90) // 2
    if top >= 0:
        card[top : top + 90] = text.array()
    else:
        paste(card, text.array())
    return card
