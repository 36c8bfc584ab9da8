"""Adam on one flat vector in torch, equal to `NumpyAdam` and with the same state.

It is not torch.optim's: the first object of that module imports torch._dynamo, which costs more
than a second. The fused kernel underneath is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from gymnast.optimizers.flat import FlatOptimizer, Part


class TorchAdam(FlatOptimizer):
    """With a weight decay this is AdamW. Nothing here waits for the device."""

    vectors = ("first", "second")

    def __init__(
        self,
        parameters: torch.Tensor,
        gradients: torch.Tensor,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float = 0.0,
        critic: Sequence[slice] = (),
    ) -> None:
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        super().__init__(parameters, gradients, critic)
        self.fused = _has_fused_kernel(parameters.device)
        self._steps = torch.zeros((), device=parameters.device)  # the kernel wants the count as a tensor

    def _begin_step(self) -> None:
        self._steps.add_(1.0)  # on the device, so that a recorded step counts too

    def reset(self) -> None:
        super().reset()
        self._steps.zero_()

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self._steps.fill_(self.steps)

    @torch.no_grad()
    def _move(self, part: Part, lr: float) -> None:
        if self.weight_decay:
            part[0].mul_(1 - lr * self.weight_decay)
        if self.fused:
            _fused_step(part, self._steps, lr, self.betas, self.eps)
        else:
            self._plain_move(part, lr)

    def _plain_move(self, part: Part, lr: float) -> None:
        parameters, gradients, first, second = part
        beta1, beta2 = self.betas
        first.lerp_(gradients, 1 - beta1)
        second.mul_(beta2).addcmul_(gradients, gradients, value=1 - beta2)
        correction1, correction2 = 1 - beta1**self.steps, 1 - beta2**self.steps
        scale = (second.sqrt() / math.sqrt(correction2)).add_(self.eps)
        parameters.addcdiv_(first, scale, value=-lr / correction1)


def _fused_step(part: Part, steps: torch.Tensor, lr: float, betas: tuple[float, float], eps: float) -> None:
    parameters, gradients, first, second = part
    torch._fused_adam_(
        [parameters],
        [gradients],
        [first],
        [second],
        [],
        [steps],
        lr=lr,
        beta1=betas[0],
        beta2=betas[1],
        weight_decay=0.0,
        eps=eps,
        amsgrad=False,
        maximize=False,
    )


def _has_fused_kernel(device: torch.device) -> bool:
    """Whether torch's fused Adam exists here: tried on one number."""
    part = tuple(torch.zeros(1, device=device) for _ in range(4))
    try:
        _fused_step(part, torch.ones((), device=device), 0.0, (0.9, 0.999), 1e-8)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
    return True
