"""Playing in time: pauses, single steps, turns, and a keyboard that falls silent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gymnast.api.run import find_checkpoint
from gymnast.config.load import load_config
from gymnast.play import controls
from gymnast.play import loop as loops
from gymnast.play.controls import LEASE_SECONDS, Controls
from gymnast.play.game import Game, build_game
from gymnast.play.loop import PAUSED, READY, GameLoop, Limits
from gymnast.play.session import Session
from gymnast.play.shown import about_game, moment_of
from gymnast.runs.trust import load_run_config


@pytest.fixture
def games() -> Iterator[Any]:
    built: list[Game] = []

    def build(reference: str, runs: Path | None = None, **overrides: Any) -> Game:
        if runs is not None:
            checkpoint = find_checkpoint(reference, runs)
            config = load_run_config(checkpoint.run, file=checkpoint.config_path())
            built.append(build_game(config, checkpoint, seed=3))
        else:
            built.append(build_game(load_config(reference, overrides).config, None, seed=3))
        return built[-1]

    yield build
    for game in built:
        game.close()


def made(game: Game, driver: Any, *, lease: float | None = None, limits: Limits | None = None) -> GameLoop:
    return GameLoop(Session(game, driver), Controls(lease), fps=1000, limits=limits)


def ticks(loop: GameLoop, count: int = 20) -> None:
    for _ in range(count):
        time.sleep(min(loop.tick(), 0.005))


def test_the_policy_plays_until_it_is_paused_and_makes_single_steps(games: Any, runs: Path) -> None:
    loop = made(games("@last", runs), "policy")
    ticks(loop)
    at = loop.session.moment.step
    assert at > 3
    loop.controls.ask("pause")
    ticks(loop)
    at = loop.session.moment.step
    ticks(loop)
    assert (loop.session.moment.step, loop.paused) == (at, PAUSED)
    loop.controls.ask("step")
    ticks(loop)
    assert (loop.session.moment.step, loop.paused) == (at + 1, PAUSED)
    loop.controls.ask("pause")
    ticks(loop)
    assert loop.session.moment.step > at + 1


def test_one_key_takes_over_and_hands_back(games: Any, runs: Path) -> None:
    loop = made(games("@last", runs), "policy")
    ticks(loop, 5)
    loop.controls.hold(["left"])
    loop.controls.ask("take_over")
    before = loop.session.moment.step
    while loop.session.moment.step < before + 4:
        ticks(loop, 1)
    assert loop.session.driver == "human"
    assert loop.session.moment.outcome.label == "left"  # type: ignore[union-attr]
    loop.controls.ask("take_over")
    ticks(loop, 5)
    assert loop.session.driver == "policy"
    assert set(loop.session.current.drivers) == {"policy", "human"}


def test_a_person_begins_when_ready_and_no_key_repeats_the_last(games: Any) -> None:
    loop = made(games("CartPole-v1:ppo"), "human")
    ticks(loop)
    assert (loop.session.moment.step, loop.paused) == (0, READY)
    loop.controls.hold(["right"])
    ticks(loop, 4)
    loop.controls.hold([])
    ticks(loop, 4)
    assert loop.paused is None
    assert loop.session.moment.step >= 4
    assert loop.session.moment.outcome.label == "right"  # type: ignore[union-attr]


def test_chance_needs_no_key_to_begin(games: Any) -> None:
    loop = made(games("MountainCar-v0:ppo"), "human")
    ticks(loop)
    assert loop.paused == READY
    loop.controls.ask("take_over")  # there is no policy, so chance plays
    ticks(loop)
    assert (loop.session.driver, loop.paused) == ("random", None)
    assert loop.session.moment.step > 0
    loop.controls.ask("pause")
    loop.controls.ask("take_over")
    loop.controls.ask("take_over")
    ticks(loop)
    assert loop.paused == PAUSED, "a pause that was asked for stays"


@pytest.fixture
def lease_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time by which keys are on a lease: a machine that is busy makes no keyboard fall silent."""
    now = [100.0]
    monkeypatch.setattr(controls, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_keyboard_that_falls_silent_pauses_the_game(games: Any, lease_clock: list[float]) -> None:
    loop = made(games("MountainCar-v0:ppo"), "human", lease=LEASE_SECONDS)
    loop.controls.hold(["left"])
    ticks(loop, 5)
    assert loop.paused is None
    assert loop.session.moment.step > 0
    lease_clock[0] += LEASE_SECONDS + 0.05
    at = loop.session.moment.step
    ticks(loop, 5)
    assert loop.session.moment.step == at
    assert "not heard" in str(loop.paused)
    loop.controls.hold(["left"])
    ticks(loop, 3)
    assert loop.paused is None, "it continues with the first key"


@pytest.mark.usefixtures("lease_clock")
def test_a_lost_keyboard_pauses_a_person_and_not_the_policy(games: Any, runs: Path) -> None:
    loop = made(games("@last", runs), "policy", lease=LEASE_SECONDS)
    loop.controls.lose("the window lost the keyboard")
    ticks(loop, 5)
    assert loop.paused is None
    loop.controls.ask("driver", "human")
    loop.controls.hold(["left"])
    ticks(loop, 3)
    loop.controls.lose("the window lost the keyboard")
    ticks(loop, 3)
    assert loop.paused == "the window lost the keyboard"


def test_turns_wait_for_keys_and_each_press_is_one_step(games: Any) -> None:
    loop = made(games("FrozenLake-v1:ppo"), "human")
    ticks(loop, 5)
    assert loop.session.moment.step == 0
    assert loop.waiting is not None
    loop.controls.hold(["right"])
    ticks(loop, 10)
    assert loop.session.moment.step == 1, "a key that stays down is one turn"
    loop.controls.hold([])
    loop.controls.hold(["down"])
    ticks(loop, 5)
    assert loop.session.moment.outcome.label == "down"  # type: ignore[union-attr]
    loop.controls.press("q")
    ticks(loop, 5)
    assert loop.session.moment.step == 2, "a key without meaning does nothing"


def test_what_is_not_allowed_is_not_done(games: Any) -> None:
    loop = made(games("Taxi-v4:ppo-masked"), "human")
    mask = loop.session.moment.mask
    assert mask is not None
    labels = loop.session.game.env.actions.choices
    keys = {binding.does: binding.keys[0] for binding in loop.session.game.keymap.bindings}
    forbidden = next(labels[index] for index, allowed in enumerate(mask) if not allowed)
    loop.controls.press(keys[forbidden])
    ticks(loop, 3)
    assert loop.session.moment.step == 0
    assert loop.notice == "that is not allowed here"


def test_limits_end_it(games: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "END_SECONDS", 0.01)
    loop = made(games("CartPole-v1:ppo"), "random", limits=Limits(episodes=2))
    while loop.ended is None:
        ticks(loop, 1)
    assert len(loop.session.episodes) == 2
    short = made(games("CartPole-v1:ppo"), "random", limits=Limits(max_steps=7))
    while short.ended is None:
        ticks(short, 1)
    assert sum(e.length for e in short.session.episodes) + short.session.current.length == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("driver", "policy"),
        ("driver", "ghost"),
        ("restart", -1),
        ("restart", "x"),
        ("speed", 0),
        ("fly", None),
    ],
)
def test_wrong_commands_are_said_and_change_nothing(games: Any, name: str, value: Any) -> None:
    loop = made(games("CartPole-v1:ppo"), "random")
    loop.controls.ask(name, value)
    loop.tick()
    assert loop.notice
    assert (loop.session.driver, loop.speed, loop.session.game.env.seed) == ("random", 1.0, 3)


def test_speed_and_restart(games: Any) -> None:
    loop = made(games("CartPole-v1:ppo"), "random")
    loop.controls.ask("faster")
    ticks(loop, 5)
    assert loop.speed == 2.0
    loop.controls.ask("slower")
    loop.controls.ask("slower")
    loop.controls.ask("restart", 17)
    loop.tick()
    assert (loop.speed, loop.session.game.env.seed) == (0.5, 17)


def test_what_is_shown_is_plain_data(games: Any, runs: Path) -> None:
    from gymnast.web.wire import pack, unpack

    loop = made(games("@last", runs), "policy")
    ticks(loop, 6)
    header, _ = unpack(pack(moment_of(loop), {}))
    now = header["meta"]
    assert now["step"] == loop.session.moment.step
    assert sum(now["probabilities"]) == pytest.approx(1, abs=1e-5)
    assert now["value"] is not None
    assert [b["does"] for b in about_game(loop.session.game)["bindings"]] == ["left", "right"]
