"""The distributions of an observed update, from its rollout and batch: counts, quantiles, moments."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import gymnasium as gym
import numpy as np

from gymnast.algorithms.batch import Batch
from gymnast.envs.spec import EnvSpec
from gymnast.metrics.sinks.distributions_file import QUANTILES, Snapshot
from gymnast.observe.data import leaves_of
from gymnast.policies.distributions import LOG_STD_RANGE
from gymnast.policies.hidden import Seen
from gymnast.policies.inputs import Input
from gymnast.policies.policy import Policy
from gymnast.rollout.buffer import Rollout
from gymnast.rollout.source import Episode
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.masks import masked

MOST_CHOICES, MOST_COMPONENTS = 512, 64  # of which distributions are kept: the first ones
_MOST_SORTED = 4096  # samples that quantiles are taken of
_PIXELS = 29  # of so many, one is looked at
_OBSERVATION = ("obs/mean", "obs/std", "obs/min", "obs/max")


class Snapshots:
    """Makes snapshots of one run's updates, all of the same names and shapes."""

    def __init__(self, policy: Policy, spec: EnvSpec, uses_critic: bool) -> None:
        self.policy, self.uses_critic = policy, uses_critic
        self._form = ActionForm(policy.layout.action_space)
        self._n_choices = min(self._form.n_logits, MOST_CHOICES)
        self._reals = self._form.real_columns
        self.labels = self._labels(spec)

    def of_rollout(self, rollout: Rollout, episodes: Sequence[Episode]) -> dict[str, np.ndarray]:
        """From rewards as the envs gave them; `episodes` are the latest that ended."""
        arrays = self._actions(rollout.actions)
        arrays["reward"] = quantiles(rollout.rewards)
        arrays["return"] = quantiles(np.array([episode.total for episode in episodes], np.float32))
        return arrays | self._observations(rollout)

    def of_batch(self, batch: Batch) -> dict[str, np.ndarray]:
        """Advantages before normalisation, values and targets before PopArt; only samples that count."""
        advantages, values, returns = batch.advantages, batch.values, batch.returns
        if values.ndim == 2:  # of several heads, the first is of the env's rewards
            values, returns = values[0], returns[0]
        if batch.weights is not None:
            counts = batch.weights > 0
            advantages, values, returns = advantages[counts], values[counts], returns[counts]
        arrays = {"advantage": quantiles(advantages)}
        if self.uses_critic:
            arrays |= {"value": quantiles(values), "target": quantiles(returns)}
        return arrays

    def of_outputs(self, seen: Seen, masks: np.ndarray | None) -> dict[str, np.ndarray]:
        """The mean of what the policy gave for some samples: probabilities, means and stds."""
        outputs = seen.outputs if masks is None else masked(np, seen.outputs, masks)
        arrays: dict[str, np.ndarray] = {}
        if self._form.n_logits:
            chances = [_softmax(outputs[group.rows], group.n) for group in self._form.choices]
            arrays["action/probability"] = np.concatenate(chances)[: self._n_choices]
        if self._form.n_means:
            assert seen.log_std is not None
            log_std, n = seen.log_std, self._form.n_logits
            if self.policy.layout.config.state_dependent_std:
                log_std = log_std.clip(*LOG_STD_RANGE)
            arrays["action/mean"] = outputs[n : n + MOST_COMPONENTS].mean(1)
            arrays["action/std"] = np.exp(log_std[:MOST_COMPONENTS]).mean(1)
        return arrays

    def joined(self, arrays: dict[str, np.ndarray]) -> Snapshot:
        """All of them, under their labels."""
        return Snapshot({name: array.astype(np.float32) for name, array in arrays.items()}, self.labels)

    def _actions(self, actions: np.ndarray) -> dict[str, np.ndarray]:
        """Of actions [T, N, …]: how often each choice was taken, and quantiles of real numbers."""
        arrays: dict[str, np.ndarray] = {}
        flat = actions.reshape(-1, self._form.n_columns)
        if self._form.n_logits:
            counts = [
                np.bincount(flat[:, column].astype(np.int64), minlength=group.n)
                for group in self._form.choices
                for column in range(group.columns.start, group.columns.stop)
            ]
            arrays["action/count"] = np.concatenate(counts)[: self._n_choices]
        if self._form.n_means:
            reals = flat[:, self._reals][:, :MOST_COMPONENTS]
            arrays["action/quantiles"] = np.stack([quantiles(column) for column in reals.T])
        return arrays

    def _observations(self, rollout: Rollout) -> dict[str, np.ndarray]:
        found = [_moments(_components(part, seen)) for part, seen in leaves_of(self.policy, rollout)]
        joined = np.concatenate(found, 1)[:, :MOST_COMPONENTS]
        return dict(zip(_OBSERVATION, joined, strict=True))

    def _labels(self, spec: EnvSpec) -> dict[str, tuple[str, ...]]:
        form, given = self._form, spec.action_labels
        labels: dict[str, tuple[str, ...]] = {}
        if isinstance(form.space, gym.spaces.Discrete):
            n = form.sizes[0]
            made = tuple(given) if len(given) == n else tuple(f"action {index}" for index in range(n))
            choices, numbers = made[:MOST_CHOICES], made[:0]
        else:
            names = tuple(given) if len(given) == form.n_columns else form.labels
            sized = list(zip(names, form.sizes, strict=True))
            every = (f"{name}={choice}" for name, size in sized for choice in range(size))
            choices = tuple(every)[:MOST_CHOICES]
            numbers = tuple(name for name, size in sized if not size)[:MOST_COMPONENTS]
        if choices:
            labels |= dict.fromkeys(("action/count", "action/probability"), choices)
        if numbers:
            labels |= dict.fromkeys(("action/quantiles", "action/mean", "action/std"), numbers)
        inputs = self.policy.layout.inputs
        if not any(part.image for part in inputs) and len(spec.observation_names) == sum(
            prod(part.leaf.shape) for part in inputs
        ):
            labels |= dict.fromkeys(_OBSERVATION, spec.observation_names[:MOST_COMPONENTS])
        return labels


def quantiles(values: np.ndarray) -> np.ndarray:
    """21 of them, the least and the greatest included; NaN if there are no values."""
    flat = values.reshape(-1)
    if not flat.size:
        return np.full(len(QUANTILES), np.nan, np.float32)
    ordered = np.sort(flat[:: -(-flat.size // _MOST_SORTED)])
    found = ordered[np.rint(np.multiply(QUANTILES, len(ordered) - 1)).astype(np.int64)]
    if len(ordered) < flat.size:
        found[0], found[-1] = flat.min(), flat.max()
    return found


def _softmax(logits: np.ndarray, n: int) -> np.ndarray:
    """Mean probabilities [F·n] of logits [F·n, B]."""
    exp = logits.reshape(-1, n, logits.shape[1])
    exp = np.exp(exp - exp.max(1, keepdims=True))
    return (exp / exp.sum(1, keepdims=True)).mean(2).reshape(-1)


def _components(part: Input, seen: np.ndarray) -> np.ndarray:
    """Values [rows, D] of a leaf [T, N, …]: its first components; of an image its channels, by pixel."""
    if part.image is None:
        return seen.reshape(seen.shape[0] * seen.shape[1], -1)[:, :MOST_COMPONENTS]
    if part.image.order == "hw":
        return seen.reshape(-1, 1)[::_PIXELS]
    channels = seen if part.image.order == "hwc" else np.moveaxis(seen, -3, -1)
    return channels.reshape(-1, channels.shape[-1])[::_PIXELS]


def _moments(flat: np.ndarray) -> np.ndarray:
    """Mean, std, least and greatest [4, D] of values [rows, D]."""
    wide = flat.astype(np.float64)
    return np.stack([wide.mean(0), wide.std(0), flat.min(0), flat.max(0)])
