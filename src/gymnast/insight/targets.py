"""What is explained: a number that the network gives for each observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch

from gymnast.errors import GymnastError, did_you_mean
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.masks import masked

if TYPE_CHECKING:
    from gymnast.policies.policy import Policy
    from gymnast.traces.trace import Trace

Kind = Literal["action", "value", "mean", "choice"]


@dataclass(frozen=True, slots=True)
class Target:
    """`action`: log-probability of the action that was taken; `value`; `mean:I`: the mean of the I-th real
    number of an action; `choice:I`: log-probability of the I-th choice, taken or not."""

    kind: Kind
    index: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind in ("action", "value") else f"{self.kind}:{self.index}"


@dataclass(frozen=True, slots=True)
class Offered:
    """A target in words, and why it cannot be explained; None if it can."""

    target: Target
    label: str
    reason: str | None = None


def offered_targets(trace: Trace) -> list[Offered]:
    """What can be explained of this recording, the most useful first."""
    meta = trace.meta
    greedy_numbers = None
    if meta.numbers and not meta.choices and not meta.sampled:
        greedy_numbers = (
            "a greedy action of real numbers is the mean itself, where the log-probability is at its"
            " maximum and has no gradient; explain the mean of a component"
        )
    no_critic = None
    if meta.value_scale is None:
        no_critic = "this recording has no values: the run learned without a critic, or was not trained"
    chosen = Offered(Target("action"), "log-probability of the action taken", greedy_numbers)
    means = [Offered(Target("mean", at), f"mean of {name}") for at, name in enumerate(meta.numbers)]
    others = [
        Offered(Target("choice", at), f"log-probability of {name}") for at, name in enumerate(meta.choices)
    ]
    value = Offered(Target("value"), "value", no_critic)
    # A mean says more than the log-probability of what was drawn around it.
    first = [*means, value, chosen] if meta.numbers and not meta.choices else [chosen, value, *means]
    return [*first, *others]


def parse_target(text: str, trace: Trace) -> Target:
    """The target that a text names; GymnastError if there is no such, or if it cannot be explained."""
    offered = {str(known.target): known for known in offered_targets(trace)}
    found = offered.get(text)
    if found is None:
        names = list(offered)
        raise GymnastError(f"no target {text!r}{did_you_mean(text, names)}; there are {', '.join(names)}")
    if found.reason is not None:
        raise GymnastError(f"target {text}: {found.reason}")
    return found.target


class Scores:
    """The target's number for each row of a batch, as a function that captum calls."""

    def __init__(self, policy: Policy, target: Target, value_scale: float | None, first: int) -> None:
        self._distribution, self._popart = policy.distribution, policy.popart
        self._target, self._value_scale = target, value_scale
        self._form = ActionForm(policy.layout.action_space)
        self._first = first  # where a task's own choices begin among those of a mix

    def __call__(
        self,
        outputs: torch.Tensor,
        log_std: torch.Tensor | None,
        values: torch.Tensor,
        actions: torch.Tensor,
        masks: torch.Tensor | None,
    ) -> torch.Tensor:
        """[B] from outputs [A, B], values [V, B], actions [B, …] and masks [B, M]."""
        kind = self._target.kind
        if kind == "value":
            value = values[0]
            if self._popart is not None:
                value = value * self._popart.std + self._popart.mean
            return value * (1.0 if self._value_scale is None else self._value_scale)
        if kind == "mean":
            return outputs[self._form.n_logits + self._target.index]
        if masks is not None:
            outputs = masked(torch, outputs, masks)
        if kind == "choice":
            return self._log_probability(outputs, self._first + self._target.index)
        known: Any = self._distribution.evaluate_actions(torch, outputs, log_std, actions)
        result: torch.Tensor = known.log_prob
        return result

    def _log_probability(self, outputs: torch.Tensor, row: int) -> torch.Tensor:
        """Of one choice [B], whatever was taken."""
        for group in self._form.choices:
            if group.rows.start <= row < group.rows.stop:
                factor, choice = divmod(row - group.rows.start, group.n)
                logits = outputs[group.rows].reshape(group.count, group.n, -1)[factor]
                return torch.log_softmax(logits, 0)[choice]
        raise GymnastError(f"no choice {row}: there are {self._form.n_logits}")
