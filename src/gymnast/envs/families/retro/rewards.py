"""Shaped rewards from a game's variables: for training only, each share reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from gymnast.envs.families.retro.settings import Counts, RewardPart
from gymnast.errors import GymnastError, did_you_mean

OWN = "own_reward"  # the share that takes from (or adds to) the game's own reward


@dataclass(frozen=True, slots=True)
class Share:
    """A reward part with nothing left open."""

    variable: str
    counts: Counts
    weight: float
    limit: float | None = None

    def of(self, before: float, now: float) -> float:
        """The reward of one step."""
        change = now - before
        if self.limit is not None and abs(change) > self.limit:
            return 0.0
        if self.counts == "gain":
            change = max(change, 0.0)
        elif self.counts == "loss":
            change = max(-change, 0.0)
        return self.weight * change


def resolve_shares(
    asked: Mapping[str, RewardPart], table: Mapping[str, RewardPart], variables: list[str], game: str
) -> dict[str, Share]:
    """What a config asks for, filled up from the game's table and checked against its variables."""
    shares = {}
    for name, part in asked.items():
        key = f"env.retro.rewards.{name}"
        usual = table.get(name, RewardPart())
        variable = part.variable or usual.variable
        weight = usual.weight if part.weight is None else part.weight
        if variable is None:
            known = f"; parts that are known for it: {', '.join(table)}" if table else ""
            raise GymnastError(
                f"{key}: give the variable of {game} it counts{did_you_mean(name, table)}{known}"
            )
        if variable not in variables:
            raise GymnastError(
                f"{key}: {game} has no variable '{variable}'{did_you_mean(variable, variables)};"
                f" it has {', '.join(sorted(variables))}"
            )
        if weight is None:
            raise GymnastError(f"{key}: give what one unit of {variable} is worth: weight")
        limit = usual.limit if part.limit is None else part.limit
        shares[name] = Share(variable, part.counts or usual.counts or "change", weight, limit)
    return shares


class RetroRewards(gym.Wrapper[Any, Any, Any, Any]):
    """Adds each share to the reward, and weighs the game's own."""

    def __init__(self, env: gym.Env[Any, Any], shares: Mapping[str, Share], own_weight: float) -> None:
        super().__init__(env)
        self._shares = dict(shares)
        self._own_weight = own_weight
        own = (OWN,) if own_weight != 1.0 else ()
        self.reward_parts: tuple[str, ...] = (*own, *self._shares)
        self._before: dict[str, float] = {}

    def _values(self, info: Mapping[str, Any]) -> dict[str, float]:
        return {share.variable: float(info[share.variable]) for share in self._shares.values()}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._before = self._values(info)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        own, before, now = float(reward), self._before, self._values(info)
        parts = {
            name: share.of(before[share.variable], now[share.variable])
            for name, share in self._shares.items()
        }
        if self._own_weight != 1.0:
            parts[OWN] = (self._own_weight - 1.0) * own
        self._before = now
        return obs, own + sum(parts.values()), terminated, truncated, {**info, "reward_parts": parts}

    def get_state(self) -> dict[str, Any]:
        return {"before": dict(self._before)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._before = {name: float(value) for name, value in state["before"].items()}
