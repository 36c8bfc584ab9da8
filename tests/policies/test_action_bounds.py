"""Every action that an env is given is an element of its action space."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

import action_envs
from gymnast import api
from gymnast.envs.backends.native import NativeEnvs
from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.settings import PolicyConfig
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.plain import plain_action_space, random_actions

OBSERVATIONS = gym.spaces.Box(-1, 1, (2,), np.float32)
FLOATS = (np.float16, np.float32, np.float64)


@st.composite
def boxes(draw: st.DrawFn, *, bounded: bool) -> gym.spaces.Box:
    """Bounds of any kind: symmetric or not, tiny, huge, equal, on one side only."""
    dtype = draw(st.sampled_from(FLOATS))
    width = np.finfo(dtype).bits
    shape = draw(st.sampled_from([(1,), (3,), (2, 2), ()]))
    number = st.floats(width=width, allow_nan=False, allow_infinity=False)
    near = st.sampled_from([-0.1, 0.1, 0.3, 0.7, 1 / 3, 1e-7, -1e-7, 0.0]).map(lambda v: float(dtype(v)))
    bound = (number | near).map(lambda value: value + 0.0)  # -0.0 is not below 0.0
    if not bounded:
        bound |= st.sampled_from([-np.inf, np.inf])
    size = int(np.prod(shape))
    pairs = draw(st.lists(st.tuples(bound, bound), min_size=size, max_size=size))
    low, high = (np.array(side, dtype).reshape(shape) for side in zip(*map(sorted, pairs), strict=True))
    low[low == np.inf], high[high == -np.inf] = -np.inf, np.inf  # Box allows neither
    return gym.spaces.Box(low, high, dtype=dtype)


def spaces(*, bounded: bool) -> st.SearchStrategy[gym.Space[Any]]:
    alone = boxes(bounded=bounded)
    together = st.tuples(alone, alone).map(
        lambda pair: gym.spaces.Dict({"a": pair[0], "b": gym.spaces.Discrete(3), "c": pair[1]})
    )
    return alone | together


def elements(space: gym.Space[Any], batch: Any, n: int) -> list[Any]:
    """The single actions of a batch."""
    if isinstance(space, gym.spaces.Dict):
        return [{key: np.asarray(part[i]) for key, part in batch.items()} for i in range(n)]
    return [np.asarray(batch[i]) for i in range(n)]


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("gaussian", ["clipped", "squashed"])
@given(data=st.data())
def test_actions_of_a_policy_lie_in_the_space(engine: str, gaussian: str, data: st.DataObject) -> None:
    space = data.draw(spaces(bounded=gaussian == "squashed"))
    config = PolicyConfig(hidden=(4,), gaussian=gaussian, log_std_init=2.0)
    policy = build_policy(config, engine, OBSERVATIONS, plain_action_space(space), 0)
    distribution, form, n = policy.distribution, ActionForm(space), 8
    rng = np.random.default_rng(0)
    obs = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
    for batch in (policy.predict(obs), policy.predict(obs, rng=rng)):
        for action in elements(space, batch, n):
            assert space.contains(action), (action, space)
    noise = distribution.noise(rng, 1, n)[0]
    for scale in (1.0, 1e5, 1e30):
        actions = distribution.sample(*policy.network.act(policy.preprocess(obs)), noise)
        actions[:, form.real_columns] *= np.float32(scale)
        handed = distribution.to_env(actions)
        for action in elements(space, distribution.structured(handed), n):
            assert space.contains(action), (action, space)
        for action in form.each(handed):  # as backends take actions apart
            assert space.contains(action), (action, space)


@given(space=boxes(bounded=False))
def test_random_actions_lie_in_the_space(space: gym.spaces.Box) -> None:
    actions = random_actions(plain_action_space(space), 50, np.random.default_rng(0))
    for action in ActionForm(space).each(actions):
        assert space.contains(action), (action, space)


@pytest.mark.slow
@pytest.mark.parametrize("space", action_envs.NARROW)
@pytest.mark.parametrize(
    ("engine", "backend", "gaussian"),
    [
        ("numpy", "sync", "clipped"),
        ("torch", "sync", "clipped"),
        ("numpy", "workers", "clipped"),
        ("numpy", "sync", "squashed"),
    ],
)
def test_env_that_refuses_other_actions_trains_and_is_evaluated(
    tmp_path: Path, space: str, engine: str, backend: str, gaussian: str
) -> None:
    if gaussian == "squashed" and space == "float16":
        pytest.skip("it has a side without a bound")
    overrides = {
        "env.id": "action_envs:Strict",
        "env.kwargs": {"space": space},
        "env.n_envs": 2,
        "env.backend": backend,
        "engine": engine,
        "algo.n_steps": 16,
        "policy.gaussian": gaussian,
        "policy.log_std_init": 1.5,
        "budget.env_steps": 96,
        "eval.every": 64,
        "eval.episodes": 2,
        "video.record": "never",
    }
    run = api.train("action_envs:Strict", overrides=overrides, runs_dir=tmp_path)
    assert run.outcome.status == "finished"


@pytest.mark.parametrize("space", action_envs.NARROW)
def test_vectorised_env_gets_elements_of_its_space(space: str) -> None:
    vector = SyncVectorEnv([lambda: action_envs.Strict(space)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    envs = NativeEnvs(vector, seed=0)
    policy = build_policy(
        PolicyConfig(hidden=(4,), log_std_init=2.0), "numpy", envs.observation_space, envs.action_space, 0
    )
    obs, rng = envs.reset(), np.random.default_rng(0)
    for _ in range(12):
        obs = envs.step(policy.env_actions(obs, rng)).obs  # the env raises on anything else


def test_integer_box_is_refused() -> None:
    with pytest.raises(GymnastError, match="is not a Box of floats"):
        ActionForm(gym.spaces.Box(0, 3, (2,), np.int64))
