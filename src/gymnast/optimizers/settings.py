"""The `algo.optimizer` section: which optimiser moves the weights, and how it is set."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from gymnast.config.values import Fraction, Section


class _OptimizerSettings(Section):
    name: str
    reset_on_lr_jump: float | None = Field(
        None,
        gt=1,
        description="Reset the moments when the learning rate changes by this factor or more from one "
        "step to the next; null: never.",
    )


class _AdamSettings(_OptimizerSettings):
    eps: float = Field(1e-5, gt=0, description="Added to the root of the second moment.")
    betas: tuple[Fraction, Fraction] = Field((0.9, 0.999), description="Decay rates of both moments.")


class AdamConfig(_AdamSettings):
    """Adam (Kingma and Ba, 2015)."""

    name: Literal["adam"] = "adam"


class AdamWConfig(_AdamSettings):
    """Adam with weight decay that is not part of the gradient (Loshchilov and Hutter, 2019)."""

    name: Literal["adamw"] = "adamw"
    weight_decay: float = Field(0.01, ge=0, description="Decay of each weight, times the learning rate.")


class RMSPropConfig(_OptimizerSettings):
    """RMSProp as A3C and A2C use it (Mnih et al., 2016, eq. 8 and 9)."""

    name: Literal["rmsprop"] = "rmsprop"
    alpha: Fraction = Field(0.99, description="Decay rate of the squared gradients.")
    eps: float = Field(1e-5, gt=0, description="Keeps the division finite.")
    eps_inside: bool = Field(
        True, description="Epsilon is added under the root, as in the paper; false: after it, as torch does."
    )
    momentum: Fraction = Field(0.0, description="Share of the last step that is repeated.")


class SGDConfig(_OptimizerSettings):
    """Gradient descent, with momentum if wanted."""

    name: Literal["sgd"] = "sgd"
    momentum: Fraction = Field(0.0, description="Share of the last step's direction that is kept.")
    nesterov: bool = Field(False, description="Look ahead along the momentum.")
    weight_decay: float = Field(0.0, ge=0, description="Pull towards 0, added to the gradient.")


def _named(value: Any) -> Any:
    """`optimizer: sgd` is short for `optimizer: {name: sgd}`."""
    return {"name": value} if isinstance(value, str) else value


OptimizerConfig: TypeAlias = Annotated[
    AdamConfig | AdamWConfig | RMSPropConfig | SGDConfig, Field(discriminator="name"), BeforeValidator(_named)
]
