"""Images that a network reads, as pictures for people."""

from __future__ import annotations

import numpy as np

from gymnast.insight.subject import Subject

# One colour for each channel of an image that is neither gray nor RGB, such as MinAtar's.
_PALETTE = np.array(
    [
        (230, 97, 1),
        (94, 160, 255),
        (120, 200, 80),
        (200, 120, 220),
        (240, 200, 60),
        (80, 210, 200),
        (255, 130, 150),
    ],
    np.float32,
)
_DIM = 64  # images whose values all lie below are brightened: an object's number is not a shade


def observed_pictures(subject: Subject, name: str, rows: np.ndarray, *, newest: bool = True) -> np.ndarray:
    """Pictures [N, H, W, 1 or 3] of the newest frame in each observation; else [N, F, …] of all."""
    images = subject.inputs.images(name)  # [R, F, H, W, C]
    brightness = _brightness(images)
    chosen = images[rows]
    pictures = _as_pictures(chosen[:, -1] if newest else chosen, brightness)
    return np.ascontiguousarray(pictures)


def stacked_pictures(subject: Subject, name: str, row: int) -> np.ndarray:
    """[F, H, W, 1 or 3] uint8: all frames that the policy saw at a row, oldest first."""
    seen = observed_pictures(subject, name, subject.inputs.stacked_rows(row), newest=False)
    return seen.reshape(-1, *seen.shape[2:])


def _brightness(images: np.ndarray) -> tuple[float, float]:
    """What to add and to multiply by, the same for the whole recording."""
    if images.dtype == np.uint8:
        largest = float(images.max(initial=0))
        return 0.0, 255.0 / largest if 0 < largest < _DIM else 1.0
    low, high = float(np.nanmin(images)), float(np.nanmax(images))
    return -low, 255.0 / (high - low) if high > low else 0.0


def _as_pictures(images: np.ndarray, brightness: tuple[float, float]) -> np.ndarray:
    add, scale = brightness
    if images.dtype == np.uint8 and scale == 1.0 and images.shape[-1] in (1, 3):
        return images
    bright = (images.astype(np.float32) + add) * scale
    if images.shape[-1] not in (1, 3):
        colours = _PALETTE[np.arange(images.shape[-1]) % len(_PALETTE)]
        bright = ((bright / 255.0)[..., None] * colours).max(-2)
    return np.clip(bright, 0, 255).astype(np.uint8)
