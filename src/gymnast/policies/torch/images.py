"""Image encoders in torch: channel-first images [B, C, H, W], bytes as floats, → features [B, F]."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from gymnast.errors import GymnastError
from gymnast.policies.flat import HIDDEN_GAIN
from gymnast.policies.inputs import ImageForm
from gymnast.policies.settings import PolicyConfig

NATURE_LEAST = 36  # px: below, nothing is left after its third layer
_FEATURES = {"nature": 512, "impala": 256, "small": 256}

_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "silu": nn.SiLU,
    "gelu": lambda: nn.GELU(approximate="tanh"),
}


def build_image_encoder(config: PolicyConfig, form: ImageForm, frames: int) -> nn.Sequential:
    """The encoder that `policy.encoder` names, for images like this one, of which `frames` are stacked."""
    side = min(form.height, form.width)
    name = config.encoder
    if name == "auto":
        name = "nature" if side >= NATURE_LEAST else "small"
    if name == "nature" and side < NATURE_LEAST:
        raise GymnastError(
            f"policy.encoder: nature needs images of at least {NATURE_LEAST} × {NATURE_LEAST} px, this one is"
            f" {form.height} × {form.width}; use small or impala"
        )
    channels = form.channels * max(form.stack, 1) * frames
    layers = {"nature": _nature, "impala": _impala, "small": _small}[name](config, channels)
    layers[0] = PixelConv2d.like(layers[0], form.scale)
    with torch.no_grad():
        flat = nn.Sequential(*layers).eval()(torch.zeros(1, channels, form.height, form.width)).shape[1]
    width = config.image.features or _FEATURES[name]
    head: list[nn.Module] = [nn.Linear(flat, width)]
    if config.batch_norm:
        head.append(nn.BatchNorm1d(width))
    elif config.layer_norm:
        head.append(nn.LayerNorm(width))
    head.append(_activation(config))
    if config.dropout:
        head.append(nn.Dropout(config.dropout))
    return nn.Sequential(*layers, *head)


def _activation(config: PolicyConfig) -> nn.Module:
    return _ACTIVATIONS[config.image.activation]()


def _convolution(
    config: PolicyConfig, n_in: int, n_out: int, kernel: int, stride: int, padding: int = 0
) -> list[nn.Module]:
    """A convolution, its norm if there is one, its activation."""
    layers: list[nn.Module] = [nn.Conv2d(n_in, n_out, kernel, stride, padding)]
    if config.batch_norm:
        layers.append(nn.BatchNorm2d(n_out))
    return [*layers, _activation(config)]


def _nature(config: PolicyConfig, channels: int) -> list[nn.Module]:
    """Mnih et al. (2015), "Human-level control through deep reinforcement learning"."""
    return [
        *_convolution(config, channels, 32, 8, 4),
        *_convolution(config, 32, 64, 4, 2),
        *_convolution(config, 64, 64, 3, 1),
        nn.Flatten(),
    ]


def _small(config: PolicyConfig, channels: int) -> list[nn.Module]:
    """For images that are smaller than Nature's filters: grids, boards, thumbnails."""
    return [
        *_convolution(config, channels, 16, 3, 1, 1),
        *_convolution(config, 16, 32, 3, 2, 1),
        *_convolution(config, 32, 32, 3, 2, 1),
        nn.Flatten(),
    ]


def _impala(config: PolicyConfig, channels: int) -> list[nn.Module]:
    """Espeholt et al. (2018), "IMPALA", the deep network of figure 3."""
    layers: list[nn.Module] = []
    for width in config.image.channels:
        layers += [
            nn.Conv2d(channels, width, 3, padding=1),
            nn.MaxPool2d(3, 2, padding=1),
            ResidualBlock(config, width),
            ResidualBlock(config, width),
        ]
        channels = width
    return [*layers, _activation(config), nn.Flatten()]


class PixelConv2d(nn.Conv2d):
    """A first layer for pixels from 0 to `scale`: it divides its few weights instead of every pixel."""

    scale = 1.0

    @classmethod
    def like(cls, layer: nn.Module, scale: float) -> PixelConv2d:
        assert isinstance(layer, nn.Conv2d)
        kernel, stride, padding = layer.kernel_size[0], layer.stride[0], layer.padding[0]
        assert isinstance(padding, int)
        own = cls(layer.in_channels, layer.out_channels, kernel, stride, padding)
        own.scale = scale
        return own

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.weight if self.scale == 1.0 else self.weight * (1.0 / self.scale)
        return self._conv_forward(x, weight, self.bias)


class ResidualBlock(nn.Module):
    """Two convolutions whose result is added to what went in."""

    def __init__(self, config: PolicyConfig, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(2):
            layers += [_activation(config), nn.Conv2d(width, width, 3, padding=1)]
            if config.batch_norm:
                layers.append(nn.BatchNorm2d(width))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = x + self.layers(x)
        return result


def orthogonal_gain(module: nn.Module, activation: str, in_residual: bool) -> float | None:
    """The gain that a layer's weights start with; None if they do not start orthogonal."""
    if not isinstance(module, nn.Conv2d | nn.Linear):
        return None
    # What a block adds to its input must stay small beside it, or depth makes features grow.
    if in_residual:
        return 0.5
    return HIDDEN_GAIN[activation]
