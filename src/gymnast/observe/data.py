"""What a rollout says about the environment and its copies: bounds, scales, sameness, where rewards fall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.policies.frame_stack import StackedRows
from gymnast.policies.inputs import Input
from gymnast.policies.policy import Policy
from gymnast.policies.preprocess import PartsPreprocessor, Preprocessor
from gymnast.rollout.buffer import Rollout
from gymnast.rollout.source import Episode

_FEWEST_ENDS = 8  # that a correlation is taken of
_IMAGE_STEPS = 16  # of a rollout whose images are looked at
_MOST_COMPONENTS = 1024  # that diversity is the mean of; pixels spread over the image


def data_metrics(policy: Policy, rollout: Rollout, episodes: Sequence[Episode]) -> dict[str, float]:
    """All of them, from rewards as the envs gave them, before they are scaled."""
    leaves = list(leaves_of(policy, rollout))
    return (
        _reward_metrics(rollout, episodes)
        | _observation_metrics(leaves)
        | _input_metrics(policy, rollout)
        | {"env/identical": _identical(rollout, leaves)}
        | _diversity(leaves)
    )


def leaves_of(policy: Policy, rollout: Rollout) -> Iterator[tuple[Input, np.ndarray]]:
    """Each leaf of the observations and its values [T, N, …]; of images, and of what lies on a GPU, those of
    a few steps."""
    for part in policy.layout.inputs:
        if rollout.pixels is not None:
            seen = rollout.pixels[:-1][_some(len(rollout.rewards))].cpu().numpy()
        elif part.leaf.name:
            seen = rollout.obs[:-1][part.leaf.name]
        else:
            seen = rollout.obs[:-1]
        if part.image is not None and rollout.pixels is None:
            seen = seen[_some(len(seen))]
        yield part, seen


def _some(n_steps: int) -> slice:
    """Steps spread over a rollout."""
    return slice(None, None, max(1, n_steps // _IMAGE_STEPS))


def _reward_metrics(rollout: Rollout, episodes: Sequence[Episode]) -> dict[str, float]:
    rewards = rollout.rewards
    sizes = np.abs(rewards).ravel()
    at = int(0.99 * (sizes.size - 1))
    metrics = {"env/reward/abs_p99": float(np.partition(sizes, at)[at])}
    if paid := np.count_nonzero(rewards):
        metrics["env/reward/gap"] = rewards.size / paid
    total = sum(abs(episode.total) for episode in episodes)
    if total > 0:
        last = float(np.abs(rewards[rollout.episode_ends]).sum())
        metrics["env/reward/last_share"] = min(last / total, 1.0)
    ends = rollout.terminated
    if np.count_nonzero(ends) >= _FEWEST_ENDS:
        correlation = _correlation(rollout.values[:-1][ends], rewards[ends])
        if correlation is not None:
            metrics["train/terminal_corr"] = correlation
    return metrics


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    a, b = a - a.mean(dtype=np.float64), b - b.mean(dtype=np.float64)
    spread = float(np.sqrt(a.dot(a) * b.dot(b)))
    return float(np.clip(a.dot(b) / spread, -1.0, 1.0)) if spread > 1e-12 else None


def _observation_metrics(leaves: Sequence[tuple[Input, np.ndarray]]) -> dict[str, float]:
    outside = components = constant = 0
    counted = False
    for part, seen in leaves:
        space = part.leaf.space
        if not isinstance(space, gym.spaces.Box) or part.kind != "vector":
            continue
        counted = True
        flat = seen.reshape(-1, *part.leaf.shape)
        if flat.dtype == np.float32:
            inside = (flat >= space.low) & (flat <= space.high)  # NaN is not
            outside += flat.size - int(np.count_nonzero(inside))
            components += flat.size
        constant += int(np.count_nonzero(flat.min(0) == flat.max(0)))
    metrics: dict[str, float] = {"env/obs/constant": constant} if counted else {}
    if components:
        metrics["env/obs/outside"] = outside / components
    return metrics


def _input_metrics(policy: Policy, rollout: Rollout) -> dict[str, float]:
    """Of what the network is given for real numbers."""
    smallest, largest = np.inf, 0.0
    at_clip = normalised = 0
    for preprocessor, x in _numbers(policy, rollout.x):
        stds = x.std(0)
        varying = stds[stds > 0]
        if len(varying):
            smallest, largest = min(smallest, float(varying.min())), max(largest, float(varying.max()))
        if preprocessor.mode != "none":
            at_clip += int(np.count_nonzero(np.abs(x) >= preprocessor.clip))
            normalised += x.size
    metrics = {"env/obs/std_min": smallest, "env/obs/std_max": largest} if largest > 0 else {}
    if normalised:
        metrics["env/obs/saturated"] = at_clip / normalised
    return metrics


def _numbers(policy: Policy, x: Any) -> Iterator[tuple[Preprocessor, np.ndarray]]:
    """The preprocessed leaves of float numbers [B, D], and what preprocesses each."""
    frames = x.frames if isinstance(x, StackedRows) else x
    own = policy.preprocessor
    at = 0
    for part in policy.layout.inputs:
        each = own.parts[part.leaf.name] if isinstance(own, PartsPreprocessor) else own
        if part.kind == "vector" and part.leaf.dtype == np.float32:
            if not isinstance(own, PartsPreprocessor):
                yield each, frames
            elif own.dtype is not None:
                yield each, frames[part.leaf.name]
            else:
                yield each, frames[:, at : at + each.size]
        at += each.size


def _identical(rollout: Rollout, leaves: Sequence[tuple[Input, np.ndarray]]) -> int:
    """How many envs have a twin."""
    rewards = rollout.rewards
    counts = Counter(
        hash((rewards[:, env].tobytes(), *(seen[:, env].tobytes() for _, seen in leaves)))
        for env in range(rewards.shape[1])
    )
    return sum(count for count in counts.values() if count > 1)


def _diversity(leaves: Sequence[tuple[Input, np.ndarray]]) -> dict[str, float]:
    """Of all observations' variance, component by component, what lies between envs at the same step.

    Of N unrelated envs that is (N - 1) / N of it, by which it is divided.
    """
    shares: list[np.ndarray] = []
    for part, seen in leaves:
        n = seen.shape[1]
        if n < 2:
            return {}
        if part.kind in ("one_hot", "index"):
            shares.append(_choice_diversity(seen.reshape(*seen.shape[:2], -1)))
            continue
        values = seen.reshape(*seen.shape[:2], -1)
        values = values[..., :: max(1, values.shape[2] // _MOST_COMPONENTS)].astype(np.float64)
        total = values.var((0, 1))
        varying = total > 1e-12
        between = values[..., varying].var(1).mean(0)
        shares.append(between / total[varying] * (n / (n - 1)))
    found = np.concatenate(shares) if shares else np.empty(0)
    return {"env/diversity": float(np.minimum(found, 1.0).mean())} if len(found) else {}


def _choice_diversity(seen: np.ndarray) -> np.ndarray:
    """The same of choices [T, N, K], whose variance is the chance that two of them differ."""
    n, found = seen.shape[1], []
    for column in np.moveaxis(seen, -1, 0):
        _, counts = np.unique(column, return_counts=True)
        total = 1.0 - float(np.square(counts / column.size).sum())
        if total > 0:
            ordered = np.sort(column, 1)
            begins = np.ones(ordered.shape, bool)  # where, in a step's sorted row, another choice begins
            begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
            sizes = np.diff(np.flatnonzero(begins), append=column.size)
            same = float(np.square(sizes).sum()) / (len(column) * n * n)
            found.append((1.0 - same) / total * (n / (n - 1)))
    return np.array(found)
