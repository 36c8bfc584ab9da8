"""Adam on one flat vector in torch, equal to `NumpyAdam` and with the same state.

It is not torch.optim's: the first object of that module imports torch._dynamo, which costs more
than a second. The fused kernel underneath is the same.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from gymnast.policies.numpy_adam import moments


class TorchAdam:
    """Nothing here waits for the device: norm and clipping stay tensors."""

    def __init__(
        self, parameters: torch.Tensor, gradients: torch.Tensor, betas: tuple[float, float], eps: float
    ) -> None:
        self.parameters, self.gradients = parameters, gradients
        self.betas, self.eps = betas, eps
        self.steps = 0
        self.first = torch.zeros_like(parameters)
        self.second = torch.zeros_like(parameters)
        self.fused = _has_fused_kernel(parameters.device)
        self._steps = torch.zeros((), device=parameters.device)  # the kernel wants the count as a tensor

    @torch.no_grad()
    def step(self, lr: float, max_grad_norm: float) -> torch.Tensor:
        """Clip, move the parameters, and give back the norm before clipping."""
        gradients = self.gradients
        norm = torch.linalg.vector_norm(gradients)
        if max_grad_norm:
            gradients *= torch.clamp(max_grad_norm / (norm + 1e-6), max=1.0)
        self.steps += 1
        if self.fused:
            self._steps.fill_(self.steps)
            _fused_step(
                self.parameters, gradients, self.first, self.second, self._steps, lr, self.betas, self.eps
            )
        else:
            self._plain_step(lr)
        return norm

    def _plain_step(self, lr: float) -> None:
        beta1, beta2 = self.betas
        self.first.lerp_(self.gradients, 1 - beta1)
        self.second.mul_(beta2).addcmul_(self.gradients, self.gradients, value=1 - beta2)
        correction1, correction2 = 1 - beta1**self.steps, 1 - beta2**self.steps
        scale = (self.second.sqrt() / math.sqrt(correction2)).add_(self.eps)
        self.parameters.addcdiv_(self.first, scale, value=-lr / correction1)

    def state(self) -> dict[str, Any]:
        first, second = (moment.cpu().numpy().copy() for moment in (self.first, self.second))
        return {"steps": self.steps, "first": first, "second": second}

    def load_state(self, state: dict[str, Any]) -> None:
        self.steps, first, second = moments(state, len(self.parameters))
        self.first.copy_(torch.from_numpy(first))
        self.second.copy_(torch.from_numpy(second))


def _fused_step(
    parameters: torch.Tensor,
    gradients: torch.Tensor,
    first: torch.Tensor,
    second: torch.Tensor,
    steps: torch.Tensor,
    lr: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
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
    value, gradient, first, second = (torch.zeros(1, device=device) for _ in range(4))
    try:
        _fused_step(value, gradient, first, second, torch.ones((), device=device), 0.0, (0.9, 0.999), 1e-8)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
    return True
