"""Playing in time: a session, a clock and the controls, one tick after another.

The loop has no thread and no screen of its own. A page calls `tick` in a thread, a window between two
looks at its events; both show what `shown` says whenever `version` has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnast.errors import GymnastError
from gymnast.play.controls import Command, Controls
from gymnast.play.game import DRIVERS, Driver
from gymnast.play.session import Session

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
END_SECONDS = 1.0  # the last picture of an episode is shown for so long
NOTICE_SECONDS = 4.0  # a notice is shown for so long
PAUSED = "paused"  # by the player; other pauses end with the first key of the game
READY = "press a key of the game to begin"
_IDLE_SECONDS = 0.05
_MOST_SEED = 2**31


@dataclass(frozen=True, slots=True)
class Limits:
    """When a sitting is over by itself; None: never."""

    episodes: int | None = None
    max_steps: int | None = None


class GameLoop:
    """Who calls `tick` plays."""

    def __init__(
        self,
        session: Session,
        controls: Controls,
        *,
        fps: float,
        speed: float = 1.0,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session, self.controls = session, controls
        self.fps, self.speed = fps, speed
        self.version = 0  # counts whatever may be seen
        self.ended: str | None = None  # why it is over
        # Why it stands still. A person gets the time to put the fingers on the keys.
        self.paused: str | None = READY if self._in_real_time else None
        self.waiting: str | None = None  # what it waits for
        self.notice: str | None = None  # what went wrong with the last thing asked for
        self._limits, self._clock = limits or Limits(), clock
        self._taken = 0
        self._noticed = clock()  # when the notice was given
        self._due = clock()
        self._resume_at: float | None = None  # when the next episode begins
        self._last: np.ndarray | None = None  # the action that repeats where there is no neutral one
        self._auto = session.driver if session.driver != "human" else self._other()

    def _other(self) -> Driver:
        """Whom a person hands back to."""
        return "policy" if self.session.game.player is not None else "random"

    def tick(self) -> float:
        """Do what is due; seconds until there is something to do again."""
        for command in self.controls.commands():
            self._do(command)
        if self.ended is not None:
            return 0.0
        if self._in_real_time and not self.paused and (why := self.controls.silent()) is not None:
            self._pause(why)
        if self.paused and not self._wakes():
            return _IDLE_SECONDS
        now = self._clock()
        if self.session.over:
            return self._between_episodes(now)
        if self.session.driver == "human" and self.session.game.turn_based:
            return self._take_turn()
        if now < self._due:
            return self._due - now
        if not self._act():
            return _IDLE_SECONDS
        # Time that was lost is not caught up with.
        self._due = max(self._due + self.interval, now)
        return max(0.0, self._due - self._clock())

    def _wakes(self) -> bool:
        """Whether a person who was waited for is back at the keys."""
        person = self.session.driver == "human" or self.session.game.steered
        back = self.paused != PAUSED and person and self.controls.silent() is None
        if back and self.controls.touched(self.session.game.keymap.keys):
            self._continue()
            self.version += 1
        return self.paused is None

    @property
    def interval(self) -> float:
        """Seconds from one step to the next."""
        return 1.0 / (self.fps * self.speed)

    @property
    def _in_real_time(self) -> bool:
        game = self.session.game
        return game.steered or (self.session.driver == "human" and not game.turn_based)

    def _act(self) -> bool:
        """One step; False: it has to wait for a key."""
        session = self.session
        if (rival := session.game.rival) is not None:
            action = session.game.keymap.action(self.controls.held())
            if action is not None:
                rival(action)
        if session.driver != "human":
            self._step(None)
            return True
        action = session.game.keymap.action(self.controls.held(), session.moment.mask)
        if action is None:
            action = self._last
        if action is None:
            self._wait_for("press a key to begin")
            return False
        self._last = action
        self._step(action)
        return True

    def _take_turn(self) -> float:
        """Where every step waits for a key."""
        key = self.controls.pressed()
        if key is None:
            self._wait_for("press a key")
            return _IDLE_SECONDS
        keymap, mask = self.session.game.keymap, self.session.moment.mask
        action = keymap.action([key], mask) if key in keymap.keys else None
        if action is None or (mask is not None and keymap.action([key]).tolist() != action.tolist()):  # type: ignore[union-attr]
            if key in keymap.keys:
                self._say("that is not allowed here")
            return 0.0
        self._step(action)
        return 0.0

    def _step(self, action: np.ndarray | None) -> None:
        self.waiting = None
        if self._clock() > self._noticed + NOTICE_SECONDS:
            self.notice = None
        self.session.act(action)
        self._taken += 1
        self.version += 1
        if self.session.over and self._limits.episodes is not None:
            whole = sum(episode.ended != "cut" for episode in self.session.episodes)
            if whole >= self._limits.episodes:
                self._end("all episodes are played")
        if self._limits.max_steps is not None and self._taken >= self._limits.max_steps:
            self._end("all steps are played")

    def _between_episodes(self, now: float) -> float:
        if self._resume_at is None:
            self._resume_at = now + END_SECONDS / max(1.0, self.speed)
        if now < self._resume_at:
            return self._resume_at - now
        self._begin_episode(self.session.next_episode)
        return 0.0

    def _begin_episode(self, begin: Callable[[], Any]) -> None:
        begin()
        self.controls.forget()
        self._resume_at, self._last, self.waiting = None, None, None
        self._due = self._clock() + self.interval
        self.version += 1

    def _do(self, command: Command) -> None:
        try:
            self._obey(command.name, command.value)
        except GymnastError as error:
            self._say(str(error))
        self.version += 1

    def _obey(self, name: str, value: Any) -> None:
        self.notice = None
        match name:
            case "quit":
                self._end(str(value or "the player left"))
            case "pause":
                if self.paused:
                    self._continue()
                else:
                    self._pause(PAUSED)
            case "hold":
                if not self.paused:
                    self._pause(str(value))
            case "lost":
                if self._in_real_time and not self.paused:
                    self._pause(str(value))
            case "release":
                if self.paused == value:
                    self._continue()
            case "step":
                self._single_step()
            case "restart":
                self._restart(value)
            case "take_over":
                self._drive(self._auto if self.session.driver == "human" else "human")
            case "driver":
                self._drive(value)
            case "speed" | "slower" | "faster":
                self._set_speed(name, value)
            case _:
                raise GymnastError(f"there is no command {name!r:.40}")

    def _pause(self, why: str) -> None:
        if self.paused != why:
            self.paused = why
            self.version += 1

    def _continue(self) -> None:
        self.paused = None
        self.controls.renew()
        self._due = self._clock()

    def _single_step(self) -> None:
        """One step, and stand still again."""
        self._pause(PAUSED)
        if self.ended is not None:
            return
        if self.session.over:
            self._begin_episode(self.session.next_episode)
        elif self.session.driver == "human" and self.session.game.turn_based:
            raise GymnastError("every step waits for a key here: press one")
        else:
            self._act()

    def _restart(self, seed: Any) -> None:
        if seed is not None and (type(seed) is not int or not 0 <= seed < _MOST_SEED):
            raise GymnastError(f"a seed is a whole number from 0 to {_MOST_SEED - 1:,}")
        self._begin_episode(lambda: self.session.restart(seed))
        if self.paused:
            self._continue()

    def _drive(self, driver: Any) -> None:
        if driver not in DRIVERS:
            raise GymnastError(f"there is no driver {driver!r:.40}: there are {', '.join(DRIVERS)}")
        if driver != "human":
            self._auto = driver
        self.session.set_driver(driver)
        self.waiting, self._last = None, None
        self.controls.forget()
        self.controls.renew()
        self._due = self._clock() + self.interval
        if self.paused not in (None, PAUSED) and not self._in_real_time:
            self._continue()  # whoever plays now needs no keys

    def _set_speed(self, name: str, value: Any) -> None:
        if name == "speed":
            if type(value) not in (int, float) or not 0.01 <= value <= 100:
                raise GymnastError("a speed is a number from 0.01 to 100")
            self.speed = float(value)
        elif name == "faster":
            self.speed = next((speed for speed in SPEEDS if speed > self.speed), SPEEDS[-1])
        else:
            self.speed = next((speed for speed in reversed(SPEEDS) if speed < self.speed), SPEEDS[0])
        self._due = self._clock()

    def _wait_for(self, what: str) -> None:
        if self.waiting != what:
            self.waiting = what
            self.version += 1

    def _say(self, what: str) -> None:
        self.notice, self._noticed = what, self._clock()
        self.version += 1

    def _end(self, why: str) -> None:
        self.ended = self.ended or why
        self.version += 1
