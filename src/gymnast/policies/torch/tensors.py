"""Preprocessed observations that are sliced like one tensor: of several parts, or images turned."""

from __future__ import annotations

from typing import Any

import torch


class TensorParts:
    """Tensors [B, …] by the name of their part."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    def __getitem__(self, index: Any) -> TensorParts:
        return TensorParts({name: part[index] for name, part in self.parts.items()})

    def tensors(self) -> list[torch.Tensor]:
        """All of them, in the order of their names."""
        return [tensor for part in self.parts.values() for tensor in tensors_of(part)]

    def index_select(self, dim: int, index: torch.Tensor) -> TensorParts:
        return TensorParts({name: part.index_select(dim, index) for name, part in self.parts.items()})


def tensors_of(array: Any) -> list[torch.Tensor]:
    """The tensors that a preprocessed batch is made of."""
    return [array] if isinstance(array, torch.Tensor) else array.tensors()


class PixelsLast:
    """Images with their channels last, as convolutions want them: turned once, then only looked up.

    A tensor in torch's own channels-last format would lose it in `index_select`.
    """

    __slots__ = ("images",)

    def __init__(self, images: torch.Tensor) -> None:
        self.images = images  # [B, H, W, C], contiguous

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: Any) -> PixelsLast:
        return PixelsLast(self.images[index])

    def tensors(self) -> list[torch.Tensor]:
        return [self.images]

    def index_select(self, dim: int, index: torch.Tensor) -> PixelsLast:
        return PixelsLast(self.images.index_select(dim, index))
