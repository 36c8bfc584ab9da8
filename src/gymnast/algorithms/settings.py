"""Settings that every algorithm has: the rollout, the step, the critic's loss, rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from gymnast.config.schedules import scheduled
from gymnast.config.search import LogRange, OneMinusLog, Pow2, Range
from gymnast.config.values import CountOrAuto, PositiveCount, Section
from gymnast.errors import GymnastError
from gymnast.optimizers.settings import AdamConfig, OptimizerConfig

if TYPE_CHECKING:
    # A type checker cannot read types that are made by a call.
    Epochs: TypeAlias = Any
    Rate: TypeAlias = Any
    Unit: TypeAlias = Any
    NonNegative: TypeAlias = Any
else:
    Epochs, Rate = scheduled(1, 1000, whole=True), scheduled(0, 10)
    Unit, NonNegative = scheduled(0, 1), scheduled(0)


class AlgoSettings(Section):
    """Every number marked schedulable takes a schedule as well."""

    name: str
    n_steps: Annotated[CountOrAuto, Pow2(16, 2048)] = Field(
        128,
        description="Steps of each env in a rollout; auto: twice the measured steps between rewards.",
    )
    sequence_length: PositiveCount | None = Field(
        None,
        description="Steps per sequence that a policy with a memory learns from; the whole rollout if unset.",
    )
    lr: Annotated[Rate, LogRange(1e-5, 1e-2)] = Field(3e-4, description="Learning rate. Schedulable.")
    critic_lr: Rate | None = Field(
        None,
        description="Learning rate of the critic's own weights (with a shared trunk: of the value head); "
        "as `lr` if unset. Schedulable.",
    )
    optimizer: OptimizerConfig = Field(
        default_factory=AdamConfig, description="The optimiser: adam, adamw, rmsprop or sgd."
    )
    gamma: Annotated[Unit, OneMinusLog(0.9, 0.9995)] = Field(0.99, description="Discount. Schedulable.")
    entropy_coef: Annotated[NonNegative, LogRange(1e-5, 0.1)] = Field(
        0.0, description="Weight of the entropy bonus. Schedulable."
    )
    value_coef: Annotated[NonNegative, Range(0.1, 1.0)] = Field(
        0.5, description="Weight of the value loss. Schedulable."
    )
    value_loss: Literal["squared", "huber"] = Field(
        "squared", description="What the critic minimises; huber grows linearly beyond its delta."
    )
    huber_delta: float = Field(1.0, gt=0, description="Where the Huber loss turns from squared to linear.")
    max_grad_norm: Annotated[NonNegative, LogRange(0.2, 5.0)] = Field(
        0.5, description="Gradients are clipped to this norm; 0: never. Schedulable."
    )
    normalize_advantage: bool = Field(True, description="Advantages of a minibatch get mean 0 and std 1.")
    normalize_reward: bool = Field(
        False, description="Divide rewards by the running std of the discounted return."
    )
    clip_reward: float | None = Field(
        10.0, gt=0, description="Normalised rewards are clipped to ± this; null: never."
    )

    @model_validator(mode="before")
    @classmethod
    def _name_the_optimizer(cls, data: Any) -> Any:
        """`optimizer: {eps: 1e-8}` changes the optimiser that this algorithm has by default."""
        given = data.get("optimizer") if isinstance(data, dict) else None
        if not isinstance(given, dict) or "name" in given:
            return data
        default = cls.model_fields["optimizer"].get_default(call_default_factory=True, validated_data={})
        return data | {"optimizer": {"name": default.name, **given}}

    @property
    def steps(self) -> int:
        """`n_steps` as a number; `auto` becomes one before a run starts, and nowhere else."""
        if self.n_steps == "auto":
            raise GymnastError("algo.n_steps is auto: only training measures it; give a number")
        return self.n_steps

    def minibatch_size(self, rollout_size: int) -> int:
        """Samples of one gradient step; raises ValueError for a size that does not fit the rollout."""
        return rollout_size
