"""Wrappers that change the pictures an agent sees: their colours, their size, and what they show.

A picture is what a policy takes for one (`policies/inputs.py`): uint8 [H, W], [H, W, C], [C, H, W], or a
stack of them. In a Dict or Tuple every picture is changed and the rest is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.wrappers.base import ObservationChange, checked_count, checked_flag, checked_number
from gymnast.errors import GymnastError
from gymnast.policies.inputs import ImageForm, image_form

_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as ALE and OpenCV have it


class _Pictures(ObservationChange):
    """Changes each picture of the observation; what a wrapper does to one is `_picture`."""

    wrapper: str

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._forms: dict[tuple[Any, ...], ImageForm] = {}  # of each picture, by the way to it
        self.observation_space = self._space(env.observation_space, ())
        if not self._forms:
            raise GymnastError(
                f"wrapper '{self.wrapper}' is for pictures, and {env.observation_space} has none;"
                " drop it, or ask the env for pixels"
            )

    def observation(self, observation: Any) -> Any:
        return self._changed(observation, ())

    def _space(self, space: gym.Space[Any], way: tuple[Any, ...]) -> gym.Space[Any]:
        if isinstance(space, gym.spaces.Dict):
            return gym.spaces.Dict({key: self._space(part, (*way, key)) for key, part in space.items()})
        if isinstance(space, gym.spaces.Tuple):
            return gym.spaces.Tuple([self._space(part, (*way, at)) for at, part in enumerate(space.spaces)])
        form = image_form(space) if isinstance(space, gym.spaces.Box) else None
        if form is None:
            return space
        assert isinstance(space, gym.spaces.Box)
        self._forms[way] = form
        # What becomes of the bounds is what becomes of a picture.
        low, high = self._picture(space.low, form), self._picture(space.high, form)
        return gym.spaces.Box(low, high, dtype=space.dtype.type)

    def _changed(self, obs: Any, way: tuple[Any, ...]) -> Any:
        if (form := self._forms.get(way)) is not None:
            return self._picture(obs, form)
        if isinstance(obs, dict):
            return {key: self._changed(part, (*way, key)) for key, part in obs.items()}
        if isinstance(obs, tuple):
            return tuple(self._changed(part, (*way, at)) for at, part in enumerate(obs))
        return obs

    def _picture(self, picture: np.ndarray, form: ImageForm) -> np.ndarray:
        """A changed copy (or view) of one picture."""
        raise NotImplementedError


class Grayscale(_Pictures):
    """Turn colours into shades of grey: 0.299 red + 0.587 green + 0.114 blue; the channel axis goes.

    Put it before `resize`, which then has a third of the work.
    """

    wrapper = "grayscale"

    def _picture(self, picture: np.ndarray, form: ImageForm) -> np.ndarray:
        if form.channels != 3:
            raise GymnastError(
                f"wrapper 'grayscale' is for pictures with 3 channels, not {form.channels}"
                f" (shape {picture.shape})"
            )
        if form.order == "chw":
            picture = np.moveaxis(picture, -3, -1)
        return _as_before(picture.astype(np.float32) @ _LUMA, picture.dtype)


class Resize(_Pictures):
    """Make pictures smaller (or larger); each new pixel is the mean of the area that it covers.

    height, width: of the new picture, in pixels.
    keep_aspect: scale both sides alike, and fill what is left over evenly on both sides.
    fill: the value it is filled with.
    """

    wrapper = "resize"

    def __init__(
        self,
        env: gym.Env[Any, Any],
        height: int = 84,
        width: int = 84,
        keep_aspect: bool = False,
        fill: float = 0,
    ) -> None:
        self.height = checked_count("resize", "height", height)
        self.width = checked_count("resize", "width", width)
        self.keep_aspect = checked_flag("resize", "keep_aspect", keep_aspect)
        self.fill = checked_number("resize", "fill", fill)
        self._means: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}  # by size of the picture
        super().__init__(env)

    def _picture(self, picture: np.ndarray, form: ImageForm) -> np.ndarray:
        size = form.height, form.width
        if size not in self._means:
            self._means[size] = self._means_for(*size)
        down, across = self._means[size]
        if form.order == "hwc":
            picture = np.moveaxis(picture, -1, -3)
        resized = down @ picture.astype(np.float32, order="C") @ across
        if self.keep_aspect and resized.shape[-2:] != (self.height, self.width):
            resized = self._padded(resized)
        resized = _as_before(resized, picture.dtype)
        return np.moveaxis(resized, -3, -1) if form.order == "hwc" else resized

    def _means_for(self, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """What to multiply a picture with from the left and from the right."""
        new_height, new_width = self.height, self.width
        if self.keep_aspect:
            scale = min(self.height / height, self.width / width)
            new_height = max(1, min(self.height, round(height * scale)))
            new_width = max(1, min(self.width, round(width * scale)))
        return area_means(height, new_height), np.ascontiguousarray(area_means(width, new_width).T)

    def _padded(self, picture: np.ndarray) -> np.ndarray:
        height, width = picture.shape[-2:]
        top, left = (self.height - height) // 2, (self.width - width) // 2
        padded = np.full((*picture.shape[:-2], self.height, self.width), self.fill, np.float32)
        padded[..., top : top + height, left : left + width] = picture
        return padded


class Crop(_Pictures):
    """Cut the edges off pictures, such as a score line.

    top, bottom, left, right: how many pixels go on each side.
    """

    wrapper = "crop"

    def __init__(
        self, env: gym.Env[Any, Any], top: int = 0, bottom: int = 0, left: int = 0, right: int = 0
    ) -> None:
        sides = {"top": top, "bottom": bottom, "left": left, "right": right}
        self._sides = {side: checked_count("crop", side, value, least=0) for side, value in sides.items()}
        if not any(self._sides.values()):
            raise GymnastError("wrapper 'crop': give at least one of top, bottom, left, right")
        super().__init__(env)

    def _picture(self, picture: np.ndarray, form: ImageForm) -> np.ndarray:
        top, bottom, left, right = self._sides.values()
        if top + bottom >= form.height or left + right >= form.width:
            raise GymnastError(
                f"wrapper 'crop': nothing would be left of {form.height} × {form.width} pixels"
            )
        rows, columns = slice(top, form.height - bottom), slice(left, form.width - right)
        return picture[_region(form, rows, columns)]


class MaskRegion(_Pictures):
    """Paint over a part of the picture that should not be learned from, such as a score or a clock.

    top, left: the region's upper left corner, in pixels.
    height, width: its size; to the edge of the picture if unset.
    value: what is painted, a number or one for each channel.
    """

    wrapper = "mask-region"

    def __init__(
        self,
        env: gym.Env[Any, Any],
        top: int = 0,
        left: int = 0,
        height: int | None = None,
        width: int | None = None,
        value: float | Sequence[float] = 0,
    ) -> None:
        self.top = checked_count("mask-region", "top", top, least=0)
        self.left = checked_count("mask-region", "left", left, least=0)
        self.height = None if height is None else checked_count("mask-region", "height", height)
        self.width = None if width is None else checked_count("mask-region", "width", width)
        values: Any = value if isinstance(value, list | tuple) else [value]
        self._values = [checked_number("mask-region", "value", number) for number in values]
        super().__init__(env)

    def _picture(self, picture: np.ndarray, form: ImageForm) -> np.ndarray:
        bottom = form.height if self.height is None else self.top + self.height
        right = form.width if self.width is None else self.left + self.width
        if bottom > form.height or right > form.width or self.top >= bottom or self.left >= right:
            raise GymnastError(
                f"wrapper 'mask-region': rows {self.top} to {bottom} and columns {self.left} to {right} do"
                f" not lie within {form.height} × {form.width} pixels"
            )
        if len(self._values) not in (1, form.channels):
            raise GymnastError(
                f"wrapper 'mask-region': value needs one number or one for each of {form.channels} channels,"
                f" not {len(self._values)}"
            )
        value = np.array(self._values)
        if form.order == "chw":
            value = value[:, None, None]
        painted = picture.copy()
        painted[_region(form, slice(self.top, bottom), slice(self.left, right))] = value
        return painted


def area_means(size: int, new_size: int) -> np.ndarray:
    """[new_size, size]: each row takes the mean of the part of the line that a new pixel covers."""
    edges = np.linspace(0, size, new_size + 1)
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    overlap = np.maximum(overlap, 0.0)
    return (overlap / overlap.sum(1, keepdims=True)).astype(np.float32)


def _region(form: ImageForm, rows: slice, columns: slice) -> tuple[Any, ...]:
    """An index for height and width, wherever they lie; the leading axes are taken whole."""
    return (..., rows, columns, slice(None)) if form.order == "hwc" else (..., rows, columns)


def _as_before(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Float32 means in the picture's own type."""
    return (np.rint(values) if np.issubdtype(dtype, np.integer) else values).astype(dtype)
