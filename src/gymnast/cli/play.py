"""gymnast play: watch a policy, play yourself, or take over from it in the middle of an episode."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.eval import run_and_settings
from gymnast.cli.options import ConfigDirs, RunsDir
from gymnast.cli.trust import Trust, used_when_trusted
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import PlayedEpisode, PlayedGame


def play(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUN|CONFIG",
            help="A run (an id, @last, RUN/CKPT, a path), else a preset, a config file or any env id.",
            autocompletion=complete_reference,
        ),
    ] = "@last",
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings to change.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="MODE", help="policy, random or human; by default policy for a run, else human."
        ),
    ] = None,
    window: Annotated[bool, typer.Option("--window", help="In a window, instead of the browser.")] = False,
    headless: Annotated[
        bool, typer.Option("--headless", help="Without a picture: the numbers, as fast as it goes.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the episodes; else those that training evaluated on.")
    ] = None,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Sample the policy's actions, not the most likely ones.")
    ] = False,
    training: Annotated[
        bool | None,
        typer.Option(
            "--training/--evaluation",
            help="Rewards and limits as in training (shaped, clipped), or as in evaluation; by default"
            " evaluation for a run, else training.",
        ),
    ] = None,
    versus: Annotated[
        bool, typer.Option("--versus", help="Play against the policy, where the game is for two (Pong).")
    ] = False,
    task: Annotated[str | None, typer.Option(help="Which task of env.mix; the first if not given.")] = None,
    fps: Annotated[
        float | None,
        typer.Option(min=0.1, max=1000, help="Steps per second; the real speed of the game if not given."),
    ] = None,
    speed: Annotated[float, typer.Option(min=0.01, max=100, help="Times that speed.")] = 1.0,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE|DIR", help="Write FILE.mp4 and FILE.trace, or a pair into a folder."),
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="End after so many; headless: 10 if not given.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(min=1, help="End after so many steps in all.")] = None,
    host: Annotated[str, typer.Option(help="Another address needs --password-env.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Else 8765, or any free one.")] = None,
    password_env: Annotated[
        str | None, typer.Option("--password-env", metavar="NAME", help="Variable with the password.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")
    ] = True,
    trust: Trust = False,
    runs_dir: RunsDir = None,
    config_dir: ConfigDirs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object when it is over.")] = False,
) -> None:
    """Watch a policy play, play yourself, or take over from it in the middle of an episode and hand back.

    It opens in the browser, also over ssh. Tab takes over and hands back, Esc pauses, . makes one step,
    Backspace restarts; the keys of the game are on the screen, and play.keys changes them.

    \b
    Examples:
      gymnast play                               watch the last run's best checkpoint
      gymnast play ALE/Breakout-v5               play yourself
      gymnast play k3v/@best --mode human --record session
      gymnast play ALE/Breakout-v5 --window play.keys.FIRE=x
      gymnast play @last --headless --episodes 20 --json
      gymnast play PONG_RUN --versus             against the policy
    """
    reference, overrides = run_and_settings(what, settings)
    if window and headless:
        raise GymnastError("--window and --headless exclude each other")
    where = "window" if window else "headless" if headless else "browser"
    counted = itertools.count(1)
    played = used_when_trusted(
        trust,
        lambda trusted: api.play(
            reference,
            mode=mode,  # type: ignore[arg-type]  # checked there
            where=where,
            seed=seed,
            stochastic=stochastic,
            task=task,
            training=training,
            versus=versus,
            fps=fps,
            speed=speed,
            record=record,
            episodes=episodes,
            max_steps=max_steps,
            host=host,
            port=port,
            password_env=password_env,
            browser=browser,
            on_episode=None if as_json else lambda episode: _show_episode(next(counted), episode),
            overrides=overrides,
            trust=trusted,
            runs_dir=runs_dir,
            config_dirs=config_dir or (),
        ),
    )
    gc.collect()  # envs refer to themselves, and ALE complains of those that are left at exit
    if as_json:
        echo_json(played.to_json(), indent=None)
    else:
        _show(played)
    if played.interrupted:
        raise typer.Exit(130)


def _show_episode(index: int, episode: PlayedEpisode) -> None:
    """A line as soon as it is over."""
    drivers, parts = episode.drivers, episode.parts
    by = f"   {', '.join(f'{name} {steps:,}' for name, steps in drivers.items())}" if len(drivers) > 1 else ""
    shares = f"   {', '.join(f'{name} {_score(share)}' for name, share in parts.items())}"
    left = "   left before its end" if episode.ended == "cut" else ""
    steps = "1 step" if episode.length == 1 else f"{episode.length:,} steps"
    echo(f"{index:>4}  return {_score(episode.total)}, {steps}{shares if len(parts) > 1 else ''}{by}{left}")


def _show(played: PlayedGame) -> None:
    who = f"{played.run}/{played.checkpoint}, " if played.run is not None else ""
    how = ("actions sampled, " if played.stochastic else "greedy, ") if played.mode == "policy" else ""
    echo(f"{who}{played.env}: {played.mode}, {how}seed {played.seed}")
    values = played.to_json()
    if len(played.whole) > 1:
        echo(f"mean  {_score(values['mean_return'])} ± {_score(values['std_return'])}")
    if not played.episodes:
        echo("nothing was played")
    for path in (played.video, played.trace):
        if path is not None:
            echo(f"{path}")
    if played.recording is not None:
        echo(f"also kept with the run as {played.recording}: gymnast inspect {played.run}")


def _score(value: float) -> str:
    from gymnast.metrics.sinks.console import number

    return number("eval/return/mean", value)
