"""Playing: a run's policy, chance or a person, in the browser, in a window or for the numbers alone."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gymnast.api.arguments import Folders, folders, maybe_whole, plain_overrides
from gymnast.api.audit import names_a_run
from gymnast.api.run import Overrides, Run, find_checkpoint, log_printed
from gymnast.errors import GymnastError, MissingExtra, did_you_mean
from gymnast.play.episode import PlayedEpisode

if TYPE_CHECKING:
    from gymnast.config.schema import Config
    from gymnast.play.game import Driver, Game
    from gymnast.play.recording import Recording
    from gymnast.play.sitting import Sitting
    from gymnast.runs.checkpoint import Checkpoint

__all__ = ["MODES", "PLACES", "PlayedEpisode", "PlayedGame", "play"]

Mode = Literal["policy", "random", "human"]
MODES: tuple[Mode, ...] = ("policy", "random", "human")
PLACES = ("browser", "window", "headless")
HEADLESS_EPISODES = 10


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """What a sitting came to."""

    env: str
    run: str | None
    checkpoint: int | None  # env steps of the weights
    mode: str  # who drove first
    seed: int
    stochastic: bool
    training: bool  # whether the env was as in training
    episodes: tuple[dict[str, Any], ...]  # return, length, ended, parts, drivers
    video: Path | None
    trace: Path | None
    recording: str | None  # the id of the same in the run's folder, for the inspector
    interrupted: bool  # by Ctrl-C, before it was over

    @property
    def whole(self) -> tuple[dict[str, Any], ...]:
        """Episodes that were played to their end."""
        return tuple(episode for episode in self.episodes if episode["ended"] != "cut")

    def to_json(self) -> dict[str, Any]:
        """What `gymnast play --json` prints."""
        import numpy as np

        returns = [episode["return"] for episode in self.whole]
        return {
            **asdict(self),
            "video": None if self.video is None else str(self.video),
            "trace": None if self.trace is None else str(self.trace),
            "mean_return": float(np.mean(returns)) if returns else None,
            "std_return": float(np.std(returns)) if returns else None,
        }


def play(
    reference: str | Path | Run = "@last",
    *,
    mode: Mode | None = None,
    where: str = "browser",
    seed: int | None = None,
    stochastic: bool = False,
    task: str | None = None,
    training: bool | None = None,
    versus: bool = False,
    fps: float | None = None,
    speed: float = 1.0,
    record: str | Path | None = None,
    episodes: int | None = None,
    max_steps: int | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    password_env: str | None = None,
    browser: bool = False,
    on_episode: Callable[[PlayedEpisode], None] | None = None,
    runs_dir: str | Path | None = None,
    config_dirs: Folders = (),
    overrides: Overrides = (),
    trust: bool = False,
) -> PlayedGame:
    """Play a run's checkpoint (the best, else the last), or an env without a policy.

    It returns when the sitting is over: the window or the last tab is closed, or `episodes` or `max_steps`
    are played. `training` has the env as in training (shaped, clipped): by default without a run. `versus`
    sits a person against the policy where the game is for two. `record` names a file, without suffix, for a
    video and a trace, or a folder; of a run it is kept with the run too, for the inspector. `browser` opens
    one; else the address is only printed.
    """
    from gymnast.play.controls import Controls
    from gymnast.play.headless import play_headless
    from gymnast.play.loop import Limits
    from gymnast.play.sitting import Sitting

    seed, episodes = maybe_whole("seed", seed), maybe_whole("episodes", episodes, 1)
    limits = Limits(episodes, maybe_whole("max_steps", max_steps, 1))
    for name, rate in (("fps", fps), ("speed", speed)):
        if rate is not None and not 0 < rate < math.inf:
            raise GymnastError(f"{name} must be a number above 0, got {rate}")
    _check_choice("mode", mode, MODES)
    _check_choice("where", where, PLACES)
    if where == "headless":
        if mode == "human" or versus:
            raise GymnastError(
                "a person needs a picture: leave out --headless, or use --mode policy or random"
            )
        if episodes is None and max_steps is None:
            limits = Limits(HEADLESS_EPISODES)
    checkpoint, config = _played(reference, overrides, runs_dir, config_dirs, trust)
    driver = _driver(mode, checkpoint, where, reference)
    _check_place(where)
    game = _build(
        config,
        checkpoint,
        seed=seed,
        stochastic=stochastic,
        task=task,
        training=training,
        versus=versus,
        limited=where == "headless",
        pictures=where != "headless" or record is not None,
    )
    interrupted = False
    try:
        sitting = Sitting(
            game,
            driver,
            limits,
            fps=game.env.fps if fps is None else fps,
            controls=Controls() if where == "browser" else Controls(lease=None),
            speed=speed,
            recording=None if record is None else _recording(Path(record), game),
            on_episode=on_episode,
        )
        if where == "headless":
            interrupted = play_headless(sitting)
        elif where == "window":
            from gymnast.play.window import play_in_window

            play_in_window(sitting)
        else:
            _in_browser(sitting, host=host, port=port, password_env=password_env, browser=browser)
    finally:
        game.close()
    session = sitting.session
    assert session is not None
    video, trace = sitting.files or (None, None)
    return PlayedGame(
        env=game.env.id,
        run=None if checkpoint is None else checkpoint.run.id,
        checkpoint=None if checkpoint is None else checkpoint.env_steps,
        mode=driver,
        seed=session.first_seed,
        stochastic=stochastic,
        training=game.training,
        episodes=tuple(_episode(episode) for episode in session.episodes),
        video=video,
        trace=trace,
        recording=_kept_with_run(checkpoint, sitting),
        interrupted=interrupted,
    )


def _episode(episode: PlayedEpisode) -> dict[str, Any]:
    values = asdict(episode)
    return {"return": values.pop("total"), **values}


def _check_choice(name: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise GymnastError(f"--{name} {value!r}{did_you_mean(value, known)}: there are {', '.join(known)}")


def _played(
    reference: str | Path | Run,
    overrides: Overrides,
    runs_dir: str | Path | None,
    config_dirs: Folders,
    trust: bool,
) -> tuple[Checkpoint | None, Config]:
    """The checkpoint of a run and its config, or a config alone; of several variants the first."""
    from gymnast.config.load import SeveralVariantsError, load_config
    from gymnast.runs.trust import load_run_config

    changes = plain_overrides(overrides)
    if isinstance(reference, Run) or names_a_run(str(reference), runs_dir):
        checkpoint = find_checkpoint(reference, runs_dir)
        log_printed(checkpoint.run)
        return checkpoint, load_run_config(
            checkpoint.run, changes, file=checkpoint.config_path(), trust=trust
        )
    dirs = folders(config_dirs)
    try:
        return None, load_config(str(reference), changes, config_dirs=dirs).config
    except SeveralVariantsError as several:
        name = f"{several.name}:{several.variants[0]}"
        return None, load_config(name, changes, config_dirs=dirs).config
    except GymnastError as error:
        if str(error).startswith("unknown environment"):
            raise GymnastError(f"there is no run {str(reference)!r} here, and it is an {error}") from None
        raise


def _driver(
    mode: Mode | None, checkpoint: Checkpoint | None, where: str, reference: str | Path | Run
) -> Driver:
    if checkpoint is None and mode == "policy":
        raise GymnastError(
            f"--mode policy: {reference} is not a run, so there is no policy; train one"
            f" (gymnast train {reference}), or use --mode random or human"
        )
    if mode is not None:
        return mode
    if checkpoint is not None:
        return "policy"
    return "random" if where == "headless" else "human"


def _check_place(where: str) -> None:
    from importlib.util import find_spec

    if where == "browser" and any(find_spec(name) is None for name in ("starlette", "uvicorn", "websockets")):
        raise MissingExtra("playing in the browser", "play")
    if where == "window":
        from gymnast.play.screen import check_screen

        check_screen()


def _build(config: Config, checkpoint: Checkpoint | None, *, versus: bool, **how: Any) -> Game:
    from gymnast.play.game import build_game

    if versus:
        from gymnast.play.versus import build_versus

        return build_versus(config, checkpoint, **how)
    return build_game(config, checkpoint, **how)


def _recording(record: Path, game: Game) -> Recording:
    from gymnast.play.recording import Recording, recording_place

    return Recording(recording_place(record, game.env.id, game.env.seed), game.env.fps)


def _kept_with_run(checkpoint: Checkpoint | None, sitting: Sitting) -> str | None:
    """The id of the recording in the run's folder, where the inspector finds it."""
    from gymnast.api.recordings import keep_recording

    recording, session = sitting.recording, sitting.session
    if checkpoint is None or session is None or recording is None or recording.kept is None:
        return None
    drivers = {driver for episode in session.episodes for driver in episode.drivers}
    who = next(iter(drivers)) if len(drivers) == 1 else "mixed"
    try:
        return keep_recording(recording.kept, checkpoint.run, player=who).id
    except GymnastError as error:  # the files that were asked for are there
        logging.getLogger("gymnast").warning("the inspector will not find this recording: %s", error)
        return None


def _in_browser(
    sitting: Sitting, *, host: str, port: int | None, password_env: str | None, browser: bool
) -> None:
    from gymnast.play.browser import BrowserPlay
    from gymnast.web.security import access_for
    from gymnast.web.server import announce, open_browser_soon, read_password

    access = access_for(host, read_password(password_env))
    page = BrowserPlay(sitting, access, host=host, port=port)
    url = announce(page.server, "player")
    if browser:
        open_browser_soon(page.server, url)
    page.serve()
