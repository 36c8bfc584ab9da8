"""Recording: it sees everything, for every kind of env and policy, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.config.load import load_config
from gymnast.config.schema import Config
from gymnast.envs.build import build_envs
from gymnast.envs.contract import Envs
from gymnast.envs.mix.build import build_task, policy_spaces
from gymnast.envs.single import make_env
from gymnast.errors import GymnastError
from gymnast.policies.load import load_policy
from gymnast.policies.policy import Policy
from gymnast.rollout.evaluate import evaluate
from gymnast.spaces.observation_form import ObservationForm
from gymnast.traces.keep import record_trace
from gymnast.traces.table import steps_table
from gymnast.traces.trace import Trace, check_trace

SEED = 11


@dataclass(frozen=True)
class Case:
    """What is played. `needs` is a package that may be missing."""

    reference: str
    changes: dict[str, Any]
    needs: str = "gymnasium"
    task: str | None = None
    steps: int = 40


ACTIONS = "action_envs:RightAction"
CASES: dict[str, Case] = {
    "classic": Case("CartPole-v1:ppo", {}),
    "continuous": Case("Pendulum-v1:ppo", {"env.max_episode_steps": 15}),
    "squashed": Case("Pendulum-v1:ppo", {"policy.gaussian": "squashed", "policy.state_dependent_std": True}),
    "toy text": Case("FrozenLake-v1:ppo", {}),
    "masks": Case("Taxi-v4:ppo-masked", {"env.max_episode_steps": 15}),
    "box2d": Case("LunarLander-v3:ppo", {}, "Box2D"),
    "box2d continuous": Case("BipedalWalker-v3:ppo", {}, "Box2D"),
    "bandit": Case("gymnast/Bandit-v0:ppo", {}),
    "memory": Case("gymnast/TMaze-v0:ppo-lstm", {}, "torch"),
    "gru of both": Case("CartPole-v1:ppo-lstm", {"policy.memory": "gru", "policy.shared": True}, "torch"),
    "frame stack": Case("CartPole-v1:ppo", {"policy.frame_stack": 3}),
    "frame stack and memory": Case("CartPole-v1:ppo-lstm", {"policy.frame_stack": 2}, "torch"),
    "popart": Case("CartPole-v1:ppo", {"policy.popart": True}),
    "multi-discrete": Case(
        ACTIONS, {"env.kwargs": {"space": "multi-discrete", "masked": True}, "env.action_masks": True}
    ),
    "multi-binary": Case(ACTIONS, {"env.kwargs": {"space": "multi-binary"}}),
    "dict of actions": Case(ACTIONS, {"env.kwargs": {"space": "dict"}}),
    "tuple of observations": Case("observation_envs:Cue", {"env.kwargs": {"kind": "tuple"}}),
    "image and numbers": Case("observation_envs:Cue", {"env.kwargs": {"kind": "image_dict"}}, "torch"),
    "atari": Case("ALE/Pong-v5:ppo", {}, "ale_py", steps=20),
    "vizdoom": Case("VizDoom-Basic-v0:ppo", {}, "vizdoom"),
    "vizdoom with variables": Case("VizDoom-DeadlyCorridor-v0:ppo", {}, "vizdoom", steps=15),
    "minigrid": Case("MiniGrid-DoorKey-5x5-v0:ppo", {}, "minigrid", steps=20),
    "mujoco": Case("HalfCheetah-v5:ppo", {}, "mujoco", steps=5),
    "minatar": Case("MinAtar/Breakout-v1:ppo", {}, "minatar", steps=10),
    "mix of one head": Case("LunarLander-v3:ppo-two-moons", {"env.max_episode_steps": 20}, "Box2D"),
    "mix of many heads": Case("MinAtar/Mix:ppo", {}, "minatar", "asterix", steps=10),
}


def config_of(case: Case) -> Config:
    pytest.importorskip(case.needs)
    return load_config(case.reference, case.changes).config


def policy_of(config: Config) -> Policy:
    return load_policy(config, *policy_spaces(config.env, training=False), None)


def plain_envs(config: Config, task: str | None) -> Envs:
    if config.env.mix is not None:
        names = [known.name for known in config.env.tasks]
        return build_task(config.env, task or names[0], seed=SEED, training=False, backend="sync")
    return build_envs(config.env, n_envs=1, seed=SEED, training=False, backend="sync")


@dataclass
class Played:
    """An episode step by step, by the contract alone: no camera, nothing recorded."""

    obs: list[np.ndarray]  # [1, …] each
    actions: list[np.ndarray]
    rewards: list[float]
    ended: list[tuple[bool, bool]]


def play(envs: Envs, policy: Policy, rng: np.random.Generator | None, steps: int) -> Iterator[Played]:
    """Episodes until so many steps were taken."""
    obs, state, taken = envs.reset(), policy.start(1), 0
    while taken < steps:
        played = Played([obs.copy()], [], [], [])
        done = False
        while not done and taken < steps:
            actions = policy.env_actions(obs, rng, envs.masks, state)
            step = envs.step(actions)
            taken, obs = taken + 1, step.obs
            done = bool(step.terminated[0] or step.truncated[0])
            assert not done or step.final_obs is not None
            played.obs.append((step.final_obs if done else obs).copy())  # type: ignore[union-attr]
            played.actions.append(actions.copy())
            played.rewards.append(float(step.rewards[0]))
            played.ended.append((bool(step.terminated[0]), bool(step.truncated[0])))
        yield played
        state.reset(np.ones(1, bool))


def same_bits(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def rng_for(sampled: bool) -> np.random.Generator | None:
    return np.random.default_rng(5) if sampled else None


def assert_same(trace: Trace, played: list[Played], policy: Policy, config: Config) -> None:
    """Every observation, action and reward of a trace is that of the episodes played without one."""
    columns, form = trace.columns, own_form(config) if config.env.mix is None else None
    assert len(trace) == sum(len(episode.obs) for episode in played)
    row = 0
    for number, episode in enumerate(played):
        for step, obs in enumerate(episode.obs):
            assert (columns["episode"][row], columns["step"][row]) == (number, step)
            seen = policy.preprocessor.apply(obs)
            parts = {"": seen[0]} if seen.dtype.names is None else {n: seen[n][0] for n in seen.dtype.names}
            for name, array in trace.seen(row).items():
                assert same_bits(array, np.asarray(parts[name])), (name, row)
            if form is not None:
                assert_env_own(trace, row, obs, form)
            assert bool(columns["last"][row]) == (step == len(episode.actions))
            if step < len(episode.actions):
                flat = np.atleast_1d(episode.actions[step][0]).ravel()
                if trace.meta.task is None:
                    assert columns["action"][row] == pytest.approx(flat, abs=0)
                assert columns["reward"][row] == episode.rewards[step]
                assert (columns["terminated"][row], columns["truncated"][row]) == episode.ended[step]
            row += 1


def assert_env_own(trace: Trace, row: int, obs: np.ndarray, form: ObservationForm) -> None:
    """The env's own observation is what the contract made its array of."""
    for leaf in form.leaves:
        own = trace.columns[f"obs/{leaf.name}" if leaf.name else "obs"][row]
        plain = obs[leaf.name][0] if leaf.name else obs[0]
        travels = (own if leaf.first is None else own - leaf.first).astype(leaf.dtype)
        assert np.array_equal(travels, plain), (leaf.name, row)


def own_form(config: Config) -> ObservationForm:
    env = make_env(config.env, training=False)
    form = ObservationForm(env.observation_space)
    env.close()
    return form


# Every case with and without frames; cheap ones in all four ways.
WAYS = [
    *((name, sampled, sampled) for name in CASES for sampled in (False, True)),
    *((name, sampled, not sampled) for name in ("classic", "box2d", "masks") for sampled in (False, True)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sampled", "frames"), WAYS)
def test_recording_changes_neither_trajectory_nor_random_numbers(
    name: str, sampled: bool, frames: bool
) -> None:
    case = CASES[name]
    config = config_of(case)
    policy = policy_of(config)
    envs = plain_envs(config, case.task)
    rng = rng_for(sampled)
    played = list(play(envs, policy, rng, case.steps))
    envs.close()
    recording_rng = rng_for(sampled)
    trace = record_trace(
        policy,
        config.env,
        seed=SEED,
        rng=recording_rng,
        episodes=1000,
        max_steps=case.steps,
        frames=frames,
        task=case.task,
    )
    check_trace(trace)
    assert_same(trace, played, policy, config)
    if rng is not None and recording_rng is not None:
        assert rng.random() == recording_rng.random(), "as many random numbers were drawn"
    assert bool(trace.pictures) == frames
    assert_complete(trace)


def assert_complete(trace: Trace) -> None:
    """What is recorded of each step fits together, whatever the action space."""
    rows, columns = trace.steps, trace.columns
    assert np.isfinite(columns["value"]).all(), "of the true last observation too"
    probabilities = columns["probabilities"][rows]
    assert probabilities.shape[1] == len(trace.meta.choices)
    if trace.meta.choices:
        assert np.isfinite(probabilities).all()
        factors = probabilities.sum(1)
        assert factors == pytest.approx(np.full(len(rows), round(factors[0])), abs=1e-4)
    if trace.meta.numbers:
        assert (columns["std"][rows] > 0).all()
        assert np.isfinite(columns["raw_action"][rows]).all()
    if "mask" in columns:
        assert (probabilities[~columns["mask"][rows]] == 0).all()
    if trace.meta.memory_names:
        assert (columns["memory_norm"][rows] > 0).all()
    assert all(trace.labels[row] for row in rows)
    assert np.isfinite(columns["log_prob"][rows]).all()
    table = steps_table(trace)
    assert {len(column) for column in table.values()} == {len(rows)}
    for row in (0, len(trace) - 1):
        picture = trace.picture(row)
        assert picture is None or (picture.ndim == 3 and picture.std() > 0)


COMPARABLE = ["classic", "toy text", "masks", "memory", "frame stack", "multi-discrete", "mix of many heads"]


@pytest.mark.parametrize("sampled", [False, True], ids=["greedy", "sampled"])
@pytest.mark.parametrize("name", COMPARABLE)
def test_returns_are_those_of_an_evaluation(name: str, sampled: bool) -> None:
    case = CASES[name]
    config = config_of(case)
    policy = policy_of(config)
    envs = plain_envs(config, case.task)
    score = evaluate(policy, envs, 3, rng=rng_for(sampled))
    envs.close()
    trace = record_trace(
        policy, config.env, seed=SEED, rng=rng_for(sampled), episodes=3, frames=False, task=case.task
    )
    assert tuple(trace.returns) == score.returns
    assert not trace.meta.cut


def test_the_probability_of_an_action_is_that_of_the_distribution() -> None:
    config = config_of(CASES["classic"])
    trace = record_trace(policy_of(config), config.env, seed=SEED, rng=rng_for(True), frames=False)
    rows, columns = trace.steps, trace.columns
    taken = columns["probabilities"][rows, columns["action"][rows, 0]]
    assert np.exp(columns["log_prob"][rows]) == pytest.approx(taken, rel=1e-5)
    p = columns["probabilities"][rows].astype(float)
    assert columns["entropy"][rows] == pytest.approx(-(p * np.log(p)).sum(1), rel=1e-4)
    assert {trace.labels[row] for row in rows} <= set(trace.meta.choices)


def test_the_density_of_a_real_action_is_that_of_its_normal() -> None:
    config = config_of(CASES["continuous"])
    trace = record_trace(policy_of(config), config.env, seed=SEED, rng=rng_for(True), frames=False)
    rows, columns = trace.steps, trace.columns
    raw, mean, std = (columns[name][rows].astype(float) for name in ("raw_action", "mean", "std"))
    log_prob = (-0.5 * ((raw - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi)).sum(1)
    assert columns["log_prob"][rows] == pytest.approx(log_prob, abs=1e-4)
    assert columns["action"][rows] == pytest.approx(np.clip(raw, -2, 2), abs=1e-6)


def test_each_stacked_frame_has_the_action_that_led_to_it() -> None:
    config = config_of(CASES["frame stack"])
    policy = policy_of(config)
    trace = record_trace(policy, config.env, seed=SEED, episodes=2, frames=False)
    labels = trace.labels
    second = int(np.flatnonzero(trace.columns["episode"] == 1)[0])
    for begin in (0, second):
        shown = [[(s.row - begin, s.action) for s in trace.stack(begin + at)] for at in range(4)]
        a, b, c = labels[begin : begin + 3]
        assert shown[0] == [(0, None)] * 3
        assert shown[1] == [(0, None), (0, None), (1, a)]
        assert shown[2] == [(0, None), (1, a), (2, b)]
        assert shown[3] == [(1, a), (2, b), (3, c)]
    # What is put together from the stack is what the network reads.
    state, envs = policy.start(1), plain_envs(config, None)
    obs = envs.reset()
    for row in range(4):
        x = policy.preprocess(state.push(obs))  # type: ignore[attr-defined]
        stacked = np.concatenate([trace.seen(frame.row)[""] for frame in trace.stack(row)])
        assert same_bits(stacked, x[0])
        action = trace.columns["action"][row, :1]
        obs = envs.step(action).obs
    envs.close()


def test_frames_that_atari_stacks_itself_have_their_actions_too() -> None:
    config = config_of(CASES["atari"])
    trace = record_trace(
        policy_of(config), config.env, seed=SEED, rng=rng_for(True), max_steps=6, frames=False
    )
    assert trace.meta.same == {"seen": "obs"}, "pixels are stored once"
    obs, labels = trace.columns["obs"], trace.labels
    first, later = trace.stack(0), trace.stack(5)
    assert [s.frame for s in first] == [0, 1, 2, 3]
    assert [s.action for s in first] == [None] * 4
    assert not any(obs[0][s.frame].any() for s in first if s.blank)
    assert [s.action for s in later] == list(labels[1:5])
    for s in later:
        assert np.array_equal(obs[5][s.frame], obs[5 - (3 - s.frame)][3])


def test_popart_values_are_in_rewards_of_the_env() -> None:
    config = config_of(CASES["popart"])
    policy = policy_of(config)
    assert policy.popart is not None
    policy.load_arrays(
        {
            name: np.full_like(array, {"mean": 7.0, "std": 3.0}.get(name.rpartition(".")[2], 0.0))
            if name.startswith("popart")
            else array
            for name, array in policy.arrays().items()
        }
    )
    trace = record_trace(policy, config.env, seed=SEED, max_steps=3, frames=False, value_scale=2.0)
    envs = plain_envs(config, None)
    assert trace.columns["value"][0] == pytest.approx(2.0 * float(policy.values(envs.reset())[0]))
    envs.close()


class Paying(gym.Env[Any, Any]):
    """Reports parts of its reward, infos and episode values, and cannot be rendered."""

    observation_space = gym.spaces.Box(-1, 1, (2,), np.float64)
    action_space = gym.spaces.Discrete(3, start=5)
    episode_values = ("goals",)
    reward_parts = ("bonus",)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return np.array([0.1, 1 / 3]), {"lives": 3}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        self.t += 1
        info = {
            "reward_parts": {"bonus": 0.25},
            "goals": 2.0,
            "lives": 3 - self.t,
            "name": "level 1",
            "where": np.arange(2),
            "screen": np.zeros((100, 100)),
            "engine": object(),
            "odd": float("nan"),
        }
        return np.array([0.1 * self.t, 1 / 3]), 1.25, False, self.t == 3, info


def test_everything_an_env_reports_is_recorded() -> None:
    env = Paying()
    from gymnast.policies.build import build_policy
    from gymnast.policies.settings import PolicyConfig
    from gymnast.spaces.plain import plain_action_space, plain_space

    policy = build_policy(
        PolicyConfig(hidden=(8,)),
        "numpy",
        plain_space(env.observation_space),
        plain_action_space(env.action_space),
        0,
    )
    trace = record_trace(policy, env, seed=1, episodes=2)
    assert trace.columns["obs"].dtype == np.float64, "as the env gave it, not as the network reads it"
    assert trace.columns["obs"][0].tolist() == [0.1, 1 / 3]
    assert trace.columns["seen"].dtype == np.float32
    assert trace.infos[0] == {"lives": 3}
    assert trace.infos[1] == {"goals": 2.0, "lives": 2, "name": "level 1", "where": [0, 1], "odd": None}
    rows = trace.steps
    assert trace.columns["reward_part/bonus"][rows].tolist() == [0.25] * 6
    assert np.isnan(trace.columns["episode_value/goals"]).tolist() == [True, True, False, True] * 2
    assert trace.columns["truncated"][rows].tolist() == [False, False, True] * 2
    assert len(trace.pictures) == 8, "observations are drawn where an env cannot be rendered"
    table = steps_table(trace, gamma=1.0)
    assert table["reward_part/env"] == pytest.approx(np.ones(6))
    assert table["info/lives"] == pytest.approx([2, 1, 0, 2, 1, 0])
    assert set(table["label"]) <= {"action 0", "action 1", "action 2"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"episodes": 0}, "episodes must be at least 1"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"max_bytes": 10}, "max_bytes must be at least 1,000,000"),
        ({"task": "moon"}, "no task 'moon'; CartPole-v1 has no tasks"),
    ],
)
def test_what_cannot_be_recorded_is_refused(wrong: dict[str, Any], message: str) -> None:
    config = config_of(CASES["classic"])
    with pytest.raises(GymnastError, match=message):
        record_trace(policy_of(config), config.env, seed=1, **wrong)
