"""Films that a run makes of itself: with every evaluation, or of its best checkpoint when it is over.

A film is never worth a run: what goes wrong with one is said, and training goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gymnast.config.schema import Config
from gymnast.errors import GymnastError
from gymnast.policies.policy import Policy
from gymnast.runs.checkpoint import resolve
from gymnast.runs.store import RunFolder
from gymnast.training.evaluator import Result, evaluation_seed, sampling_rng
from gymnast.training.run.outcome import Outcome
from gymnast.video.mp4 import require_video

logger = logging.getLogger("gymnast")


def check_films(config: Config) -> None:
    """Raise MissingExtra, before anything is begun, if films are wanted that cannot be made."""
    if config.video.record != "never":
        require_video(f"video.record: {config.video.record}")


class Films:
    """What the `video` section asks for, done."""

    def __init__(self, run: RunFolder, config: Config) -> None:
        self.run, self.config, self.settings = run, config, config.video

    def after_evaluation(self, policy: Policy, result: Result, best: bool, value_scale: float | None) -> None:
        """Film the weights that have just been scored; `value_scale` as `Player` has it."""
        if self.settings.record != "every":
            return
        from gymnast.video.play import Player
        from gymnast.video.record import build_stage, film_path, film_player, link_best

        config, settings = self.config, self.settings
        path = film_path(self.run, result.env_steps)
        with self._mended(f"the evaluation at step {result.env_steps:,}"):
            stage = build_stage(config, None)
            try:
                seed = evaluation_seed(config)
                rng = sampling_rng(seed, result.env_steps) if config.eval.stochastic else None
                film_player(
                    stage,
                    Player(policy, rng, value_scale),
                    path,
                    episodes=settings.episodes,
                    max_steps=settings.max_steps,
                    fps=settings.fps,
                )
            finally:
                stage.close()
            if best:
                link_best(self.run, path)

    def at_end(self, outcome: Outcome, say: Callable[[str], None]) -> None:
        """Film the best checkpoint of a run that came to its end; one that was stopped is left alone."""
        if self.settings.record != "best" or outcome.status not in ("solved", "finished"):
            return
        from gymnast.video.record import record_checkpoint

        settings = self.settings
        with self._mended("the best checkpoint"):
            film = record_checkpoint(
                resolve(self.run),
                episodes=settings.episodes,
                max_steps=settings.max_steps,
                stochastic=self.config.eval.stochastic,
                fps=settings.fps,
            )
            say(f"film: {_shown(film.path)}")

    @contextmanager
    def _mended(self, what: str) -> Iterator[None]:
        try:
            yield
        except GymnastError as error:
            logger.warning("there is no film of %s: %s", what, error)
        except Exception as error:  # an env that draws may fail in any way
            logger.warning("there is no film of %s: %s: %s", what, type(error).__name__, error)


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
