"""What a policy has learned from a probe: numbers beside those that it should have learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gymnast.envs.families.probe import Kind, half_of, shown_as
from gymnast.policies.policy import Policy
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.observation_form import ObservationForm

VALUE_TOLERANCE = 0.1
LEAST_RIGHT = 0.8  # share of sampled actions; a random policy has about half


@dataclass(frozen=True, slots=True)
class Measured:
    """One number that a probe decides by."""

    name: str
    got: float
    wanted: float
    tolerance: float | None  # None: at least `wanted`
    short: str = ""  # its name after another one

    @property
    def misses_by(self) -> float:
        """0 where it is as it should be; infinite for NaN."""
        if not np.isfinite(self.got):
            return float("inf")
        if self.tolerance is None:
            return max(0.0, self.wanted - self.got)
        return max(0.0, abs(self.got - self.wanted) - self.tolerance)

    @property
    def expected(self) -> str:
        name = self.short or self.name
        if self.tolerance is None:
            return f"{name} {'at least ' if self.wanted < 1 else ''}{self.wanted:.0%}"
        return f"{name} {self.wanted:.2f} ± {self.tolerance:g}"

    @property
    def shown(self) -> str:
        name = self.short or self.name
        return f"{name} {self.got:.0%}" if self.tolerance is None else f"{name} {self.got:.2f}"


def measure(policy: Policy, kind: Kind, gamma: float, reward_scale: float, right: float) -> list[Measured]:
    """What decides this probe. `right` is the share of sampled actions that were rewarded; values are in
    the units of the env's rewards, whatever learning divides these by."""
    if kind == "constant":
        return [_value("value", _values(policy, [1])[0] * reward_scale, 1.0)]
    if kind == "observation":
        plus, minus = _values(policy, [1, -1]) * reward_scale
        return [
            _value("value of the +1 observation", plus, 1.0),
            _value("value of the -1 observation", minus, -1.0, "of the -1 one"),
        ]
    if kind == "discount":
        first, last = _values_in_turn(policy, -1, 1) * reward_scale
        return [
            _value("value of the last observation", last, 1.0),
            _value("value of the first observation", first, gamma, "of the first"),
        ]
    greedy = float(np.mean(_greedy_is_right(policy, kind)))
    return [
        Measured("share of right actions", right, LEAST_RIGHT, None, "right actions: sampled"),
        Measured("share of right greedy actions", greedy, 1.0, None, "greedy"),
    ]


def mean_of(latest: Sequence[Sequence[Measured]]) -> list[Measured]:
    """The same numbers, each as the mean of several measurements."""
    last = latest[-1]
    return [
        replace(last[i], got=float(np.mean([measured[i].got for measured in latest])))
        for i in range(len(last))
    ]


def _value(name: str, got: float, wanted: float, short: str = "") -> Measured:
    return Measured(name, float(got), wanted, VALUE_TOLERANCE, short)


def _batch(policy: Policy, signals: list[int]) -> np.ndarray:
    form: ObservationForm = policy.form
    batch = np.zeros((len(signals), *form.shape), form.dtype)
    rows = form.rows(batch)
    for row, signal in enumerate(signals):
        rows[row] = shown_as(form.space, signal)
    return batch


def _first_head(values: np.ndarray) -> np.ndarray:
    return (values if values.ndim == 1 else values[0]).astype(np.float64)


def _values(policy: Policy, signals: list[int]) -> np.ndarray:
    """Of observations that each begin an episode."""
    return _first_head(policy.values(_batch(policy, signals), policy.start(len(signals), critic=True)))


def _values_in_turn(policy: Policy, first: int, second: int) -> np.ndarray:
    """Of two observations of one episode."""
    state = policy.start(1, critic=True)
    before, after = _batch(policy, [first]), _batch(policy, [second])
    value = _first_head(policy.values(before, state))
    policy.env_actions(before, None, None, state)
    return np.concatenate([value, _first_head(policy.values(after, state))])


def _greedy_is_right(policy: Policy, kind: Kind) -> list[bool]:
    signals = [1, -1] if kind == "match" else [1]
    actions = policy.env_actions(_batch(policy, signals), None, None, policy.start(len(signals)))
    space = policy.layout.action_space
    flat = actions.reshape(len(signals), -1)
    native = ActionForm(space).each(flat)
    return [half_of(space, action) == signal for action, signal in zip(native, signals, strict=True)]
