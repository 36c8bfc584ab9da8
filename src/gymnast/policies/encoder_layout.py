"""The parameters of an encoder, as the layout of a policy lists them. Torch is imported only to ask."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from gymnast.errors import GymnastError, MissingExtra
from gymnast.policies.inputs import Input
from gymnast.policies.settings import PolicyConfig

OF_IMAGES = ("small", "nature", "impala")


@dataclass(frozen=True, slots=True)
class EncoderLayout:
    """One encoder; names are without the prefix of the actor's or the critic's."""

    features: int
    shapes: dict[str, tuple[int, ...]]
    buffers: dict[str, tuple[tuple[int, ...], str]]  # shape and dtype of what is not a parameter
    starts: dict[str, float | str]  # an orthogonal gain, or "zero", "one", "normal"
    own: bool  # the user's, which initialises its own weights


def needs_encoder(config: PolicyConfig, inputs: tuple[Input, ...]) -> str | None:
    """Why an encoder is needed before the trunk; None where the numbers go straight in."""
    if ":" in config.encoder:
        return f"policy.encoder '{config.encoder}'"
    if any(part.kind == "image" for part in inputs):
        return "an image in the observation"
    if any(part.kind == "index" for part in inputs) and (len(inputs) > 1 or config.frame_stack > 1):
        return "policy.discrete_obs: embedding of an observation of several parts"
    return None


def describe_encoder(config: PolicyConfig, inputs: tuple[Input, ...]) -> EncoderLayout | None:
    """The encoder that these inputs need; None without one."""
    if config.encoder in OF_IMAGES and not any(part.kind == "image" for part in inputs):
        raise GymnastError(
            f"policy.encoder: {config.encoder} reads images, but the observation has none; "
            "use auto, mlp, or your own as package.module:Class"
        )
    if (reason := needs_encoder(config, inputs)) is None:
        return None
    if find_spec("torch") is None:
        raise MissingExtra(reason, "torch")
    from gymnast.policies.torch.encoder import describe

    return describe(config, inputs)
