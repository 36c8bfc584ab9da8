"""A wrapper that pays for what an env reports beside its reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from gymnast.envs.wrappers.base import EnvWrapper, checked_number, info_number, with_part
from gymnast.errors import GymnastError

_NAME = "reward-components"


class RewardComponents(EnvWrapper):
    """Pay for numbers that the env gives in `info`, such as a position, health or a speed.

    Each is a share of the reward with its own metric, `env/reward_part/<name>`.

    weights: name → what each step pays for the number itself, times this weight.
    changes: name → what a step pays for the change of the number since the step before, times this weight.
    """

    training_only = True

    def __init__(
        self,
        env: gym.Env[Any, Any],
        weights: Mapping[str, float] | None = None,
        changes: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(env)
        self.weights, self.changes = _checked("weights", weights), _checked("changes", changes)
        if not self.weights and not self.changes:
            raise GymnastError(f"wrapper '{_NAME}': give weights or changes, otherwise it does nothing")
        self.reward_parts = tuple(dict.fromkeys([*self.weights, *self.changes]))
        self._before: dict[str, float] = {}  # numbers of the step before, as far as they were given

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._before = {name: float(info[name]) for name in self.changes if name in info}
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        numbers = {name: info_number(_NAME, name, info) for name in self.reward_parts}
        shares = dict.fromkeys(self.reward_parts, 0.0)
        for name, weight in self.weights.items():
            shares[name] += weight * numbers[name]
        for name, weight in self.changes.items():
            shares[name] += weight * (numbers[name] - self._before.get(name, numbers[name]))
            self._before[name] = numbers[name]
        total = float(reward)
        for name, share in shares.items():
            total += share
            info = with_part(info, name, share)
        return obs, total, terminated, truncated, info

    def get_state(self) -> dict[str, Any]:
        return {"before": self._before}

    def set_state(self, state: dict[str, Any]) -> None:
        self._before = {str(name): float(value) for name, value in state["before"].items()}


def _checked(argument: str, given: Any) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise GymnastError(f"wrapper '{_NAME}': {argument} is a map such as {{x_pos: 0.1}}, not {given!r}")
    return {str(name): checked_number(_NAME, f"{argument}.{name}", weight) for name, weight in given.items()}
