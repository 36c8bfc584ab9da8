"""What the settings alone cannot tell: whether env, wrappers and network of a config can be built here."""

from __future__ import annotations

from importlib.util import find_spec

from gymnast.config.schema import Config
from gymnast.envs.measure.capacity import check_fits, check_network_fits
from gymnast.envs.mix.build import policy_spaces
from gymnast.envs.spec import read_spec
from gymnast.errors import MissingExtra, MissingGame
from gymnast.parts.table import value_heads
from gymnast.policies.build import choose_engine
from gymnast.policies.device import check_precision, choose_device
from gymnast.policies.layout import build_layout


def check_buildable(config: Config) -> None:
    """Raise GymnastError for what a training would stop at before its first step. Builds one env for a
    moment; where its game is not installed, a review is still worth reading, and nothing is checked."""
    try:
        observations, actions = policy_spaces(config.env)
        read_spec(config.env)
    except (MissingExtra, MissingGame):
        return
    check_fits(config.env, config.env.copies, config.algo.steps)
    layout = build_layout(config.policy, observations, actions, value_heads(config))
    check_network_fits(layout.n_parameters)
    check_precision(config.precision, layout)
    if choose_engine(config.engine, layout, config.device) == "torch" and find_spec("torch") is not None:
        choose_device(config.device, layout)
