"""A T-maze as a Gymnasium env: the smallest task that only an agent with a memory can solve."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.drawing import ACCENT, BACKGROUND, BAD, FAINT, GOOD, PANEL, TEXT, WARM, Canvas

_TALLEST = 40.0  # pixels of a cell
WIDTH, HEIGHT = 640, 220

CUE_LEFT, CUE_RIGHT, CORRIDOR, JUNCTION = range(4)  # observations
TURN_LEFT, TURN_RIGHT, FORWARD = range(3)  # actions


class TMazeEnv(gym.Env[Any, Any]):
    """Walk down a corridor and turn at its end to the side that a sign named at its beginning.

    (After Bakker, 2002, "Reinforcement learning with long short-term memory".) The sign is seen in
    the first observation alone. Turning in the corridor and going forward at the junction does nothing but
    take time. The right turn pays 1; the wrong one, and running out of time, pay -1.

    With a memory the best return is 1. Without one it is at most 0, whatever the policy: at the
    junction the observation is the same after both signs, so it turns left with one probability q in
    both kinds of episodes where it turns at all. If it turns in time with probabilities l and r after
    the two signs, the expected return is ((l - r)(2q - 1) + l + r) / 2 - 1. That is linear in each of
    q, l and r, so it is greatest where each is 0 or 1, and there it is never above 0.

    length: steps of the corridor, from the sign to the junction.
    max_steps: time for an episode; 4 × length + 4 if unset.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012  as Gymnasium declares it
    best_return, best_return_without_memory = 1.0, 0.0

    def __init__(
        self, length: int = 10, max_steps: int | None = None, render_mode: str | None = None
    ) -> None:
        if length < 1:
            raise ValueError(f"length is {length}; the corridor has at least 1 step")
        max_steps = 4 * length + 4 if max_steps is None else max_steps
        if max_steps <= length:
            raise ValueError(
                f"max_steps is {max_steps}; a corridor of length {length} takes at least {length + 1}"
            )
        self.length, self.max_steps = int(length), int(max_steps)
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(4)
        self.action_space = gym.spaces.Discrete(3)
        self._right_turn = TURN_LEFT
        self._position = self._elapsed = 0
        self._turned: int | None = None  # how the episode ended, for the picture

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._right_turn = int(self.np_random.integers(2))
        self._position = self._elapsed = 0
        self._turned = None
        return (CUE_LEFT if self._right_turn == TURN_LEFT else CUE_RIGHT), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self._elapsed += 1
        if self._position == self.length:
            if action != FORWARD:
                self._turned = int(action)
                return JUNCTION, 1.0 if action == self._right_turn else -1.0, True, False, {}
        elif action == FORWARD:
            self._position += 1
        seen = JUNCTION if self._position == self.length else CORRIDOR
        late = self._elapsed >= self.max_steps  # part of the task, hence terminated and not truncated
        return seen, -1.0 if late else 0.0, late, False, {}

    def render(self) -> np.ndarray | None:
        if self.render_mode != "rgb_array":
            return None
        right: bool | None = None  # still to be seen
        if self._turned is not None or self._elapsed >= self.max_steps:
            right = self._turned == self._right_turn
        turned = None if self._turned is None else -1 if self._turned == TURN_LEFT else 1
        return draw_tmaze(self.length, self._position, self._right_turn == TURN_LEFT, turned, right)

    def get_state(self) -> dict[str, Any]:
        return {
            "right_turn": self._right_turn,
            "position": self._position,
            "elapsed": self._elapsed,
            "turned": self._turned,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        self._right_turn = int(state["right_turn"])
        self._position, self._elapsed = int(state["position"]), int(state["elapsed"])
        self._turned = state["turned"]


def draw_tmaze(
    length: int, position: int, sign_left: bool, turned: int | None, right: bool | None
) -> np.ndarray:
    """The corridor runs to the right; its left is up. `turned` is -1 or 1 once a way was taken, and `right`
    is whether it was the right one (False as well where time ran out)."""
    canvas = Canvas(WIDTH, HEIGHT)
    cell = min(_TALLEST, (WIDTH - 60) / (length + 1))
    left, middle = (WIDTH - cell * (length + 1)) / 2, HEIGHT / 2 + 10
    top = middle - cell / 2

    def corridor(x: float, y: float, width: float, height: float) -> None:
        canvas.rectangle(x, y, width, height, PANEL)

    corridor(left, top, cell * (length + 1), cell)
    junction = left + cell * length
    corridor(junction, top - cell * 1.5, cell, cell * 4)
    for step in range(1, length + 1):
        canvas.rectangle(left + cell * step, top, 1, cell, BACKGROUND)
    # The sign stays in the picture for the viewer; the agent has seen it in the first step alone.
    tip = -1 if sign_left else 1
    x, y = left + cell / 2, middle + tip * cell * 1.1
    size = cell * 0.28
    canvas.polygon([(x - size, y - tip * size), (x + size, y - tip * size), (x, y + tip * size)], WARM)
    canvas.text("sign: left" if sign_left else "sign: right", left, 14, 24, WARM)
    canvas.text(f"{position} of {length}", WIDTH - 30, 14, 24, FAINT, "right")
    agent_x = left + cell * (position + 0.5)
    agent_y = middle + (turned or 0) * cell * 1.5
    colour = ACCENT if right is None else GOOD if right else BAD
    canvas.disc(agent_x, agent_y, cell * 0.32, colour)
    if right is not None:
        result = "correct" if right else "wrong" if turned else "out of time"
        canvas.text(result, WIDTH / 2, HEIGHT - 32, 24, colour if right else BAD, "centre")
    elif position == 0:
        canvas.text("the sign is seen here, and never again", left, HEIGHT - 32, 20, TEXT)
    return canvas.array()


if "gymnast/TMaze-v0" not in gym.registry:
    gym.register("gymnast/TMaze-v0", entry_point="gymnast.envs.families.tmaze:TMazeEnv")
