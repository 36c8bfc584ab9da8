"""Encoded observations of several parts as tensors: indexed and sliced together, as one tensor is."""

from __future__ import annotations

from typing import Any

import torch


class TensorParts:
    """Tensors [B, …] by the name of their part."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[str, torch.Tensor]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    def __getitem__(self, index: Any) -> TensorParts:
        return TensorParts({name: part[index] for name, part in self.parts.items()})

    def index_select(self, dim: int, index: torch.Tensor) -> TensorParts:
        return TensorParts({name: part.index_select(dim, index) for name, part in self.parts.items()})
