"""Receptive fields: which pixels a unit of a convolution can see.

Araujo, Norris and Sim (2019), "Computing receptive fields of convolutional neural networks": a layer with
kernel k, stride s and padding p makes a field of r pixels, j apart and beginning at b, one of
r + (k - 1) j pixels, s j apart, beginning at b - p j.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True, slots=True)
class Axis:
    """Along one axis of an image, in pixels."""

    size: int = 1  # of a unit's field
    jump: int = 1  # between neighbouring units
    start: int = 0  # where the first unit's field begins; negative with padding

    def through(self, kernel: int, stride: int, padding: int, dilation: int) -> Axis:
        """The field behind one more layer."""
        return Axis(
            self.size + (kernel - 1) * dilation * self.jump,
            self.jump * stride,
            self.start - padding * self.jump,
        )

    def span(self, unit: int, pixels: int) -> tuple[int, int]:
        """From where to where a unit sees, within an image of so many pixels."""
        begin = self.start + unit * self.jump
        return max(begin, 0), min(begin + self.size, pixels)

    def centre(self, unit: int) -> float:
        return self.start + unit * self.jump + self.size / 2

    def unit_at(self, pixel: float, units: int) -> int:
        """The unit whose field has its centre nearest to a pixel."""
        nearest = round((pixel - self.centre(0)) / self.jump)
        return min(max(nearest, 0), units - 1)


@dataclass(frozen=True, slots=True)
class Field:
    """Of a layer's units."""

    rows: Axis = Axis()
    columns: Axis = Axis()

    def box(self, y: int, x: int, height: int, width: int) -> tuple[int, int, int, int]:
        """Top, left, bottom and right of what the unit at (y, x) sees of an image."""
        top, bottom = self.rows.span(y, height)
        left, right = self.columns.span(x, width)
        return top, left, bottom, right

    def as_data(self) -> dict[str, list[int]]:
        """For JSON: rows, then columns."""
        both = (self.rows, self.columns)
        return {
            "size": [axis.size for axis in both],
            "jump": [axis.jump for axis in both],
            "start": [axis.start for axis in both],
        }


def field_behind(module: nn.Module, field: Field) -> Field | None:
    """What units see behind a module whose input sees `field`; None if that is not known."""
    if isinstance(module, nn.Conv2d | nn.MaxPool2d | nn.AvgPool2d):
        axes = []
        for at, axis in enumerate((field.rows, field.columns)):
            kernel, padding = _along(module.kernel_size, at), _along(module.padding, at)
            stride = _along(module.stride, at)
            dilation = _along(getattr(module, "dilation", 1), at)
            if kernel is None or padding is None or stride is None or dilation is None:
                return None
            axes.append(axis.through(kernel, stride, padding, dilation))
        return Field(*axes)
    if isinstance(module, nn.Linear | nn.Flatten | nn.AdaptiveAvgPool2d | nn.AdaptiveMaxPool2d):
        return None
    return field  # activations and norms look at each place for itself


def _along(value: object, axis: int) -> int | None:
    """Of one axis; padding may be a word ("same")."""
    if isinstance(value, int):
        return value
    return int(value[axis]) if isinstance(value, tuple) else None
