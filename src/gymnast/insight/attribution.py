"""Which parts of an observation a decision depends on, by captum: Grad-CAM, integrated gradients, occlusion.

A saliency map is a hint and not an explanation: it shows what the output is sensitive to in one place, and
different methods disagree (Atrey et al., 2020, "Exploratory not explanatory"; Adebayo et al., 2018).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from gymnast.errors import GymnastError, MissingExtra
from gymnast.insight.inputs import PartInput
from gymnast.insight.layers import MapLayer, choose_layer
from gymnast.insight.quiet import random_numbers_kept
from gymnast.insight.still import Parts
from gymnast.insight.subject import Subject, batch, chunks
from gymnast.insight.targets import Target, parse_target

Baseline = Literal["auto", "zero", "mean"]
_AT_ONCE = 64  # perturbed inputs in one pass: one by one takes three times as long
_MOST_ELEMENTS = 20_000_000  # numbers of a pass; larger inputs go through in smaller groups
_WINDOWS = 7  # an occluding window is about a seventh of the image, and moves by half of that


@dataclass(frozen=True, slots=True)
class GradCam:
    """What speaks for the target at each place of a layer, for many rows; negative: against it."""

    target: Target
    layer: MapLayer
    rows: np.ndarray  # [N] of the trace
    maps: np.ndarray  # [N, h, w] float32


@dataclass(frozen=True, slots=True)
class PartAttribution:
    """One part's share: images [C, H, W] with stacked frames along C, numbers [D], choices [k, n]."""

    part: PartInput
    values: np.ndarray
    inputs: np.ndarray  # what the network read, of the same shape

    @property
    def total(self) -> float:
        return float(self.values.sum(dtype=np.float64))

    @property
    def by_frame(self) -> np.ndarray:
        """[F] the sum of each stacked frame, oldest first."""
        return self.frames.reshape(self.part.frames, -1).sum(1, dtype=np.float64)

    @property
    def frames(self) -> np.ndarray:
        """[F, …] apart."""
        own = self.values
        if self.part.kind == "index":
            return own
        return own.reshape(self.part.frames, -1, *own.shape[1:])


@dataclass(frozen=True, slots=True)
class Attribution:
    """What each number that the network read adds to the target at one row."""

    method: str
    target: Target
    row: int
    score: float  # of what was seen
    baseline_score: float  # of the baseline
    parts: tuple[PartAttribution, ...]

    @property
    def gap(self) -> float | None:
        """How far the sum is from `score - baseline_score`, which integrated gradients share out: an error of
        the sum over steps. None for occlusion, whose shares are not meant to add up."""
        if self.method != "integrated_gradients":
            return None
        return sum(part.total for part in self.parts) - (self.score - self.baseline_score)


def grad_cam(
    subject: Subject,
    target: str = "action",
    layer: str | None = None,
    rows: np.ndarray | None = None,
) -> GradCam:
    """Grad-CAM (Selvaraju et al., 2017) of a convolutional layer, the last one if none is named, for all rows
    with an action (for the value: all rows). Captum's own, without its final ReLU."""
    wanted = _usable(subject, target)
    needed = _encoder_of(subject, wanted)
    chosen = choose_layer(subject.layers, layer, needed)
    if chosen.encoder != needed:
        raise GymnastError(
            f"layer {chosen.name}: the target {wanted} does not depend on it; use one of {needed}"
        )
    if rows is None:
        rows = subject.trace.steps if wanted.kind == "action" else np.arange(len(subject.trace))
    for row in rows.tolist():
        subject.check_row(row, wanted)
    maps = []
    with _captum() as captum:
        method = captum.LayerGradCam(subject.scores(wanted), chosen.output)
        for some in chunks(rows):
            parts, others = batch(subject, some)
            given = method.attribute(_with_gradients(parts), additional_forward_args=others)
            maps.append(_one(given, chosen).detach()[:, 0].numpy())
    joined = np.concatenate(maps) if maps else np.zeros((0, chosen.height, chosen.width), np.float32)
    return GradCam(wanted, chosen, rows, np.ascontiguousarray(joined, np.float32))


def integrated_gradients(
    subject: Subject, row: int, target: str = "action", baseline: Baseline = "auto", steps: int = 50
) -> Attribution:
    """Integrated gradients (Sundararajan et al., 2017) at one row: shares that add up to the target's
    difference from the baseline. A part may be numbers, choices or an image."""
    wanted = _usable(subject, target)
    subject.check_row(row, wanted)
    if not 2 <= steps <= 1000:
        raise GymnastError(f"steps must be from 2 to 1000, got {steps}")
    parts, others = batch(subject, np.array([row]))
    start = _baseline(subject, baseline, parts)
    score = subject.scores(wanted)
    most = max(1, _MOST_ELEMENTS // max(sum(part.numel() for part in parts), 1))
    with _captum() as captum:
        method = captum.IntegratedGradients(score)
        values = method.attribute(
            _with_gradients(parts),
            baselines=start,
            additional_forward_args=others,
            n_steps=steps,
            internal_batch_size=None if most >= steps else most,
        )
    return _attribution(subject, "integrated_gradients", wanted, row, values, (parts, start, others), score)


def occlusion(
    subject: Subject,
    row: int,
    target: str = "action",
    baseline: Baseline = "auto",
    window: int | None = None,
) -> Attribution:
    """Occlusion (Zeiler and Fergus, 2014) at one row: how much the target falls where a window of the image,
    in all stacked frames, or a single number or choice is replaced by the baseline."""
    wanted = _usable(subject, target)
    subject.check_row(row, wanted)
    parts, others = batch(subject, np.array([row]))
    start = _baseline(subject, baseline, parts)
    shapes, strides = zip(
        *(_window(part, x, window) for part, x in zip(subject.inputs.parts, parts, strict=True)), strict=True
    )
    score = subject.scores(wanted)
    most = max(1, _MOST_ELEMENTS // max(sum(part.numel() for part in parts), 1))
    with _captum() as captum, torch.no_grad():
        values = captum.Occlusion(score).attribute(
            parts,
            sliding_window_shapes=shapes,
            strides=strides,
            baselines=start,
            additional_forward_args=others,
            perturbations_per_eval=min(_AT_ONCE, most),
        )
    return _attribution(subject, "occlusion", wanted, row, values, (parts, start, others), score)


def _usable(subject: Subject, target: str) -> Target:
    """The target, unless nothing that the network reads could explain it."""
    if (reason := why_no_attribution(subject)) is not None:
        raise GymnastError(reason)
    return parse_target(target, subject.trace)


def why_no_attribution(subject: Subject) -> str | None:
    """Why nothing can be attributed in this recording; None if something can."""
    if subject.network.memory is None and subject.inputs.constant:
        return (
            "the observation is the same at every row of this recording: no part of it can explain why one"
            " decision differs from another"
        )
    return None


def _encoder_of(subject: Subject, target: Target) -> str | None:
    names = list(subject.network.encoders)
    return None if not names else names[-1] if target.kind == "value" else names[0]


def _baseline(subject: Subject, wanted: Baseline, parts: Parts) -> Parts:
    """What a part is compared with. Zero is the mean of normalised numbers; of an image it would be black,
    which is as much a picture as any other: there the mean of the recording stands for `nothing special`."""
    if wanted not in ("auto", "zero", "mean"):
        raise GymnastError(f"baseline must be auto, zero or mean, got {wanted!r}")
    mean = subject.inputs.mean if wanted != "zero" else parts
    return tuple(
        average if wanted == "mean" or (wanted == "auto" and part.kind == "image") else torch.zeros_like(x)
        for part, x, average in zip(subject.inputs.parts, parts, mean, strict=True)
    )


def _window(part: PartInput, x: torch.Tensor, wanted: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of what is replaced at once, and how far it moves."""
    if part.kind != "image":
        whole = (1, *x.shape[2:])
        return whole, (1,) * len(whole)
    channels, height, width = x.shape[1:]
    if wanted is not None and not 1 <= wanted <= min(height, width):
        raise GymnastError(f"window must be from 1 to {min(height, width)} pixels, got {wanted}")
    sides = [wanted or max(1, round(side / _WINDOWS)) for side in (height, width)]
    return (channels, *sides), (channels, *(max(1, side // 2) for side in sides))


def _attribution(
    subject: Subject,
    method: str,
    target: Target,
    row: int,
    values: Any,
    given: tuple[Parts, Parts, tuple[torch.Tensor | None, ...]],
    score: Any,
) -> Attribution:
    parts, start, others = given
    with torch.no_grad():
        seen, before = float(score(*parts, *others)), float(score(*start, *others))
    shares = tuple(
        PartAttribution(part, own[0].detach().numpy().copy(), x[0].detach().numpy().copy())
        for part, own, x in zip(subject.inputs.parts, values, parts, strict=True)
    )
    return Attribution(method, target, row, seen, before, shares)


def _one(given: Any, layer: MapLayer) -> torch.Tensor:
    """Of a module that is called several times captum gives what each call gave."""
    found: torch.Tensor = given[layer.calls] if isinstance(given, tuple) else given
    return found


def _with_gradients(parts: Parts) -> Parts:
    return tuple(part.clone().requires_grad_() for part in parts)


@contextmanager
def _captum() -> Iterator[Any]:
    """captum.attr, imported when it is first needed (0.7 s); no random number of others is drawn."""
    try:
        with random_numbers_kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # captum's notices to developers
            from captum import attr

            yield attr
    except ModuleNotFoundError as error:
        if error.name != "captum":
            raise
        raise MissingExtra("attribution (captum)", "inspect") from None
