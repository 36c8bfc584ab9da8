"""The check of an env: silent about a healthy one, and each disease is found, named and located."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from gymnast.doctor import env_process
from gymnast.doctor.env_check import check_env
from gymnast.doctor.finding import Finding
from gymnast.doctor.wrapper_check import check_wrappers
from gymnast.envs.settings import EnvConfig


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymnast.doctor.env_check.STEPS", 120)


def findings(name: str, **env: Any) -> list[Finding]:
    env_id = name if "-v" in name else f"ailing_envs:{name}"
    return list(check_env(EnvConfig.model_validate({"id": env_id, **env}), render=False))


def found(name: str, check: str, **env: Any) -> Finding:
    """The worst finding of this check."""
    order = ("failed", "warning", "info", "ok", "skipped")
    return min((f for f in findings(name, **env) if f.check == check), key=lambda f: order.index(f.status))


def bad(results: list[Finding]) -> list[str]:
    return [f"{f.check}: {f.message}" for f in results if f.status in ("failed", "warning")]


def test_healthy_env_has_no_finding() -> None:
    results = findings("Healthy")
    assert bad(results) == []
    assert {f.check for f in results} >= {
        "build", "bounds", "determinism", "seeds", "resets", "episodes", "rewards", "actions", "speed"
    }  # fmt: skip


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "LunarLander-v3"])
def test_gymnasiums_own_envs_are_healthy(env_id: str) -> None:
    assert [line for line in bad(findings(env_id)) if not line.startswith("rewards")] == []


@pytest.mark.parametrize(
    ("env", "check", "words"),
    [
        ("GlobalRandom", "determinism", "observation"),
        ("DependsOnTheProcess", "determinism", "observation"),
        ("KeepsItsPlace", "resets", "after some steps"),
        ("OutOfBounds", "bounds", "observation[1] is 90; the space has [-30, 30], in step 7"),
        ("WrongDtype", "dtype", "float64; the space has float32"),
        ("WrongShape", "structure", "shape (3,); its space has (2,)"),
        ("NaNObservation", "NaN", "observation[1] is nan, in step 5"),
        ("NaNReward", "NaN", "the reward is nan, in step 3"),
        ("ResetWithoutInfo", "stepping", "reset() must return (observation, info)"),
        ("FourValues", "stepping", "it returned 4 values"),
        ("InfoIsNone", "info", "info is a NoneType, not a dict"),
        ("FlagIsANumber", "flags", "terminated is 0, not True or False"),
        ("RaisesInStep", "stepping", "ZeroDivisionError: nothing to divide by (ailing_envs.py:"),
        ("RaisesInReset", "stepping", "KeyError: 'map' (ailing_envs.py:"),
        ("CannotBeBuilt", "build", "no such level"),
        ("Exits", "stepping", "SystemExit: 3 (ailing_envs.py:"),
    ],
)
def test_disease_is_found_and_located(env: str, check: str, words: str) -> None:
    finding = found(env, check)
    assert finding.status == "failed"
    assert words in finding.message


@pytest.mark.parametrize(
    ("env", "when"),
    [
        ("RaisesInReset", "in the first reset()"),
        ("RaisesInTheFirstStep", "in the first step()"),
        ("FourValues", "after 1 step"),
        ("RaisesInStep", "after 12 steps"),
    ],
)
def test_an_error_says_when_it_was_raised(env: str, when: str) -> None:
    assert found(env, "stepping").message.endswith(f", {when}")


@pytest.mark.parametrize(
    ("env", "check", "words"),
    [
        ("IgnoresTheSeed", "seeds", "seeds 1 and 2 give the same"),
        ("SlightlyOutOfBounds", "bounds", "observation[1] is 31; the space has [-30, 30], in step 7"),
        ("NeverEnds", "episodes", "none ended in 120 random steps, and there is no time limit"),
        ("IgnoresActions", "actions", "change nothing"),
        ("HugeRewards", "rewards", "largest |r|"),
        ("NoRewards", "rewards", "none in 120 random steps"),
    ],
)
def test_what_may_be_meant_is_a_warning_with_advice(env: str, check: str, words: str) -> None:
    finding = found(env, check)
    assert finding.status == "warning"
    assert words in finding.message
    assert finding.advice


def test_size_of_rewards_that_are_normalised_is_no_warning() -> None:
    results = check_env(EnvConfig(id="ailing_envs:HugeRewards"), render=False, normalized=True)
    (rewards,) = [f for f in results if f.check == "rewards"]
    assert rewards.status == "ok"


def test_use_of_the_global_generator_is_named() -> None:
    assert "np.random" in found("GlobalRandom", "determinism").advice
    assert "np.random" not in found("DependsOnTheProcess", "determinism").advice


def test_time_limit_ends_what_never_ends() -> None:
    assert found("NeverEnds", "episodes", max_episode_steps=10).status == "ok"


def test_gymnasiums_check_is_one_line_per_finding() -> None:
    lines = [f for f in findings("WrongDtype") if f.check == "Gymnasium"]
    assert lines
    assert all("\n" not in f.message and "\x1b" not in f.message for f in lines)


def test_masked_env_is_played_within_its_masks() -> None:
    results = findings("Taxi-v4", action_masks=True)
    assert [line for line in bad(results) if "seeds" not in line] == []
    missing = found("CartPole-v1", "masks", action_masks=True)
    assert "no 'action_mask'" in missing.message


def wrapped(*names: str, env: str = "ailing_envs:Healthy") -> list[Finding]:
    wrappers = [{"name": name if "-" in name else f"ailing_plugins:{name}"} for name in names]
    wrappers = [{**w, "cost": 0.1} if w["name"] == "long-episode-penalty" else w for w in wrappers]
    return list(check_wrappers(EnvConfig.model_validate({"id": env, "wrappers": wrappers})))


@pytest.mark.parametrize(
    ("wrapper", "words"),
    [
        ("Thousandfold", "a reward of 1 becomes 1e+03"),
        ("TurnedAround", "a reward of 1 becomes -1"),
        ("Blank", "shows the same whatever the env shows"),
        ("HidesTheEnd", "hides that the episode ended"),
        ("OneAction", "does the same whatever the action is"),
    ],
)
def test_broken_wrapper_is_named_among_others(wrapper: str, words: str) -> None:
    before, broken, after = wrapped("previous-reward", wrapper, "Halved")
    assert (before.status, broken.status) == ("ok", "failed")
    assert broken.check == f"ailing_plugins:{wrapper}"
    assert words in broken.message
    assert after.status == "info"
    assert "a reward of 1 becomes 0.5" in after.message


def test_wrapper_that_needs_the_real_env_is_left_out() -> None:
    skipped, tried = wrapped("NeedsTheRealEnv", "Thousandfold")
    assert skipped.status == "skipped"
    assert tried.status == "failed"


def test_declared_shaping_is_no_defect() -> None:
    (finding,) = wrapped("long-episode-penalty")
    assert finding.status == "ok"
    assert "adds a share of its own" in finding.message
    (shaping,) = wrapped("mountaincar-shaping", env="MountainCar-v0")
    assert shaping.status in ("ok", "skipped")


def test_env_without_wrappers_and_env_that_cannot_be_built_give_none() -> None:
    assert wrapped() == []
    assert wrapped("Halved", env="ailing_envs:CannotBeBuilt") == []


def test_env_that_crashes_its_process_is_a_finding() -> None:
    *_, (about, last) = env_process.check(EnvConfig(id="ailing_envs:Crashes"), render=False)
    assert (about, last.status) == ("env", "failed")
    assert "was killed by SIGSEGV" in last.message


def test_wrapper_of_an_env_with_texts_is_tried() -> None:
    """MiniGrid's mission is a text, which wrappers take out."""
    config = EnvConfig.model_validate(
        {"id": "MiniGrid-Empty-5x5-v0", "wrappers": [{"name": "minigrid-planes"}]}
    )
    (finding,) = check_wrappers(config)
    assert finding.status in ("ok", "skipped")


@pytest.mark.slow
def test_env_that_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymnast.doctor.env_process.PATIENCE", 5.0)
    *_, (_, last) = env_process.check(EnvConfig(id="ailing_envs:Hangs"), render=False)
    assert last.status == "failed"
    assert "the env hangs: nothing for 5 s after the check" in last.message


def test_arguments_that_cannot_be_sent_are_checked_in_this_process() -> None:
    config = EnvConfig(id="gymnast/Probe-Match-v0", kwargs={"action_space": gym.spaces.Discrete(3)})
    found = [finding for about, finding in env_process.check(config, render=False)]
    assert any("Discrete(3)" in finding.message for finding in found)
