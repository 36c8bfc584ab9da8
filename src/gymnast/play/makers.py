"""Deciding without a policy, by chance; and what is known of an action that a person chose."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast.spaces.plain import random_actions
from gymnast.traces.env import RecordedEnv
from gymnast.traces.step import Decision


class ChanceDecides:
    """Every allowed action as likely as any other."""

    def __init__(self, env: RecordedEnv, seed: int) -> None:
        self._env = env
        self._rng = np.random.default_rng([seed, 0x91A7])

    def value(self, obs: np.ndarray) -> None:
        """There is no critic."""

    def seen(self, obs: np.ndarray) -> dict[str, np.ndarray]:
        """The observation as it is: there is no network to read it."""
        names = obs.dtype.names
        return {"": obs[0].copy()} if names is None else {name: np.array(obs[name][0]) for name in names}

    def forget(self) -> None:
        """Nothing is remembered."""

    def choose(
        self, obs: np.ndarray, masks: np.ndarray | None
    ) -> tuple[np.ndarray, Decision, np.ndarray | None]:
        """A random action, and the distribution that it is from."""
        envs, own = self._env.envs, self._env.choices
        offset = 0
        allowed = None if masks is None else masks[0, own or slice(None)].copy()
        if own is None:
            actions = random_actions(envs.action_space, 1, self._rng, masks)
        else:  # a task of a mix: among its own choices alone
            offset = own.start
            space = self._env.camera.action_space
            actions = random_actions(space, 1, self._rng, None if allowed is None else allowed[None])
        flat = np.atleast_1d(actions[0]).ravel()
        decision = self._decision(flat, allowed)
        return (actions + offset if offset else actions), decision, allowed

    def _decision(self, flat: np.ndarray, allowed: np.ndarray | None) -> Decision:
        form = self._env.actions.form
        probabilities = np.zeros(form.n_logits, np.float32)
        entropy, row = 0.0, 0
        for size in form.sizes:
            if not size:
                continue
            open_ = np.ones(size, bool) if allowed is None else allowed[row : row + size]
            probabilities[row : row + size] = open_ / open_.sum()
            entropy += float(np.log(open_.sum()))
            row += size
        none = np.full(form.n_means, np.nan, np.float32)
        known = np.nan if form.n_means else entropy
        return Decision(flat.copy(), -known, known, probabilities, none, none)


def given_by_hand(decision: Decision, action: np.ndarray, sizes: tuple[int, ...]) -> Decision:
    """The decision on an observation where another action [K] was taken than the one decided on.

    The distribution stays that of the policy; the log-probability is that of what was taken, or NaN where
    the action has real numbers.
    """
    changes: dict[str, Any] = {"action": np.asarray(action, decision.action.dtype), "log_prob": np.nan}
    if 0 not in sizes:
        starts = np.cumsum([0, *sizes[:-1]])
        taken = decision.probabilities[starts + action.astype(np.int64)].astype(np.float64)
        with np.errstate(divide="ignore"):
            changes["log_prob"] = float(np.log(taken).sum())
    own = {name: getattr(decision, name) for name in Decision.__slots__}
    return Decision(**(own | changes))


def chosen_alone(decision: Decision, action: np.ndarray) -> Decision:
    """What is known of an action [K] where there is no policy: nothing but the action."""
    return Decision(
        np.asarray(action, decision.action.dtype),
        np.nan,
        np.nan,
        np.full_like(decision.probabilities, np.nan),
        decision.mean,
        decision.std,
    )
