"""An env whose spaces, masks and tellings are chosen by arguments, to be mixed with others of its kind."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

SPACES: dict[str, gym.Space[Any]] = {
    "vector": gym.spaces.Box(-np.inf, np.inf, (3,), np.float32),
    "image": gym.spaces.Box(0, 255, (4, 5), np.uint8),
    "dict": gym.spaces.Dict(
        {"screen": gym.spaces.Box(0, 255, (2, 2), np.uint8), "health": gym.spaces.Box(0, 9, (1,), np.float32)}
    ),
    "tuple": gym.spaces.Tuple([gym.spaces.Discrete(7), gym.spaces.Box(-1, 99, (2,), np.float32)]),
    "discrete": gym.spaces.Discrete(50),
}


class Chore(gym.Env):
    """Counts steps and shows the count with some noise; an action beyond its own is an error."""

    def __init__(
        self,
        see: str = "vector",
        n_actions: int = 2,
        length: int = 3,
        forbids: int | None = None,
        tells: str | None = None,
        part: str | None = None,
        carried: bool = True,
        breaks_at: int | None = None,
        pays: float = 1.0,
    ) -> None:
        self.observation_space = SPACES[see]
        self.action_space = gym.spaces.Discrete(n_actions)
        self.see, self.length, self.forbids, self.tells = see, length, forbids, tells
        self.part, self.breaks_at, self.pays = part, breaks_at, pays
        self.episode_values = () if tells is None else (tells,)
        self.reward_parts = () if part is None else (part,)
        self.at = self.total = 0
        if carried:
            self.get_state = lambda: {"at": self.at, "total": self.total}
            self.set_state = self._set_state

    def _set_state(self, state: dict[str, Any]) -> None:
        self.at, self.total = state["at"], state["total"]

    def _seen(self) -> Any:
        noise = int(self.np_random.integers(7))
        if self.see == "image":
            return np.full((4, 5), 10 * self.at + noise, np.uint8)
        if self.see == "dict":
            return {"screen": np.full((2, 2), noise, np.uint8), "health": np.array([self.at], np.float32)}
        if self.see == "tuple":
            return noise, np.array([self.at, self.total], np.float32)
        if self.see == "discrete":
            return min(self.at, 6) * 7 + noise
        return np.array([self.at, noise, self.total], np.float32)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {}
        if self.forbids is not None:
            info["action_mask"] = (
                np.arange(self.action_space.n) != (self.forbids + self.at) % self.action_space.n
            )
        if self.part is not None:
            info["reward_parts"] = {self.part: 0.5}
        return info

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.at = 0
        return self._seen(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        assert self.action_space.contains(action), action
        self.at += 1
        self.total += 1
        if self.total == self.breaks_at:
            raise RuntimeError("worn out")
        over, info = self.at >= self.length, self._info()
        if over and self.tells is not None:
            info[self.tells] = float(self.total)
        return (
            self._seen(),
            self.pays * (action + 1),
            over and self.length % 2 == 1,
            over and self.length % 2 == 0,
            info,
        )


class Bounded(Chore):
    """Observations within bounds."""

    def __init__(self, high: float) -> None:
        super().__init__()
        self.observation_space = gym.spaces.Box(-high, high, (3,), np.float32)
