"""What makes up the state of Gymnasium's own small envs, class by class."""

from __future__ import annotations

from typing import Any

from gymnast.envs.states import Attributes

# Exact classes only: a subclass may hold more. Read from the sources of Gymnasium 1.4.
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "gymnasium.envs.classic_control.cartpole.CartPoleEnv": ("state", "steps_beyond_terminated"),
    "gymnasium.envs.classic_control.acrobot.AcrobotEnv": ("state",),
    "gymnasium.envs.classic_control.mountain_car.MountainCarEnv": ("state",),
    "gymnasium.envs.classic_control.continuous_mountain_car.Continuous_MountainCarEnv": ("state",),
    "gymnasium.envs.classic_control.pendulum.PendulumEnv": ("state", "last_u"),
    "gymnasium.envs.toy_text.blackjack.BlackjackEnv": (
        *("dealer", "player"),
        *("dealer_top_card_suit", "dealer_top_card_value_str"),  # for the picture
    ),
    "gymnasium.envs.toy_text.frozen_lake.FrozenLakeEnv": ("s", "lastaction"),
    "gymnasium.envs.toy_text.cliffwalking.CliffWalkingEnv": ("s", "lastaction"),
    "gymnasium.envs.toy_text.taxi.TaxiEnv": (
        *("s", "lastaction", "fickle_step"),
        "taxi_orientation",  # for the picture
    ),
}


def attributes_of(layer: Any) -> Attributes | None:
    """The state of an env that is listed here."""
    names = _ATTRIBUTES.get(f"{type(layer).__module__}.{type(layer).__qualname__}")
    return None if names is None else Attributes(layer, names)
