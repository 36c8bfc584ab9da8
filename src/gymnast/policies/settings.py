"""The `policy` section: the network, the action distribution and observation normalisation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gymnast.config.values import PositiveCount, Section

Activation = Literal["tanh", "relu", "leaky_relu", "elu", "silu", "gelu"]


class PolicyConfig(Section):
    """An MLP actor-critic."""

    hidden: tuple[PositiveCount, ...] = Field((64, 64), description="Width of each hidden layer.")
    critic_hidden: tuple[PositiveCount, ...] | None = Field(
        None, description="The critic's own widths; as `hidden` if unset. Not with `shared`."
    )
    shared: bool = Field(False, description="One trunk for actor and critic.")
    activation: Activation = Field("tanh", description="Between hidden layers.")
    layer_norm: bool = Field(False, description="Layer normalisation before each activation.")
    actor_gain: float = Field(
        0.01, gt=0, description="Orthogonal gain of the action head; small starts near uniform."
    )
    normalize_obs: Literal["none", "running", "bounds"] = Field(
        "none",
        description="running: by mean and std seen in training; bounds: by the space's own low and high.",
    )
    clip_obs: float = Field(10.0, gt=0, description="Normalised observations are cut to ± this.")
    discrete_obs: Literal["one_hot", "embedding"] = Field(
        "one_hot", description="How a Discrete observation enters."
    )
    embedding_size: PositiveCount = Field(32, description="Width of the embedding of a Discrete observation.")
    gaussian: Literal["clipped", "squashed"] = Field(
        "clipped", description="Continuous actions: clipped at the bounds, or squashed by tanh."
    )
    state_dependent_std: bool = Field(
        False, description="The network gives the std, instead of one per action."
    )
    log_std_init: float = Field(0.0, description="log std of continuous actions at the start.")
