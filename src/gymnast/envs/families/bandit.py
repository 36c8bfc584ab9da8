"""Multi-armed bandits as a Gymnasium env: the smallest problem with an answer that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from gymnast.drawing import ACCENT, BAD, FAINT, GOOD, LINES, PANEL, TEXT, WARM, Canvas

WIDTH, HEIGHT = 640, 400
_LEFT, _TOP, _BOTTOM = 48, 64, 80  # margins around the columns


class BanditEnv(gym.Env[Any, Any]):
    """Pull one of k arms, `horizon` times per episode; the best arm is the one of the greatest mean.

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
        self.horizon = self.max_episode_steps = int(horizon)
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
    """What the arms have paid in this episode, for the picture."""

    def __init__(self, arms: int) -> None:
        self.counts, self.sums = [0] * arms, [0.0] * arms
        self.last: int | None = None
        self.reward = 0.0

    def note(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.last, self.reward = arm, reward


def draw_bandit(
    means: Sequence[float],
    counts: Sequence[int],
    sums: Sequence[float],
    pulled: int | None,
    reward: float,
    horizon: int,
) -> np.ndarray:
    """One column per arm: filled to the mean of what it has paid, a line at its true mean, its number and its
    pulls below. The arm that was pulled last is lit, with what it paid above it."""
    canvas = Canvas(WIDTH, HEIGHT)
    n, best, pulls = len(means), int(np.argmax(means)), int(sum(counts))
    low, high = min(0.0, *means), max(0.0, *means)
    if low < 0.0 or high > 1.0:  # no probabilities: a few means of unlucky pulls may lie outside
        margin = 0.3 * (high - low)
        low, high = low - margin, high + margin
    else:
        high = 1.0

    def height_of(value: float) -> float:
        """The scale stands still for the whole episode; what is beyond it ends at its border."""
        share = (min(max(value, low), high) - low) / (high - low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    canvas.text(f"{n} arms", _LEFT, 16, 26)
    canvas.text(f"pull {pulls} of {horizon}", WIDTH - 24, 16, 26, FAINT, "right")
    for mark in (low, 0.0, high) if low < 0.0 else (low, high):
        canvas.line([(_LEFT, height_of(mark)), (WIDTH - 24, height_of(mark))], LINES)
        canvas.text(f"{mark:.3g}", _LEFT - 8, height_of(mark) - 7, 20, FAINT, "right")
    pitch = (WIDTH - _LEFT - 24) / n
    column = max(2.0, min(pitch * 0.7, 90.0))
    for arm in range(n):
        middle = _LEFT + pitch * (arm + 0.5)
        x, lit = middle - column / 2, arm == pulled
        canvas.rectangle(x, _TOP, column, HEIGHT - _TOP - _BOTTOM, PANEL)
        if counts[arm]:
            ends = sorted((height_of(sums[arm] / counts[arm]), height_of(0.0)))
            canvas.rectangle(x, ends[0], column, ends[1] - ends[0], ACCENT if lit else LINES)
        canvas.rectangle(x, height_of(means[arm]) - 1, column, 3, WARM if arm == best else TEXT)
        if pitch >= 18:
            canvas.text(str(arm), middle, HEIGHT - _BOTTOM + 8, 24, TEXT if lit else FAINT, "centre")
            canvas.text(str(counts[arm]), middle, HEIGHT - _BOTTOM + 30, 20, FAINT, "centre")
        if lit:
            canvas.frame(x - 2, _TOP - 2, column + 4, HEIGHT - _TOP - _BOTTOM + 4, ACCENT, 2)
            canvas.text(f"{reward:+.2f}", middle, _TOP - 22, 24, GOOD if reward > 0 else BAD, "centre")
    legend = "line: true mean (yellow: best)   column: mean so far   number: pulls"
    canvas.text(legend, _LEFT, HEIGHT - 24, 18, FAINT)
    return canvas.array()


if "gymnast/Bandit-v0" not in gym.registry:
    gym.register("gymnast/Bandit-v0", entry_point="gymnast.envs.families.bandit:BanditEnv")
