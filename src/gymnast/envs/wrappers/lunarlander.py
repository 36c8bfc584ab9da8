"""Wrappers for LunarLander, discrete and continuous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from gymnast.envs.wrappers.base import EnvWrapper, checked_number
from gymnast.errors import GymnastError

_NAME = "lunarlander-physics"
_ALLOWED = {"gravity": (-12.0, 0.0), "wind_power": (0.0, 20.0), "turbulence_power": (0.0, 2.0)}


class LunarLanderPhysics(EnvWrapper):
    """Draw the physics for each episode, so that a policy holds under more than one.

    Evaluation keeps it. The wind is switched on when a range for wind or turbulence is given.

    gravity: [least, greatest], within -12 to 0 (the env's own is -10).
    wind_power: [least, greatest], within 0 to 20.
    turbulence_power: [least, greatest], within 0 to 2.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        gravity: Sequence[float] | None = None,
        wind_power: Sequence[float] | None = None,
        turbulence_power: Sequence[float] | None = None,
    ) -> None:
        super().__init__(env)
        from gymnasium.envs.box2d.lunar_lander import LunarLander

        if not isinstance(env.unwrapped, LunarLander):
            raise GymnastError(f"wrapper '{_NAME}' is for LunarLander, not {env.unwrapped}")
        self._lander = env.unwrapped
        given = {"gravity": gravity, "wind_power": wind_power, "turbulence_power": turbulence_power}
        self.ranges = {
            name: _checked_range(name, value) for name, value in given.items() if value is not None
        }
        if not self.ranges:
            raise GymnastError(f"wrapper '{_NAME}': give a range for at least one of {', '.join(_ALLOWED)}")
        windy = "wind_power" in self.ranges or "turbulence_power" in self.ranges
        if windy and not self._lander.enable_wind:
            # Of wind and turbulence, the one without a range stays off as it was.
            self._lander.wind_power = self._lander.turbulence_power = 0.0
            self._lander.enable_wind = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            # Seeds the generator; the episode begins with the reset below, in a world of the drawn gravity.
            self.env.reset(seed=seed, options=options)
        for name, (least, greatest) in self.ranges.items():
            setattr(self._lander, name, float(self._lander.np_random.uniform(least, greatest)))
        obs, info = self.env.reset(options=options)
        return obs, {**info, "physics": {name: getattr(self._lander, name) for name in _ALLOWED}}


def _checked_range(name: str, value: Any) -> tuple[float, float]:
    least_allowed, most_allowed = _ALLOWED[name]
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise GymnastError(f"wrapper '{_NAME}': {name} must be [least, greatest], not {value!r}")
    least, greatest = (checked_number(_NAME, name, bound, least_allowed, most_allowed) for bound in value)
    if least > greatest:
        raise GymnastError(f"wrapper '{_NAME}': {name} must be [least, greatest], not {value!r}")
    return least, greatest
