"""A lost life ends the return's future for learning; everything else is as in evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ale_py")

from gymnast.envs.build import build_envs
from gymnast.envs.contract import Envs
from gymnast.envs.settings import EnvConfig
from gymnast.policies.build import build_policy
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.collector import Collector
from gymnast.rollout.evaluate import evaluate
from gymnast.traces.env import RecordedEnv
from gymnast.traces.recorder import Player, iter_steps

BREAKOUT = "ALE/Breakout-v5"


def breakout(wrappers: Any = (), **atari: Any) -> EnvConfig:
    plain = {"sticky": 0.0, "noop_max": 0, "clip_reward": False, "size": (42, 40)}
    return EnvConfig.model_validate({"id": BREAKOUT, "wrappers": wrappers, "atari": {**plain, **atari}})


def both(settings: EnvConfig, backend: str, n_envs: int = 2) -> tuple[Envs, Envs]:
    """The same games as training and as evaluation play them."""
    training, whole = (
        build_envs(settings, n_envs=n_envs, seed=3, backend=backend, training=is_training)
        for is_training in (True, False)
    )
    return training, whole


REMEMBERING = [
    pytest.param([{"name": "previous-action", "k": 3}], id="previous actions"),
    pytest.param([{"name": "frame-stack", "k": 3}], id="stacked frames"),
    pytest.param([{"name": "frame-skip", "skip": 3}, {"name": "previous-reward"}], id="skipped frames"),
    pytest.param([{"name": "time-limit", "steps": 90}], id="a time limit"),
    pytest.param([{"name": "no-progress", "steps": 60}], id="a limit without progress"),
]


@pytest.mark.slow
@pytest.mark.parametrize("wrappers", REMEMBERING)
@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
def test_wrappers_remember_across_a_lost_life_what_they_would_in_evaluation(
    backend: str, wrappers: list[dict[str, Any]]
) -> None:
    atari = {"obs": "ram", "frame_skip": 1} if wrappers[0]["name"] == "frame-skip" else {"obs": "ram"}
    training, whole = both(breakout(wrappers, **atari), backend)
    chosen = np.random.default_rng(0).integers(0, 4, (220, 2))
    np.testing.assert_array_equal(training.reset(), whole.reset())
    lives = ends = 0
    for actions in chosen:
        t, w = training.step(actions), whole.step(actions)
        np.testing.assert_array_equal(t.obs, w.obs)
        np.testing.assert_array_equal(t.rewards, w.rewards)
        np.testing.assert_array_equal(t.truncated, w.truncated)
        lost = np.zeros(2, bool) if t.life_lost is None else t.life_lost
        assert w.life_lost is None
        # A life may be lost in the very step that a limit ends the game at: for learning it is an end too.
        np.testing.assert_array_equal((t.terminated & ~lost)[~t.truncated], w.terminated[~t.truncated])
        over = w.terminated | w.truncated
        np.testing.assert_array_equal((t.terminated | t.truncated) & ~lost, over)
        if over.any():
            assert t.final_obs is not None
            assert w.final_obs is not None
            np.testing.assert_array_equal(t.final_obs[over], w.final_obs[over])
        if lost.any():
            assert t.final_obs is not None
            np.testing.assert_array_equal(t.final_obs[lost], t.obs[lost])
        lives, ends = lives + int(lost.sum()), ends + int(over.sum())
    assert lives >= 4
    assert ends or "limit" not in wrappers[0]["name"]
    training.close()
    whole.close()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "sync"])
@pytest.mark.parametrize(
    "settings",
    [{"frame_stack": 3}, {"memory": "gru", "memory_size": 8}],
    ids=["stacks frames", "recurrent"],
)
def test_policy_of_atari_sees_across_a_lost_life_what_it_would_in_evaluation(
    backend: str, settings: dict[str, Any]
) -> None:
    pytest.importorskip("torch")
    training, whole = both(breakout(stack=1), backend)
    config = PolicyConfig(hidden=(8,), actor_gain=1.0, **settings)
    policy = build_policy(config, "torch", training.observation_space, training.action_space, 0)
    collectors = [Collector(envs, policy, 32) for envs in (training, whole)]
    random = [np.random.default_rng(1) for _ in collectors]
    lives = 0
    for _ in range(5):
        by_life, by_game = (
            collector.collect(policy, rng).rollout for collector, rng in zip(collectors, random, strict=True)
        )
        for name in ("obs", "actions", "log_probs", "values", "rewards"):
            np.testing.assert_array_equal(getattr(by_life, name), getattr(by_game, name))
        np.testing.assert_array_equal(by_life.terminated, by_game.terminated | by_life.life_lost)
        lives += int(by_life.life_lost.sum())
    assert lives >= 4
    training.close()
    whole.close()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "sync", "workers"])
@pytest.mark.parametrize("ends", ["episodic_life", "episodic_point"])
def test_score_with_the_wrappers_of_training_is_of_whole_games(backend: str, ends: str) -> None:
    pytest.importorskip("torch")
    settings = breakout(stack=1, **{"episodic_life": False, ends: True})
    training, whole = both(settings, backend)
    config = PolicyConfig(hidden=(8,), actor_gain=1.0)
    policy = build_policy(config, "torch", whole.observation_space, whole.action_space, 0)
    scores = [evaluate(policy, envs, 3, rng=np.random.default_rng(5)) for envs in (training, whole)]
    assert scores[0].returns == scores[1].returns
    assert scores[0].lengths == scores[1].lengths
    assert min(scores[0].lengths) > 100  # five balls
    training.close()
    whole.close()


def test_recorded_episode_with_the_wrappers_of_training_is_a_whole_game() -> None:
    pytest.importorskip("torch")
    lengths = []
    for training in (True, False):
        env = RecordedEnv(breakout(stack=1), 3, training=training, pictures=False)
        space = env.envs.observation_space, env.envs.action_space
        policy = build_policy(PolicyConfig(hidden=(8,), actor_gain=1.0), "torch", *space, 0)
        steps = list(
            iter_steps(env, Player(policy, np.random.default_rng(5), None), episodes=1, max_steps=2000)
        )
        assert steps[-1].outcome is not None
        assert steps[-1].outcome.terminated
        lengths.append(len(steps))
        env.close()
    assert lengths[0] == lengths[1] > 100
