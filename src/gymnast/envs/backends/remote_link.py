"""One actor as the learner sees it: its connection, its share of the envs, and whether it answers."""

from __future__ import annotations

import contextlib
import logging
import time
from itertools import count
from typing import Any

import gymnasium
import numpy as np

from gymnast.envs.backends.frame import Frame
from gymnast.envs.backends.remote_arrays import FrameArrays, turn_of
from gymnast.envs.backends.remote_handshake import ActorInfo
from gymnast.envs.backends.remote_listener import Listener, dismiss, release
from gymnast.envs.backends.remote_start import ActorStarter
from gymnast.envs.backends.remote_tally import Tally
from gymnast.envs.backends.remote_wire import (
    LONGEST_MESSAGE,
    LONGEST_ORDER,
    Wire,
    WireError,
    bytes_of,
    deadline_in,
)
from gymnast.envs.backends.worker import WorkerLost
from gymnast.envs.backends.worker_process import Answer, Command

_LOOK_SECONDS = 0.25  # between two looks at whether a process that should dial in still lives
_LAST_WORDS_SECONDS = 0.5  # for a process whose connection was closed to be seen to have ended

_ANSWERS = frozenset(map(int, Answer))
_names = count()


class ActorLink:
    """A place for an actor; filled by the first one that dials in when its envs are to be built."""

    def __init__(
        self,
        rows: tuple[int, int],
        frames: list[Frame],
        actions: np.ndarray,
        layout: list[str],
        listener: Listener,
        starter: ActorStarter | None,
        tally: Tally,
        wait: float,
    ) -> None:
        """`frames` and `actions` are those of these rows. `wait`: seconds for an actor to dial in."""
        self.rows = rows
        self.lost: str | None = None
        self.wire: Wire | None = None
        self.actor: ActorInfo | None = None
        self._arrays = [FrameArrays.of(frame) for frame in frames]
        self._actions = bytes_of(actions)
        self._layout = layout
        self._listener, self._starter, self._tally, self._wait = listener, starter, tally, wait
        self._order: Any = None
        self._said: Any = None  # a message that came with the last answer
        self._number = self._command = 0
        self._started = ""
        self._pending = True  # counted among the places that wait to be filled
        if starter is not None and listener.idle <= listener.pending:
            self._started = f"actor-{next(_names)}"
            starter.start(self._started, listener.address, listener.token)
        listener.pending += 1

    @property
    def pid(self) -> int:
        """The actor's process, on the machine that it runs on."""
        return 0 if self.actor is None else self.actor.pid

    def command(self, command: bytes) -> None:
        if self.lost is not None or self.wire is None:
            return
        self._command, self._number = command[0], (self._number + 1) % 2**32
        views = [self._actions] if self._command <= Command.STEP_1 else []
        with contextlib.suppress(WireError):  # lost: reading its answer says so
            self.wire.write(self._command, views, number=self._number, deadline=deadline_in(self._wait))

    def send(self, message: Any) -> None:
        if self.wire is None:
            self._order = message
        elif self.lost is None:
            with contextlib.suppress(WireError):
                self.wire.write_message(message, deadline=deadline_in(self._wait))

    def answer(self, seconds: float, since: float | None = None) -> int:
        """What it answers a command with, the arrays received into the frame; WorkerLost if there is nothing
        within so many seconds (0: ever), counted from now or from a moment of `time.monotonic`."""
        wire = self._connected()
        began = time.monotonic()
        deadline = (began if since is None else since) + seconds if seconds else None
        try:
            if not wire.has_arrived(deadline):
                raise self._lose(f"gave no answer for {seconds:g} s")
            header = wire.read_header(deadline, LONGEST_MESSAGE)
            if header.number != self._number or header.kind not in _ANSWERS:
                raise WireError("it answered what was not asked")
            if header.kind in (Answer.DONE, Answer.SOME_FINISHED):
                arrays = self._arrays[turn_of(self._command)]
                arrays.receive(wire, self._command, header.kind, header.length, deadline)
            else:
                self._said = wire.read_json(header.length, deadline)
        except WireError as error:
            raise self._lose_for(error) from None
        if self._command <= Command.STEP_1:
            tally = self._tally
            tally.steps += self.rows[1] - self.rows[0]
            tally.busy += header.busy
            tally.received += header.length
            tally.waited += time.monotonic() - began
        return header.kind

    def message(self, seconds: float) -> Any:
        """What came with the last answer, or what it says to its order."""
        if self._said is not None:
            said, self._said = self._said, None
            return said
        if self.wire is None and self.lost is None:
            self._fill()
        wire = self._connected()
        try:
            built = wire.read_message(deadline_in(seconds), LONGEST_ORDER)
        except WireError as error:
            raise self._lose_for(error) from None
        return self._checked(built)

    def _fill(self) -> None:
        """Wait for an actor and give it the order."""
        host, port = self._listener.address
        until = time.monotonic() + self._wait
        while (arrived := self._listener.take(self.rows[1] - self.rows[0], _LOOK_SECONDS)) is None:
            problem = self._starter.problem(self._started) if self._starter and self._started else None
            if problem is not None:
                raise self._lose(f"did not dial in: {problem}")
            if time.monotonic() > until:
                raise self._lose(f"is missing: none dialled in at {host}:{port} within {self._wait:g} s")
        self._settle()
        self.wire, self.actor = arrived.wire, arrived.info
        with contextlib.suppress(WireError):
            self.wire.write_message(self._order, deadline=deadline_in(self._wait))
        self._order = None

    def _settle(self) -> None:
        """This place waits no more."""
        self._listener.pending -= self._pending
        self._pending = False

    def _checked(self, built: Any) -> dict[str, Any]:
        """Its answer to the order, unless its envs are others than those here."""
        if not isinstance(built, dict) or ("error" not in built and "layout" not in built):
            raise self._lose("did not say whether its envs are built")
        if "error" in built:
            return {"error": f"the actor {self._who}: {built['error']}"}
        if built["layout"] != self._layout:
            theirs = " and ".join(map(str, built["layout"]))[:200]
            return {
                "error": f"the actor {self._who} has another version of this env: its observations and"
                f" actions are {theirs}, here they are {' and '.join(self._layout)}"
            }
        if (version := str(built.get("gymnasium"))[:40]) != gymnasium.__version__:
            logging.getLogger("gymnast").warning(
                "the actor %s has Gymnasium %s, the learner %s", self._who, version, gymnasium.__version__
            )
        return built

    def _connected(self) -> Wire:
        if self.lost is not None:
            raise WorkerLost(self.lost)
        if self.wire is None:
            raise RuntimeError("this actor was not given its envs yet")
        return self.wire

    @property
    def _who(self) -> str:
        if self.actor is None:
            return self._started or "of this place"
        return f"{self.actor.name} (process {self.actor.pid} on {self.actor.host})"

    def _lose_for(self, error: WireError) -> WorkerLost:
        return self._lose(None, str(error))

    def _lose(self, reason: str | None, error: str = "") -> WorkerLost:
        """Give it up, so that nothing of it is left: it may hang, or come back as another."""
        self._settle()
        if self.wire is not None:
            self.wire.close()
        name = self._started if self.actor is None else self.actor.name
        seconds = 0.0 if reason is not None else _LAST_WORDS_SECONDS
        how = self._starter.end(name, seconds) if self._starter is not None and name else None
        self.lost = f"the actor {self._who} {reason or how or f'is gone: {error}'}"
        return WorkerLost(self.lost)


def let_go(links: list[ActorLink], listener: Listener, starter: ActorStarter | None) -> None:
    """End all actors; those that were started elsewhere are told that this is over."""
    for link in links:
        if link.lost is None and link.wire is not None:
            dismiss(link.wire)
            link.lost = "these envs are closed"
    links.clear()
    release(listener)
    if starter is not None:
        starter.close()
