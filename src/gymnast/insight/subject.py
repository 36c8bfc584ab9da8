"""A policy and a recording of it, ready to be looked into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from gymnast.errors import GymnastError
from gymnast.insight.inputs import TraceInputs
from gymnast.insight.layers import MapLayer, map_layers
from gymnast.insight.quiet import random_numbers_kept
from gymnast.insight.still import Parts, StillNetwork
from gymnast.insight.targets import Scores, Target
from gymnast.policies.policy import Policy
from gymnast.spaces.action_form import ActionForm
from gymnast.traces.trace import Trace

CHUNK = 128  # rows that go through the network at once


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a trace, as captum's additional arguments."""

    actions: torch.Tensor  # [B, …] as the policy chose them
    masks: torch.Tensor | None  # [B, M]
    states: torch.Tensor | None  # [B, K, H] of memories, before these observations


@dataclass(frozen=True)
class Subject:
    """Made by `study`. The policy itself is never used again: the network here is a copy."""

    policy: Policy
    trace: Trace
    network: StillNetwork
    inputs: TraceInputs
    choices: slice | None  # where a task's own lie among those of a mix
    remembered: dict[str, np.ndarray] = field(default_factory=dict)  # what was costly and may be wanted again

    @cached_property
    def layers(self) -> list[MapLayer]:
        """The layers of its image encoders that have places."""
        with random_numbers_kept():
            return map_layers(self.network, self.inputs.batch([0]))

    @cached_property
    def states(self) -> torch.Tensor | None:
        """[R, K, H]: what memories held before each row, replayed along the episodes; None without any."""
        from gymnast.insight.recurrent import replayed_states

        return replayed_states(self)

    def rows(self, rows: Sequence[int] | np.ndarray) -> Rows:
        """What else a pass over these rows needs."""
        at = np.asarray(rows, np.int64)
        states = None if self.states is None else self.states[torch.from_numpy(at)]
        return Rows(self._actions(at), self._masks(at), states)

    def scores(self, target: Target) -> Callable[..., torch.Tensor]:
        """The target as a function of a batch's parts and `Rows`, for captum: it repeats tensors alone, so
        the fields of `Rows` are passed one by one."""
        first = 0 if self.choices is None else int(self.choices.start)
        score = Scores(self.policy, target, self.trace.meta.value_scale, first)

        def forward(*arguments: torch.Tensor | None) -> torch.Tensor:
            *parts, actions, masks, states = arguments
            given = tuple(part for part in parts if part is not None)
            outputs, log_std, values = self.network.outputs(given, states)
            assert actions is not None
            result = score(outputs, log_std, values, actions, masks)
            # A part that the target does not depend on has a gradient too: none at all would be an error.
            return result + sum((part * 0.0).flatten(1).sum(1) for part in given)

        return forward

    def check_row(self, row: int, target: Target | None = None) -> int:
        """A row that exists, and at which an action was taken if the target is about it."""
        if not 0 <= row < len(self.trace):
            raise GymnastError(f"no row {row}: the recording has rows 0 to {len(self.trace) - 1}")
        if target is not None and target.kind == "action" and self.trace.columns["last"][row]:
            raise GymnastError(f"the episode ended at row {row}: no action was taken there to be explained")
        return row

    def _actions(self, rows: np.ndarray) -> torch.Tensor:
        """As the policy chose them: before clipping or squashing, counted among all tasks' choices."""
        columns = self.trace.columns
        chosen = columns["raw_action" if "raw_action" in columns else "action"][rows]
        chosen = np.nan_to_num(chosen)  # an episode's last row has none
        if self.choices is not None:
            chosen = chosen + self.choices.start
        distribution = self.policy.distribution
        shaped = chosen.astype(distribution.action_dtype).reshape(len(rows), *distribution.action_shape)
        return torch.from_numpy(shaped)

    def _masks(self, rows: np.ndarray) -> torch.Tensor | None:
        own = self.trace.columns.get("mask")
        if own is None:
            return None
        if self.choices is None:
            return torch.from_numpy(own[rows].copy())
        n_logits = ActionForm(self.policy.layout.action_space).n_logits
        masks = np.zeros((len(rows), n_logits), np.bool_)
        masks[:, self.choices] = own[rows]
        return torch.from_numpy(masks)


def study(policy: Policy, trace: Trace, choices: slice | None = None) -> Subject:
    """What is needed to look into a policy at the rows of a trace that was recorded of it.

    `choices`: where a task's own choices lie among those of all tasks, of a mix whose tasks have heads of
    their own (`MixForm.block`). Raises GymnastError if the trace is not one of this policy.
    """
    form = ActionForm(policy.layout.action_space)
    n_own = form.n_logits if choices is None else choices.stop - choices.start
    if (n_own, form.n_means) != (len(trace.meta.choices), len(trace.meta.numbers)):
        raise GymnastError(
            f"the policy has {n_own} choices and {form.n_means} real numbers in an action, the trace has"
            f" {len(trace.meta.choices)} and {len(trace.meta.numbers)}: it was not recorded of this policy"
        )
    with random_numbers_kept():
        network = StillNetwork(policy.layout, policy.network.arrays())
        inputs = TraceInputs(policy.layout, trace)
    return Subject(policy, trace, network, inputs, choices)


def chunks(rows: np.ndarray, size: int = CHUNK) -> list[np.ndarray]:
    """Rows in groups that fit into memory together."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def batch(subject: Subject, rows: np.ndarray) -> tuple[Parts, tuple[torch.Tensor | None, ...]]:
    """A batch's parts, and captum's additional arguments."""
    others = subject.rows(rows)
    return subject.inputs.batch(rows), (others.actions, others.masks, others.states)
