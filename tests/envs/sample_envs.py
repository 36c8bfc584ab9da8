"""Envs whose every episode is known, that fail on purpose, or that reset in each of Gymnasium's modes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

LENGTHS = (3, 1, 4, 2)  # of episodes, in turn; odd ones terminate, even ones are truncated


class Countdown(gym.Env):
    """Observes (episode, step, last action, noise); pays the step's number. Actions count from 1."""

    def __init__(self, lengths: tuple[int, ...] = LENGTHS) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2, 2), np.float64)
        self.action_space = gym.spaces.Discrete(3, start=1)
        self.lengths = lengths
        self.episode = self.at = 0

    def _obs(self, action: int) -> np.ndarray:
        return np.array([[self.episode, self.at], [action, self.np_random.random()]])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.episode = 1 if seed is not None else self.episode + 1
        self.at = 0
        return self._obs(0), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        assert self.action_space.contains(action), action
        self.at += 1
        length = self.lengths[(self.episode - 1) % len(self.lengths)]
        over = self.at >= length
        return self._obs(action), float(self.at), over and length % 2 == 1, over and length % 2 == 0, {}


class FromFive(gym.Env):
    """A Discrete observation that counts from 5."""

    observation_space = gym.spaces.Discrete(4, start=5)
    action_space = gym.spaces.Box(-1, 1, (2,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict]:
        super().reset(seed=seed)
        self.at = 5
        return self.at, {}

    def step(self, action: np.ndarray) -> tuple[int, float, bool, bool, dict]:
        assert action.dtype == np.float64
        self.at += 1
        return self.at, float(action.sum()), self.at == 8, False, {}


class Failing(gym.Env):
    """Goes wrong in a given way at a given step, if its seed is one of `seeds` (any, if unset)."""

    action_space = gym.spaces.Discrete(2)

    def __init__(self, how: str, at: int = 3, seeds: tuple[int, ...] = ()) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
        self.how, self.fails_at, self.fails_with = how, at, seeds

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.at = 0
        if self.how == "reset-shape":
            return np.zeros(2, np.float32), {}
        if self.how == "exit-reset" and (not self.fails_with or self.np_random_seed in self.fails_with):
            os._exit(4)
        return np.zeros(3, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.at += 1
        obs, reward, terminated = np.full(3, self.at / 10, np.float32), 1.0, False
        if self.at == self.fails_at and (not self.fails_with or self.np_random_seed in self.fails_with):
            if self.how == "raise":
                raise RuntimeError("the motor broke")
            if self.how == "nan-obs":
                obs[1] = np.nan
            if self.how == "nan-final-obs":
                obs[1], terminated = np.nan, True
            if self.how == "nan-reward":
                reward = float("nan")
            if self.how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            if self.how == "segfault":
                ctypes.string_at(0)
            if self.how == "hang":
                time.sleep(1000)
            while self.how == "spin":
                pass
        return obs, reward, terminated, False, {}


RETURNED: dict[str, Any] = {
    "reward text": ("reward", "1.5"),
    "reward None": ("reward", None),
    "reward of two": ("reward", np.ones(2)),
    "terminated text": ("terminated", "no"),
    "truncated text": ("truncated", "yes"),
    "terminated empty": ("terminated", ""),
    "terminated number": ("terminated", 0.5),
    "scalar": ("obs", 0.5),
    "NumPy scalar": ("obs", np.float32(0.5)),
    "texts": ("obs", np.array(["1", "2", "3"])),
    "info": ("info", None),
    "odd but right": ("reward", np.array(1.5, np.float32)),
    "flag of NumPy": ("terminated", np.bool_(False)),
    "flag of a number": ("terminated", 0),
    "list": ("obs", [0.5, 0.5, 0.5]),
}


class Returns(gym.Env):
    """From a given step on, one of what it returns is what `RETURNED` names."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)

    def __init__(self, what: str, at: int) -> None:
        self.what, self.wrong_at = what, at

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.at = 0
        return np.zeros(3, np.float32), {}

    def step(self, action: int) -> Any:
        self.at += 1
        result = {
            "obs": np.full(3, 0.5, np.float32),
            "reward": 1.0,
            "terminated": False,
            "truncated": False,
            "info": {},
        }
        if self.at >= self.wrong_at:
            if self.what == "four":
                return tuple(result.values())[:4]
            name, value = RETURNED[self.what]
            result[name] = value
        return tuple(result.values())


class Tells(gym.Env):
    """Episodes of 2 and 3 steps in turn, in which it tells what each came to; a share of its own reward."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)
    reward_parts: ClassVar[tuple[str, ...]] = ("bonus",)
    episode_values: ClassVar[tuple[str, ...]] = ("level_complete", "score")

    def __init__(self) -> None:
        self.episode = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.episode = 1 if seed is not None else self.episode + 1
        self.at = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.at += 1
        over = self.at >= 2 + (self.episode + 1) % 2
        info: dict[str, Any] = {"reward_parts": {"bonus": 0.5}}
        if over:
            info["level_complete"] = self.episode % 2 == 0
            if self.episode > 1:  # of its first episode it tells no score
                info["score"] = 10 * self.episode
        return np.zeros(1, np.float32), 1.5, over, False, info


class CountsOnes(gym.Wrapper):
    """A wrapper that tells of an episode how often action 1 was taken in it."""

    episode_values: ClassVar[tuple[str, ...]] = ("ones",)

    def reset(self, **arguments: Any) -> Any:
        self.ones = 0
        return self.env.reset(**arguments)

    def step(self, action: Any) -> Any:
        self.ones += int(action == 1)
        *rest, info = self.env.step(action)
        return *rest, {**info, "ones": self.ones}


class Alone(gym.Env):
    """Of which a process can hold one, as of an emulator that keeps its state in globals."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)
    one_per_process = True
    open_here = 0

    def __init__(self) -> None:
        if Alone.open_here:
            raise RuntimeError("there is one already")
        Alone.open_here += 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(1, np.float32), 1.0, False, False, {}

    def close(self) -> None:
        Alone.open_here = 0


class WithChild(Alone):
    """Starts a program of its own and notes its number in a file."""

    one_per_process = False

    def __init__(self, note: str) -> None:
        self.note = note

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        child = subprocess.Popen(["sleep", "1000"])
        Path(self.note).write_text(str(child.pid))
        return super().reset(seed=seed)


class SeedIsIgnored(gym.Env):
    """Random, but each copy from the same state: a fault that is easy to make and hard to see."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        return self.random.uniform(-1, 1, 2).astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        obs = self.random.uniform(-1, 1, 2).astype(np.float32)
        return obs, float(action[0]), bool(obs[0] > 0.9), False, {}


class Huge(gym.Env):
    """Finite values whose sum is not."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        return np.full(3, 3e38, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.full(3, 3e38, np.float32), 1e300, False, False, {}


class NoSpaces(gym.Env):
    """Spaces that are not supported."""

    def __init__(self, which: str) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        if which == "obs":
            self.observation_space = gym.spaces.Dict({"a": gym.spaces.Text(3)})
        else:
            self.action_space = gym.spaces.Sequence(gym.spaces.Discrete(2))


class PlusOne(gym.Wrapper):
    """A user's wrapper, that says nothing of itself."""

    def __init__(self, env: gym.Env, add: float = 1.0) -> None:
        super().__init__(env)
        self.add = add

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward + self.add, terminated, truncated, info


class Remembers(gym.Wrapper):
    """A user's wrapper that pays for the steps of an episode, and says what it remembers in some way."""

    def __init__(self, env: gym.Env, what: str) -> None:
        super().__init__(env)
        self.what, self.steps = what, np.zeros(1)

    def reset(self, **options: Any) -> Any:
        self.steps = np.zeros(1)
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.steps = self.steps + 1
        return obs, reward + self.steps[0], terminated, truncated, info

    def get_state(self) -> dict[str, Any]:
        if self.what == "error":
            raise KeyError("nothing")
        return {
            "steps": self.steps,
            "any": self.steps.any(),
            "more": (object(),) if self.what == "object" else (),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        self.steps = np.array(state["steps"])


class _CountdownVector(gym.vector.VectorEnv):
    """Countdown's lengths, without noise; Box observation (episode, step)."""

    mode = AutoresetMode.DISABLED

    def __init__(self, num_envs: int, max_episode_steps: int | None = None) -> None:
        self.num_envs = num_envs
        self.single_observation_space = gym.spaces.Box(0, np.inf, (2,), np.float32)
        self.single_action_space = gym.spaces.Discrete(3)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.state = np.zeros((num_envs, 2), np.float32)

    def reset(self, *, seed: Any = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        if seed is not None:
            self.state[:] = 0
        self._restart(mask)
        return self.state.copy(), {}

    def _restart(self, mask: np.ndarray) -> None:
        self.state[mask, 0] += 1
        self.state[mask, 1] = 0

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        assert self.action_space.contains(actions), actions
        self.state[:, 1] += 1
        lengths = np.take(LENGTHS, self.state[:, 0].astype(int) - 1, mode="wrap")
        over = self.state[:, 1] >= lengths
        rewards, infos = self.state[:, 1].copy(), {}
        if over.any() and self.mode is AutoresetMode.SAME_STEP:
            final = np.empty(self.num_envs, object)
            for index in np.flatnonzero(over):
                final[index] = self.state[index].copy()
            infos = {"final_obs": final, "_final_obs": over}
            self._restart(over)
        return self.state.copy(), rewards, over & (lengths % 2 == 1), over & (lengths % 2 == 0), infos


class DisabledVector(_CountdownVector):
    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012


class SameStepVector(_CountdownVector):
    mode = AutoresetMode.SAME_STEP
    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012


class NextStepVector(_CountdownVector):
    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012


class PlainCountdown(gym.Env):
    """What one env of the vectors above is."""

    observation_space = gym.spaces.Box(0, np.inf, (2,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.episode = 1 if seed is not None else self.episode + 1
        self.at = 0
        return np.array([self.episode, 0], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.at += 1
        length = LENGTHS[(self.episode - 1) % len(LENGTHS)]
        over = self.at >= length
        obs = np.array([self.episode, self.at], np.float32)
        return obs, float(self.at), over and length % 2 == 1, over and length % 2 == 0, {}


for _mode in ("Disabled", "SameStep", "NextStep"):
    if f"sample/{_mode}-v0" not in gym.registry:
        gym.register(
            f"sample/{_mode}-v0",
            entry_point="sample_envs:PlainCountdown",
            vector_entry_point=f"sample_envs:{_mode}Vector",
        )


class Recording(gym.Env):
    """Remembers the actions that reached it."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(4)
        self.actions: list[int] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.actions.append(int(action))
        return np.zeros(1, np.float32), 0.0, False, False, {}
