"""Questions of the page about a network, answered as JSON or as arrays in one binary (web/wire.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gymnast.errors import GymnastError, did_you_mean
from gymnast.insight import activations, attribution, patches, recurrent
from gymnast.insight.about import describe_subject
from gymnast.insight.pictures import observed_pictures, stacked_pictures
from gymnast.insight.subject import Subject
from gymnast.processes.threads import one_torch_thread
from gymnast.web.wire import pack

Question = Mapping[str, Any]
Answer = dict[str, Any] | bytes
_MOST_PICTURES = 64_000_000  # bytes of all rows' newest frames; beyond, the page asks row by row


def answer(subject: Subject, question: Question) -> Answer:
    """The answer to one question: `kind` says which, the rest is what the function of that name takes."""
    kind = question.get("kind", "about")
    if not isinstance(kind, str) or kind not in KINDS:
        raise GymnastError(f"no kind {kind!r}{did_you_mean(str(kind), KINDS)}; there are {', '.join(KINDS)}")
    function, known = KINDS[kind]
    for key in question:
        if key != "kind" and key not in known:
            wanted = f"it takes {', '.join(known)}" if known else "it takes nothing else"
            raise GymnastError(f"{kind}: no field {key!r}{did_you_mean(key, known)}; {wanted}")
    # The page may follow a run that trains meanwhile: with several threads both would wait for each other.
    with one_torch_thread():
        return function(subject, question)


def _about(subject: Subject, question: Question) -> Answer:
    return describe_subject(subject)


def _input(subject: Subject, question: Question) -> Answer:
    """All frames that the policy saw at a row, and at a layer's places what a unit sees."""
    row = subject.check_row(_whole(question, "step"))
    return pack({"row": row}, _images(subject, row))


def _grad_cam(subject: Subject, question: Question) -> Answer:
    found = attribution.grad_cam(subject, _text(question, "target") or "action", _text(question, "layer"))
    arrays = {"maps": found.maps, "rows": found.rows}
    image = next(part.image for part in subject.policy.layout.inputs if part.leaf.name == found.layer.part)
    assert image is not None
    if len(subject.trace) * image.height * image.width * 3 <= _MOST_PICTURES:
        rows = np.arange(len(subject.trace))
        arrays["images"] = observed_pictures(subject, found.layer.part, rows)
    meta = {"target": str(found.target), "layer": found.layer.as_data(), "image": [image.height, image.width]}
    return pack(meta, arrays)


def _integrated_gradients(subject: Subject, question: Question) -> Answer:
    row, steps = _whole(question, "step"), _whole(question, "steps", 50)
    target, baseline = _text(question, "target") or "action", _text(question, "baseline") or "auto"
    found = attribution.integrated_gradients(subject, row, target, baseline, steps)  # type: ignore[arg-type]
    return _attributed(subject, found)


def _occlusion(subject: Subject, question: Question) -> Answer:
    row = _whole(question, "step")
    window = None if question.get("window") is None else _whole(question, "window")
    target, baseline = _text(question, "target") or "action", _text(question, "baseline") or "auto"
    found = attribution.occlusion(subject, row, target, baseline, window)  # type: ignore[arg-type]
    return _attributed(subject, found)


def _attributed(subject: Subject, found: attribution.Attribution) -> Answer:
    arrays: dict[str, np.ndarray] = {}
    texts: dict[str, list[str]] = {}
    parts: list[dict[str, Any]] = []
    for own in found.parts:
        name, part = own.part.name, own.part
        about: dict[str, Any] = {"name": name, "kind": part.kind, "frames": part.frames, "total": own.total}
        if part.kind == "image":
            if found.method == "occlusion":  # all frames were covered at once
                arrays[f"heat/{name}"] = own.values[:1]
            else:
                arrays[f"heat/{name}"] = own.frames.sum(1)
                about["by_frame"] = own.by_frame.tolist()
        else:
            arrays[f"values/{name}"] = own.values.ravel()
            arrays[f"inputs/{name}"] = own.inputs.ravel()
            texts[f"components/{name}"] = list(part.components)
            about["by_frame"] = own.by_frame.tolist()
            if part.pictured:  # pixels that are read as numbers
                arrays[f"heat/{name}"] = _heat_of_numbers(subject, own)
                pixels, numbers = subject.inputs.pixels_of(name), own.values.size // part.frames
                about["pixels"] = {"from": pixels.start, "to": pixels.stop, "of": numbers}
        parts.append(about)
    meta = {
        "row": found.row,
        "target": str(found.target),
        "method": found.method,
        "score": found.score,
        "baseline_score": found.baseline_score,
        "gap": found.gap,
        "parts": parts,
        "observation_parts": _observation_parts(subject, found),
    }
    return pack(meta, arrays | _images(subject, found.row), texts=texts)


def _heat_of_numbers(subject: Subject, own: attribution.PartAttribution) -> np.ndarray:
    """[F, H, W] of shares [k · D], stacked frames oldest first."""
    images = subject.inputs.as_images(own.part.name, own.values.reshape(own.part.frames, -1))
    return images.reshape(-1, *images.shape[2:]).sum(-1)


def _observation_parts(subject: Subject, found: attribution.Attribution) -> list[dict[str, Any]]:
    """Sums over the entries of a dict observation, also where the network reads them as one vector."""
    inputs = subject.policy.layout.inputs
    if len(inputs) == 1:
        return []
    if not subject.inputs.joined:
        return [{"name": own.part.name, "total": own.total} for own in found.parts]
    frames = found.parts[0].values.reshape(found.parts[0].part.frames, -1)
    ends = np.cumsum([part.width for part in inputs])[:-1]
    sums = [float(own.sum(dtype=np.float64)) for own in np.split(frames, ends, axis=1)]
    return [{"name": part.leaf.name, "total": own} for part, own in zip(inputs, sums, strict=True)]


def _images(subject: Subject, row: int) -> dict[str, np.ndarray]:
    names = [part.name for part in subject.inputs.parts if part.pictured]
    return {f"image/{name}": stacked_pictures(subject, name, row) for name in names}


def _activations(subject: Subject, question: Question) -> Answer:
    row = _whole(question, "step")
    arrays: dict[str, np.ndarray] = {}
    for layer in activations.activations(subject, row):
        arrays[f"layer/{layer.name}"] = layer.values
        if (winners := layer.winners) is not None:
            arrays[f"winners/{layer.name}"] = winners
    return pack({"row": row}, arrays | _images(subject, row))


def _filters(subject: Subject, question: Question) -> Answer:
    layer = _text(question, "layer")
    return pack({"layer": layer}, {"filters": activations.filters(subject, layer)})


def _patches(subject: Subject, question: Question) -> Answer:
    channel, count = _whole(question, "filter"), _whole(question, "count", 9)
    layer, found = patches.patches(subject, _text(question, "layer"), channel, count)
    arrays: dict[str, np.ndarray] = {
        "rows": np.array([one.row for one in found], np.int32),
        "places": np.array([(one.y, one.x) for one in found], np.int32),
        "values": np.array([one.value for one in found], np.float32),
    }
    if layer.field is not None:
        arrays["boxes"] = np.array([one.box for one in found], np.int32)
        arrays["pixels"] = _crops(subject, layer, found)
    return pack({"layer": layer.as_data(), "filter": channel}, arrays)


def _crops(subject: Subject, layer: Any, found: list[patches.Patch]) -> np.ndarray:
    """[n, F, h, w, c]: what each unit saw, black beyond the image's edges."""
    height, width = layer.field.rows.size, layer.field.columns.size
    crops = []
    for one in found:
        frames = stacked_pictures(subject, layer.part, one.row)
        assert one.box is not None
        top, left, bottom, right = one.box
        crop = np.zeros((len(frames), height, width, frames.shape[-1]), np.uint8)
        y = top - (layer.field.rows.start + one.y * layer.field.rows.jump)
        x = left - (layer.field.columns.start + one.x * layer.field.columns.jump)
        crop[:, y : y + bottom - top, x : x + right - left] = frames[:, top:bottom, left:right]
        crops.append(crop)
    return np.stack(crops)


def _memory(subject: Subject, question: Question) -> Answer:
    found = recurrent.memory_states(subject)
    return pack({}, {"states": found.values}, texts={"names": list(found.names)})


def _units(subject: Subject, question: Question) -> Answer:
    reports = activations.unit_reports(subject)
    return {
        "layers": [
            {
                "name": one.name,
                "activation": one.activation,
                "units": one.units,
                "dead": list(one.dead),
                "dead_share": one.dead_share,
                "saturated": list(one.saturated),
                "saturated_share": one.saturated_share,
            }
            for one in reports
        ],
        "rows": len(subject.trace),
    }


def _whole(question: Question, key: str, default: int | None = None) -> int:
    value = question.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise GymnastError(f"{key} must be a whole number, got {value!r}")
    return value


def _text(question: Question, key: str) -> str | None:
    value = question.get(key)
    if value is not None and not isinstance(value, str):
        raise GymnastError(f"{key} must be a text, got {value!r}")
    return value


# What can be asked, and what each takes beside `kind`.
KINDS: dict[str, tuple[Callable[[Subject, Question], Answer], tuple[str, ...]]] = {
    "about": (_about, ()),
    "input": (_input, ("step",)),
    "grad_cam": (_grad_cam, ("target", "layer")),
    "integrated_gradients": (_integrated_gradients, ("step", "target", "baseline", "steps")),
    "occlusion": (_occlusion, ("step", "target", "baseline", "window")),
    "activations": (_activations, ("step",)),
    "filters": (_filters, ("layer",)),
    "patches": (_patches, ("layer", "filter", "count")),
    "memory": (_memory, ()),
    "units": (_units, ()),
}
