"""How each leaf of an observation enters the network: as numbers, as choices, or as an image."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

import gymnasium as gym
import numpy as np

from gymnast.policies.settings import PolicyConfig
from gymnast.spaces.observation_form import Leaf, ObservationForm

SMALLEST_FLOAT_IMAGE = 8  # px: three axes of floats whose sides are shorter are taken as plain numbers
Kind = Literal["vector", "one_hot", "index", "image"]


@dataclass(frozen=True, slots=True)
class ImageForm:
    """Where an image's axes lie, and what its values are divided by."""

    stack: int  # images that lie behind each other along a leading axis; 0 without such an axis
    order: Literal["hwc", "chw", "hw"]
    channels: int  # of one image
    height: int
    width: int
    scale: float


@dataclass(frozen=True, slots=True)
class Input:
    """One leaf, and what becomes of it."""

    leaf: Leaf
    kind: Kind
    width: int  # columns of numbers or one-hots; of an index: how many choices there are; of an image: 0
    scale: float = 1.0  # numbers are divided by it (pixels that enter as numbers)
    image: ImageForm | None = None


def build_inputs(config: PolicyConfig, form: ObservationForm) -> tuple[Input, ...]:
    """What becomes of each leaf under these settings."""
    return tuple(_build_input(config, leaf) for leaf in form.leaves)


def _build_input(config: PolicyConfig, leaf: Leaf) -> Input:
    space = leaf.space
    if isinstance(space, gym.spaces.Discrete):
        return Input(leaf, "index" if config.discrete_obs == "embedding" else "one_hot", int(space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return Input(leaf, "one_hot", int(space.nvec.sum()))
    if isinstance(space, gym.spaces.MultiBinary):
        return Input(leaf, "vector", prod(leaf.shape))
    assert isinstance(space, gym.spaces.Box)
    form = image_form(space, config.image.layout)
    if form is None:
        return Input(leaf, "vector", prod(leaf.shape))
    if config.encoder == "mlp":
        return Input(leaf, "vector", prod(leaf.shape), scale=form.scale)
    return Input(leaf, "image", 0, image=form)


def image_form(space: gym.spaces.Box, layout: str = "auto") -> ImageForm | None:
    """The form of an image; None if the space does not look like one.

    Images are uint8 with two axes (one channel) or three, and floats with three axes that are at
    least 8 px long. A fourth axis, in front, is a stack of images. Of three axes the shorter one of
    first and last holds the channels; the last one if they are equal.
    """
    shape, pixels = space.shape, space.dtype == np.uint8
    if len(shape) == 4:
        stack, shape = shape[0], shape[1:]
    else:
        stack = 0
    if len(shape) == 2 and pixels and not stack:
        return ImageForm(0, "hw", 1, shape[0], shape[1], _scale(space))
    if len(shape) != 3:
        return None
    order: Literal["hwc", "chw"] = "hwc" if shape[2] <= shape[0] else "chw"
    if layout == "hwc" or layout == "chw":
        order = "hwc" if layout == "hwc" else "chw"
    height, width, channels = shape if order == "hwc" else (shape[1], shape[2], shape[0])
    if not pixels and min(height, width) < SMALLEST_FLOAT_IMAGE and layout == "auto":
        return None
    return ImageForm(stack, order, channels, height, width, _scale(space))


def _scale(space: gym.spaces.Box) -> float:
    """Pixels are divided by the space's greatest value, usually 255; floats stay as they are."""
    return float(max(int(space.high.max()), 1)) if space.dtype == np.uint8 else 1.0
