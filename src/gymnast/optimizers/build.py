"""The optimisers, built in one place for both engines."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gymnast.optimizers.flat import FlatOptimizer, Part
from gymnast.optimizers.numpy_adam import NumpyAdam
from gymnast.optimizers.settings import (
    AdamConfig,
    AdamWConfig,
    OptimizerConfig,
    RMSPropConfig,
    SGDConfig,
)

if TYPE_CHECKING:
    from gymnast.policies.policy import Optimizer


class FlatNetwork(Protocol):
    """What an optimiser sees of a network."""

    xp: ModuleType  # numpy or torch
    parameters: Any  # [P]
    gradients: Any  # [P]
    critic_spans: list[slice]  # those of the parameters that `critic_lr` is for


class RMSProp(FlatOptimizer):
    """Mnih et al. (2016), eq. 8 and 9: g ← α g + (1-α) Δ²; θ ← θ - η Δ / √(g + ε)."""

    vectors = ("second", "momentum")

    def __init__(self, parameters: Any, gradients: Any, critic: Sequence[slice], config: RMSPropConfig):
        super().__init__(parameters, gradients, critic)
        self.config = config

    def _move(self, part: Part, lr: float) -> None:
        parameters, gradients, second, momentum = part
        config = self.config
        second *= config.alpha
        second += (1 - config.alpha) * gradients * gradients
        root = (second + config.eps) ** 0.5 if config.eps_inside else second**0.5 + config.eps
        step = gradients / root
        if config.momentum:
            momentum *= config.momentum
            momentum += step
            step = momentum
        parameters -= lr * step


class SGD(FlatOptimizer):
    """θ ← θ - η m with m ← μ m + Δ; Nesterov's form takes Δ + μ m."""

    vectors = ("momentum",)

    def __init__(self, parameters: Any, gradients: Any, critic: Sequence[slice], config: SGDConfig):
        super().__init__(parameters, gradients, critic)
        self.config = config

    def _move(self, part: Part, lr: float) -> None:
        parameters, gradients, momentum = part
        config = self.config
        step = gradients + config.weight_decay * parameters if config.weight_decay else gradients
        if config.momentum:
            momentum *= config.momentum
            momentum += step
            step = step + config.momentum * momentum if config.nesterov else momentum
        parameters -= lr * step


class ResetOnJump:
    """Resets the moments when the learning rate jumps: they were gathered for steps of another size."""

    def __init__(self, optimizer: FlatOptimizer, factor: float) -> None:
        self.optimizer, self.factor = optimizer, factor
        self.lr: float | None = None
        self.resets = 0

    def step(self, lr: float, max_grad_norm: float, critic_lr: float | None = None) -> Any:
        if self.lr is not None and self._jumped(self.lr, lr):
            self.optimizer.reset()
            self.resets += 1
        self.lr = lr
        return self.optimizer.step(lr, max_grad_norm, critic_lr)

    def advance(self, steps: int) -> None:
        self.optimizer.advance(steps)

    def _jumped(self, before: float, now: float) -> bool:
        low, high = sorted((before, now))
        return high > 0 and high >= self.factor * low

    def metrics(self) -> dict[str, float]:
        return {"opt/resets": self.resets}

    def state(self) -> dict[str, Any]:
        return self.optimizer.state() | {"lr": self.lr, "resets": self.resets}

    def load_state(self, state: dict[str, Any]) -> None:
        state = dict(state)
        self.lr, self.resets = state.pop("lr", None), int(state.pop("resets", 0))
        self.optimizer.load_state(state)


def build_optimizer(network: FlatNetwork, config: OptimizerConfig | None = None) -> Optimizer:
    """The optimiser of a network's flat vector; Adam with the usual settings if none is given."""
    config = config or AdamConfig()
    critic = network.critic_spans
    flat: FlatOptimizer
    match config:
        case RMSPropConfig():
            flat = RMSProp(network.parameters, network.gradients, critic, config)
        case SGDConfig():
            flat = SGD(network.parameters, network.gradients, critic, config)
        case AdamConfig() | AdamWConfig():
            flat = _adam(network)(
                network.parameters,
                network.gradients,
                config.betas,
                config.eps,
                config.weight_decay if isinstance(config, AdamWConfig) else 0.0,
                critic,
            )
    if config.reset_on_lr_jump is None:
        return flat
    return ResetOnJump(flat, config.reset_on_lr_jump)


def _adam(network: FlatNetwork) -> type[Any]:
    if network.xp is np:
        return NumpyAdam
    from gymnast.optimizers.torch_adam import TorchAdam

    return TorchAdam
