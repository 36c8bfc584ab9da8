"""What Ray runs on another machine: the answers of `Shares`, call by call."""

from __future__ import annotations

from typing import Any

from gymnast.cluster.versions import own_versions
from gymnast.rollout.remote_actor import Shares
from gymnast.rollout.remote_fleet import Arrays


class RayActor:
    """One actor process; Ray calls its method in the order of the calls."""

    def __init__(self) -> None:
        self._shares = Shares(own_versions())

    def call(
        self, message: dict[str, Any], arrays: Arrays, shared: Arrays | None
    ) -> tuple[dict[str, Any], Arrays]:
        data, answered = self._shares.answer(message, arrays, shared)
        return data, answered
