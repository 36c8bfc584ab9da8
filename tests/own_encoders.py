"""Encoders as a user may write them: one that is right, and some that are not."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from torch import nn


class OwnEncoder(nn.Module):
    """An encoder of a user's own, with batch norm, for any of the spaces."""

    def __init__(self, space: gym.Space[Any], width: int = 16) -> None:
        super().__init__()
        self.names = list(space.spaces) if isinstance(space, gym.spaces.Dict) else None
        self.layers = nn.Sequential(nn.LazyLinear(width), nn.BatchNorm1d(width), nn.ReLU())

    def forward(self, x: Any) -> torch.Tensor:
        parts = [x] if self.names is None else [x[name] for name in self.names]
        result: torch.Tensor = self.layers(torch.cat([part.flatten(1) for part in parts], 1))
        return result


class WrongShape(nn.Module):
    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[0]


class Raises(nn.Module):
    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(x)
        return result
