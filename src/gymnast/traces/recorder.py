"""Playing an episode and recording it: one step after another, with nothing kept.

`iter_steps` is the only place that plays to be recorded. A video encodes its steps as they come, a
`Trace` keeps them. It acts exactly as `rollout.evaluate` does, from the same random numbers; what it
adds draws none. Whoever takes the steps may send another action than the one decided on: what the policy
remembers is kept up to date all the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gymnast.policies.distributions import LOG_STD_RANGE
from gymnast.policies.frame_stack import FrameHistory
from gymnast.policies.policy import Policy
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.masks import masked
from gymnast.traces.env import RecordedEnv
from gymnast.traces.step import Decision, Outcome, TraceStep, plain_info


@dataclass(frozen=True, slots=True)
class Player:
    """A policy, and how it is to act."""

    policy: Policy
    rng: np.random.Generator | None = None  # samples actions; None: greedy
    value_scale: float | None = 1.0  # the critic's unit in rewards of the env; None: there is no critic


class DecisionMaker(Protocol):
    """What decides on an observation of one env, [1, …], and remembers those before it."""

    def value(self, obs: np.ndarray) -> float | None:
        """The expected return from here; None: it has no critic. Nothing is remembered."""

    def seen(self, obs: np.ndarray) -> dict[str, np.ndarray]:
        """The observation as it is read, by part; copies."""

    def choose(
        self, obs: np.ndarray, masks: np.ndarray | None
    ) -> tuple[np.ndarray, Decision, np.ndarray | None]:
        """What to hand to the envs, how it came about, and the mask [M] of the task's own choices."""

    def forget(self) -> None:
        """The next observation begins an episode."""


def iter_steps(
    env: RecordedEnv,
    player: Player | DecisionMaker,
    *,
    episodes: int,
    max_steps: int,
    seconds: float = math.inf,
) -> Generator[TraceStep, np.ndarray | None, None]:
    """Steps of whole episodes; after `max_steps` actions or so many seconds in all, one is cut.

    An action that is sent back ([1], or [1, K] flat) is taken instead of the one decided on.
    """
    until = time.monotonic() + seconds
    envs = env.envs
    maker = PolicyDecides(env, player) if isinstance(player, Player) else player
    obs = envs.reset()
    maker.forget()
    taken = 0
    for episode in range(episodes):
        view, outcome, step, total = env.first, None, 0, 0.0
        shown = obs  # the true last observation at an episode's end, where `obs` begins the next one
        while True:
            value = maker.value(shown)
            spent = taken >= max_steps or (taken > 0 and time.monotonic() >= until)
            over = spent or (outcome is not None and outcome.done)
            chosen = None if over else maker.choose(obs, envs.masks)
            sent = yield TraceStep(
                episode=episode,
                step=step,
                picture=view.picture,
                obs=view.obs,
                seen=maker.seen(shown),
                info=plain_info(view.info),
                value=value,
                total=total,
                outcome=outcome,
                decision=None if chosen is None else chosen[1],
                mask=None if chosen is None else chosen[2],
            )
            if chosen is None:
                break
            result = envs.step(chosen[0] if sent is None else sent)
            taken, step = taken + 1, step + 1
            view = env.latest
            life_lost = result.life_lost is not None and bool(result.life_lost[0])  # the game continues
            outcome = Outcome(
                action=env.actions.form.flatten(env.camera.action),
                label=env.actions.text(env.camera.action),
                reward=float(result.rewards[0]),
                parts={name: float(share[0]) for name, share in result.reward_parts.items()},
                terminated=bool(result.terminated[0]) and not life_lost,
                truncated=bool(result.truncated[0]),
                episode_values={},
            )
            total += outcome.reward
            obs = shown = result.obs
            if outcome.done:
                assert result.final_obs is not None
                shown = result.final_obs
                for name, values in result.episode_values.items():
                    outcome.episode_values[name] = float(values[0])
        if spent:
            return
        maker.forget()


class PolicyDecides:
    """Acts as `Policy.env_actions` does, and keeps the distribution that it acted from."""

    def __init__(self, env: RecordedEnv, player: Player) -> None:
        self._player, self._env = player, env
        self._form = ActionForm(player.policy.layout.action_space)
        self._state: Any = player.policy.start(1, critic=player.value_scale is not None)

    def value(self, obs: np.ndarray) -> float | None:
        """In rewards of the env, as seen from what is remembered, which stays as it is."""
        scale = self._player.value_scale
        if scale is None:
            return None
        return float(self._player.policy.values(obs, self._state).flat[0]) * scale

    def seen(self, obs: np.ndarray) -> dict[str, np.ndarray]:
        """The network's input for this observation alone."""
        return _seen(self._player.policy, obs)

    def forget(self) -> None:
        """Empty the memory and the stack of frames."""
        self._state.reset(np.ones(1, bool))

    def choose(
        self, obs: np.ndarray, masks: np.ndarray | None
    ) -> tuple[np.ndarray, Decision, np.ndarray | None]:
        """The most likely action, or a sampled one."""
        policy, rng, state = self._player.policy, self._player.rng, self._state
        distribution = policy.distribution
        if isinstance(state, FrameHistory):
            obs = state.push(obs)
        outputs, log_std = policy.outputs_from(policy.preprocess(obs), state)
        if masks is not None:
            outputs = masked(np, outputs, masks)
        if rng is None:
            actions = distribution.mode(outputs)
        else:
            actions = distribution.sample(outputs, log_std, distribution.noise(rng, 1, 1)[0])
        known = distribution.evaluate_actions(np, outputs, log_std, actions)
        own = self._env.choices
        flat = np.atleast_1d(actions[0]).ravel()
        decision = Decision(
            action=flat.copy() if own is None else flat - own.start,
            log_prob=float(known.log_prob[0]),
            entropy=float(known.entropy[0]),
            probabilities=self._probabilities(outputs[:, 0])[own or slice(None)],
            mean=outputs[self._form.n_logits :, 0].astype(np.float32),
            std=self._std(log_std),
            memory_norm=_memory_norm(policy, state),
        )
        allowed = None if masks is None else masks[0, own or slice(None)].copy()
        return distribution.to_env(actions), decision, allowed

    def _probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """[M] of all choices, factor by factor, from outputs [A]."""
        probabilities = np.empty(self._form.n_logits, np.float32)
        for group in self._form.choices:
            logits = outputs[group.rows].reshape(group.count, group.n)
            exp = np.exp(logits - logits.max(1, keepdims=True))
            probabilities[group.rows] = (exp / exp.sum(1, keepdims=True)).ravel()
        return probabilities

    def _std(self, log_std: np.ndarray | None) -> np.ndarray:
        if log_std is None:
            return np.zeros(0, np.float32)
        log_std = log_std[:, 0]
        if self._player.policy.layout.config.state_dependent_std:
            log_std = np.clip(log_std, *LOG_STD_RANGE)
        return np.exp(log_std).astype(np.float32)


def _seen(policy: Policy, obs: np.ndarray) -> dict[str, np.ndarray]:
    """The network's input for one observation [1, …], by part; copies."""
    x = policy.preprocessor.apply(obs)
    if x.dtype.names is None:
        return {"": x[0].copy()}
    return {name: np.array(x[name][0]) for name in x.dtype.names}


def _memory_norm(policy: Policy, state: Any) -> np.ndarray:
    """The norm of each recurrent state [S]: hidden (and cell) of the actor's memory, then of the critic's."""
    if policy.recurrent is None:
        return np.zeros(0, np.float32)
    memory: Any = state.memory if isinstance(state, FrameHistory) else state
    return np.linalg.norm(memory.array()[:, 0].astype(np.float64), axis=1).astype(np.float32)


def memory_names(player: Player) -> tuple[str, ...]:
    """What `Decision.memory_norm` is of."""
    layout = player.policy.layout
    parts = ("hidden", "cell") if layout.config.memory == "lstm" else ("hidden",)
    owners = layout.memories if player.value_scale is not None else layout.memories[:1]
    return tuple(f"{owner} {part}" for owner in owners for part in parts)
