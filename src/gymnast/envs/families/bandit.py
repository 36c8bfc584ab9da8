"""Multi-armed bandits as a Gymnasium env: the smallest problem with an answer that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np


class BanditEnv(gym.Env[Any, Any]):
    """Pull one of k arms, `horizon` times an episode; the best arm is the one of the greatest mean.

    arms: the arms' means, or their number; a number draws the means from `arms_seed`, once, so that
        every copy and every episode meets the same arms.
    kind: `bernoulli` pays 1 with the arm's mean as probability; `gaussian` pays mean + noise.
    noise: standard deviation of a gaussian arm.
    horizon: pulls in an episode.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        arms: Sequence[float] | int = 10,
        kind: Literal["bernoulli", "gaussian"] = "bernoulli",
        noise: float = 1.0,
        horizon: int = 100,
        arms_seed: int = 0,
        render_mode: str | None = None,
    ) -> None:
        if kind not in ("bernoulli", "gaussian"):
            raise ValueError(f"kind is {kind!r}; there are bernoulli and gaussian")
        if isinstance(arms, int):
            if arms < 1:
                raise ValueError(f"{arms} arms; at least one is needed")
            draw = np.random.default_rng(arms_seed)
            means = draw.random(arms) if kind == "bernoulli" else draw.standard_normal(arms)
        else:
            means = np.asarray(arms, dtype=np.float64)
        if means.ndim != 1 or means.size == 0:
            raise ValueError(f"arms is {arms!r}; a number or a list of means is wanted")
        if kind == "bernoulli" and not ((means >= 0) & (means <= 1)).all():
            raise ValueError(f"the means of bernoulli arms are probabilities, from 0 to 1, not {list(means)}")
        if horizon < 1:
            raise ValueError(f"horizon is {horizon}; at least 1 pull is needed")
        if noise < 0:
            raise ValueError(f"noise is {noise}; it cannot be negative")
        self.means = means
        self.kind = kind
        self.noise = float(noise)
        self.horizon = int(horizon)
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space = gym.spaces.Discrete(means.size)
        self._pulls = 0
        self._drawn = _Pulled(means.size)  # only what is rendered is counted

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._pulls = 0
        self._drawn = _Pulled(self.means.size)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        mean = float(self.means[action])
        if self.kind == "bernoulli":
            reward = float(self.np_random.random() < mean)
        else:
            reward = float(self.np_random.normal(mean, self.noise))
        self._pulls += 1
        if self.render_mode is not None:
            self._drawn.note(int(action), reward)
        return 0, reward, self._pulls >= self.horizon, False, {}

    def render(self) -> np.ndarray | None:
        if self.render_mode != "rgb_array":
            return None
        from gymnast.envs.families.bandit_picture import draw_bandit

        seen = self._drawn
        return draw_bandit(
            self.means.tolist(), seen.counts, seen.sums, seen.last, seen.reward, horizon=self.horizon
        )

    def get_state(self) -> dict[str, Any]:
        return {"pulls": self._pulls, "drawn": vars(self._drawn)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._pulls = int(state["pulls"])
        vars(self._drawn).update(state["drawn"])


class _Pulled:
    """What the arms have paid in this episode, for whoever watches."""

    def __init__(self, arms: int) -> None:
        self.counts, self.sums = [0] * arms, [0.0] * arms
        self.last: int | None = None
        self.reward = 0.0

    def note(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.last, self.reward = arm, reward


if "gymnast/Bandit-v0" not in gym.registry:
    gym.register("gymnast/Bandit-v0", entry_point="gymnast.envs.families.bandit:BanditEnv")
