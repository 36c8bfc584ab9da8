"""Images made small: a probe is decided by hundreds of gradient steps, and each costs what its pixels cost.

The built-in encoders take any size, and are the same code with fewer places to look at. An encoder of the
user's own may have been written for one size, and gets that.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.policies.inputs import ImageForm, image_form
from gymnast.policies.settings import PolicyConfig

LONGEST = 44  # px of a side; nature's three layers need 36


def small_images(space: gym.Space[Any], policy: PolicyConfig) -> gym.Space[Any]:
    """The space with no side of an image longer than 44 px, unless the user's own encoder reads it."""
    if ":" in policy.encoder:
        return space
    if isinstance(space, gym.spaces.Dict):
        return gym.spaces.Dict({key: small_images(part, policy) for key, part in space.spaces.items()})
    if isinstance(space, gym.spaces.Tuple):
        return gym.spaces.Tuple([small_images(part, policy) for part in space.spaces])
    form = _form(space, policy)
    if form is None or not isinstance(space, gym.spaces.Box):
        return space
    shape = list(space.shape)
    first = (1 if form.stack else 0) + (1 if form.order == "chw" else 0)
    for axis in (first, first + 1):
        shape[axis] = min(shape[axis], LONGEST)
    part = tuple(slice(0, length) for length in shape)
    return gym.spaces.Box(space.low[part], space.high[part], tuple(shape), space.dtype.type)


def has_images(space: gym.Space[Any], policy: PolicyConfig) -> bool:
    """Whether an image encoder reads part of it."""
    if isinstance(space, gym.spaces.Dict):
        return any(has_images(part, policy) for part in space.spaces.values())
    if isinstance(space, gym.spaces.Tuple):
        return any(has_images(part, policy) for part in space.spaces)
    return _form(space, policy) is not None


def _form(space: gym.Space[Any], policy: PolicyConfig) -> ImageForm | None:
    if policy.encoder == "mlp" or not isinstance(space, gym.spaces.Box) or not np.prod(space.shape):
        return None
    return image_form(space, policy.image.layout)
