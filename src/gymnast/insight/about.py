"""What can be looked at in a policy and its recording, and for everything else why not."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from gymnast.insight.attribution import why_no_attribution
from gymnast.insight.subject import Subject
from gymnast.insight.targets import offered_targets

HINT = (
    "Saliency is a hint, not an explanation: it shows what one output is sensitive to at one step. Methods"
    " disagree with each other, and what lights up need not be what the agent acts on (Atrey et al., 2020)."
    " Test a guess by changing the game."
)
_NO_IMAGE = "the network reads no image"
_NO_CONVOLUTION = "the network reads its pixels without convolutions"


@dataclass(frozen=True, slots=True)
class View:
    """One thing to look at."""

    name: str
    title: str
    reason: str | None  # why it cannot be shown; None if it can


def views(subject: Subject) -> list[View]:
    """Everything that the page offers."""
    images = any(part.pictured for part in subject.inputs.parts)
    no_maps = None if subject.layers else (_NO_CONVOLUTION if images else _NO_IMAGE)
    no_fields = no_maps
    if no_maps is None and all(layer.field is None for layer in subject.layers):
        no_fields = "how the layers of this encoder follow each other is not known"
    nothing = why_no_attribution(subject) or _no_captum()
    no_memory = (
        None if subject.network.memory is not None else "the policy has no memory (policy.memory: none)"
    )
    return [
        View("grad_cam", "Grad-CAM", nothing or (no_maps and f"{no_maps}; use integrated gradients")),
        View("integrated_gradients", "Integrated gradients", nothing),
        View("occlusion", "Occlusion", nothing),
        View("filters", "Filters", no_maps),
        View("activations", "Activations", None),
        View("patches", "Patches that excite a filter", no_maps),
        View("fields", "Receptive fields", no_fields),
        View("memory", "Recurrent state", no_memory),
        View("units", "Dead units", _no_units(subject)),
    ]


def describe_subject(subject: Subject) -> dict[str, Any]:
    """For the page: targets, parts, layers and views, as JSON."""
    return {
        "hint": HINT,
        "targets": [
            {"name": str(known.target), "label": known.label, "reason": known.reason}
            for known in offered_targets(subject.trace)
        ],
        "views": [{"name": view.name, "title": view.title, "reason": view.reason} for view in views(subject)],
        "parts": [
            {
                "name": part.name,
                "kind": part.kind,
                "frames": part.frames,
                "components": len(part.components),
                "pictured": part.pictured,
            }
            for part in subject.inputs.parts
        ],
        "notes": _notes(subject),
        "layers": [layer.as_data() for layer in subject.layers],
        "memories": list(subject.policy.layout.memories),
        "rows": len(subject.trace),
        "encoders": list(subject.network.encoders),
    }


def _notes(subject: Subject) -> list[str]:
    """What holds for some part of the observation alone."""
    encoder = subject.policy.layout.encoder
    if encoder is None or not encoder.own:
        return []
    return [
        f"'{part.name or 'observation'}' is a choice that your own encoder reads as a number, which has no"
        " gradient: only occlusion shows its share"
        for part in subject.inputs.parts
        if part.kind == "index"
    ]


def _no_captum() -> str | None:
    if find_spec("captum") is not None:
        return None
    return "attribution needs captum: pip install 'gymnast[inspect]'"


def _no_units(subject: Subject) -> str | None:
    layout = subject.policy.layout
    hidden = any(len(trunk.widths) > 1 for trunk in layout.trunks)
    if not (hidden or layout.encoder is not None or layout.memories):
        return "the network has no hidden layer"
    if subject.network.memory is None and subject.inputs.constant:
        return "the observation never changes in this recording, so no unit could do anything else"
    return None
