"""Who drives: the policy's own episode, a person in the middle of it, and chance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymnast import api
from gymnast.api.run import find_checkpoint
from gymnast.config.load import load_config
from gymnast.play.game import Game, build_game
from gymnast.play.recording import Recording
from gymnast.play.session import Session
from gymnast.policies.load import load_policy
from gymnast.runs.trust import load_run_config
from gymnast.traces.recorder import Player
from gymnast.traces.step import TraceStep


@pytest.fixture
def game(runs: Path) -> Iterator[Game]:
    checkpoint = find_checkpoint("@last", runs)
    config = load_run_config(checkpoint.run, file=checkpoint.config_path())
    built = build_game(config, checkpoint, seed=3, pictures=False)
    yield built
    built.close()


def without_a_run(reference: str, **overrides: Any) -> Game:
    return build_game(load_config(reference, overrides).config, None, seed=3, pictures=False)


def played(game: Game, driver: Any, steps: int, by_hand: dict[int, int] | None = None) -> list[TraceStep]:
    kept: list[TraceStep] = []
    session = Session(game, driver, keep=kept.append)
    for index in range(steps):
        if session.over:
            session.next_episode()
        if by_hand is not None and index in by_hand:
            session.set_driver("human")
            session.act(np.array([by_hand[index]]))
            session.set_driver("policy")
        else:
            session.act()
    session.close()
    return kept


def actions(steps: list[TraceStep]) -> list[int]:
    return [int(step.outcome.action[0]) for step in steps if step.outcome is not None]


def test_headless_numbers_are_those_of_an_evaluation(runs: Path) -> None:
    scored = api.evaluate("@last", episodes=3, n_envs=1, seed=5, runs_dir=runs)
    shown = api.play("@last", where="headless", episodes=3, seed=5, runs_dir=runs)
    assert tuple(episode["return"] for episode in shown.episodes) == scored.returns
    assert shown.to_json()["mean_return"] == scored.mean_return


def test_a_person_takes_over_and_hands_back(game: Game) -> None:
    own = actions(played(game, "policy", 30))
    game.reseed(3)
    kept = played(game, "policy", 30, {10: 1, 11: 1, 12: 0})
    taken = actions(kept)
    assert taken[:10] == own[:10], "before it is taken over, the policy plays its own episode"
    assert taken[10:13] == [1, 1, 0]
    drivers = [step.info["driver"] for step in kept[:-1]]
    assert drivers == ["policy"] * 10 + ["human"] * 3 + ["policy"] * 17
    for step, taken_next in zip(kept[13:-1], taken[13:], strict=True):
        assert step.decision is not None
        assert int(step.decision.probabilities.argmax()) == taken_next, "it decides again"


def test_log_probabilities_are_of_what_was_done(game: Game) -> None:
    kept = played(game, "policy", 12, {5: 0, 6: 1})
    for row, action in ((5, 0), (6, 1)):
        decision = kept[row].decision
        assert decision is not None
        assert decision.log_prob == pytest.approx(float(np.log(decision.probabilities[action])), abs=1e-6)


@pytest.mark.parametrize(
    "settings", [{"policy.memory": "gru", "algo.sequence_length": 16}, {"policy.frame_stack": 3}]
)
def test_what_the_policy_remembers_is_up_to_date_when_it_is_handed_back(settings: dict[str, Any]) -> None:
    game = without_a_run("CartPole-v1:ppo", **settings)
    policy = load_policy(game.config, game.env.envs.observation_space, game.env.envs.action_space, None)
    rng = np.random.default_rng(0)
    weights = {
        k: (v + rng.normal(0, 0.3, v.shape)).astype(v.dtype) for k, v in policy.network.arrays().items()
    }
    policy.network.load_arrays(weights)  # one that depends on what it remembers
    game.player = Player(policy, None, None)
    try:
        by_hand = {4: 1, 5: 0, 6: 0, 7: 1}
        kept = played(game, "policy", 12, by_hand)
    finally:
        game.close()
    state, previous = policy.start(1), None
    for step in kept[:-1]:
        if step.step == 0 and previous is not None:
            state.reset(np.ones(1, bool))
        previous = step
        if step.decision is None:
            continue
        wanted = policy.predict(step.obs[""][None], state=state)
        if step.info["driver"] == "policy":
            assert int(step.decision.action[0]) == int(wanted[0]), step.step


def test_chance_respects_masks() -> None:
    game = without_a_run("Taxi-v4:ppo-masked")
    try:
        kept = played(game, "random", 60)
    finally:
        game.close()
    rows = [step for step in kept if step.decision is not None]
    assert any(step.mask is not None and not step.mask.all() for step in rows)
    for before, after in pairwise(kept):
        if before.decision is not None and after.outcome is not None:
            assert before.mask is not None
            assert before.mask[int(after.outcome.action[0])]


def test_chance_beside_a_policy_has_its_own_random_numbers(game: Game) -> None:
    first = actions(played(game, "random", 40))
    game.reseed(3)
    assert actions(played(game, "random", 40)) == first
    game.reseed(4)
    assert actions(played(game, "random", 40)) != first
    assert len(set(first)) == 2


def test_a_restart_begins_with_the_seed_and_counts_what_was_left(game: Game) -> None:
    session = Session(game, "policy")
    first = session.moment.obs[""].tolist()
    for _ in range(5):
        session.act()
    session.restart()
    assert session.moment.obs[""].tolist() == first
    session.restart(99)
    assert session.moment.obs[""].tolist() != first
    assert [(e.length, e.ended) for e in session.episodes] == [(5, "cut")]
    session.close()


def test_a_recording_is_a_video_and_a_trace_that_open(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("av")
    checkpoint = find_checkpoint("@last", runs)
    config = load_run_config(checkpoint.run, file=checkpoint.config_path())
    game = build_game(config, checkpoint, seed=3)
    recording = Recording(tmp_path / "sitting", game.env.fps)
    session = Session(game, "policy", keep=recording.keep)
    for _ in range(8):
        session.act()
    session.restart(11)
    session.set_driver("human")
    for _ in range(3):
        session.act(np.array([1]))
    session.close()
    files = recording.finish(game.about())
    game.close()
    assert files is not None
    trace = api.load_trace(files[1])
    assert trace.columns["episode"].max() == 1
    assert trace.columns["cut"].sum() == 2
    assert [info["driver"] for info in trace.infos] == ["policy"] * 9 + ["human"] * 4
    assert (trace.infos[0]["seed"], trace.infos[9]["seed"]) == (3, 11)
    assert trace.columns["action"][9:12, 0].tolist() == [1, 1, 1]
    assert trace.meta.run == checkpoint.run.id
    table = api.steps_table(trace, gamma=0.9, lam=0.9)
    assert len(table["reward"]) == 11
    assert files[0].stat().st_size > 1000


def test_a_person_without_a_policy_is_recorded_with_unknown_probabilities(tmp_path: Path) -> None:
    pytest.importorskip("av")
    game = build_game(load_config("MountainCarContinuous-v0:ppo").config, None, seed=3)
    recording = Recording(tmp_path / "alone", game.env.fps)
    session = Session(game, "human", keep=recording.keep)
    for value in (1.0, -1.0, 0.5):
        session.act(np.array([value], np.float32))
    session.close()
    files = recording.finish(game.about())
    game.close()
    assert files is not None
    trace = api.load_trace(files[1])
    assert trace.columns["action"][:3, 0].tolist() == [1.0, -1.0, 0.5]
    assert np.isnan(trace.columns["log_prob"]).all()
    assert trace.meta.run is None


def test_parts_of_the_reward_add_up() -> None:
    game = without_a_run("MountainCar-v0:ppo")
    session = Session(game, "random")
    for _ in range(20):
        session.act()
    assert len(session.current.parts) > 1, "the preset shapes the reward"
    assert sum(session.current.parts.values()) == pytest.approx(session.current.total)
    session.close()
    game.close()
