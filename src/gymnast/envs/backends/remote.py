"""The `remote` backend: envs stepped by actors, in processes here or on other machines, over TCP.

The learner listens and actors dial in, so that only the learner needs an address. Each has a share of the
envs (SEED RL): the policy acts here, in one batch for all of them, and observations and actions travel.
What `workers.py` does about shares, faults and states holds here too; only the way of the arrays is another.
"""

from __future__ import annotations

import logging
import select
from collections.abc import Sequence
from typing import Any

from gymnast.envs.backends.remote_arrays import layout
from gymnast.envs.backends.remote_handshake import TOKEN_VARIABLE, new_token, read_token
from gymnast.envs.backends.remote_link import ActorLink, let_go
from gymnast.envs.backends.remote_listener import open_listener
from gymnast.envs.backends.remote_settings import ActorsConfig, parse_address
from gymnast.envs.backends.remote_start import ActorStarter, LocalActors, given_starter
from gymnast.envs.backends.remote_tally import ActorTallies
from gymnast.envs.backends.worker import Share
from gymnast.envs.backends.workers import WorkerEnvs
from gymnast.envs.contract import Step
from gymnast.envs.measure.cache import cores_of_a_group
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import one_per_process
from gymnast.errors import GymnastError


class RemoteEnvs(WorkerEnvs):
    """N envs spread over actors; the place of one that is lost is filled by any that dials in."""

    backend = "remote"
    _replaced_how = "another actor takes its place"

    def __init__(self, config: EnvConfig, seeds: Sequence[int], *, training: bool, groups: int = 1) -> None:
        actors = config.actors
        starter = given_starter() or (LocalActors() if actors.start == "local" else None)
        host, port = parse_address(actors.listen)
        most = min(self._most_shares(config, groups), len(seeds))
        fewest_envs = 1 if one_per_process(config) else len(seeds) // most
        self.listener = open_listener(host, port, _token(actors, starter), fewest_envs)
        self.tallies = ActorTallies()
        self._starter, self._wait = starter, actors.wait
        self._arrivals: select.poll | None = None
        if starter is None:
            host, port = self.listener.address
            logging.getLogger("gymnast").warning(
                "waiting for %d actors at %s:%d; on each machine: gymnast actor --connect HOST:%d",
                *(most, host, port, port),
            )
        try:
            super().__init__(config, seeds, training=training, groups=groups)
        except BaseException:
            if not hasattr(self, "_finalizer"):  # before the first actor was asked for
                let_go([], self.listener, starter)
            raise

    def _most_shares(self, config: EnvConfig, groups: int) -> int:
        count = config.actors.count
        return cores_of_a_group(groups) if count is None else max(1, -(-count // groups))

    def _ending(self) -> tuple[Any, ...]:
        return let_go, self._workers, self.listener, self._starter

    def _open(self, rows: tuple[int, int]) -> Share:
        self._arrivals = None
        return ActorLink(
            rows,
            [frame.rows(*rows) for frame in self._block.frames],
            self._block.actions[slice(*rows)],
            layout(self.observation_space, self.action_space),
            self.listener,
            self._starter,
            self.tallies.place(rows[0]),
            self._wait,
        )

    def receive(self) -> Step:
        if self._sent:
            self.tallies.asked += 1
            self.tallies.ready += self._arrived()
        return super().receive()

    def _arrived(self) -> int:
        """Answers that are here already."""
        if self._arrivals is None:
            self._arrivals = select.poll()
            for link in self._workers:
                if isinstance(link, ActorLink) and link.lost is None and link.wire is not None:
                    self._arrivals.register(link.wire.fileno(), select.POLLIN)
        return len(self._arrivals.poll(0))

    @property
    def connected(self) -> int:
        """Actors at work."""
        return sum(link.lost is None for link in self._workers)

    @property
    def losses(self) -> list[int]:
        """How often the actor of each place was lost."""
        return [self._restarts.of_share(link.rows[0]) for link in self._workers]


def _token(actors: ActorsConfig, starter: ActorStarter | None) -> str:
    """The token of this run's actors: as given, or a new one where whoever starts them gets it from here."""
    token = read_token(actors.token_file)
    if token is None and starter is None:
        raise GymnastError(
            f"env.actors.start is none: actors need a token. Set {TOKEN_VARIABLE} here and there, or"
            " env.actors.token_file (gymnast actor --new-token FILE makes one)"
        )
    return token or new_token()
