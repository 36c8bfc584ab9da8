"""The actors of a run: who has which rows, what they were asked for, and who takes over from a lost one.

Rows are dealt to shares, and shares to processes: usually one each. A process that dies or hangs is replaced
within the restart budget. What it had collected died with it, so its part of the rollout is collected again,
by the process that takes its place, with the same weights and in new episodes, from other seeds. Other parts
of the rollout stay: nothing that is learned from is cut short or made up. Where there is no room for another
process (its machine is gone), one of the others takes over the share until there is.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnast.envs.backends.in_process import restart_seed
from gymnast.envs.backends.restarts import Restarts
from gymnast.envs.contract import EnvFailure
from gymnast.errors import GymnastError, RunFailed
from gymnast.rollout.remote_fleet import ActorLost, Answer, Arrays, Fleet
from gymnast.rollout.remote_states import deal

_LOOK_SECONDS = 0.05
_START_SECONDS = 180.0  # a machine may have to be started first
_PATIENCE_SECONDS = 15.0  # while others could take over; a dead machine counts as alive for a while
_ROOM_SECONDS = 10.0  # between two looks for room for more actors
CheckVersions = Callable[[dict[str, str], str], None]


@dataclass(slots=True)
class Request:
    """One rollout of all shares, asked for or at hand."""

    index: int
    version: int  # updates made before the weights that act in it
    weights: Arrays
    noise: np.ndarray  # [T, A, N]
    random: Any  # the state of the generator before its noise was drawn
    shared: Any = None
    rows: list[tuple[int, int]] = field(default_factory=list)  # of each part
    tickets: list[Any] = field(default_factory=list)
    answers: list[Answer | None] = field(default_factory=list)
    before: dict[str, Any] | None = None  # the state at its beginning, once the shares are others


class Crew:
    """Asks actors, in order, and keeps their number up."""

    def __init__(
        self,
        fleet: Fleet,
        order: dict[str, Any],
        seeds: list[int],
        actors: int | None,
        restarts: Restarts,
        timeout: float,
        check_versions: CheckVersions,
    ) -> None:
        """`order`: what a share is built from, beside its rows and their seeds. `actors`: None for as many
        as there is room for."""
        self.fleet, self.seeds, self.restarts = fleet, seeds, restarts
        self.order, self._wanted, self._timeout = order, actors, timeout
        self._check_versions = check_versions
        self.rows: list[tuple[int, int]] = []
        self._hosts: list[int] = []  # the process of each share
        self._in_flight: deque[Request] = deque()
        self._looked_at = 0.0
        self.carries_state = True

    @property
    def n_actors(self) -> int:
        return len(set(self._hosts))

    def muster(self) -> Arrays:
        """Start as many processes as there is room for and build every share; what the envs show first."""
        processes = self._start_processes(self._number())
        shares = min(len(self.seeds), self._wanted or len(processes))
        self.rows = deal(len(self.seeds), shares)
        self._hosts = [processes[share % len(processes)] for share in range(shares)]
        for spare in processes[shares:]:
            self.fleet.stop(spare)
        tickets = [self._submit_build(share) for share in range(shares)]
        shown: list[Arrays] = []
        for share, ticket in enumerate(tickets):
            try:
                answer = _checked(self.fleet.result(ticket))
            except ActorLost as lost:
                raise GymnastError(f"actor {share} could not be started: {lost}") from None
            self.carries_state = self.carries_state and answer.data["carries"]
            shown.append(answer.arrays)
        self._looked_at = time.monotonic()
        return _joined_arrays(shown)

    def _number(self) -> int:
        """Processes to start: as many as wanted and as there is room for."""
        most = min(len(self.seeds), self._wanted or len(self.seeds))
        return max(1, min(most, self.fleet.room()))

    def _start_processes(self, number: int, seconds: float = _START_SECONDS) -> list[int]:
        """Started and of the same version. Those that do not come up in time are done without."""
        started = [self.fleet.start() for _ in range(number)]
        hellos = [(process, self.fleet.submit(process, {"do": "hello"}, {})) for process in started]
        up: list[int] = []
        deadline, reason = time.monotonic() + seconds, "there was no answer"
        for process, ticket in hellos:
            left = max(0.0, deadline - time.monotonic()) if not up else max(5.0, deadline - time.monotonic())
            if not self.fleet.wait([ticket], left):
                self.fleet.stop(process)
                continue
            try:
                hello = _checked(self.fleet.result(ticket)).data
            except ActorLost as lost:
                reason = str(lost)
                continue
            self._check_versions(hello["versions"], hello["host"])
            up.append(process)
        if not up:
            raise GymnastError(f"no actor could be started within {seconds:g} s: {reason}")
        if len(up) < number:
            logging.getLogger("gymnast").warning("%d of %d actors could be started", len(up), number)
        return up

    def _submit_build(self, share: int) -> Any:
        start, stop = self.rows[share]
        order = {**self.order, "rows": [start, stop], "seeds": self.seeds[start:stop]}
        message = {"do": "build", "share": share, "order": json.dumps(order)}
        return self.fleet.submit(self._hosts[share], message, {})

    # Asking

    def ask(self, request: Request) -> None:
        """Let every share begin a rollout, after those it was asked for before."""
        request.shared = self.fleet.share(request.weights)
        request.rows = list(self.rows)
        request.answers = [None] * len(self.rows)
        request.tickets = [self._submit(request, share) for share in range(len(self.rows))]
        self._in_flight.append(request)

    def _submit(self, request: Request, share: int) -> Any:
        start, stop = self.rows[share]
        message = {"do": "collect", "share": share, "index": request.index}
        noise = {"noise": np.ascontiguousarray(request.noise[:, :, start:stop])}
        return self.fleet.submit(self._hosts[share], message, noise, request.shared)

    def ready(self, request: Request) -> int:
        """How many parts of a rollout are there already."""
        return len(self.fleet.wait(request.tickets, 0.0)) if None in request.answers else len(request.answers)

    def gather(self, request: Request, look: Callable[[int], None] | None = None) -> list[Answer]:
        """Wait for all parts of a rollout. `look` is called every now and then with how many are missing."""
        since = time.monotonic()
        while missing := [share for share, answer in enumerate(request.answers) if answer is None]:
            waiting = {request.tickets[share]: share for share in missing}
            done = self.fleet.wait([request.tickets[share] for share in missing], _LOOK_SECONDS)
            for ticket in done:
                share = waiting[ticket]
                if request.tickets[share] != ticket or request.answers[share] is not None:
                    continue  # it was asked again meanwhile
                try:
                    request.answers[share] = _checked(self.fleet.result(ticket))
                except ActorLost as lost:
                    self._replace(self._hosts[share], str(lost))
                    since = time.monotonic()
            if not done and self._timeout and time.monotonic() - since > self._timeout:
                self._replace(self._hosts[missing[0]], f"the actor gave no answer for {self._timeout:g} s")
                since = time.monotonic()
            if look is not None:
                look(len(missing) - len(done))
        if request in self._in_flight:
            self._in_flight.remove(request)
        return [answer for answer in request.answers if answer is not None]

    def ask_each(self, messages: list[dict[str, Any]]) -> list[Answer]:
        """One message to each share, and all answers; a share that is lost meanwhile answers as a new one."""
        asked = [
            (self._hosts[share], self.fleet.submit(self._hosts[share], message, {}))
            for share, message in enumerate(messages)
        ]
        answers: list[Answer] = []
        for share, (host, ticket) in enumerate(asked):
            while True:
                try:
                    answers.append(_checked(self.fleet.result(ticket)))
                    break
                except ActorLost as lost:
                    if self._hosts[share] == host:
                        self._replace(host, str(lost))
                    host = self._hosts[share]
                    ticket = self.fleet.submit(host, messages[share], {})
        return answers

    # Losses, and room for more

    def _replace(self, lost_host: int, reason: str) -> None:
        """Other processes take over the shares of one that is lost, and do again what it was asked for."""
        self.fleet.stop(lost_host)
        for share in [share for share, host in enumerate(self._hosts) if host == lost_host]:
            self._build_again(share, reason)
            for request in self._in_flight:
                if request.answers[share] is None:
                    request.tickets[share] = self._submit(request, share)

    def _build_again(self, share: int, reason: str) -> None:
        rows = self.rows[share]
        while True:
            if self.restarts.spent:
                failed = f"is lost: {reason}{self.restarts.describe_end()}"
                raise EnvFailure(rows[0], self.seeds[rows[0]], failed)
            self.restarts.begin(rows, reason)
            for row in range(*rows):
                self.seeds[row] = restart_seed(self.seeds[row], self.restarts.count)
            try:
                self._hosts[share] = self._another_host(self._hosts[share])
                _checked(self.fleet.result(self._submit_build(share)))
                return
            except ActorLost as lost:
                reason = str(lost)

    def _another_host(self, lost_host: int) -> int:
        """A new process if there is room, else the one with the fewest shares."""
        others = Counter(host for host in self._hosts if host != lost_host)
        if not others:  # a machine may come back
            deadline = time.monotonic() + _START_SECONDS
            while not self.fleet.room() and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
        if self.fleet.room():
            try:
                return self._start_processes(1, _PATIENCE_SECONDS if others else _START_SECONDS)[0]
            except GymnastError as error:
                if not others:
                    raise ActorLost(str(error)) from None
        if not others:
            raise ActorLost("no machine is left to run actors on")
        return min(others, key=lambda host: others[host])

    def has_room(self) -> bool:
        """Whether more actors could run than do; it is looked for every few seconds."""
        if time.monotonic() - self._looked_at < _ROOM_SECONDS:
            return False
        self._looked_at = time.monotonic()
        most = min(len(self.seeds), self._wanted or len(self.seeds))
        return self.n_actors < most and self.fleet.room() > 0

    def muster_again(self) -> Arrays:
        """Deal all rows again, to as many actors as there is room for; nothing may be in flight."""
        for host in set(self._hosts):
            self.fleet.stop(host)
        return self.muster()

    def forget(self) -> None:
        """Nobody waits for what is in flight any more."""
        self._in_flight.clear()

    def close(self) -> None:
        self._in_flight.clear()
        self.fleet.close()


def _checked(answer: Answer) -> Answer:
    """An answer, unless it says what went wrong."""
    data = answer.data
    if "env_failure" in data:
        raise EnvFailure(*data["env_failure"])
    if "error" in data:
        raise GymnastError(data["error"])
    if "bug" in data:
        error = RunFailed("an actor failed; the error is in the run's log")
        error.add_note(data["bug"])
        raise error
    return answer


def _joined_arrays(parts: list[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
