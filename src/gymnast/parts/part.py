"""What plugs into a learner: reward scaling, value normalisation, intrinsic rewards, auxiliary losses …

A part is one file and one line in `parts/table.py`. It overrides what it needs of four places: rewards
(before the targets are computed), targets, loss (per minibatch), and after the update. It has its own
metrics, declared in its file, and its own state, which a checkpoint keeps under its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np

    from gymnast.algorithms.algorithm import Hyper
    from gymnast.algorithms.batch import Array, Batch
    from gymnast.config.schema import Config
    from gymnast.envs.contract import Envs
    from gymnast.envs.spec import EnvSpec
    from gymnast.policies.policy import Policy
    from gymnast.rollout.buffer import Rollout
    from gymnast.rollout.transitions import Transitions


@dataclass(frozen=True, slots=True)
class PartContext:
    """What a part may need to be built."""

    config: Config
    envs: Envs
    policy: Policy
    spec: EnvSpec


@dataclass(frozen=True, slots=True)
class Forward:
    """What the network gave for a minibatch."""

    outputs: Array  # [A, B], masked where the env masks actions
    log_std: Array | None
    values: Array  # [B], or [V, B] of several heads
    features: Array  # [B, H] of the actor's trunk


@dataclass(slots=True)
class PartLoss:
    """Further derivatives of the mean objective, each of its variable's shape; None: nothing to add."""

    d_outputs: Array | None = None
    d_log_std: Array | None = None
    d_values: Array | None = None
    d_features: Array | None = None
    value: Array | float = 0.0  # scalar: what it adds to `train/loss/total`
    stats: dict[str, Array] = field(default_factory=dict)  # scalars by metric key


class Part:
    """Does nothing anywhere: override what is needed."""

    name: ClassVar[str]  # what a checkpoint keeps its state under
    needs_transitions: ClassVar[bool] = False  # whether `steps` is given; it costs memory otherwise saved
    adds_loss: ClassVar[bool] = False  # whether `loss` is called

    @classmethod
    def build(cls, context: PartContext) -> Part | None:
        """The part that the config asks for; None if it does not."""
        return None

    @classmethod
    def value_heads(cls, config: Config) -> tuple[str, ...]:
        """Value heads that the policy needs for this part, beside the first one."""
        return ()

    def schedule(self, env_steps: int, total_steps: int) -> None:
        """Before each update: set scheduled settings of its own to their value now."""

    def rewards(self, rollout: Rollout, steps: Transitions | None, hp: Hyper) -> None:
        """Change rewards in place, or add a stream of rewards with a value head of its own."""

    def targets(self, batch: Batch, hp: Hyper) -> Batch:
        """The batch with changed targets."""
        return batch

    def loss(self, xp: Any, forward: Forward, minibatch: Batch, hp: Hyper) -> PartLoss | None:
        """What this part adds to the objective of a minibatch."""
        return None

    def after_update(self, steps: Transitions | None, hp: Hyper, rng: np.random.Generator) -> None:
        """Learn what the part itself learns."""

    def metrics(self) -> dict[str, float]:
        """For this update's row."""
        return {}

    def state(self) -> dict[str, Any]:
        """What a resumed run needs to continue exactly: nested dicts of JSON values and arrays."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore it."""
