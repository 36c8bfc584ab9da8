"""Exploration bonuses on real rollouts, and the details that are easily got wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gymnast.config.load import load_config
from gymnast.errors import GymnastError
from gymnast.parts.bonus import VALUE_HEAD, Bonus
from gymnast.parts.count import Count
from gymnast.parts.noveld import NovelD
from gymnast.parts.rnd import RND
from gymnast.rollout.buffer import Rollout
from gymnast.rollout.transitions import Transitions, transitions_of
from gymnast.training.learner import PolicyGradient
from gymnast.training.session import Session, build_session

ENGINES = ("numpy", "torch")
CARTPOLE = {"name": "bins", "low": -3, "high": 3}


class Played:
    """A session whose rollouts are collected one by one."""

    def __init__(self, reference: str, explore: Any, **overrides: Any) -> None:
        common = {"env.n_envs": 4, "env.backend": "sync", "algo.n_steps": 64, "algo.batch_size": "all"}
        changes = {key.replace("__", "."): value for key, value in overrides.items()}
        self.session: Session = build_session(
            load_config(reference, overrides=common | {"explore": explore} | changes).config
        )
        assert isinstance(self.session.learner, PolicyGradient)
        self.learner = self.session.learner
        (self.part,) = (part for part in self.learner.parts if isinstance(part, Bonus))
        self.hp = self.learner.hyperparameters(0, 1)

    def rollout(self) -> tuple[Rollout, Transitions]:
        rollout = self.session.source.collect(self.learner.policy, self.session.rng).rollout
        return rollout, transitions_of(rollout)

    def streamed(self) -> tuple[Rollout, Transitions]:
        """A rollout with the bonus's stream."""
        rollout, steps = self.rollout()
        self.part.rewards(rollout, steps, self.hp)
        return rollout, steps


@pytest.fixture
def play() -> Iterator[Any]:
    sessions: list[Session] = []

    def start(reference: str, explore: Any, **overrides: Any) -> Played:
        played = Played(reference, explore, **overrides)
        sessions.append(played.session)
        return played

    yield start
    for session in sessions:
        session.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_next_observation_at_an_episode_end_is_the_true_last_one(play: Any, engine: str) -> None:
    """A pole that fell lies beyond ±0.2095 rad or ±2.4; a new episode begins within ±0.05."""
    played = play("CartPole-v1:ppo", "rnd", engine=engine)
    part: RND = played.part
    rollout, steps = played.streamed()
    assert steps.terminated.any()
    fallen = steps.next_obs[steps.terminated]
    assert ((abs(fallen[:, 0]) > 2.4) | (abs(fallen[:, 2]) > 0.2095)).all()
    stream = rollout.streams[0]
    scale = part.metrics()["explore/return_std"]
    # The predictor has not learned yet: what it finds novel now is what the bonus was.
    assert_allclose(stream.rewards[steps.terminated] * scale, part.novelty(fallen), rtol=1e-4)
    first = rollout.obs[1:][steps.terminated]  # of the next episodes
    assert not np.allclose(stream.rewards[steps.terminated] * scale, part.novelty(first), rtol=0.05)


def test_return_filter_runs_over_time_through_episode_ends_and_rollouts(play: Any) -> None:
    played = play("CartPole-v1:ppo", {"name": "rnd", "gamma": 0.9})
    part: RND = played.part
    raw: list[np.ndarray] = []
    for _ in range(3):
        rollout, steps = played.streamed()
        bonus = part.novelty(steps.next_obs.reshape(-1, 4)).reshape(steps.rewards.shape)
        raw.append(bonus)
        assert steps.done[:-1].any()
        running, seen = np.zeros(4), []
        for row in np.concatenate(raw).astype(np.float64):  # time is the first axis
            running = 0.9 * running + row
            seen.append(running)
        std = np.std(seen)
        assert part.metrics()["explore/return_std"] == pytest.approx(std, rel=1e-3)
        over_envs = np.std([np.convolve(row, 0.9 ** np.arange(4))[:4] for row in np.concatenate(raw)])
        assert std != pytest.approx(over_envs, rel=0.05)
        # Divided by the std, not replaced by the filtered sums, and no mean is taken off.
        assert_allclose(rollout.streams[0].rewards, bonus / std, rtol=1e-3)
        assert (rollout.streams[0].rewards >= 0).all()


def test_return_filter_of_an_episodic_stream_starts_again_with_the_episode(play: Any) -> None:
    played = play("CartPole-v1:ppo", {"name": "rnd", "gamma": 0.9, "episodic": True})
    part: RND = played.part
    _, steps = played.streamed()
    bonus = part.novelty(steps.next_obs.reshape(-1, 4)).reshape(steps.rewards.shape)
    running, seen = np.zeros(4), []
    for row, done in zip(bonus.astype(np.float64), steps.done, strict=True):
        running = 0.9 * running + row
        seen.append(running)
        running = np.where(done, 0.0, running)
    assert part.metrics()["explore/return_std"] == pytest.approx(np.std(seen), rel=1e-3)


@pytest.mark.parametrize("normalize_obs", ["none", "running"])
def test_observations_have_statistics_of_their_own_and_are_clipped_at_5(
    play: Any, normalize_obs: str
) -> None:
    played = play("CartPole-v1:ppo", "rnd", policy__normalize_obs=normalize_obs)
    part: RND = played.part
    rollout, steps = played.rollout()
    assert part.inputs.count == 0
    part.rewards(rollout, steps, played.hp)  # the first rollout sets them before its own bonus
    seen = steps.next_obs.reshape(-1, 4).astype(np.float64)
    assert_allclose(part.inputs.mean, seen.mean(0), rtol=1e-6)
    assert_allclose(part.inputs.var, seen.var(0), rtol=1e-6)
    x = part.inputs.apply(seen.astype(np.float32))
    assert_allclose(np.clip((seen - seen.mean(0)) / seen.std(0), -5, 5), x, atol=1e-3)
    far = np.array([[1e6, -1e6, 0, 0]], np.float32)
    assert part.inputs.apply(far)[0, :2].tolist() == [5, -5]
    part.after_update(steps, played.hp, played.session.rng)
    assert part.inputs.count == steps.rewards.size, "no rollout counts twice"
    _, more = played.streamed()
    assert part.inputs.count == steps.rewards.size, "a later rollout is added after its bonus"
    part.after_update(more, played.hp, played.session.rng)
    assert part.inputs.count == 2 * steps.rewards.size


@pytest.mark.parametrize("engine", ENGINES)
def test_predictor_learns_what_it_sees_and_the_target_stays(play: Any, engine: str) -> None:
    played = play(
        "CartPole-v1:ppo", {"name": "rnd", "predictor_lr": 1e-3, "update_fraction": 1}, engine=engine
    )
    part: RND = played.part
    rollout, steps = played.streamed()
    fixed, novelty = part.target.arrays(), part.novelty(steps.next_obs[:, 0])
    strange = np.full((1, 4), 3.0, np.float32)
    before = part.novelty(strange)
    losses = []
    for _ in range(30):
        rollout.streams = ()
        part.rewards(rollout, steps, played.hp)
        part.after_update(steps, played.hp, played.session.rng)
        losses.append(part.metrics()["explore/predictor_loss"])
    assert losses[-1] < 0.2 * losses[0]
    assert part.novelty(steps.next_obs[:, 0]).mean() < 0.2 * novelty.mean()
    assert part.novelty(strange) > 0.4 * before, "what was not seen stays novel"
    assert all((part.target.arrays()[name] == value).all() for name, value in fixed.items())


def test_engines_find_the_same_things_novel(play: Any) -> None:
    parts = [play("CartPole-v1:ppo", "rnd", engine=engine).part for engine in ENGINES]
    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    assert_allclose(parts[0].novelty(obs), parts[1].novelty(obs), rtol=1e-4)
    assert parts[0].novelty(obs).min() > 0, "predictor and target differ from the start"


def test_count_bonus_is_the_product_of_run_and_episode(play: Any) -> None:
    for lifelong in (True, False):
        for kind in ("first", "inverse_sqrt", "none"):
            config = {"name": "count", "cells": CARTPOLE, "lifelong": lifelong, "episodic_bonus": kind}
            if not lifelong and kind == "none":
                with pytest.raises(GymnastError, match="counts nothing"):
                    play("CartPole-v1:ppo", config)
                continue
            played = play("CartPole-v1:ppo", config, seed=3)
            part: Count = played.part
            assert part.visits is not None
            rollout, steps = played.streamed()
            again = play("CartPole-v1:ppo", config, seed=3).part.visits
            visited = again.take(rollout, steps)
            expected = visited.in_run**-0.5 if lifelong else np.ones(steps.rewards.shape)
            expected = (
                expected
                * {
                    "first": visited.in_episode == 1,
                    "inverse_sqrt": visited.in_episode**-0.5,
                    "none": 1,
                }[kind]
            )
            assert_allclose(rollout.streams[0].rewards, expected, rtol=1e-6)
            assert played.part.metrics()["explore/cells"] == len(again.counts) > 3


def test_noveld_pays_the_gain_in_novelty_on_the_first_visit_of_an_episode(play: Any) -> None:
    played = play("CartPole-v1:ppo", {"name": "noveld", "alpha": 0.3, "cells": CARTPOLE})
    part: NovelD = played.part
    again = play("CartPole-v1:ppo", {"name": "noveld", "cells": CARTPOLE}).part.visits
    for _ in range(2):
        rollout, steps = played.streamed()
        shape = steps.rewards.shape
        before, after = (part.novelty(o.reshape(-1, 4)).reshape(shape) for o in (steps.obs, steps.next_obs))
        first = again.take(rollout, steps).in_episode == 1
        expected = np.maximum(after - 0.3 * before, 0) * first
        scale = part.metrics()["explore/return_std"]
        assert_allclose(rollout.streams[0].rewards * scale, expected, rtol=1e-4, atol=1e-6)
        assert steps.terminated.any()
        assert first.any()
        assert not first.all()


def test_stream_has_the_values_of_its_own_head_and_leaves_the_reward_alone(play: Any) -> None:
    played = play(
        "CartPole-v1:ppo", {"name": "count", "cells": CARTPOLE, "weight": {"start": 0.5, "end": 0.1}}
    )
    assert played.learner.policy.layout.value_heads == ("value", VALUE_HEAD)
    played.learner.hyperparameters(75, 100)
    rollout, steps = played.rollout()
    before = rollout.rewards.copy()
    played.part.rewards(rollout, steps, played.hp)
    (stream,) = rollout.streams
    assert stream.weight == pytest.approx(0.2)
    assert (stream.episodic, stream.gamma) == (False, 0.99)
    assert (rollout.rewards == before).all()
    values = played.learner.policy.values(rollout.obs.reshape(-1, 4))[1].reshape(rollout.values.shape)
    assert_allclose(stream.values, values, atol=1e-5)


def test_reward_normalisation_and_popart_stay_with_the_first_head(play: Any) -> None:
    played = play("CartPole-v1:ppo", "rnd", algo__normalize_reward=True, policy__popart=True)
    rollout, _ = played.rollout()
    learned = played.learner.learn(rollout, played.hp, played.session.rng)
    stream = rollout.streams[0]
    scale = learned.metrics["env/reward_scale"]
    assert_allclose(rollout.rewards, 1 / scale, rtol=1e-5)  # CartPole pays 1 a step
    assert not np.allclose(stream.rewards, stream.rewards[0, 0])
    popart = played.learner.policy.popart
    assert popart is not None
    assert learned.metrics["explore/value/mean"] == pytest.approx(float(stream.values[:-1].mean()), abs=1e-4)
    assert popart.mean == pytest.approx(learned.metrics["train/popart/mean"])


@pytest.mark.parametrize("name", ["count", "rnd", "noveld"])
def test_bonus_without_gae_is_refused(name: str) -> None:
    with pytest.raises(GymnastError, match=r"explore.name: reinforce has no GAE.*use ppo or a2c"):
        load_config("CartPole-v1:reinforce", overrides={"explore": name})
    assert load_config("CartPole-v1:reinforce", overrides={"explore": "none"})


def test_wrong_names_suggest_the_nearest() -> None:
    with pytest.raises(GymnastError, match=r"explore.name: must be 'none', .*did you mean 'noveld'"):
        load_config("CartPole-v1:ppo", overrides=["explore=novled"])
    with pytest.raises(GymnastError, match=r"explore.cells.name: .*did you mean 'downsample'"):
        load_config("CartPole-v1:ppo", overrides=["explore.cells=downsampled"])
    with pytest.raises(GymnastError, match=r"explore.wieght: unknown key \(did you mean 'weight'"):
        load_config("CartPole-v1:ppo", overrides=["explore=rnd", "explore.wieght=2"])


def test_short_and_long_forms_mean_the_same() -> None:
    def explore(*overrides: str) -> Any:
        return load_config("CartPole-v1:ppo", overrides=list(overrides)).config.explore

    assert explore("explore=rnd") == explore("explore.name=rnd") == explore("explore={name: rnd}")
    # In any order: names first.
    long = explore("explore={name: count, weight: 2, cells: {name: bins, bins: 5}}")
    assert explore("explore.cells.bins=5", "explore.weight=2", "explore.cells=bins", "explore=count") == long
    assert explore() == explore("explore=none")
    assert explore("explore=count", "explore.weight.end=0").weight.at(50, 100) == pytest.approx(0.05)
