"""Envs with every action space and a known best return, for tests of learning and of the env contract."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.spaces.action_form import ActionForm

CONTEXTS, STEPS = 4, 10

SPACES: dict[str, gym.Space[Any]] = {
    "discrete": gym.spaces.Discrete(5, start=-2),
    "multi-discrete": gym.spaces.MultiDiscrete([3, 2, 4], start=[0, 5, -1]),
    "nested-multi-discrete": gym.spaces.MultiDiscrete(np.array([[3, 3], [2, 4]])),
    "multi-binary": gym.spaces.MultiBinary(4),
    "binary-matrix": gym.spaces.MultiBinary((2, 2)),
    "box": gym.spaces.Box(-1, 1, (2,), np.float32),
    "box-matrix": gym.spaces.Box(-1, 1, (2, 2), np.float64),
    "box-number": gym.spaces.Box(-1, 1, (), np.float32),
    "unbounded-box": gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "tuple": gym.spaces.Tuple([gym.spaces.Discrete(3, start=1), gym.spaces.MultiBinary(2)]),
    "dict": gym.spaces.Dict(
        {
            "aim": gym.spaces.Box(-1, 1, (2,), np.float64),
            "do": gym.spaces.Tuple([gym.spaces.Discrete(4), gym.spaces.MultiDiscrete([3, 3])]),
        }
    ),
}


def payoffs(n: int) -> list[float]:
    """Rewards of the best, second best … of n choices."""
    return [1.0, 0.0] if n == 2 else [1.0, 0.7, 0.3, *[0.0] * n][:n]


class RightAction(gym.Env[Any, Any]):
    """Each context has one right value for each part of the action; with all of them right, the reward is 1.

    masked: the best choice of each part is forbidden (of two choices: half of the time), and half of
        the time so is the second best. A forbidden action raises.
    masks: `gymnasium` gives masks as `space.sample` takes them, `flat` as one row.
    """

    def __init__(self, space: str = "discrete", masked: bool = False, masks: str = "gymnasium") -> None:
        self.observation_space = gym.spaces.Discrete(CONTEXTS)
        self.action_space = SPACES[space]
        self.form = ActionForm(self.action_space)
        self.masked, self.masks = masked, masks
        rng = np.random.default_rng(7)
        # [context][factor]: choices from best to worst, or the right number
        self.right = [
            [rng.permutation(n) if n else rng.uniform(-0.7, 0.7) for n in self.form.sizes]
            for _ in range(CONTEXTS)
        ]
        # [context][factor][choice]
        self.pays = [
            [
                dict(zip(order.tolist(), payoffs(n), strict=True)) if n else {}
                for n, order in zip(self.form.sizes, row, strict=True)
            ]
            for row in self.right
        ]
        self.at = self.context = 0
        self.allowed = np.ones(self.form.n_logits, np.int8)

    @property
    def best_return(self) -> float:
        """Of an episode, on average."""
        total = 0.0
        for n in self.form.sizes:
            if n and self.masked:
                total += 0.5 if n == 2 else 0.5 * payoffs(n)[1] + 0.5 * payoffs(n)[2]
            else:
                total += 1.0
        return STEPS * total / self.form.n_columns

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        return self._next()

    def _next(self) -> tuple[int, dict[str, Any]]:
        self.context = int(self.np_random.integers(CONTEXTS))
        if not self.masked:
            return self.context, {}
        self.allowed[:] = 1
        row = 0
        for n, order in zip(self.form.sizes, self.right[self.context], strict=True):
            if n == 0:
                continue
            if n > 2 or self.np_random.random() < 0.5:
                self.allowed[row + order[0]] = 0
            if n > 2 and self.np_random.random() < 0.5:
                self.allowed[row + order[1]] = 0
            row += n
        return self.context, {"action_mask": self.mask()}

    def mask(self) -> Any:
        if self.masks == "flat":
            return self.allowed.copy()
        return self._nested(self.action_space, ())

    def _nested(self, space: gym.Space[Any], keys: tuple[Any, ...]) -> Any:
        if isinstance(space, gym.spaces.Dict):
            return {key: self._nested(part, (*keys, key)) for key, part in space.items()}
        if isinstance(space, gym.spaces.Tuple):
            return tuple(self._nested(part, (*keys, i)) for i, part in enumerate(space))
        leaf = next(leaf for leaf in self.form.leaves if leaf.keys == keys)
        row = self.allowed[leaf.logits].copy()
        match space:
            case gym.spaces.Discrete():
                return row
            case gym.spaces.MultiBinary(shape=shape):
                return np.where(row[0::2] & row[1::2], 2, row[1::2]).astype(np.int8).reshape(shape)
            case gym.spaces.MultiDiscrete() if len(space.shape) == 1:
                return tuple(np.split(row, np.cumsum(leaf.sizes)[:-1]))
            case gym.spaces.MultiDiscrete():
                return row
        return None

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise TypeError(f"{action!r} is not an element of {self.action_space}")
        reward, row = 0.0, 0
        right, pays = self.right[self.context], self.pays[self.context]
        for factor, value in enumerate(self.form.flatten(action).tolist()):
            n = self.form.sizes[factor]
            if n == 0:
                reward += max(0.0, 1.0 - abs(value - right[factor]))
                continue
            if not self.allowed[row + int(value)]:
                raise ValueError(f"{action!r} is forbidden by {self.allowed}")
            reward += pays[factor][value]
            row += n
        self.at += 1
        obs, info = self._next()
        return obs, reward / self.form.n_columns, False, self.at == STEPS, info

    def get_state(self) -> dict[str, Any]:
        return {"at": self.at, "context": self.context, "allowed": self.allowed.tolist()}

    def set_state(self, state: dict[str, Any]) -> None:
        self.at, self.context = int(state["at"]), int(state["context"])
        self.allowed[:] = state["allowed"]


class BadMasks(RightAction):
    """Masks that are wrong after some steps: `missing`, `shape` or `nothing`."""

    def __init__(self, how: str, after: int = 3) -> None:
        super().__init__("discrete", masked=True)
        self.how, self.after, self.total = how, after, 0

    def mask(self) -> Any:
        self.total += 1
        if self.total <= self.after:
            return super().mask()
        return np.ones(3, np.int8) if self.how == "shape" else np.zeros(5, np.int8)

    def _next(self) -> tuple[int, dict[str, Any]]:
        obs, info = super()._next()
        return obs, {} if self.how == "missing" and self.total > self.after else info


class Buttons(gym.Env[Any, Any]):
    """Left, right and jump: 1 for left and right together, 0.6 for left and jump, 0.5 for one alone."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.MultiBinary(3)
    buttons = ("left", "right", "jump")

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        left, right, jump = map(bool, action)
        self.at += 1
        reward = 1.0 if left and right else 0.6 if left and jump else 0.5 * (left + right + jump == 1)
        return 0, reward, self.at == STEPS, False, {}


class Combined(Buttons):
    """The same with a list of combinations."""

    action_space = gym.spaces.Discrete(4)
    meanings = ("none", "left", "left+right", "left+jump")

    def get_action_meanings(self) -> tuple[str, ...]:
        return self.meanings

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        return 0, (0.0, 0.5, 1.0, 0.6)[action], self.at == STEPS, False, {}


NARROW: dict[str, gym.spaces.Box] = {
    "float64": gym.spaces.Box(np.array([-0.1, 0.3]), np.array([0.1, 0.7]), dtype=np.float64),
    "float16": gym.spaces.Box(np.float16([-0.1, 0.3]), np.float16([0.1, np.inf]), dtype=np.float16),
    "asymmetric": gym.spaces.Box(np.float32([-0.3, 0.1]), np.float32([0.1, 0.7]), dtype=np.float32),
    "matrix": gym.spaces.Box(-0.1, 0.3, (2, 2), np.float64),
}


class Strict(gym.Env[Any, Any]):
    """Raises on any action that its space does not contain."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, space: str) -> None:
        self.action_space = NARROW[space]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        return self._look(), {}

    def _look(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} of {action.dtype} is not an element of {self.action_space}")
        self.at += 1
        return self._look(), float(np.sum(action)), False, self.at == STEPS, {}
