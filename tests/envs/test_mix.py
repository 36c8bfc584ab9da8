"""Several tasks behind one contract: each row is what its task alone would have given."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gymnast.envs.build import build_envs, build_training_envs
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.mix.build import build_mix, build_task, policy_spaces, shares, task_seed
from gymnast.envs.mix.mixed import MixedEnvs, task_rows
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError
from gymnast.spaces.plain import random_actions

CHORE = "mix_envs:Chore"


def mixed(*entries: dict[str, Any], n_envs: int = 5, **common: Any) -> EnvConfig:
    return EnvConfig.model_validate(
        {"id": CHORE, "n_envs": n_envs, "backend": "sync", "mix": list(entries), **common}
    )


def chore(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"name": name, "kwargs": kwargs}


def alone(config: EnvConfig, envs: MixedEnvs, seed: int) -> list[tuple[slice, Envs]]:
    """Each task's envs by themselves, as they are inside the mix, and the rows they have there."""
    parts = []
    for index, task in enumerate(config.tasks):
        rows = np.flatnonzero(envs.task_of == index)
        in_process = None if task.env.backend == "auto" else "sync"  # spares the processes
        single = build_envs(task.env, n_envs=len(rows), seed=task_seed(seed, index), backend=in_process)
        parts.append((slice(rows[0], rows[-1] + 1), single))
    return parts


def same(config: EnvConfig, own: np.ndarray, joined: np.ndarray, task: int) -> None:
    """A task's observations, as they were and with what tells the task."""
    n_tasks = len(config.tasks)
    if not config.task_input:
        assert np.array_equal(own, joined)
        return
    which = np.eye(n_tasks, dtype=np.float32)[[task] * len(own)]
    if joined.dtype.names is None:
        assert np.array_equal(own, joined[:, :-n_tasks])
        assert np.array_equal(joined[:, -n_tasks:], which)
        return
    assert np.array_equal(joined["task"], which)
    if own.dtype.names is None:
        assert np.array_equal(own, joined["observation"])
        return
    for name in own.dtype.names:
        inside = name if name in joined.dtype.names else f"observation/{name}"
        assert np.array_equal(own[name], joined[inside])


MIXES = {
    "physics": mixed(chore("a", length=3), chore("b", length=4, pays=2.0)),
    "told-vector": mixed(chore("a", length=3), chore("b", length=2), task_input=True),
    **{
        f"told-{see}": mixed(chore("a", length=3), chore("b", length=2), kwargs={"see": see}, task_input=True)
        for see in ("image", "dict", "tuple", "discrete")
    },
    "heads": mixed(chore("a", n_actions=2), chore("b", n_actions=4), chore("c", n_actions=3), n_envs=6),
    "forced-heads": mixed(chore("a"), chore("b"), task_heads="separate"),
    "masked": mixed(chore("a", forbids=0), chore("b", forbids=1), action_masks=True),
    "masked-heads": mixed(
        {**chore("a", n_actions=3, forbids=1), "action_masks": True}, chore("b", n_actions=2)
    ),
    "half-masked": mixed({**chore("a", forbids=1), "action_masks": True}, chore("b")),
    "told-of": mixed(chore("a", tells="score", part="bonus"), chore("b", tells="depth"), chore("c")),
    "landers": EnvConfig.model_validate(
        {
            "id": "LunarLander-v3",
            "n_envs": 3,
            "max_episode_steps": 30,
            "backend": "sync",
            "mix": [{"kwargs": {"gravity": -3.0}}, {"kwargs": {"gravity": -11.0}}],
        }
    ),
    "workers": mixed(chore("a", length=3), chore("b", length=4), backend="workers", workers=1),
    "several-backends": EnvConfig.model_validate(
        {"id": "CartPole-v1", "n_envs": 10, "mix": [{"name": "own"}, {"name": "one", "backend": "sync"}]}
    ),
}


@pytest.mark.parametrize("name", MIXES)
def test_each_row_is_what_its_task_alone_gives(name: str) -> None:
    config, seed = MIXES[name], 7
    envs = build_envs(config, seed=seed)
    assert isinstance(envs, MixedEnvs)
    parts, form = alone(config, envs, seed), envs.form
    random = np.random.default_rng(0)
    assert envs.seeds == [s for _, part in parts for s in part.seeds]
    try:
        obs = envs.reset()
        for task, (rows, part) in enumerate(parts):
            same(config, part.reset(), obs[rows], task)
        finished = 0
        for _ in range(40):
            allowed = envs.masks
            actions = random_actions(envs.action_space, envs.n_envs, random, allowed)
            own_actions = [actions[rows] - form.first_choice(task) for task, (rows, _) in enumerate(parts)]
            step = envs.step(actions)
            for task, (rows, part) in enumerate(parts):
                own = part.step(own_actions[task])
                same(config, own.obs, step.obs[rows], task)
                for field in ("rewards", "terminated", "truncated"):
                    assert np.array_equal(getattr(own, field), getattr(step, field)[rows])
                over = own.terminated | own.truncated
                finished += int(over.sum())
                if over.any():
                    assert own.final_obs is not None
                    assert step.final_obs is not None
                    same(config, own.final_obs[over], step.final_obs[rows][over], task)
                for part_name, values in step.reward_parts.items():
                    wanted = own.reward_parts.get(part_name, np.zeros(part.n_envs))
                    assert np.array_equal(wanted, values[rows])
                for value_name, values in step.episode_values.items():
                    wanted = own.episode_values.get(value_name, np.full(part.n_envs, np.nan))
                    assert np.array_equal(wanted[over], values[rows][over], equal_nan=True)
                if envs.masks is None:
                    assert part.masks is None
                else:
                    expected = np.zeros((part.n_envs, form.n_logits), np.bool_)
                    expected[:, form.block(task)] = True if part.masks is None else part.masks
                    assert np.array_equal(envs.masks[rows], expected)
        assert finished
    finally:
        envs.close()
        for _, part in parts:
            part.close()


def test_spaces_and_backends_of_a_mix() -> None:
    heads = build_envs(MIXES["heads"], seed=0)
    assert heads.action_space == gym.spaces.Discrete(9)
    told = build_envs(MIXES["told-dict"], seed=0)
    assert isinstance(told.observation_space, gym.spaces.Dict)
    assert set(told.observation_space.spaces) == {"screen", "health", "task"}
    assert build_envs(MIXES["told-vector"], seed=0).observation_space.shape == (5,)
    several = build_envs(MIXES["several-backends"], seed=0)
    assert several.backend == "native+sync"
    assert policy_spaces(MIXES["heads"]) == (heads.observation_space, heads.action_space)
    assert task_rows(build_envs(MIXES["heads"].tasks[0].env, n_envs=1, seed=0)) is None


def test_bounds_are_those_of_all_tasks() -> None:
    config = EnvConfig.model_validate(
        {"id": "mix_envs:Bounded", "mix": [{"kwargs": {"high": 2.0}}, {"kwargs": {"high": 5.0}}]}
    )
    space = policy_spaces(config)[0]
    assert isinstance(space, gym.spaces.Box)
    assert (space.low.min(), space.high.max()) == (-5.0, 5.0)


def test_one_task_of_a_mix_can_be_built_by_itself() -> None:
    envs = build_task(MIXES["heads"], "b", n_envs=2, seed=3)
    envs.reset()
    assert (envs.n_envs, envs.action_space.n) == (2, 9)
    assert envs.masks is not None
    assert envs.masks[0].tolist() == [False] * 2 + [True] * 4 + [False] * 3
    envs.step(np.array([2, 5]))
    with pytest.raises(GymnastError, match=r"no task 'bb' .did you mean 'b'"):
        build_task(MIXES["heads"], "bb", seed=3)


@given(
    weights=st.lists(st.floats(0.01, 100), min_size=1, max_size=6),
    more=st.integers(min_value=0, max_value=60),
)
def test_copies_are_shared_by_weight(weights: list[float], more: int) -> None:
    n = len(weights) + more
    counts = shares(weights, n)
    assert sum(counts) == n
    assert min(counts) >= 1
    wanted = [weight / sum(weights) * n for weight in weights]
    if min(wanted) >= 1:
        assert all(abs(count - share) < 1 for count, share in zip(counts, wanted, strict=True))
    for (w1, c1), (w2, c2) in zip(
        zip(weights, counts, strict=True), zip(weights[1:], counts[1:], strict=True), strict=False
    ):
        assert w1 <= w2 or c1 >= c2


def test_shares_of_common_cases() -> None:
    assert shares([1, 1], 8) == [4, 4]
    assert shares([2, 1], 6) == [4, 2]
    assert shares([1, 1, 1], 8) == [3, 3, 2]
    assert shares([100, 1], 8) == [7, 1]


@pytest.mark.parametrize("name", ["physics", "told-dict", "masked-heads", "workers", "several-backends"])
def test_a_snapshot_brings_every_task_back(name: str) -> None:
    config = MIXES[name]
    envs, again = build_envs(config, seed=1), build_envs(config, seed=99)
    assert envs.carries_state
    random = np.random.default_rng(0)
    try:
        envs.reset()
        again.reset()
        for _ in range(5):
            envs.step(random_actions(envs.action_space, envs.n_envs, random, envs.masks))
        assert again.restore(envs.snapshot()) is None
        for _ in range(9):
            actions = random_actions(envs.action_space, envs.n_envs, random, envs.masks)
            one, other = envs.step(actions), again.step(actions)
            assert np.array_equal(one.obs, other.obs)
            assert np.array_equal(one.rewards, other.rewards)
    finally:
        envs.close()
        again.close()


def test_tasks_begin_new_episodes_if_one_of_them_has_no_state() -> None:
    config = mixed(chore("kept"), chore("lost", carried=False), n_envs=4)
    envs, again = build_envs(config, seed=1), build_envs(config, seed=1)
    envs.reset()
    assert not envs.carries_state
    for _ in range(2):
        envs.step(np.zeros(4, np.int64))
    first = again.restore(envs.snapshot())
    assert first is not None
    assert first[:, 0].tolist() == [0, 0, 0, 0]  # steps of the episode
    assert first[:, 1].tolist() != again.reset()[:, 1].tolist()  # new ones, not the very first again


def test_a_resume_may_bring_another_task() -> None:
    envs = build_envs(mixed(chore("a"), chore("b"), n_envs=4), seed=1)
    envs.reset()
    envs.step(np.zeros(4, np.int64))
    more = build_envs(mixed(chore("a"), chore("c"), chore("b"), n_envs=6), seed=1)
    first = more.restore(envs.snapshot())
    assert first is not None
    assert first[:, 0].tolist() == [0] * 6


def test_groups_of_copies_each_hold_every_task() -> None:
    config = mixed(chore("a", n_actions=2), chore("b", n_actions=3), n_envs=6, groups=2)
    envs = build_training_envs(config, seed=1)
    envs.reset()
    rows = task_rows(envs)
    assert rows is not None
    assert (rows[0], rows[1].tolist()) == (("a", "b"), [0, 0, 1, 0, 0, 1])
    assert envs.masks is not None
    step = envs.step(np.array([0, 1, 4, 0, 1, 2]))
    assert step.rewards.tolist() == [1, 2, 3, 1, 2, 1]
    assert len(set(envs.seeds)) == 6


def test_a_failure_names_env_seed_and_task() -> None:
    envs = build_envs(mixed(chore("a"), chore("b", breaks_at=3), n_envs=5), seed=1)
    envs.reset()
    with pytest.raises(EnvFailure) as failed:
        for _ in range(4):
            envs.step(np.zeros(5, np.int64))
    assert failed.value.index == 3
    assert failed.value.seed == envs.seeds[3]
    where = f"env 3 (seed {envs.seeds[3]}) of task 'b'"
    raised = f"{where} raised RuntimeError: worn out (mix_envs.py:"
    assert re.fullmatch(re.escape(raised) + r"\d+\)", str(failed.value))


def test_copies_of_a_task_start_differently_in_each_task() -> None:
    config = mixed(chore("a"), chore("b"), chore("c"), n_envs=30)
    assert len(set(build_envs(config, seed=5).seeds)) == 30
    assert build_envs(config, seed=5).seeds == build_envs(config, seed=5).seeds


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            mixed(chore("a"), chore("b", see="image")),
            "env.mix: one policy cannot see both 'a' and 'b': observations are Box[3] of float32 in one and"
            " Box[4, 5] of uint8 in the other. Observations must have the same shape; wrappers may bring them"
            " there",
        ),
        (
            mixed(chore("a", see="dict"), chore("b", see="discrete")),
            "env.mix: one policy cannot see both 'a' and 'b': observations are Dict",
        ),
        (
            mixed(chore("a"), chore("b", n_actions=3), task_heads="shared"),
            "env.task_heads shared: the actions of 'a' are Discrete(2), those of 'b' Discrete(3); separate",
        ),
        (
            EnvConfig.model_validate(
                {
                    "n_envs": 2,
                    "mix": [
                        {"id": "LunarLander-v3", "name": "a"},
                        {"id": "LunarLanderContinuous-v3", "name": "b"},
                    ],
                }
            ),
            "heads of their own are for tasks with Discrete actions, and those of 'b' are Box",
        ),
    ],
)
def test_tasks_that_do_not_go_together(config: EnvConfig, message: str) -> None:
    with pytest.raises(GymnastError) as error:
        build_envs(config, seed=0)
    assert message in str(error.value)


def test_too_few_envs_when_built() -> None:
    with pytest.raises(GymnastError, match=r"1 envs are too few for the 2 tasks of env\.mix"):
        build_mix(MIXES["physics"], n_envs=1, seed=0)


def problems(**env: Any) -> str:
    with pytest.raises(ValidationError) as error:
        EnvConfig.model_validate(env)
    return str(error.value)


def test_what_a_mix_must_have() -> None:
    two = [{"id": "A-v0"}, {"id": "B-v0"}]
    assert "env.mix: has no tasks" in problems(id="A-v0", mix=[])
    assert "env.id: is missing" in problems(n_envs=2)
    assert "env.mix.1.id: is missing" in problems(mix=[{"id": "A-v0"}, {"name": "x"}])
    again = [{"id": "A-v0", "name": "x"}, {"id": "B-v0", "name": "x"}]
    assert "env.mix.1.name: 'x' is the name of another task already" in problems(mix=again)
    assert "1 copies are too few for the 2 tasks" in problems(mix=two, n_envs=1)
    assert "weight" in problems(mix=[{"id": "A-v0", "weight": 0}, {"id": "B-v0"}])
    assert "n_envs counts the copies of all tasks" in problems(mix=[{"id": "A-v0", "n_envs": 2}])
    assert "cannot be part of a metric's name" in problems(mix=[{"id": "A-v0", "name": "a/b"}])
    assert "env.task_input: is for several tasks" in problems(id="A-v0", task_input=True)


def test_an_entry_goes_over_the_rest_of_the_section() -> None:
    config = EnvConfig.model_validate(
        {
            "id": "A-v0",
            "kwargs": {"x": 1, "y": 2},
            "wrappers": ["time-limit"],
            "spec": {"solved_at": 5.0, "description": "all"},
            "mix": [{"kwargs": {"y": 3}, "spec": {"solved_at": 9.0}}, {"id": "B-v0", "wrappers": []}],
        }
    )
    first, second = (task.env for task in config.tasks)
    assert (first.id, first.kwargs, first.spec.solved_at) == ("A-v0", {"x": 1, "y": 3}, 9.0)
    assert (first.spec.description, len(first.wrappers), first.mix) == ("all", 1, None)
    assert (second.id, second.kwargs, second.wrappers) == ("B-v0", {"x": 1, "y": 2}, ())
    read_back = EnvConfig.model_validate(config.model_dump(mode="json"))
    assert read_back.tasks == config.tasks


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ({"mix": [{"id": "ALE/Pong-v5"}, {"id": "VizDoom-Basic-v0"}]}, ["Pong", "VizDoom-Basic"]),
        ({"id": "A-v0", "mix": [{}, {}, {"name": "A-1"}]}, ["A-1'", "A-2", "A-1"]),
        ({"id": "a.b:Cave", "mix": [{}, {"name": "x"}]}, ["Cave", "x"]),
        (
            {"id": "Retro/Game-Nes", "mix": [{"state": "Level1-1"}, {"state": "Level1-2"}]},
            ["Level1-1", "Level1-2"],
        ),
    ],
)
def test_names_are_made_where_none_is_given(env: dict[str, Any], names: list[str]) -> None:
    assert [task.name for task in EnvConfig.model_validate(env).tasks] == names


def test_the_env_goes_by_all_its_ids() -> None:
    config = EnvConfig.model_validate({"mix": [{"id": "A-v0"}, {"id": "B-v0"}, {"id": "A-v0"}]})
    assert config.id == "A-v0 + B-v0"


def test_the_spec_of_a_mix() -> None:
    entries = [
        {**chore("a", n_actions=2), "spec": {"solved_at": 4.0, "action_labels": ["stay", "go"]}},
        {**chore("b", n_actions=3), "spec": {"solved_at": 8.0, "reward_range": [-1, 1]}},
    ]
    spec = read_spec(mixed(*entries, task_input=True))
    assert spec.action_labels == ("a: stay", "a: go", "b: action 0", "b: action 1", "b: action 2")
    assert spec.observation_names == ("obs[0]", "obs[1]", "obs[2]", "task a", "task b")
    assert (spec.solved_at, spec.tasks) == (6.0, {"a": 4.0, "b": 8.0})
    assert spec.description == "a and b at once."
    assert spec.is_solved(7.0, {"a": 4.0, "b": 8.0}) is True
    assert spec.is_solved(50.0, {"a": 99.0, "b": 7.0}) is False
    alike = [
        {**chore(name), "spec": {"action_labels": ["stay", way]}} for name, way in (("a", "go"), ("b", "run"))
    ]
    assert read_spec(mixed(*alike)).action_labels == ("stay", "go / run")
    entries[1]["spec"] = {}
    open_ended = read_spec(mixed(*entries))
    assert open_ended.solved_at is None
    assert open_ended.is_solved(0.0, {"a": 4.0, "b": -9.0}) is True
    assert read_spec(mixed(chore("a"), chore("b"))).is_solved(0.0, {"a": 1.0, "b": 1.0}) is None
