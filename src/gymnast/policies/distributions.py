"""Action distributions in closed form, for both engines.

Every function takes the engine's array module `xp` (numpy or torch) where it needs one, and works
on arrays with the action component FIRST: [A, B]. Reductions over a handful of actions are then
sums of whole rows, which is many times faster than reducing rows of length A.

`evaluate` gives log-probability and entropy of a batch, `backward` turns an algorithm's
derivatives with respect to these two into derivatives of the network's outputs. Tests hold both
against torch.distributions and autograd.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from gymnast.errors import GymnastError
from gymnast.policies.layout import PolicyLayout
from gymnast.spaces.action_form import ActionForm, finite_bounds, is_plain

Array = Any  # numpy.ndarray or torch.Tensor

LOG_STD_RANGE = (-5.0, 2.0)  # bounds of a std that the network gives
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(slots=True)
class Evaluated:
    """What a batch of actions is worth under the policy, and what `backward` needs again."""

    log_prob: Array  # [B]
    entropy: Array  # [B]
    cache: tuple[Any, ...]


Match = tuple[Array, Array, Array | None]  # KL [B], and its derivatives: d_outputs, d_log_std [A, B]


class Distribution(Protocol):
    """One kind of action distribution."""

    action_dtype: type
    action_shape: tuple[int, ...]

    def noise(self, rng: np.random.Generator, n_steps: int, n_envs: int) -> np.ndarray:
        """Randomness of a whole rollout, drawn in one call: [T, A, N]."""

    def sample(self, outputs: np.ndarray, log_std: np.ndarray | None, noise: np.ndarray) -> np.ndarray:
        """Actions [N, …] from outputs [A, N] and noise [A, N]."""

    def mode(self, outputs: np.ndarray) -> np.ndarray:
        """The most likely actions [N, …]."""

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        """What the envs of the contract are given for these actions."""

    def structured(self, actions: np.ndarray) -> Any:
        """What `to_env` gave, as one batch of the env's own action space."""

    def uniformity(self, outputs: np.ndarray, masks: np.ndarray | None) -> float | None:
        """Entropy of the choices, as a share of the greatest that masks [B, M] allow; None without choices.

        The outputs are masked already.
        """

    def evaluate_actions(self, xp: Any, outputs: Array, log_std: Array | None, actions: Array) -> Evaluated:
        """Log-probability and entropy [B] of actions [B, …] under outputs [A, B]."""

    def backward(
        self, xp: Any, evaluated: Evaluated, d_log_prob: Array, d_entropy: Array | float
    ) -> tuple[Array, Array | None]:
        """Derivatives with respect to outputs [A, B] and log_std [A, B]."""

    def match(
        self,
        xp: Any,
        outputs: Array,
        log_std: Array | None,
        target_outputs: Array,
        target_log_std: Array | None,
    ) -> Match:
        """KL(target ‖ policy) [B], and its derivatives with respect to the policy's outputs and log_std.

        Outputs of both may be masked: a choice that is masked in both adds nothing.
        """


class Categorical:
    """A discrete choice by logits."""

    action_dtype: type = np.int64
    action_shape: tuple[int, ...] = ()

    def __init__(self, space: gym.spaces.Discrete) -> None:
        self.n_outputs, self.start = int(space.n), int(space.start)

    def noise(self, rng: np.random.Generator, n_steps: int, n_envs: int) -> np.ndarray:
        return gumbel(rng, (n_steps, self.n_outputs, n_envs))

    def sample(self, outputs: np.ndarray, log_std: np.ndarray | None, noise: np.ndarray) -> np.ndarray:
        # Gumbel-max: the argmax of perturbed logits is a draw from their softmax.
        return (outputs + noise).argmax(0)

    def mode(self, outputs: np.ndarray) -> np.ndarray:
        return outputs.argmax(0)

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        return actions + self.start if self.start else actions

    def structured(self, actions: np.ndarray) -> Any:
        return actions

    def uniformity(self, outputs: np.ndarray, masks: np.ndarray | None) -> float | None:
        n = outputs.shape[1]
        allowed = np.full(n, self.n_outputs) if masks is None else masks.sum(1)
        greatest = float(np.log(allowed).mean())
        entropy = self.evaluate_actions(np, outputs, None, np.zeros(n, np.int64)).entropy
        return float(entropy.mean()) / greatest if greatest > 0 else None

    def evaluate_actions(self, xp: Any, outputs: Array, log_std: Array | None, actions: Array) -> Evaluated:
        shifted = outputs - xp.amax(outputs, 0)
        exp = xp.exp(shifted)
        total = exp.sum(0)
        log_p = shifted - xp.log(total)
        p = exp / total
        choices = xp.arange(outputs.shape[0], device=outputs.device)[:, None]
        chosen = choices == actions
        log_prob = xp.where(chosen, log_p, 0.0).sum(0)
        entropy = -(p * log_p).sum(0)
        return Evaluated(log_prob, entropy, (p, log_p, chosen, entropy))

    def backward(
        self, xp: Any, evaluated: Evaluated, d_log_prob: Array, d_entropy: Array | float
    ) -> tuple[Array, Array | None]:
        p, log_p, chosen, entropy = evaluated.cache
        # d log p_a / d logits = 1[a] - p ;  d H / d logits = -p (log p + H)
        d_outputs = d_log_prob * (chosen - p) if xp is np else d_log_prob * (chosen.to(p.dtype) - p)
        if not (isinstance(d_entropy, float) and d_entropy == 0.0):
            d_outputs = d_outputs - d_entropy * p * (log_p + entropy)
        return d_outputs, None

    def match(
        self,
        xp: Any,
        outputs: Array,
        log_std: Array | None,
        target_outputs: Array,
        target_log_std: Array | None,
    ) -> Match:
        return *match_choices(xp, outputs, target_outputs), None


class Gaussian:
    """Independent normals; the env gets the action clipped to its bounds."""

    action_dtype: type = np.float32

    def __init__(self, space: gym.spaces.Box, state_dependent_std: bool) -> None:
        self.low, self.high = finite_bounds(space)
        self.env_dtype = space.dtype
        self.action_shape = space.shape
        self.n_outputs = space.shape[0]
        self.state_dependent_std = state_dependent_std

    def noise(self, rng: np.random.Generator, n_steps: int, n_envs: int) -> np.ndarray:
        return rng.standard_normal((n_steps, self.n_outputs, n_envs), np.float32)

    def sample(self, outputs: np.ndarray, log_std: np.ndarray | None, noise: np.ndarray) -> np.ndarray:
        assert log_std is not None
        return (outputs + np.exp(self._bounded(np, log_std)) * noise).T

    def mode(self, outputs: np.ndarray) -> np.ndarray:
        return outputs.T

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        return np.clip(actions, self.low, self.high).astype(self.env_dtype, copy=False)

    def structured(self, actions: np.ndarray) -> Any:
        return actions

    def uniformity(self, outputs: np.ndarray, masks: np.ndarray | None) -> float | None:
        return None

    def evaluate_actions(self, xp: Any, outputs: Array, log_std: Array | None, actions: Array) -> Evaluated:
        assert log_std is not None
        bounded = self._bounded(xp, log_std)
        inverse_std = xp.exp(-bounded)
        z = (actions.T - outputs) * inverse_std
        log_prob = (-0.5 * z * z - bounded - _HALF_LOG_2PI).sum(0) - self._log_volume(xp, actions)
        entropy = (bounded + (0.5 + _HALF_LOG_2PI)).sum(0) + xp.zeros_like(log_prob)
        return Evaluated(log_prob, entropy, (z, inverse_std, bounded == log_std))

    def backward(
        self, xp: Any, evaluated: Evaluated, d_log_prob: Array, d_entropy: Array | float
    ) -> tuple[Array, Array | None]:
        z, inverse_std, inside = evaluated.cache
        d_outputs = d_log_prob * z * inverse_std
        d_log_std = d_log_prob * (z * z - 1.0) + d_entropy
        return d_outputs, xp.where(inside, d_log_std, 0.0) if self.state_dependent_std else d_log_std

    def match(
        self,
        xp: Any,
        outputs: Array,
        log_std: Array | None,
        target_outputs: Array,
        target_log_std: Array | None,
    ) -> Match:
        assert log_std is not None
        assert target_log_std is not None
        bounded, target = self._bounded(xp, log_std), self._bounded(xp, target_log_std)
        # KL = Σ log σ - log σ* + (σ*² + (μ - μ*)²) / 2σ² - ½
        inverse_std, distance = xp.exp(-bounded), outputs - target_outputs
        z = distance * inverse_std
        spread = xp.exp(2.0 * (target - bounded)) + z * z
        kl = (bounded - target + 0.5 * spread - 0.5).sum(0)
        # d KL / dμ = (μ - μ*) / σ² ;  d KL / d log σ = 1 - (σ*² + (μ - μ*)²) / σ²
        d_log_std = 1.0 - spread
        if self.state_dependent_std:
            d_log_std = xp.where(bounded == log_std, d_log_std, 0.0)
        return kl, z * inverse_std, d_log_std

    def _bounded(self, xp: Any, log_std: Array) -> Array:
        return xp.clip(log_std, *LOG_STD_RANGE) if self.state_dependent_std else log_std

    def _log_volume(self, xp: Any, actions: Array) -> Array | float:
        return 0.0


class SquashedGaussian(Gaussian):
    """Normals squashed by tanh into the bounds.

    Actions are kept before squashing, so the change of volume depends on the action alone: it
    shifts log-probabilities but no derivative. The entropy is that of the normal underneath,
    since the squashed one has no closed form; the KL of two is that of the normals in any case.
    """

    def __init__(self, space: gym.spaces.Box, state_dependent_std: bool) -> None:
        super().__init__(space, state_dependent_std)
        low, high = self.low / 2, self.high / 2  # halved first: the distance of huge bounds is infinite
        self.centre, self.reach = high + low, high - low
        self.log_reach = float(np.log(self.reach[self.reach > 0]).sum())

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        # Rounding may leave the bounds by one float.
        return super().to_env(self.centre + self.reach * np.tanh(actions))

    def _log_volume(self, xp: Any, actions: Array) -> Array | float:
        # log(1 - tanh²u) = 2 (log 2 - u - softplus(-2u)), which never takes the log of 0
        softplus = xp.logaddexp(-2.0 * actions, xp.zeros_like(actions))
        return (2.0 * (math.log(2.0) - actions - softplus)).sum(-1) + self.log_reach


def match_choices(xp: Any, logits: Array, target_logits: Array) -> tuple[Array, Array]:
    """KL(target ‖ policy) [..., B] of choices by logits [..., n, B], and its derivative."""
    log_p, log_q = _log_softmax(xp, logits), _log_softmax(xp, target_logits)
    q = xp.exp(log_q)
    # KL = Σ q (log q - log p) ;  d KL / d logits = p - q
    return (q * (log_q - log_p)).sum(-2), xp.exp(log_p) - q


def _log_softmax(xp: Any, logits: Array) -> Array:
    shifted = logits - xp.amax(logits, -2)[..., None, :]
    return shifted - xp.log(xp.exp(shifted).sum(-2))[..., None, :]


def gumbel(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Noise whose argmax, added to logits, is a draw from their softmax."""
    # -log of an exponential is a Gumbel; this way costs a fraction of rng.gumbel
    exponential = rng.standard_exponential(shape, np.float32)
    # A draw of 0 is one below the finest step of these numbers: its Gumbel is 18, not infinite.
    np.maximum(exponential, np.float32(1e-8), out=exponential)
    np.log(exponential, out=exponential)
    return np.negative(exponential, out=exponential)


def build_distribution(layout: PolicyLayout) -> Distribution:
    """The distribution that fits the action space and the settings."""
    space, config = layout.action_space, layout.config
    if isinstance(space, gym.spaces.Discrete):
        return Categorical(space)
    gaussian = SquashedGaussian if config.gaussian == "squashed" else Gaussian
    if config.gaussian == "squashed" and not _all_bounded(space):
        raise GymnastError(f"policy.gaussian: squashed needs bounded actions, got {space}; use 'clipped'")
    if isinstance(space, gym.spaces.Box) and is_plain(space):
        return gaussian(space, config.state_dependent_std)
    from gymnast.policies.factored import Factored  # which is made of what is defined here

    return Factored(space, gaussian, config.state_dependent_std)


def _all_bounded(space: gym.Space[Any]) -> bool:
    boxes = [leaf.space for leaf in ActionForm(space).leaves if isinstance(leaf.space, gym.spaces.Box)]
    return all(box.is_bounded() for box in boxes)
