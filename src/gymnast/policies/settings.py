"""The `policy` section: the network, the action distribution and observation normalisation."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from gymnast.config.values import PositiveCount, Section
from gymnast.errors import did_you_mean

Activation = Literal["tanh", "relu", "leaky_relu", "elu", "silu", "gelu"]


ENCODERS = ("auto", "mlp", "small", "nature", "impala")


class ImageConfig(Section):
    """How images are read; nothing here matters without one."""

    layout: Literal["auto", "hwc", "chw"] = Field(
        "auto", description="Where the channels are; auto: the shorter one of first and last axis."
    )
    activation: Activation = Field("relu", description="Between the layers of an image encoder.")
    channels: tuple[PositiveCount, ...] = Field(
        (16, 32, 32),
        min_length=1,
        description="Channels of IMPALA's stages, each half as wide as the one before.",
    )
    features: PositiveCount | None = Field(
        None, description="Width of an image encoder's output; 512 for nature, else 256, if unset."
    )


class PolicyConfig(Section):
    """An actor-critic: encoder, optional memory, trunk MLP, heads."""

    hidden: tuple[PositiveCount, ...] = Field((64, 64), description="Width of each hidden layer.")
    critic_hidden: tuple[PositiveCount, ...] | None = Field(
        None, description="The critic's own widths; as `hidden` if unset. Not with `shared`."
    )
    shared: bool = Field(False, description="One trunk (and one memory) for actor and critic.")
    activation: Activation = Field("tanh", description="Between hidden layers.")
    layer_norm: bool = Field(False, description="Layer normalisation before each activation.")
    memory: Literal["none", "lstm", "gru"] = Field(
        "none",
        description="A recurrent layer between encoder and trunk; its state is reset where an episode ends.",
    )
    memory_size: PositiveCount = Field(64, description="Width of the recurrent layer.")
    batch_norm: bool = Field(
        False, description="Batch normalisation before each activation, in image encoders too. Torch only."
    )
    dropout: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Share of features dropped after each hidden layer in updates. Torch only.",
    )
    encoder: str = Field(
        "auto",
        description="Of images: nature, impala, small, mlp (pixels as numbers), auto (nature from 36 px, else"
        " small); or your own for the whole observation, `package.module:Class`.",
    )
    encoder_kwargs: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of your own encoder, after the space."
    )
    shared_encoder: bool | None = Field(None, description="One encoder for actor and critic; true if unset.")
    image: ImageConfig = Field(default_factory=ImageConfig, description="How images are read.")
    frame_stack: PositiveCount = Field(
        1,
        description="The policy sees this many of the latest observations; a rollout stores each once.",
    )
    actor_gain: float = Field(
        0.01, gt=0, description="Orthogonal gain of the action head; small starts near uniform."
    )
    popart: bool = Field(
        False,
        description="The value head learns targets normalised by their running mean and std (PopArt); values "
        "do not change when these do. Coefficients and clip ranges of values are then in stds.",
    )
    popart_rate: float = Field(
        1e-4, gt=0, le=1, description="Weight of one target in PopArt's running mean and std."
    )
    normalize_obs: Literal["none", "running", "bounds"] = Field(
        "none",
        description="running: by mean and std seen in training; bounds: by the space's own low and high.",
    )
    clip_obs: float = Field(10.0, gt=0, description="Normalised observations are clipped to ± this.")
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
    log_std_init: float = Field(0.0, description="Initial log std of continuous actions.")

    @field_validator("encoder")
    @classmethod
    def _known_encoder(cls, value: str) -> str:
        if value not in ENCODERS and ":" not in value:
            raise ValueError(
                f"there is no encoder '{value}'{did_you_mean(value, ENCODERS)};"
                f" there are {', '.join(ENCODERS)}, or your own as package.module:Class"
            )
        return value

    @model_validator(mode="after")
    def _layers_fit_together(self) -> PolicyConfig:
        if self.layer_norm and self.batch_norm:
            raise ValueError("layer_norm and batch_norm exclude each other; drop one of the two")
        if self.shared and self.shared_encoder is False:
            raise ValueError("a shared trunk needs a shared encoder; drop shared_encoder: false")
        if self.encoder_kwargs and ":" not in self.encoder:
            raise ValueError("encoder_kwargs are for an encoder of your own, package.module:Class")
        return self
