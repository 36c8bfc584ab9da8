"""Actors on the machines of a Ray cluster. Ray places, starts and watches them, and carries their arrays."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from gymnast.cluster.ray_actor import RayActor
from gymnast.cluster.ray_session import RaySession
from gymnast.cluster.settings import ClusterConfig
from gymnast.rollout.remote_fleet import ActorLost, Answer, Arrays


class RayFleet:
    """Actors by number, spread over all machines that have the cores for them."""

    kind = "ray"

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._session = RaySession(config.address)
        self._ray = self._session.ray
        self._actors: dict[int, Any] = {}
        self._started = 0
        self._class = self._ray.remote(RayActor)
        self._ask_autoscaler(0 if config.actors == "auto" else config.actors)

    def _ask_autoscaler(self, actors: int) -> None:
        """Where machines can be started, ask for as many as the actors need; 0: no longer."""
        if actors or self._started:
            with suppress(Exception):  # a cluster without an autoscaler has nothing to say
                from ray.autoscaler.sdk import request_resources

                request_resources(bundles=[self._needs()] * actors)

    def _needs(self) -> dict[str, float]:
        return {"CPU": self._config.cpus, **self._config.resources}

    def room(self) -> int:
        return self._session.places(self._needs()) - len(self._actors)

    def start(self) -> int:
        number = self._started
        self._started += 1
        self._actors[number] = self._class.options(
            num_cpus=self._config.cpus,
            resources=self._config.resources or None,
            scheduling_strategy="SPREAD",
            max_restarts=0,  # a process that comes back by itself would know nothing of its envs
            max_task_retries=0,
        ).remote()
        return number

    def stop(self, process: int) -> None:
        if (actor := self._actors.pop(process, None)) is not None:
            with suppress(Exception):  # it is gone already
                self._ray.kill(actor)

    def share(self, arrays: Arrays) -> Any:
        return self._ray.put(arrays)

    def submit(self, process: int, message: dict[str, Any], arrays: Arrays, shared: Any = None) -> Any:
        actor = self._actors.get(process)
        return None if actor is None else actor.call.remote(message, arrays, shared)

    def wait(self, tickets: list[Any], seconds: float) -> list[Any]:
        if None in tickets:
            return [None]
        done, _ = self._ray.wait(tickets, num_returns=len(tickets), timeout=seconds, fetch_local=False)
        return list(done)

    def result(self, ticket: Any) -> Answer:
        if ticket is None:
            raise ActorLost("the actor process is gone")
        try:
            data, arrays = self._ray.get(ticket)
        except self._ray.exceptions.RayError as error:
            raise ActorLost(_in_words(error)) from None
        return Answer(data, arrays)

    def close(self) -> None:
        for process in list(self._actors):
            self.stop(process)
        self._ask_autoscaler(0)
        self._session.leave()


def _in_words(error: Exception) -> str:
    """The part of Ray's message that says what happened."""
    text = [line.strip() for line in str(error).splitlines() if line.strip()]
    for words in ("ModuleNotFoundError", "ImportError", "node", "exit"):
        for line in text:
            if words in line and not line.startswith(("class_name", "actor_id", "namespace", "pid:")):
                return f"{type(error).__name__}: {line}"
    return f"{type(error).__name__}: {text[0] if text else ''}"
