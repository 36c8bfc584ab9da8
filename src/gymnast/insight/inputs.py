"""What the network read at each row of a trace, as float tensors that gradients can be taken of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import gymnasium as gym
import numpy as np
import torch

from gymnast.errors import GymnastError
from gymnast.insight.still import Parts
from gymnast.policies.inputs import ImageForm, Input, image_form
from gymnast.policies.layout import PolicyLayout
from gymnast.traces.trace import Trace, column_name


@dataclass(frozen=True, slots=True)
class PartInput:
    """One part of what a network reads; "" names the whole of it."""

    name: str
    kind: str  # image, vector, index
    frames: int  # observations, or frames of the env's own, that are seen at once
    components: tuple[str, ...]  # names of numbers and choices, frame by frame; of an image none
    pictured: bool = False  # whether it can be drawn: an image, also one whose pixels are read as numbers


class TraceInputs:
    """Batches of a trace's rows as a network reads them, built when they are asked for."""

    def __init__(self, layout: PolicyLayout, trace: Trace) -> None:
        self._layout = layout
        k = layout.config.frame_stack
        if trace.meta.frame_stack != k:
            raise GymnastError(
                f"the policy sees {k} observations at once, but those of the trace were recorded for"
                f" {trace.meta.frame_stack}: this is not the policy that was recorded"
            )
        steps = trace.columns["step"].astype(np.int64)
        back = np.arange(k)[::-1]  # oldest first; before the k-th observation the first one is repeated
        self._index = np.arange(len(trace))[:, None] - np.minimum(back, steps[:, None])  # [R, k]
        # Without an encoder all parts are one vector of numbers, or one choice that is embedded.
        self.joined = layout.encoder is None
        self._observation_stack = trace.meta.observation_stack
        self._raw = trace.columns.get
        names = ("",) if self.joined else tuple(part.leaf.name for part in layout.inputs)
        self._seen = {name: self._column(trace, name) for name in names}
        self.parts = (self._joined_part(trace),) if self.joined else self._separate_parts(trace)
        self._check()

    def __len__(self) -> int:
        return len(self._index)

    def batch(self, rows: Sequence[int] | np.ndarray) -> Parts:
        """The parts of these rows, as `StillNetwork` takes them."""
        index = self._index[np.asarray(rows, np.int64)]  # [B, k]
        if self.joined:
            seen = self._seen[""][index]
            if self._layout.n_embeddings:
                return (_one_hot(seen, self._layout.n_embeddings),)
            return (_floats(seen.reshape(len(index), -1)),)
        return tuple(self._tensor(part, self._seen[part.leaf.name][index]) for part in self._layout.inputs)

    @cached_property
    def mean(self) -> Parts:
        """The mean of all rows, [1, …] each."""
        sums: list[torch.Tensor] = []
        for start in range(0, len(self), 256):
            parts = [
                part.sum(0, dtype=torch.float64) for part in self.batch(range(len(self))[start : start + 256])
            ]
            sums = parts if not sums else [a + b for a, b in zip(sums, parts, strict=True)]
        return tuple((total / len(self)).to(torch.float32)[None] for total in sums)

    @cached_property
    def constant(self) -> bool:
        """Whether nothing that the network reads ever changes in this recording."""
        return all(bool((seen == seen[:1]).all()) for seen in self._seen.values())

    def images(self, name: str) -> np.ndarray:
        """The images of a part [R, F, H, W, C], F frames of the env's own in each observation.

        Pixels that are read as numbers are those of the env: normalised one by one they show nothing.
        """
        part, form, place = self._pictured(name)
        if part.kind != "image" and (raw := self._raw(column_name("obs", part.leaf.name))) is not None:
            return self._as_images(part, form, raw)
        return self._as_images(part, form, self._seen[name].reshape(len(self), -1)[:, place])

    def as_images(self, name: str, values: np.ndarray) -> np.ndarray:
        """Values of one observation each, [N, …], as images [N, F, H, W, C] with gray frames apart."""
        part, form, place = self._pictured(name)
        return self._as_images(part, form, values.reshape(len(values), -1)[:, place])

    def _as_images(self, part: Input, form: ImageForm, values: np.ndarray) -> np.ndarray:
        images = values.reshape(len(values), max(form.stack, 1), *part.leaf.shape[1 if form.stack else 0 :])
        if form.order == "hw":
            images = images[..., None]
        elif form.order == "chw":
            images = np.moveaxis(images, 2, -1)
        frames = _frames_of(form, self._observation_stack)
        if frames == images.shape[1]:
            return images
        n, _, height, width, channels = images.shape  # frames lie along the channels
        apart = images.reshape(n, height, width, frames, channels // frames)
        return np.moveaxis(apart, 3, 1)

    def pixels_of(self, name: str) -> slice:
        """Where the pixels of a part lie among the numbers of one observation."""
        return self._pictured(name)[2]

    def _pictured(self, name: str) -> tuple[Input, ImageForm, slice]:
        """What is drawn of a part, how, and where it lies; of several that are joined the one with pixels."""
        start = 0
        for part in self._layout.inputs:
            form = _picture_form(part, self._layout)
            if form is not None and (self.joined or part.leaf.name == name):
                return part, form, slice(start, start + math.prod(part.leaf.shape))
            start += part.width if self.joined else 0
        raise AssertionError(f"{name!r} is not pictured")

    def stacked_rows(self, row: int) -> np.ndarray:
        """The rows whose observations are seen at this one, oldest first."""
        return self._index[row]

    def _tensor(self, part: Input, seen: np.ndarray) -> torch.Tensor:
        """[B, k, …] of one part as the network reads it."""
        if part.kind == "index":
            return _one_hot(seen, part.width)
        if part.image is None:
            return _floats(seen.reshape(len(seen), -1))
        form = part.image
        frames = seen.shape[1] * max(form.stack, 1)
        images = seen.reshape(len(seen), frames, *part.leaf.shape[1 if form.stack else 0 :])
        if form.order == "hwc":
            images = np.moveaxis(images, -1, 2)
        images = images.reshape(len(seen), frames * form.channels, form.height, form.width)
        return _floats(images).contiguous(memory_format=torch.channels_last)

    def _joined_part(self, trace: Trace) -> PartInput:
        k = self._layout.config.frame_stack
        if self._layout.n_embeddings:
            return PartInput("", "index", 1, tuple(_choices("observation", self._layout.n_embeddings)))
        names = [name for part in self._layout.inputs for name in _component_names(part, trace)]
        pictures = [part for part in self._layout.inputs if _picture_form(part, self._layout) is not None]
        return PartInput("", "vector", k, _over_frames(names, k), pictured=len(pictures) == 1)

    def _separate_parts(self, trace: Trace) -> tuple[PartInput, ...]:
        k, found = self._layout.config.frame_stack, []
        for part in self._layout.inputs:
            name = part.leaf.name
            if part.image is not None:
                frames = k * _frames_of(part.image, trace.meta.observation_stack)
                found.append(PartInput(name, "image", frames, (), pictured=True))
            elif part.kind == "index":
                found.append(PartInput(name, "index", k, _over_frames(_choices(name, part.width), k)))
            else:
                found.append(PartInput(name, "vector", k, _over_frames(_component_names(part, trace), k)))
        return tuple(found)

    @staticmethod
    def _column(trace: Trace, name: str) -> np.ndarray:
        column = column_name("seen", name)
        column = trace.meta.same.get(column, column)
        if column not in trace.columns:
            raise GymnastError(f"the trace has no '{column}': this is not the policy that was recorded")
        return trace.columns[column]

    def _check(self) -> None:
        """Raise GymnastError unless the network reads what the trace has."""
        pairs: list[tuple[str, tuple[int, ...]]]
        if self.joined:
            wanted: tuple[int, ...] = (
                () if self._layout.n_embeddings else (sum(part.width for part in self._layout.inputs),)
            )
            pairs = [("", wanted)]
        else:
            pairs = [(part.leaf.name, _seen_shape(part)) for part in self._layout.inputs]
        for name, shape in pairs:
            own = self._seen[name].shape[1:]
            if own != shape:
                raise GymnastError(
                    f"the policy reads '{name or 'observation'}' of shape {shape}, the trace has {own}:"
                    " this is not the policy that was recorded"
                )


def _picture_form(part: Input, layout: PolicyLayout) -> ImageForm | None:
    """How a part is drawn; None if it is not pixels. They may be read as numbers (policy.encoder: mlp)."""
    if part.image is not None or part.kind != "vector" or not isinstance(part.leaf.space, gym.spaces.Box):
        return part.image
    order, shape = layout.config.image.layout, part.leaf.shape[-3:]
    if order == "auto" and len(shape) == 3 and (shape[0] == shape[1]) != (shape[1] == shape[2]):
        # Two axes of one length are height and width, also of a grid with more layers than cells in a row.
        order = "hwc" if shape[0] == shape[1] else "chw"
    return image_form(part.leaf.space, order)


def _frames_of(form: ImageForm, observation_stack: int) -> int:
    """How many pictures lie behind each other in one observation."""
    if form.stack:
        return form.stack
    if observation_stack > 1 and form.channels % observation_stack == 0:
        return observation_stack
    # Channels in front that are no colours: gray frames that a wrapper of the env has stacked.
    return form.channels if form.order == "chw" and form.channels not in (1, 3) else 1


def _seen_shape(part: Input) -> tuple[int, ...]:
    if part.kind == "image":
        return tuple(part.leaf.shape)
    return () if part.kind == "index" else (part.width,)


def _component_names(part: Input, trace: Trace) -> list[str]:
    """A name for each number of a part; a task's own numbers at the end of a mix's observation too."""
    name, known = part.leaf.name, list(trace.meta.observation_names)
    if part.kind == "one_hot":
        return _choices(name or "observation", part.width)
    if not name and known and len(known) <= part.width:
        extra = part.width - len(known)
        if not extra:
            return known
        if trace.meta.task is not None:
            return known + [f"task[{at}]" for at in range(extra)]
    if part.width == 1 and name:
        return [name]
    if len(part.leaf.shape) > 1 and math.prod(part.leaf.shape) == part.width:
        places = np.ndindex(*part.leaf.shape)
        return [f"{name or 'obs'}[{', '.join(map(str, place))}]" for place in places]
    return [f"{name or 'obs'}[{at}]" for at in range(part.width)]


def _choices(name: str, count: int) -> list[str]:
    return [f"{name or 'observation'} = {at}" for at in range(count)]


def _over_frames(names: Sequence[str], k: int) -> tuple[str, ...]:
    """The names of k observations, oldest first: `x (2 before)`, `x (1 before)`, `x`."""
    return tuple(f"{name} ({back} before)" if back else name for back in reversed(range(k)) for name in names)


def _one_hot(index: np.ndarray, n: int) -> torch.Tensor:
    """[B, k, n]."""
    return torch.nn.functional.one_hot(torch.from_numpy(index.astype(np.int64)), n).to(torch.float32)


def _floats(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, np.float32))
