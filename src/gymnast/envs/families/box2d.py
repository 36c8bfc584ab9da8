"""Box2D's envs: LunarLander can be brought back to any moment of an episode.

A Box2D world cannot be written down: the impulses that its solver starts from, the order of contacts and
the boxes of its search tree are hidden. But LunarLander builds a new world for every episode, so the same
random numbers and actions give the same bits again: its state is how the episode began and what was done
since. BipedalWalker and CarRacing keep one world for all episodes, and there the same actions give other
bits (measured for BipedalWalker: 7 of 12 episodes), so those are left as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.box2d.lunar_lander import LunarLander

if TYPE_CHECKING:
    from gymnast.envs.settings import EnvConfig

_LANDER = "gymnasium.envs.box2d.lunar_lander:LunarLander"
_RECORDED = "gymnast.envs.families.box2d:RecordedLander"
_PHYSICS = ("gravity", "wind_power", "turbulence_power")  # may change from episode to episode


class RecordedLander(LunarLander):
    __doc__ = LunarLander.__doc__

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._start: dict[str, Any] = {}  # random numbers and physics at the start of this episode
        self._actions: list[Any] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        gym.Env.reset(self, seed=seed)  # seeds the generator before anything is drawn from it
        self._start = {
            "random": self.np_random.bit_generator.state,
            "physics": {name: getattr(self, name) for name in _PHYSICS},
        }
        first = super().reset(options=options)
        self._actions = []  # the first observation comes from a step
        return first

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._actions.append(np.array(action) if self.continuous else int(action))
        return super().step(action)

    def get_state(self) -> dict[str, Any]:
        return {**self._start, "actions": np.array(self._actions)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Play the episode again, at about 40 µs per step."""
        for name, value in state["physics"].items():
            setattr(self, name, value)
        self.np_random.bit_generator.state = state["random"]
        self.reset()
        for action in state["actions"]:
            self.step(action if self.continuous else int(action))


def build_box2d(config: EnvConfig, *, training: bool, render_mode: str | None) -> gym.Env[Any, Any]:
    """One env by id, as Gymnasium makes it; LunarLander with a state."""
    from gymnast.envs.single import find_spec, make_registered

    spec = find_spec(config.id)
    is_lander = spec is not None and spec.entry_point == _LANDER
    return make_registered(config, render_mode, entry_point=_RECORDED if is_lander else None)
