"""The policy over an action of several parts: independent factors, given the observation.

log π(a|s) = Σ log π_k(a_k|s) and H = Σ H_k, so each factor's derivatives stand beside each other.
Choices of the same size that are neighbours are computed as one array [F, n, B]; all real numbers
are one Gaussian.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.policies.distributions import Array, Evaluated, Gaussian, Match, gumbel, match_choices
from gymnast.spaces.action_form import ActionForm, Choices


class Factored:
    """Categoricals and normals side by side; actions are flat, [B, K]."""

    def __init__(self, space: gym.Space[Any], gaussian: type[Gaussian], state_dependent_std: bool) -> None:
        self.form = form = ActionForm(space)
        self.action_shape: tuple[int, ...] = (form.n_columns,)
        self.action_dtype = form.dtype
        self.n_logits, self.n_outputs = form.n_logits, form.n_logits + form.n_means
        self._reals = form.real_columns
        self._gaussian = gaussian(form.box(), state_dependent_std) if form.n_means else None

    def noise(self, rng: np.random.Generator, n_steps: int, n_envs: int) -> np.ndarray:
        noise = np.empty((n_steps, self.n_outputs, n_envs), np.float32)
        noise[:, : self.n_logits] = gumbel(rng, (n_steps, self.n_logits, n_envs))
        if self._gaussian is not None:
            noise[:, self.n_logits :] = self._gaussian.noise(rng, n_steps, n_envs)
        return noise

    def sample(self, outputs: np.ndarray, log_std: np.ndarray | None, noise: np.ndarray) -> np.ndarray:
        actions = self._chosen(outputs[: self.n_logits] + noise[: self.n_logits])
        if self._gaussian is not None:
            n = self.n_logits
            actions[:, self._reals] = self._gaussian.sample(outputs[n:], log_std, noise[n:])
        return actions

    def mode(self, outputs: np.ndarray) -> np.ndarray:
        actions = self._chosen(outputs)
        if self._gaussian is not None:
            actions[:, self._reals] = self._gaussian.mode(outputs[self.n_logits :])
        return actions

    def _chosen(self, scores: np.ndarray) -> np.ndarray:
        """Flat actions with the best-scored choice of each factor."""
        n = scores.shape[1]
        actions: np.ndarray = np.zeros((n, *self.action_shape), self.action_dtype)
        for group in self.form.choices:
            best = scores[group.rows].reshape(group.count, group.n, n).argmax(1)
            actions[:, group.columns] = best.T
        return actions

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        if self._gaussian is None:
            return actions
        legal = actions.astype(self.form.env_dtype)
        legal[:, self._reals] = self._gaussian.to_env(actions[:, self._reals])
        return legal

    def structured(self, actions: np.ndarray) -> Any:
        return self.form.batch(actions)

    def evaluate_actions(self, xp: Any, outputs: Array, log_std: Array | None, actions: Array) -> Evaluated:
        log_prob: Any = 0.0
        entropy: Any = 0.0
        caches: list[Any] = []
        for group in self.form.choices:
            known = _evaluate_choices(xp, group, outputs, actions)
            log_prob, entropy = log_prob + known.log_prob, entropy + known.entropy
            caches.append(known.cache)
        if self._gaussian is not None:
            known = self._gaussian.evaluate_actions(
                xp, outputs[self.n_logits :], log_std, actions[:, self._reals]
            )
            log_prob, entropy = log_prob + known.log_prob, entropy + known.entropy
            caches.append(known)
        return Evaluated(log_prob, entropy, tuple(caches))

    def backward(
        self, xp: Any, evaluated: Evaluated, d_log_prob: Array, d_entropy: Array | float
    ) -> tuple[Array, Array | None]:
        parts: list[Array] = []
        d_log_std: Array | None = None
        for group, (p, log_p, chosen, entropy) in zip(self.form.choices, evaluated.cache, strict=False):
            # as for one categorical, factor by factor: [F, n, B]
            d_logits = d_log_prob * (chosen - p if xp is np else chosen.to(p.dtype) - p)
            if not (isinstance(d_entropy, float) and d_entropy == 0.0):
                d_logits = d_logits - d_entropy * p * (log_p + entropy[:, None])
            parts.append(d_logits.reshape(group.count * group.n, -1))
        if self._gaussian is not None:
            d_means, d_log_std = self._gaussian.backward(xp, evaluated.cache[-1], d_log_prob, d_entropy)
            parts.append(d_means)
        return (parts[0] if len(parts) == 1 else xp.concatenate(parts)), d_log_std

    def match(
        self,
        xp: Any,
        outputs: Array,
        log_std: Array | None,
        target_outputs: Array,
        target_log_std: Array | None,
    ) -> Match:
        kl: Any = 0.0  # of independent factors: the sum
        parts: list[Array] = []
        d_log_std: Array | None = None
        for group in self.form.choices:
            logits, targets = (
                each[group.rows].reshape(group.count, group.n, -1) for each in (outputs, target_outputs)
            )
            of_choices, d_logits = match_choices(xp, logits, targets)  # [F, B], [F, n, B]
            kl = kl + of_choices.sum(0)
            parts.append(d_logits.reshape(group.count * group.n, -1))
        if self._gaussian is not None:
            n = self.n_logits
            of_reals, d_means, d_log_std = self._gaussian.match(
                xp, outputs[n:], log_std, target_outputs[n:], target_log_std
            )
            kl = kl + of_reals
            parts.append(d_means)
        return kl, (parts[0] if len(parts) == 1 else xp.concatenate(parts)), d_log_std

    def uniformity(self, outputs: np.ndarray, masks: np.ndarray | None) -> float | None:
        if not self.n_logits:
            return None
        actions: np.ndarray = np.zeros((outputs.shape[1], *self.action_shape), self.action_dtype)
        entropy = greatest = 0.0
        for group in self.form.choices:
            entropy += float(_evaluate_choices(np, group, outputs, actions).entropy.mean())
            if masks is None:
                greatest += group.count * float(np.log(group.n))
            else:
                allowed = masks[:, group.rows].reshape(-1, group.count, group.n).sum(2)  # [B, F]
                greatest += float(np.log(allowed).sum(1).mean())
        return entropy / greatest if greatest > 0 else None


def _evaluate_choices(xp: Any, group: Choices, outputs: Array, actions: Array) -> Evaluated:
    logits = outputs[group.rows].reshape(group.count, group.n, -1)  # [F, n, B]
    shifted = logits - xp.amax(logits, 1)[:, None]
    exp = xp.exp(shifted)
    total = exp.sum(1)[:, None]
    log_p = shifted - xp.log(total)
    p = exp / total
    choices = xp.arange(group.n, device=outputs.device)[:, None]
    chosen = choices == actions[:, group.columns].T[:, None]
    log_prob = xp.where(chosen, log_p, 0.0).sum((0, 1))
    entropy = -(p * log_p).sum(1)  # [F, B]
    return Evaluated(log_prob, entropy.sum(0), (p, log_p, chosen, entropy))
