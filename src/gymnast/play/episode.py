"""What an episode of a sitting came to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class PlayedEpisode:
    """One episode, to its end or until it was left."""

    total: float = 0.0
    length: int = 0
    ended: str = "running"  # terminated, truncated, or cut: it was left before its end
    parts: dict[str, float] = field(default_factory=dict)  # of the return, `env` is the env's own
    drivers: dict[str, int] = field(default_factory=dict)  # steps by who drove
