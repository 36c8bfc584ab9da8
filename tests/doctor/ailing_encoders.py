"""Encoders of a user's own, each broken in one way; and a healthy one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from torch import nn


class HealthyEncoder(nn.Module):
    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.LazyLinear(16), nn.Tanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layers(x)
        return result


class IgnoresItsInput(HealthyEncoder):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(torch.zeros_like(x))


class IsConstant(HealthyEncoder):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.0 * super().forward(x) + 1.0


class Raises(HealthyEncoder):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("the third layer is missing")
