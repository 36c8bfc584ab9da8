"""A wrapper that reports statistics of an episode beyond its return and length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from gymnast.envs.wrappers.base import EnvWrapper, info_number
from gymnast.errors import GymnastError

_NAME = "episode-statistics"
_OF_REWARDS = ("greatest_reward", "least_reward", "mean_reward", "steps_between_rewards")


class EpisodeStatistics(EnvWrapper):
    """Report for each episode how its rewards came, and chosen numbers of `info`.

    They are metrics, `env/episode/<name>`, and stand in evaluations too: greatest_reward, least_reward,
    mean_reward, steps_between_rewards (the episode's length if none was paid), last_<name>,
    greatest_<name>. Rewards are those of the layer below: put it first for the env's own.

    last: numbers of `info` whose value at the episode's end is reported.
    greatest: numbers of `info` whose greatest value is reported.
    """

    def __init__(
        self, env: gym.Env[Any, Any], last: Sequence[str] = (), greatest: Sequence[str] = ()
    ) -> None:
        super().__init__(env)
        self.last, self.greatest = _checked("last", last), _checked("greatest", greatest)
        reported = [f"last_{name}" for name in self.last] + [f"greatest_{name}" for name in self.greatest]
        self.episode_values = (*_OF_REWARDS, *reported)
        self._begin()

    def _begin(self) -> None:
        self._steps, self._paid = 0, 0  # steps of the episode, and those that paid something
        self._sum, self._most, self._least = 0.0, float("-inf"), float("inf")
        self._seen: dict[str, float] = {}  # greatest value of each number that is watched

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._begin()
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        paid = float(reward)
        self._steps += 1
        self._paid += paid != 0
        self._sum += paid
        self._most, self._least = max(self._most, paid), min(self._least, paid)
        for name in self.greatest:
            self._seen[name] = max(info_number(_NAME, name, info), self._seen.get(name, float("-inf")))
        if terminated or truncated:
            info = {**info, **self._episode_values(info)}
        return obs, reward, terminated, truncated, info

    def _episode_values(self, info: dict[str, Any]) -> dict[str, float]:
        of_rewards = (self._most, self._least, self._sum / self._steps, self._steps / max(self._paid, 1))
        return {
            **dict(zip(_OF_REWARDS, of_rewards, strict=True)),
            **{f"last_{name}": info_number(_NAME, name, info) for name in self.last},
            **{f"greatest_{name}": value for name, value in self._seen.items()},
        }

    def get_state(self) -> dict[str, Any]:
        numbers = [self._steps, self._paid, self._sum, self._most, self._least]
        return {"numbers": numbers, "seen": dict(self._seen)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._steps, self._paid, self._sum, self._most, self._least = state["numbers"]
        self._seen = dict(state["seen"])


def _checked(argument: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise GymnastError(f"wrapper '{_NAME}': {argument} is a list of names, not {names!r}")
    return tuple(names)
