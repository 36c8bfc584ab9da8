"""What an algorithm is: settings, targets and an objective. The loop and the update know no more."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from gymnast.algorithms.batch import Batch
from gymnast.algorithms.objective import Loss
from gymnast.algorithms.settings import AlgoSettings
from gymnast.config.schedules import Schedule

if TYPE_CHECKING:
    from gymnast.algorithms.batch import Array
    from gymnast.policies.distributions import Evaluated
    from gymnast.rollout.buffer import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyper:
    """The schedulable settings of any algorithm at one moment; each becomes a metric, `opt/<name>`."""

    lr: float
    critic_lr: float | None = None  # None: as lr
    gamma: float
    entropy_coef: float
    value_coef: float
    max_grad_norm: float
    n_epochs: int = 1  # an algorithm without this setting takes one gradient step per rollout
    target_kl: float | None = None


class Algorithm(Protocol):
    """Holds nothing but its frozen settings."""

    Settings: ClassVar[type[AlgoSettings]]  # its section of the config
    # Defaults for an env without a preset, beside those that its spaces imply: parts of `env` and `algo`.
    without_preset: ClassVar[dict[str, dict[str, Any]]]
    # With one step per update, the policy has not moved yet when its loss is taken: KL and ratios are
    # then measured once more, after the step.
    measure_after: ClassVar[bool]
    config: Any

    @property
    def uses_critic(self) -> bool:
        """Whether values are learned at all; if not, metrics leave them out."""

    def __init__(self, config: Any) -> None: ...

    def hyperparameters(self, env_steps: int, total_steps: int) -> Any:
        """Every schedule's value now: a Hyper, with what else this algorithm has."""

    def targets(self, rollout: Rollout, hp: Any) -> Batch:
        """Advantages, and returns for the critic, in the order of the rollout's rows [T·N]."""

    def prepare(self, xp: Any, minibatch: Batch) -> Batch:
        """Once per minibatch, before its first use."""

    def loss(self, xp: Any, new: Evaluated, values: Array, batch: Batch, hp: Any) -> Loss:
        """The objective to minimise, as derivatives per sample."""


H = TypeVar("H", bound=Hyper)


def hyper_at(kind: type[H], config: AlgoSettings, env_steps: int, total_steps: int) -> H:
    """The settings that `kind` names, each schedule at its current value."""
    values: dict[str, Any] = {}
    for field in fields(kind):
        if field.name not in type(config).model_fields:
            continue  # what this algorithm does not have keeps its default
        schedule: Schedule | None = getattr(config, field.name)
        value = None if schedule is None else schedule.at(env_steps, total_steps)
        values[field.name] = round(value) if field.type == "int" and value is not None else value
    return kind(**values)
