"""The T-maze: its rules, and the proof that no policy without a memory gets anything out of it."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from gymnast.envs.families.table import family_of
from gymnast.envs.families.tmaze import CORRIDOR, CUE_LEFT, FORWARD, JUNCTION, TURN_LEFT, TURN_RIGHT, TMazeEnv


def expected_return(env: TMazeEnv, policy: np.ndarray) -> float:
    """Of a policy without memory, by the rules: probabilities of actions [4 observations, 3 actions]."""
    total = 0.0
    for right_turn in (TURN_LEFT, TURN_RIGHT):
        at = np.zeros(env.length + 1)  # where the agent is by now, as probabilities
        at[0] = 1.0
        for elapsed in range(1, env.max_steps + 1):
            first = policy[right_turn] if elapsed == 1 else None  # the sign is seen but once
            corridor = policy[CORRIDOR] if first is None else first
            turned = at[-1] * policy[JUNCTION]
            total += 0.5 * (turned[right_turn] - turned[1 - right_turn])
            moved = at[:-1] * corridor[FORWARD]
            at[-1] *= policy[JUNCTION][FORWARD]
            at[:-1] -= moved
            at[1:] += moved
        total -= 0.5 * at.sum()  # out of time
    return total


tables = st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=4, max_size=4)


@given(st.integers(1, 6), st.integers(1, 30), tables)
def test_no_policy_without_memory_gets_more_than_nothing(
    length: int, spare: int, table: list[list[float]]
) -> None:
    env = TMazeEnv(length, length + spare)
    policy = np.array(table) + 1e-6
    policy /= policy.sum(1, keepdims=True)
    assert expected_return(env, policy) <= 1e-12


def test_the_bound_is_reached_by_going_on_and_guessing() -> None:
    going = np.eye(3)[[FORWARD, FORWARD, FORWARD, TURN_LEFT]]
    assert expected_return(TMazeEnv(5), going) == 0.0
    refusing = np.eye(3)[[FORWARD, TURN_LEFT, FORWARD, TURN_LEFT]]  # too late after one of the signs: as good
    assert expected_return(TMazeEnv(5, 6), refusing) == 0.0
    dawdling = np.eye(3)[[TURN_LEFT] * 4]
    assert expected_return(TMazeEnv(5), dawdling) == -1.0


def test_the_calculation_agrees_with_the_env() -> None:
    env, rng = TMazeEnv(3, 8), np.random.default_rng(0)
    policy = rng.dirichlet(np.ones(3), 4)
    returns = []
    seen, _ = env.reset(seed=0)
    total = 0.0
    while len(returns) < 4000:
        seen, reward, done, truncated, _ = env.step(int(rng.choice(3, p=policy[seen])))
        assert not truncated
        total += reward
        if done:
            returns.append(total)
            total = 0.0
            seen, _ = env.reset()
    assert np.mean(returns) == pytest.approx(
        expected_return(env, policy), abs=4 * np.std(returns) / 4000**0.5
    )


@pytest.mark.parametrize("seed", range(4))
def test_with_a_memory_the_return_is_1(seed: int) -> None:
    env = TMazeEnv(7)
    cue, _ = env.reset(seed=seed)
    for step in range(7):
        seen, reward, done, _, _ = env.step(FORWARD)
        assert (seen, reward, done) == (JUNCTION if step == 6 else CORRIDOR, 0.0, False)
    turn = TURN_LEFT if cue == CUE_LEFT else TURN_RIGHT
    assert env.step(turn)[1:3] == (env.best_return, True)


def test_turns_in_the_corridor_and_steps_at_the_junction_take_time_only() -> None:
    env = TMazeEnv(1, 4)
    env.reset(seed=0)
    assert env.step(TURN_LEFT)[:3] == (CORRIDOR, 0.0, False)
    assert env.step(FORWARD)[:3] == (JUNCTION, 0.0, False)
    assert env.step(FORWARD)[:3] == (JUNCTION, 0.0, False)
    assert env.step(FORWARD)[1:3] == (-1.0, True)


def test_gymnasiums_own_check_and_the_family() -> None:
    check_env(gym.make("gymnast/TMaze-v0", length=4).unwrapped, skip_render_check=True)
    assert family_of("gymnast/TMaze-v0").name == "memory tasks"


@pytest.mark.parametrize(("arguments", "message"), [((0,), "at least 1 step"), ((5, 5), "takes at least 6")])
def test_mazes_that_cannot_be(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TMazeEnv(*arguments)
