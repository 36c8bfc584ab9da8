"""Playing one env of the user's with random actions, and noting all that is wrong with what it returns.

Observations are kept as digests alone: two plays with the same seed and actions can be compared without
holding thousands of images.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.doctor.returned import info_problem, observation_problem, scalar_problems
from gymnast.envs.contract import close_env, pass_on_ctrl_c
from gymnast.errors import described
from gymnast.spaces.action_form import ActionForm, why_not_supported
from gymnast.spaces.masks import MaskReader
from gymnast.spaces.plain import plain_action_space, random_actions

Env = gym.Env[Any, Any]


@dataclass(slots=True)
class Played:
    """What came of playing: one entry per step, and per reset."""

    digests: list[bytes] = field(default_factory=list)  # of observations, first ones included
    rewards: list[float] = field(default_factory=list)
    terminated: int = 0
    truncated: int = 0
    lengths: list[int] = field(default_factory=list)  # of finished episodes
    infos: list[dict[str, bytes]] = field(default_factory=list)  # digests by key, where comparable
    problems: dict[str, str] = field(default_factory=dict)  # by kind, the first of each
    error: str | None = None  # what was raised, and when
    steps: int = 0
    step_seconds: float = 0.0
    reset_seconds: list[float] = field(default_factory=list)

    @property
    def when_it_failed(self) -> str:
        if not self.digests:
            return "in the first reset()"
        return f"after {self.steps} step{'s' * (self.steps > 1)}" if self.steps else "in the first step()"

    def note(self, problem: tuple[str, str] | None) -> None:
        if problem is not None:
            when = "at the first reset" if self.steps == 0 else f"in step {self.steps}"
            self.problems.setdefault(problem[0], f"{problem[1]}, {when}")


class Player:
    """Plays envs that `build` makes, always the same way for the same two seeds."""

    def __init__(self, build: Callable[[], Env], *, masked: bool = False) -> None:
        self.build, self.masked = build, masked

    def play(
        self,
        seed: int,
        *,
        steps: int,
        seconds: float,
        act: Callable[[Env, dict[str, Any]], Any] | None = None,
    ) -> Played:
        """Play from `reset(seed=seed)` with actions that are always the same, or those of `act`."""
        played = Played()
        env = self.build()
        act = act or self._random(env)
        try:
            self._play(env, played, seed, steps, time.perf_counter() + seconds, act)
        except BaseException as error:
            pass_on_ctrl_c(error)
            played.error = f"{described(error)}, {played.when_it_failed}"
        finally:
            close_env(env)
        return played

    def _play(
        self,
        env: Env,
        played: Played,
        seed: int,
        steps: int,
        until: float,
        act: Callable[[Env, dict[str, Any]], Any],
    ) -> None:
        info = self._reset(env, played, seed)
        length = 0
        while played.steps < steps and (time.perf_counter() < until or played.steps < 2):
            action = act(env, info)
            began = time.perf_counter()
            returned: Any = env.step(action)
            played.step_seconds += time.perf_counter() - began
            played.steps += 1
            length += 1
            if not isinstance(returned, tuple) or len(returned) != 5:
                raise TypeError(
                    "step() must return (observation, reward, terminated, truncated, info); it returned "
                    + (f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__)
                )
            obs, reward, terminated, truncated, info = returned
            for problem in scalar_problems(reward, terminated, truncated):
                played.note(problem)
            played.rewards.append(_number(reward))
            info = self._observed(env, played, obs, info)
            if terminated or truncated:
                played.terminated += bool(terminated)
                played.truncated += bool(truncated) and not terminated
                played.lengths.append(length)
                info = self._reset(env, played, None)
                length = 0

    def _reset(self, env: Env, played: Played, seed: int | None) -> dict[str, Any]:
        began = time.perf_counter()
        returned: Any = env.reset(seed=seed) if seed is not None else env.reset()
        played.reset_seconds.append(time.perf_counter() - began)
        if not isinstance(returned, tuple) or len(returned) != 2:
            kind = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
            raise TypeError(f"reset() must return (observation, info); it returned {kind}")
        return self._observed(env, played, *returned)

    def _observed(self, env: Env, played: Played, obs: Any, info: Any) -> dict[str, Any]:
        played.digests.append(digest(obs))
        played.note(observation_problem(env.observation_space, obs))
        played.note(info_problem(info))
        known = info if isinstance(info, dict) else {}
        if self.masked and "action_mask" not in known:
            played.note(("masks", "env.action_masks is on, and info has no 'action_mask'"))
        played.infos.append({str(key): digest(value) for key, value in known.items() if comparable(value)})
        return known

    def _random(self, env: Env) -> Callable[[Env, dict[str, Any]], Any]:
        """Actions that are the same in every play, within masks where there are any."""
        random, space = np.random.default_rng(0), env.action_space
        if why_not_supported(space) is not None:
            space.seed(0)
            return lambda env, info: env.action_space.sample()
        form, plain = ActionForm(space), plain_action_space(space)
        masks = MaskReader(space) if self.masked else None

        def act(env: Env, info: dict[str, Any]) -> Any:
            row = None
            if masks is not None and "action_mask" in info:
                row = np.zeros((1, masks.size), bool)
                masks.read(info["action_mask"], row[0])
            return form.each(random_actions(plain, 1, random, row).reshape(1, -1))[0]

        return act


def _number(reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        return math.nan


def comparable(value: Any) -> bool:
    """Whether two of it can be compared: numbers, texts, arrays, and containers of these."""
    if isinstance(value, dict):
        return all(map(comparable, value.values()))
    if isinstance(value, list | tuple):
        return all(map(comparable, value))
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind in "biufcSU")
    return value is None or isinstance(value, bool | int | float | str | bytes | np.generic)


def digest(value: Any) -> bytes:
    """The same for the same content."""
    found = hashlib.blake2b(digest_size=16)
    _feed(found, value)
    return found.digest()


def _feed(found: Any, value: Any) -> None:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            found.update(str(key).encode())
            _feed(found, value[key])
    elif isinstance(value, list | tuple):
        found.update(b"(")
        for part in value:
            _feed(found, part)
    elif isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype != object:
        array = np.asarray(value)
        array = array + 0 if array.dtype.kind == "f" else array  # -0.0 is 0.0
        found.update(str((array.shape, array.dtype.str)).encode())
        found.update(np.ascontiguousarray(array).tobytes())
    else:
        found.update(repr(value).encode(errors="replace"))
