"""The pieces of the input that excite a filter most, over a whole recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gymnast.errors import GymnastError
from gymnast.insight.layers import MapLayer, activations_of, choose_layer
from gymnast.insight.quiet import random_numbers_kept
from gymnast.insight.subject import Subject, chunks


@dataclass(frozen=True, slots=True)
class Patch:
    """One place where a filter was strong."""

    row: int
    y: int  # of the unit in its layer
    x: int
    value: float
    box: tuple[int, int, int, int] | None  # top, left, bottom, right of what it sees; None: not known


@dataclass(frozen=True, slots=True)
class Peaks:
    """The strongest place of every filter of a layer at each row."""

    values: np.ndarray  # [R, C]
    places: np.ndarray  # [R, C, 2]: y, x


def peaks(subject: Subject, layer: MapLayer) -> Peaks:
    """Of all rows; remembered, so that one filter after another can be looked at."""
    key_values, key_places = f"{layer.name} values", f"{layer.name} places"
    if key_values not in subject.remembered:
        values, places = [], []
        for rows in chunks(np.arange(len(subject.trace))):
            with random_numbers_kept(), torch.no_grad():
                given = activations_of(subject.network, [layer], subject.inputs.batch(rows))[layer.name]
            top, at = given.flatten(2).max(2)  # [B, C]
            values.append(top.numpy())
            places.append(np.stack(np.divmod(at.numpy(), layer.width), -1))
        subject.remembered[key_values] = np.concatenate(values)
        subject.remembered[key_places] = np.concatenate(places)
    return Peaks(subject.remembered[key_values], subject.remembered[key_places])


def patches(
    subject: Subject, layer: str | None, channel: int, count: int = 9, apart: int = 4
) -> tuple[MapLayer, list[Patch]]:
    """Where a filter was strongest, one place a row and rows at least `apart`: neighbours look alike."""
    chosen = choose_layer(subject.layers, layer)
    if not 0 <= channel < chosen.channels:
        raise GymnastError(f"no filter {channel}: {chosen.name} has filters 0 to {chosen.channels - 1}")
    if not (1 <= count <= 100 and apart >= 1):
        raise GymnastError(f"count must be from 1 to 100 and apart at least 1, got {count} and {apart}")
    known = peaks(subject, chosen)
    found: list[Patch] = []
    image = next(part.image for part in subject.policy.layout.inputs if part.leaf.name == chosen.part)
    assert image is not None
    for row in np.argsort(-known.values[:, channel], kind="stable").tolist():
        value = float(known.values[row, channel])
        if any(abs(row - other.row) < apart for other in found):
            continue
        if value <= 0 and found:
            break
        y, x = known.places[row, channel].tolist()
        box = None if chosen.field is None else chosen.field.box(y, x, image.height, image.width)
        found.append(Patch(row, y, x, value, box))
        if len(found) == count:
            break
    return chosen, found
