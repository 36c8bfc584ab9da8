"""The still network gives what was recorded, whatever the policy: everything else rests on that."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from gymnast.insight.recurrent import memory_states
from gymnast.insight.subject import Subject, batch
from gymnast.insight.targets import Target
from observation_envs import SPACES, Cue, Delayed

IMAGE_CASES: list[tuple[str, dict[str, Any]]] = [
    ("image", {"encoder": "small"}),
    ("image", {"encoder": "impala", "batch_norm": True, "dropout": 0.3}),
    ("image", {"encoder": "small", "frame_stack": 3, "shared_encoder": False}),
    ("image", {"encoder": "mlp"}),
    ("image_chw", {"encoder": "small", "layer_norm": True}),
    ("image_dict", {"encoder": "small", "frame_stack": 2, "memory": "gru"}),
    ("image", {"encoder": "small", "memory": "lstm", "shared": True}),
]
OTHER_CASES: list[tuple[str, dict[str, Any]]] = [
    *((kind, {}) for kind in SPACES if "image" not in kind),
    ("vector", {"memory": "lstm"}),
    ("vector", {"memory": "gru", "frame_stack": 2, "normalize_obs": "bounds"}),
    ("vector", {"batch_norm": True, "dropout": 0.5, "activation": "relu"}),
    ("discrete", {"discrete_obs": "embedding"}),
    ("tuple", {"discrete_obs": "embedding", "frame_stack": 2}),
    ("vector", {"popart": True, "critic_hidden": (8,), "hidden": (16, 16)}),
    ("vector", {"hidden": ()}),
    ("numbers_dict", {"encoder": "own_encoders:OwnEncoder"}),
]


def scored(subject: Subject, target: Target, rows: np.ndarray) -> np.ndarray:
    parts, others = batch(subject, rows)
    with torch.no_grad():
        return subject.scores(target)(*parts, *others).numpy()


def assert_as_recorded(subject: Subject) -> None:
    trace = subject.trace
    steps = trace.steps
    np.testing.assert_allclose(
        scored(subject, Target("action"), steps), trace.columns["log_prob"][steps], rtol=1e-4, atol=2e-5
    )
    rows = np.arange(len(trace))
    np.testing.assert_allclose(
        scored(subject, Target("value"), rows), trace.columns["value"], rtol=1e-4, atol=2e-5
    )
    for choice in range(len(trace.meta.choices)):
        wanted = trace.columns["probabilities"][steps, choice]
        found = np.exp(scored(subject, Target("choice", choice), steps))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    for number in range(len(trace.meta.numbers)):
        wanted = trace.columns["mean"][steps, number]
        np.testing.assert_allclose(
            scored(subject, Target("mean", number), steps), wanted, rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize(("kind", "settings"), [*IMAGE_CASES, *OTHER_CASES], ids=str)
def test_outputs_are_those_that_acted(make_subject: Any, kind: str, settings: dict[str, Any]) -> None:
    _, subject = make_subject(Cue(kind, 8), episodes=3, **settings)
    assert_as_recorded(subject)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("settings", [{}, {"state_dependent_std": True, "gaussian": "squashed"}], ids=str)
def test_real_numbers_on_both_engines(make_subject: Any, engine: str, settings: dict[str, Any]) -> None:
    _, subject = make_subject(gym.make("Pendulum-v1"), engine=engine, **settings)
    assert_as_recorded(subject)


def test_actions_of_several_parts(make_subject: Any) -> None:
    class Factors(Cue):
        def __init__(self) -> None:
            super().__init__("vector", 8)
            self.action_space: Any = gym.spaces.MultiDiscrete([2, 3, 3])

        def step(self, action: Any) -> Any:
            return super().step(0)

    _, subject = make_subject(Factors())
    assert_as_recorded(subject)


@pytest.mark.parametrize("memory", ["lstm", "gru"])
@pytest.mark.parametrize("shared", [True, False])
def test_memory_is_replayed_along_the_episodes(make_subject: Any, memory: str, shared: bool) -> None:
    _, subject = make_subject(Delayed(6), episodes=3, memory=memory, shared=shared)
    assert_as_recorded(subject)
    found = memory_states(subject)
    assert found.names == subject.trace.meta.memory_names
    assert found.values.shape == (len(found.names), len(subject.trace), 64)
    steps = subject.trace.steps
    norms = np.linalg.norm(found.values[:, steps].astype(np.float64), axis=2).T
    np.testing.assert_allclose(norms, subject.trace.columns["memory_norm"][steps], rtol=1e-4)
    # Every episode begins with an empty memory.
    states = subject.states
    assert states is not None
    first = np.flatnonzero(subject.trace.columns["step"] == 0)
    assert len(first) == 3
    assert not states[first].any()
    assert states[first[1:] - 1].any()
