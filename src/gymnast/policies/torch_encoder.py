"""From the encoded observation to features, in torch."""

from __future__ import annotations

import torch
from torch.nn import functional

from gymnast.policies.layout import PolicyLayout


class TorchEncoder:
    """Features of a batch, for the actor and for the critic."""

    def __init__(self, layout: PolicyLayout, views: dict[str, torch.Tensor]) -> None:
        self._embedding = views.get("embedding.weight")

    def actor(self, x: torch.Tensor) -> torch.Tensor:
        """The actor's features [B, F]."""
        return x if self._embedding is None else functional.embedding(x, self._embedding)

    def both(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features of actor and critic, [B, F] each; the same tensor where the encoder is shared."""
        features = self.actor(x)
        return features, features
