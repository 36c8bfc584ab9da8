"""Sweep files: W&B's meaning of every key, and one message for what is wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gymnast.config.search import Choice, LogRange, OneMinusLog, Pow2, Range
from gymnast.errors import GymnastError
from gymnast.sweeps.distributions import Beta, Normal, Quantised
from gymnast.sweeps.planning import Wanted, make_plan
from gymnast.sweeps.sweep_file import Hyperband, is_sweep_file, read_sweep_file
from gymnast.trials.trial import HUNG_AFTER

FULL = """
program: gymnast
command: [gymnast, train, LunarLander-v3:ppo, env.n_envs=16, --max-env-steps, 50k, "${args_no_hyphens}"]
method: bayes
name: lander
description: what suits it
project: p
entity: e
metric: {name: eval/return/mean, goal: maximize, target: 250}
run_cap: 60
early_terminate: {type: hyperband, min_iter: 3, eta: 3, s: 2}
parameters:
  algo.lr: {distribution: log_uniform_values, min: 1e-5, max: 1e-2}
  algo.n_steps: {values: [32, 64, 128, 256]}
  algo.gamma: {min: 0.95, max: 0.999}
  algo.n_epochs: {min: 2, max: 10}
  env: {parameters: {frame_skip: {value: 1}}}
gymnast:
  objective: score_auc
  seeds: {race: 2, test: 3}
  scales: {algo.gamma: one_minus_log}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    return path


def with_parameter(tmp_path: Path, spec: str, rest: str = "method: random") -> Path:
    return written(tmp_path, f"{rest}\nparameters:\n  algo.lr: {spec}\n")


def test_every_key(tmp_path: Path) -> None:
    file = read_sweep_file(written(tmp_path, FULL))
    assert file.reference == "LunarLander-v3:ppo"
    assert file.overrides == {"env.n_envs": 16, "budget.env_steps": "50k"}
    assert (file.metric, file.goal, file.target, file.run_cap) == ("eval/return/mean", "maximize", 250, 60)
    assert file.hyperband == Hyperband(3, min_iter=3, s=2)
    assert file.space.constants == {"env.frame_skip": 1}
    assert file.space.dimensions == {
        "algo.lr": LogRange(1e-5, 1e-2),
        "algo.n_steps": Choice((32, 64, 128, 256)),
        "algo.gamma": OneMinusLog(0.95, 0.999),
        "algo.n_epochs": Range(2, 10, whole=True),
    }
    assert (file.name, file.description) == ("lander", "what suits it")


@pytest.mark.parametrize(
    ("spec", "meaning"),
    [
        ("{min: 1, max: 5}", Range(1, 5, whole=True)),
        ("{min: 1.0, max: 5}", Range(1.0, 5)),
        ("{distribution: uniform, min: 1, max: 5}", Range(1, 5)),
        ("{distribution: int_uniform, min: 1, max: 5}", Range(1, 5, whole=True)),
        ("{distribution: q_uniform, min: 0, max: 1, q: 0.25}", Quantised(Range(0, 1), 0.25)),
        ("{distribution: log_uniform_values, min: 0.001, max: 1}", LogRange(0.001, 1)),
        ("{distribution: inv_log_uniform_values, min: 0.001, max: 1}", LogRange(0.001, 1)),
        ("{distribution: q_log_uniform_values, min: 2, max: 64}", LogRange(2, 64, whole=True)),
        ("{distribution: q_log_uniform_values, min: 2, max: 64, q: 2}", Quantised(LogRange(2, 64), 2)),
        ("{distribution: log_uniform, min: -9, max: -2}", LogRange(math.exp(-9), math.exp(-2))),
        ("{distribution: inv_log_uniform, min: 2, max: 9}", LogRange(math.exp(-9), math.exp(-2))),
        ("{distribution: normal, mu: 1, sigma: 2}", Normal(1, 2)),
        ("{mu: 1, sigma: 2}", Normal(1, 2)),
        ("{distribution: q_log_normal, mu: 1, sigma: 2, q: 3}", Normal(1, 2, True, 3)),
        ("{distribution: beta, a: 1, b: 2}", Beta(1, 2)),
        ("{values: [1, 2], probabilities: [0.25, 0.75]}", Choice((1, 2), (0.25, 0.75))),
        ("{distribution: categorical, values: [a, b]}", Choice(("a", "b"))),
        ("{min: '1e-5', max: '1e-2', distribution: log_uniform_values}", LogRange(1e-5, 1e-2)),
    ],
)
def test_distributions(tmp_path: Path, spec: str, meaning: object) -> None:
    assert read_sweep_file(with_parameter(tmp_path, spec)).space.dimensions == {"algo.lr": meaning}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{min: 5, max: 1}", r"min \(5\) must be less than max \(1\)"),
        ("{min: 1}", "needs value, values, or min and max"),
        ("{distribution: log_uniform, min: 0.00001, max: 0.01}", "write distribution: log_uniform_values"),
        ("{distribution: log_uniform_values, min: 0, max: 1}", "begins above 0"),
        ("{distribution: loguniform, min: 1, max: 2}", "did you mean 'log_uniform'"),
        ("{min: 1, max: 2, dist: uniform}", r"algo\.lr\.dist: unknown key"),
        ("{values: []}", "a list with something in it"),
        ("{values: [1, 2], probabilities: [0.5]}", "one number from 0 for each of the 2 values"),
        ("{distribution: q_uniform, min: 0.1, max: 0.2, q: 0.5}", "no multiple of q=0.5"),
        ("{distribution: normal, sigma: -1}", "must be more than 0"),
        ("{min: a, max: b}", "not a number"),
        ("3", "must be a map"),
        ("{value: 3}", "nothing to search"),
    ],
)
def test_impossible_parameters(tmp_path: Path, spec: str, message: str) -> None:
    with pytest.raises(GymnastError, match=message) as caught:
        read_sweep_file(with_parameter(tmp_path, spec))
    assert "sweep.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("metod: random", r"metod: unknown key \(did you mean 'method'"),
        ("method: hyperopt", "must be grid, random, bayes"),
        ("metric: {nam: x}", r"metric\.nam: unknown key"),
        ("metric: {goal: maximize}", "needs a name"),
        ("run_cap: 0", "whole number from 1"),
        ("early_terminate: {type: median}", "only hyperband"),
        ("early_terminate: {type: hyperband}", "needs min_iter, or max_iter with s"),
        ("early_terminate: {type: hyperband, max_iter: 27}", "max_iter needs s"),
        ("gymnast: {seeds: {rac: 3}}", r"gymnast\.seeds\.rac: unknown key"),
        ("gymnast: {objective: auc}", "there is no 'auc'"),
        ("gymnast: {scales: {algo.gama: log}}", "is not searched"),
        ("gymnast: {scales: {algo.lr: pow2}}", "only a range|powers of two"),
        ("gymnast: {patience: 0}", "more than 0 seconds"),
        ("gymnast: {ceiling: .nan}", "must be a number"),
        ("gymnast: {threshold: .inf}", "must be a number"),
        ("gymnast: {on: cloud}", "must be local, ray, modal"),
        ("command: [python, train.py]", "must be a gymnast train"),
        ("command: [gymnast, train, A, B]", "one at a time"),
        ("command: [gymnast, train, A, --resume]", "has no meaning for trials"),
    ],
)
def test_wrong_keys(tmp_path: Path, rest: str, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        read_sweep_file(with_parameter(tmp_path, "{min: 0.0001, max: 0.1}", rest))


def test_a_config_is_not_a_sweep(tmp_path: Path) -> None:
    assert is_sweep_file(written(tmp_path, FULL))
    assert not is_sweep_file(written(tmp_path, "env: {id: CartPole-v1}\n"))


def plan_of(tmp_path: Path, text: str, **options: object) -> object:
    return make_plan(Wanted(str(written(tmp_path, text)), **options), tmp_path)[0]  # type: ignore[arg-type]


CARTPOLE = "command: [gymnast, train, CartPole-v1:ppo]\nmethod: random\nparameters:\n  {}\n"


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("algo.gama: {min: 0.9, max: 0.99}", r"no such setting \(did you mean 'algo\.gamma'"),
        ("algo.gamma: {min: 0.9, max: 1.5}", r"algo\.gamma: 1\.5 is impossible"),
        ("algo.n_epochs: {values: [1, -3]}", r"algo\.n_epochs: -3 is impossible"),
        ("policy.activation: {values: [tanh, thanh]}", r"policy\.activation: 'thanh' is impossible"),
        ("seed: {values: [1, 2, 3]}", r"parameters\.seed: a sweep gives its runs seeds by itself.*--seeds 3"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, parameter: str, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        plan_of(tmp_path, CARTPOLE.format(parameter))


def test_a_metric_that_no_run_has(tmp_path: Path) -> None:
    text = CARTPOLE.format("algo.gamma: {min: 0.9, max: 0.99}") + "metric: {name: eval/retrun/mean}\n"
    with pytest.raises(GymnastError, match=r"eval/return/mean"):
        plan_of(tmp_path, text)


def test_bayes_refuses_what_it_cannot_search(tmp_path: Path) -> None:
    text = CARTPOLE.format("algo.gamma: {distribution: beta, a: 9, b: 1}")
    with pytest.raises(GymnastError, match="use method: random"):
        plan_of(tmp_path, text, method="bayes")


def test_rungs_are_env_steps_of_evaluations(tmp_path: Path) -> None:
    text = CARTPOLE.format("algo.gamma: {min: 0.9, max: 0.99}")
    least = plan_of(tmp_path, text + "early_terminate: {type: hyperband, min_iter: 2, eta: 2, s: 3}\n")
    assert least.rungs == (10_240, 20_480, 40_960)
    assert least.eta == 2
    most = plan_of(tmp_path, text + "early_terminate: {type: hyperband, max_iter: 9, eta: 3, s: 2}\n")
    assert most.rungs == (5_120, 15_360)  # type: ignore[attr-defined]


def test_the_command_line_fixes_what_the_file_searches(tmp_path: Path) -> None:
    text = CARTPOLE.format(
        "algo: {parameters: {gamma: {min: 0.9, max: 0.99}, gae_lambda: {min: 0.9, max: 0.99}}}"
    )
    plan = plan_of(tmp_path, text, overrides=["algo.gamma=0.97"])
    assert set(plan.space.dimensions) == {"algo.gae_lambda"}  # type: ignore[attr-defined]
    assert plan.overrides == {"algo.gamma": 0.97}  # type: ignore[attr-defined]


def test_a_given_seed_is_that_of_the_first_trial(tmp_path: Path) -> None:
    gamma = "algo.gamma: {min: 0.9, max: 0.99}"
    for text, options in (
        (CARTPOLE.format(gamma), {"overrides": ["seed=7"]}),
        (CARTPOLE.format(f"{gamma}\n  seed: {{value: 7}}"), {}),
        (CARTPOLE.replace(":ppo", ":ppo, seed=7").format(gamma), {}),
    ):
        plan = plan_of(tmp_path, text, **options)
        assert plan.seeds.of_trial(2) == [9]  # type: ignore[attr-defined]
        assert "seed" not in plan.overrides  # type: ignore[attr-defined]


def test_a_trial_may_be_silent_for_a_while_and_not_for_ever(tmp_path: Path) -> None:
    text = CARTPOLE.format("algo.gamma: {min: 0.9, max: 0.99}")
    limits = [plan_of(tmp_path, text + more).patience  # type: ignore[attr-defined]
              for more in ("", "gymnast: {patience: 30}\n", "gymnast: {patience: null}\n")]  # fmt: skip
    assert limits == [HUNG_AFTER, 30, None]
    assert plan_of(tmp_path, text + "gymnast: {patience: 30}\n", patience=90.0).patience == 90  # type: ignore[attr-defined]
    with pytest.raises(GymnastError, match="--patience: must be more than 0"):
        plan_of(tmp_path, text, patience=0.0)


def test_pow2_needs_powers(tmp_path: Path) -> None:
    text = CARTPOLE.format("algo.n_steps: {min: 16, max: 128}") + "gymnast: {scales: {algo.n_steps: pow2}}\n"
    plan = plan_of(tmp_path, text)
    assert plan.space.dimensions == {"algo.n_steps": Pow2(16, 128)}  # type: ignore[attr-defined]
