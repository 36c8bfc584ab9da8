"""The check of a user's wrappers: each put around an env whose rewards, ends and observations are known.

A wrapper that loses the observation, the reward, the end of an episode or the action is named; one that needs
more of its env than spaces (its physics, its score) cannot be tried so, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.doctor.finding import Finding
from gymnast.doctor.inner_env import LENGTH, InnerEnv
from gymnast.doctor.play_env import digest
from gymnast.doctor.returned import observation_problem
from gymnast.envs.contract import close_env, pass_on_ctrl_c
from gymnast.envs.settings import EnvConfig, WrapperConfig
from gymnast.envs.single import make_env, own_names
from gymnast.errors import GymnastError, described

_EPISODES = 6
_MOST = 10.0  # a reward more than so many times larger or smaller than it was is hardly meant


@dataclass(slots=True)
class _Seen:
    """What came through the wrappers in a few episodes."""

    shown: dict[int, set[bytes]] = field(default_factory=lambda: {1: set(), -1: set()})  # by signal
    factors: dict[int, list[float]] = field(default_factory=lambda: {1: [], -1: []})  # of rewards
    parts: bool = False  # whether shares of the reward are declared
    hidden_end: bool = False
    actions: set[bytes] = field(default_factory=set)
    problem: str | None = None


def check_wrappers(config: EnvConfig) -> Iterator[Finding]:
    """One finding for each wrapper, innermost first."""
    if not config.wrappers:
        return
    around: tuple[WrapperConfig, ...] = ()
    try:
        inner = _inner_arguments(config)
        before = _play(config, inner, around)
    except BaseException as error:  # the check of the env reports it
        pass_on_ctrl_c(error)
        return
    for wrapper in config.wrappers:
        try:
            seen = _play(config, inner, (*around, wrapper))
        except BaseException as error:
            pass_on_ctrl_c(error)
            what = str(error) if isinstance(error, GymnastError) else described(error)
            text = f"not tried: it needs the env itself ({what})"
            yield Finding(wrapper.name, "skipped", text)
            continue
        around = (*around, wrapper)
        yield from _assessed(wrapper, before, seen)
        before = seen


def _inner_arguments(config: EnvConfig) -> dict[str, Any]:
    """The spaces that the innermost wrapper meets."""
    env = make_env(config.model_copy(update={"wrappers": ()}))
    try:
        return {
            "observation_space": env.observation_space,
            "action_space": env.action_space,
            "observation_names": own_names(config, env),
        }
    finally:
        close_env(env)


def _play(config: EnvConfig, inner: dict[str, Any], wrappers: tuple[WrapperConfig, ...]) -> _Seen:
    tried = EnvConfig(
        id=f"{InnerEnv.__module__}:{InnerEnv.__name__}", kwargs=inner, wrappers=wrappers, spec=config.spec
    )
    env = make_env(tried)
    seen = _Seen()
    try:
        env.action_space.seed(0)
        for episode in range(_EPISODES):
            _play_episode(env, seen, seed=0 if episode == 0 else None)
    finally:
        close_env(env)
    return seen


def _play_episode(env: gym.Env[Any, Any], seen: _Seen, seed: int | None) -> None:
    inner: Any = env.unwrapped
    obs, _ = env.reset(seed=seed)
    total = parts = 0.0
    while True:
        seen.shown[inner.signal].add(digest(obs))
        problem = observation_problem(env.observation_space, obs)
        seen.problem = seen.problem or (None if problem is None else problem[1])
        was_over, signal = inner.ended, inner.signal
        obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
        total += float(reward)
        shares = info.get("reward_parts", {})
        seen.parts |= bool(shares)
        parts += sum(map(float, shares.values()))
        seen.actions.add(digest(inner.actions[-1]))
        if terminated or truncated:
            break
        if was_over or inner.ended:
            seen.hidden_end = True
            break
    if inner.signal == signal and inner.paid:
        seen.factors[signal].append((total - parts) / inner.paid)


def _assessed(wrapper: WrapperConfig, before: _Seen, seen: _Seen) -> Iterator[Finding]:
    """What this wrapper changed of what came through without it."""
    name, problems = wrapper.name, []
    if seen.problem is not None and before.problem is None:
        problems.append(f"its {seen.problem}")
    if before.shown[1] != before.shown[-1] and seen.shown[1] == seen.shown[-1]:
        problems.append("it shows the same whatever the env shows")
    if seen.hidden_end and not before.hidden_end:
        problems.append(f"it hides that the episode ended (after {LENGTH} steps)")
    if len(before.actions) > 1 and len(seen.actions) == 1:
        problems.append("it does the same whatever the action is")
    changed, wrong = _rewards(wrapper, before, seen)
    if problems or (changed and wrong):
        text = "; ".join([*problems, *([changed] if changed else [])])
        yield Finding(name, "failed", text, "check what this wrapper does to rewards and observations")
    elif changed:
        yield Finding(name, "info", changed)
    else:
        added = "adds a share of its own to the reward, and " if seen.parts and not before.parts else ""
        yield Finding(name, "ok", f"{added}passes on observations, rewards, actions and ends")


def _rewards(wrapper: WrapperConfig, before: _Seen, seen: _Seen) -> tuple[str, bool]:
    """What it makes of rewards, in words, and whether that can hardly be meant."""
    texts, wrong = [], False
    own = ":" in wrapper.name
    for signal in (1, -1):
        was, now = before.factors[signal], seen.factors[signal]
        if not was or not now:
            continue
        factor = float(np.mean(now)) / float(np.mean(was)) if np.mean(was) else float("nan")
        if np.isfinite(factor) and abs(factor - 1) < 0.01:
            continue
        texts.append(f"a reward of {signal} becomes {signal * factor:.3g}")
        far = not np.isfinite(factor) or factor <= 0 or not 1 / _MOST <= factor <= _MOST
        wrong |= far and (own or not np.isfinite(factor))
    return ", ".join(texts), wrong
