"""An env to put wrappers around: it has the spaces of another one, and knows what it gave and was given."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from gymnast.envs.families.probe import shown_as

LENGTH = 12  # steps of an episode


class InnerEnv(gym.Env[Any, Any]):
    """Episodes of 12 steps that pay 1 in each step while they show one thing, and -1 while they show another,
    in turn."""

    metadata = {"render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        observation_names: tuple[str, ...] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.render_mode = render_mode
        if observation_names is not None:
            self.observation_names = observation_names
        self.signal = -1
        self.steps = 0
        self.paid = 0.0  # in this episode
        self.ended = False
        self.actions: list[Any] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.signal = -self.signal
        self.steps, self.paid, self.ended = 0, 0.0, False
        return shown_as(self.observation_space, self.signal), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.actions.append(action)
        self.steps += 1
        self.paid += self.signal
        self.ended = self.steps >= LENGTH
        return shown_as(self.observation_space, self.signal), float(self.signal), self.ended, False, {}
