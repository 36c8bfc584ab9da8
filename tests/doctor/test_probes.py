"""The five probes: every learner of ours passes them, and what is broken fails where it is broken."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from gymnast.config.schema import Config
from gymnast.doctor.finding import ProbeResult
from gymnast.doctor.probe_config import Spaces, plain_spaces
from gymnast.doctor.train_probe import train_probe
from gymnast.envs.families.probe import IDS, KINDS, half_of, has_choice, has_signals, shown_as

ALGORITHMS = ("ppo", "a2c", "reinforce")
NETWORKS = (("numpy", "none"), ("torch", "none"), ("torch", "lstm"), ("torch", "gru"))


def config(**sections: Any) -> Config:
    given = {"env": {"id": "gymnast/Probe-Constant-v0"}, "budget": {"env_steps": 1_000_000}}
    return Config.model_validate(given | sections)


def ladder(settings: Config, spaces: Spaces | None = None) -> dict[str, ProbeResult]:
    return {kind: train_probe(settings, kind, spaces or plain_spaces()) for kind in KINDS}


def statuses(results: dict[str, ProbeResult]) -> list[str]:
    return [results[kind].status for kind in KINDS]


@pytest.mark.parametrize("env_id", IDS.values())
def test_probes_are_proper_envs(env_id: str) -> None:
    from gymnast.envs.single import find_spec

    assert find_spec(env_id) is not None
    check_env(gym.make(env_id).unwrapped)


def test_probes_pay_as_they_should() -> None:
    from gymnast.envs.families.probe import ProbeEnv

    match = ProbeEnv("match")
    for seed in range(8):
        obs, _ = match.reset(seed=seed)
        signal = 1 if obs[0] > 0 else -1
        assert match.step(0)[1] == signal
        match.reset(seed=seed)
        assert match.step(1)[1] == -signal
    discount = ProbeEnv("discount")
    discount.reset(seed=0)
    assert [discount.step(0)[1:4] for _ in range(2)] == [(0.0, False, False), (1.0, True, False)]


SPACES = (
    gym.spaces.Discrete(5, start=3),
    gym.spaces.Box(-np.inf, np.inf, (4,), np.float32),
    gym.spaces.Box(0, 255, (4, 84, 84), np.uint8),
    gym.spaces.Box(0, 1, (10, 10, 4), np.uint8),
    gym.spaces.Box(100.0, 200.0, (3,), np.float64),
    gym.spaces.MultiDiscrete([3, 4]),
    gym.spaces.MultiBinary(3),
    gym.spaces.Dict({"a": gym.spaces.Discrete(2), "b": gym.spaces.Tuple([gym.spaces.Box(-1.0, 1.0, ())])}),
)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_both_signals_lie_in_any_space_and_differ(space: gym.Space[Any]) -> None:
    assert space.contains(shown_as(space, 1))
    assert space.contains(shown_as(space, -1))
    assert has_signals(space)
    assert has_choice(space)
    assert {half_of(space, sample) for sample in [space.sample() for _ in range(60)]} == {1, -1}


@given(low=st.floats(-1e6, 1e6, width=32), wide=st.floats(0.125, 1e6, width=32), size=st.integers(1, 5))
def test_signals_stay_within_any_bounds(low: float, wide: float, size: int) -> None:
    space = gym.spaces.Box(np.float32(low), np.float32(low + wide), (size,), np.float32)
    for signal in (1, -1):
        assert space.contains(shown_as(space, signal))


def test_nothing_can_be_shown_or_chosen_in_spaces_of_one_element() -> None:
    one = gym.spaces.Discrete(1)
    assert not has_signals(one)
    assert not has_choice(one)
    results = ladder(config(), Spaces(one, one))
    assert statuses(results) == ["ok", "skipped", "skipped", "skipped", "skipped"]


@pytest.mark.slow
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_algorithm_passes_in_both_forms_of_actions(algo: str) -> None:
    settings = config(algo={"name": algo, "gamma": 0.8}, engine="numpy")
    assert statuses(ladder(settings)) == ["ok"] * 5
    for kind in ("action", "match"):
        assert train_probe(settings, kind, plain_spaces(continuous=True)).status == "ok"  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "memory"), NETWORKS)
@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_algorithm_passes_on_every_network(algo: str, engine: str, memory: str, seed: int) -> None:
    settings = config(seed=seed, engine=engine, algo={"name": algo, "gamma": 0.8}, policy={"memory": memory})
    for continuous in (False, True):
        results = ladder(settings, plain_spaces(continuous=continuous))
        assert statuses(results) == ["ok"] * 5, results


@pytest.mark.parametrize(
    "sections",
    [
        pytest.param({"policy": {"memory": "lstm"}}, marks=pytest.mark.slow),
        {"policy": {"popart": True}},
        {"policy": {"normalize_obs": "running", "frame_stack": 3}},
        {"algo": {"normalize_reward": True}},
        {"algo": {"collect_ahead": True}},
        {"explore": "count"},
        {"policy": {"encoder": "ailing_encoders:HealthyEncoder"}},
    ],
    ids=str,
)
def test_settings_that_change_how_is_learned_pass_too(sections: dict[str, Any]) -> None:
    results = ladder(config(**sections))
    assert statuses(results) == ["ok"] * 5, results


def test_values_are_those_of_the_users_own_discount() -> None:
    for gamma in (0.0, 0.5, 1.0):
        result = train_probe(config(algo={"gamma": gamma}), "discount", plain_spaces())
        assert result.status == "ok"
        assert f"of the first {gamma:.2f} ± 0.1" in result.expected


def test_learner_without_a_critic_skips_the_probes_of_values() -> None:
    results = ladder(config(algo={"name": "reinforce", "baseline": "mean"}))
    assert statuses(results) == ["skipped"] * 3 + ["ok"] * 2


def test_no_learning_fails_at_the_first_probe() -> None:
    results = ladder(config(algo={"lr": 0.0}))
    assert statuses(results) == ["failed"] * 5
    assert "algo.lr is 0" in results["constant"].reason
    assert "value 1.00 ± 0.1" in results["constant"].expected


def test_unlearned_values_fail_and_the_policy_passes() -> None:
    results = ladder(config(algo={"value_coef": 0.0}))
    assert statuses(results)[:3] == ["failed"] * 3
    assert statuses(results)[3:] == ["ok"] * 2
    assert "algo.value_coef is 0" in results["constant"].reason


@pytest.mark.parametrize("encoder", ["IgnoresItsInput", pytest.param("IsConstant", marks=pytest.mark.slow)])
def test_encoder_that_loses_the_observation_fails_where_it_is_needed(encoder: str) -> None:
    results = ladder(config(policy={"encoder": f"ailing_encoders:{encoder}"}, algo={"gamma": 0.5}))
    assert statuses(results) == ["ok", "failed", "failed", "ok", "failed"]
    assert f"ailing_encoders:{encoder}" in results["observation"].reason
    assert f"ailing_encoders:{encoder}" in results["match"].reason


def test_encoder_that_raises_is_a_result_with_its_line() -> None:
    result = train_probe(config(policy={"encoder": "ailing_encoders:Raises"}), "constant", plain_spaces())
    assert result.status == "failed"
    assert "the third layer is missing" in result.reason
    assert "ailing_encoders.py:" in result.reason


def test_entropy_bonus_that_drowns_the_reward_fails_at_the_policy() -> None:
    results = ladder(config(algo={"entropy_coef": 5.0}))
    assert statuses(results) == ["ok"] * 3 + ["failed"] * 2
    assert "algo.entropy_coef is 5" in results["action"].reason


def test_clipped_rewards_show_in_the_values() -> None:
    result = train_probe(
        config(algo={"normalize_reward": True, "clip_reward": 0.5}), "observation", plain_spaces()
    )
    assert result.status == "failed"
    assert "algo.clip_reward=0.5" in result.reason


def test_hook_that_stops_learning_is_found() -> None:
    results = ladder(config(hooks=[{"name": "ailing_plugins:StopsLearning"}]))
    assert statuses(results) == ["failed"] * 5


def test_value_on_its_way_past_the_target_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reward of 3 leads values past 1: being there once is not enough."""
    from gymnast.envs.families.probe import ProbeEnv

    monkeypatch.setattr(ProbeEnv, "_reward", lambda self, action: 3.0)
    result = train_probe(config(), "constant", plain_spaces())
    assert result.status == "failed"
    assert "value 3.0" in result.got


@pytest.mark.slow
def test_picture_observations_are_learned_through_an_image_encoder() -> None:
    spaces = Spaces(gym.spaces.Box(0, 255, (3, 16, 16), np.uint8), gym.spaces.Discrete(4))
    settings = config(policy={"encoder": "small", "image": {"features": 16}}, algo={"lr": 1e-3})
    results = ladder(settings, spaces)
    assert statuses(results) == ["ok"] * 5, results
