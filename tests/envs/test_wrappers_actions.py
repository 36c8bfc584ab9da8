"""Actions of another kind: numbers as choices, buttons as combinations."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.envs.wrappers.combinations import ActionCombinations, labels_of
from gymnast.envs.wrappers.discretise import Discretise
from gymnast.errors import GymnastError


class Takes(gym.Env):
    """Remembers the action that it was given; forbids by `mask`."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, space: gym.Space, mask: Any = None, buttons: Any = None) -> None:
        self.action_space, self.mask, self.buttons = space, mask, buttons

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {} if self.mask is None else {"action_mask": self.mask}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        assert self.action_space.contains(action), action
        self.taken = action
        info = {} if self.mask is None else {"action_mask": self.mask}
        return np.zeros(1, np.float32), 0.0, False, False, info


@settings(max_examples=40, deadline=None)
@given(
    bounds=st.lists(st.tuples(st.floats(-9, 0), st.floats(0.5, 9)), min_size=1, max_size=3),
    bins=st.integers(2, 6),
    joint=st.booleans(),
)
def test_choices_cover_each_range_evenly(bounds: list[tuple[float, float]], bins: int, joint: bool) -> None:
    low, high = np.array(bounds, np.float32).T
    env = Discretise(Takes(gym.spaces.Box(low, high)), bins, joint)
    choose = env.action_space
    if joint or len(low) == 1:
        assert choose == gym.spaces.Discrete(bins ** len(low))
        actions: list[Any] = list(range(int(choose.n)))
        assert len(set(labels_of(env) or ())) > 1
    else:
        assert choose == gym.spaces.MultiDiscrete([bins] * len(low))
        actions = list(np.indices([bins] * len(low)).reshape(len(low), -1).T)
    taken = []
    for action in actions:
        env.step(action)
        taken.append(env.unwrapped.taken)
    for dimension, values in enumerate(np.array(taken).T):
        expected = np.linspace(low[dimension], high[dimension], bins)
        np.testing.assert_allclose(np.unique(np.round(values, 4)), np.round(expected, 4), atol=2e-4)
    assert len({tuple(row) for row in np.array(taken).tolist()}) == bins ** len(low)  # every combination


def test_each_dimension_may_have_its_own_number() -> None:
    env = Discretise(Takes(gym.spaces.Box(-1, 1, (2,))), [2, 3])
    assert env.action_space == gym.spaces.MultiDiscrete([2, 3])
    env.step(np.array([1, 1]))
    np.testing.assert_array_equal(env.unwrapped.taken, np.array([1, 0], np.float32))


def test_combinations_by_label_text_or_index() -> None:
    base = Takes(gym.spaces.MultiBinary(3), buttons=["left", "right", "jump"])
    env = ActionCombinations(base, ["none", "right+jump", ["left"], [2]])
    assert env.action_space == gym.spaces.Discrete(4)
    assert labels_of(env) == ("none", "right+jump", "left", "jump")
    for action, pressed in enumerate([[0, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]]):
        env.step(action)
        np.testing.assert_array_equal(base.taken, pressed)


def test_every_combination_where_none_is_listed() -> None:
    env = ActionCombinations(Takes(gym.spaces.MultiBinary(3)), action_labels=["a", "b", "c"])
    assert env.action_space.n == 8
    assert labels_of(env)[:2] == ("none", "a")
    env = ActionCombinations(Takes(gym.spaces.MultiDiscrete([2, 3], start=[0, 5])))
    assert env.action_space.n == 6
    seen = set()
    for action in range(6):
        env.step(action)
        seen.add(tuple(env.unwrapped.taken.tolist()))
    assert seen == {(a, b) for a in (0, 1) for b in (5, 6, 7)}
    chosen = ActionCombinations(Takes(gym.spaces.MultiDiscrete([2, 3])), [[1, 2], [0, 0]])
    assert labels_of(chosen) == ("1,2", "0,0")
    chosen.step(0)
    np.testing.assert_array_equal(chosen.unwrapped.taken, [1, 2])


def test_masks_of_buttons_become_masks_of_combinations() -> None:
    off_on = np.array([[1, 0], [1, 1], [1, 1]], np.int8)  # the first button may not be pressed
    base = Takes(gym.spaces.MultiBinary(3), off_on.reshape(-1), ["left", "right", "jump"])
    env = ActionCombinations(base, ["left", "right", "left+jump", "none"])
    _, info = env.reset()
    np.testing.assert_array_equal(info["action_mask"], [0, 1, 0, 1])
    np.testing.assert_array_equal(env.step(1)[4]["action_mask"], [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Discretise(Takes(gym.spaces.Discrete(3))), "for continuous actions"),
        (lambda: Discretise(Takes(gym.spaces.Box(-np.inf, np.inf, (2,)))), "needs actions with bounds"),
        (lambda: Discretise(Takes(gym.spaces.Box(-1, 1, (2,))), [2, 2, 2]), "one number or 2"),
        (lambda: Discretise(Takes(gym.spaces.Box(-1, 1, (2,))), 1), "at least 2"),
        (lambda: Discretise(Takes(gym.spaces.Box(-1, 1, (9,))), 3, True), "19,683 combinations are too many"),
        (lambda: ActionCombinations(Takes(gym.spaces.Discrete(3))), "row of buttons"),
        (lambda: ActionCombinations(Takes(gym.spaces.MultiBinary(16))), "65,536 combinations; list those"),
        (
            lambda: ActionCombinations(
                Takes(gym.spaces.MultiBinary(2), buttons=["LEFT", "RIGHT"]), ["LEFT+RIGTH"]
            ),
            r"no button 'RIGTH' \(did you mean 'RIGHT'",
        ),
        (lambda: ActionCombinations(Takes(gym.spaces.MultiDiscrete([2, 2])), [[0, 5]]), "not an action of"),
        (lambda: ActionCombinations(Takes(gym.spaces.MultiBinary(2)), "left"), "a list of lists of buttons"),
    ],
)
def test_wrong_use_raises_a_clear_error(make: Any, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        make()
