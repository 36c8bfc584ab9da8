"""What a network sees: attribution, filters, activations and memory at the steps of a recorded trace.

>>> trace = api.record_trace("@last/@best")
>>> inside = api.look_inside(trace)
>>> api.integrated_gradients(inside, row=40, target="value").parts[0].values
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.run import Overrides, find_checkpoint
from gymnast.errors import GymnastError, MissingExtra

if TYPE_CHECKING:
    from gymnast.insight.activations import LayerActivations, UnitReport
    from gymnast.insight.attribution import Attribution, Baseline, GradCam
    from gymnast.insight.patches import Patch
    from gymnast.insight.recurrent import MemoryStates
    from gymnast.insight.subject import Subject
    from gymnast.policies.policy import Policy
    from gymnast.traces.trace import Trace


def look_inside(
    trace: Trace,
    policy: Policy | None = None,
    *,
    runs_dir: str | Path | None = None,
    overrides: Overrides = (),
    trust: bool = False,
) -> Subject:
    """A recording and the policy that was recorded, ready to be looked into.

    Without a policy it is loaded from the run and checkpoint that the trace names; `overrides` and `trust`
    are as in `evaluate`. Nothing here changes the policy or draws a random number.
    """
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise MissingExtra("looking inside a network", "torch")
    from gymnast.insight.subject import study

    if policy is not None:
        return study(policy, trace)
    from gymnast.insight.load import study_run

    if trace.meta.run is None or trace.meta.checkpoint is None:
        raise GymnastError("the trace names no run and checkpoint: give the policy that was recorded")
    checkpoint = find_checkpoint(f"{trace.meta.run}/{trace.meta.checkpoint}", runs_dir)
    return study_run(checkpoint, trace, overrides=overrides, trust=trust)


def what_can_be_seen(inside: Subject) -> dict[str, Any]:
    """Targets, parts, layers and views of a subject; what cannot be shown says why."""
    from gymnast.insight.about import describe_subject

    return describe_subject(inside)


def grad_cam(inside: Subject, target: str = "action", layer: str | None = None) -> GradCam:
    """Grad-CAM of a convolutional layer for the whole recording at once."""
    from gymnast.insight import attribution

    return attribution.grad_cam(inside, target, layer)


def integrated_gradients(
    inside: Subject, row: int, target: str = "action", baseline: Baseline = "auto", steps: int = 50
) -> Attribution:
    """What each number or pixel adds to the target at one row, compared with a baseline."""
    from gymnast.insight import attribution

    return attribution.integrated_gradients(inside, row, target, baseline, steps)


def occlusion(
    inside: Subject, row: int, target: str = "action", baseline: Baseline = "auto", window: int | None = None
) -> Attribution:
    """How much the target falls at one row where a window, a number or a choice becomes the baseline."""
    from gymnast.insight import attribution

    return attribution.occlusion(inside, row, target, baseline, window)


def layer_activations(inside: Subject, row: int) -> list[LayerActivations]:
    """What every layer gives at a row, and which filter wins at each place."""
    from gymnast.insight.activations import activations

    return activations(inside, row)


def exciting_patches(
    inside: Subject, layer: str | None, channel: int, count: int = 9, apart: int = 4
) -> list[Patch]:
    """The pieces of the input that excite a filter most, over the whole recording."""
    from gymnast.insight.patches import patches

    return patches(inside, layer, channel, count, apart)[1]


def memory_states(inside: Subject) -> MemoryStates:
    """The recurrent state over the recording, replayed."""
    from gymnast.insight import recurrent

    return recurrent.memory_states(inside)


def dead_units(inside: Subject) -> list[UnitReport]:
    """Dead and saturated units of each hidden layer over the recording."""
    from gymnast.insight.activations import unit_reports

    return unit_reports(inside)


def insight_answer(inside: Subject, question: dict[str, Any]) -> dict[str, Any] | bytes:
    """What the inspector's page asks, such as `{"kind": "grad_cam"}`; as JSON, or arrays in one binary."""
    from gymnast.insight.answer import answer

    return answer(inside, question)
