"""Actors that only step (`cluster.mode: steps`), started by Ray; they dial in to the learner by TCP.

Ray places, starts and watches them. What they see and do never passes through it: see docs/cluster.md.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from gymnast.cluster.ray_session import RaySession
from gymnast.cluster.settings import ClusterConfig
from gymnast.cluster.versions import check_versions, own_versions
from gymnast.errors import GymnastError

_CHECK_SECONDS = 180.0  # a machine may have to be started first


class RaySteps:
    """One actor process on a machine of the cluster, which steps what the learner gives it."""

    def versions(self) -> tuple[dict[str, str], str]:
        import socket

        return own_versions(), socket.gethostname()

    def serve(self, host: str, port: int, token: str, name: str) -> None:
        from gymnast.envs.backends.remote_actor import serve

        os.environ["OMP_NUM_THREADS"] = "1"
        serve(host, port, token, name=name)


class RayStarter:
    """Starts stepping actors wherever Ray has cores; an `ActorStarter`."""

    def __init__(self, config: ClusterConfig) -> None:
        self._session = RaySession(config.address)
        self._ray: Any = self._session.ray
        self._options: dict[str, Any] = {
            "num_cpus": config.cpus,
            "resources": config.resources or None,
            "scheduling_strategy": "SPREAD",
            "max_restarts": 0,
            "max_task_retries": 0,
        }
        self._class = self._ray.remote(RaySteps)
        self._actors: dict[str, tuple[Any, Any]] = {}  # by name: the actor, and its one long call
        try:
            self._check()
        except BaseException:
            self._session.leave()
            raise

    def _check(self) -> None:
        """One actor of the same version can be started; GymnastError otherwise."""
        probe = self._class.options(**self._options).remote()
        try:
            theirs, host = self._ray.get(probe.versions.remote(), timeout=_CHECK_SECONDS)
        except self._ray.exceptions.RayError as error:
            raise GymnastError(f"Ray could not start an actor: {type(error).__name__}: {error}") from None
        finally:
            self._ray.kill(probe)
        check_versions(theirs, host)

    @property
    def places(self) -> int:
        """Actors that the cluster has cores for now."""
        return self._session.places({"CPU": self._options["num_cpus"], **(self._options["resources"] or {})})

    @property
    def host(self) -> str:
        """The address of this machine as the others of the cluster know it."""
        return str(self._ray.util.get_node_ip_address())

    def start(self, name: str, address: tuple[str, int], token: str) -> None:
        actor = self._class.options(**self._options).remote()
        self._actors[name] = actor, actor.serve.remote(*address, token, name)

    def problem(self, name: str) -> str | None:
        if name not in self._actors:
            return None
        call = self._actors[name][1]
        done, _ = self._ray.wait([call], timeout=0)
        if not done:
            return None
        try:
            self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            return f"its process ended: {str(error).strip().splitlines()[-1]}"
        return "it has left"

    def end(self, name: str, seconds: float) -> str | None:
        actor, call = self._actors.pop(name, (None, None))
        if actor is None:
            return None
        self._ray.wait([call], timeout=seconds)
        with suppress(Exception):  # it is gone already
            self._ray.kill(actor)
        return None

    def close(self) -> None:
        for name in list(self._actors):
            self.end(name, 0.0)
        self._session.leave()
