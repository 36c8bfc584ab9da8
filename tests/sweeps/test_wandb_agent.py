"""One sweep file under W&B's own agent: the command that it makes of it is one that we understand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gymnast.config.load import load_config
from gymnast.config.reading import parse_yaml
from gymnast.sweeps.export import wandb_file
from gymnast.sweeps.planning import Wanted, make_plan

utils = pytest.importorskip("wandb.sdk.launch.sweeps.utils")

FILE = """
command: [gymnast, train, CartPole-v1:ppo, "${args_no_hyphens}"]
method: random
parameters:
  algo.target_kl: {values: [null, 0.02]}
  algo.normalize_reward: {values: [true, false]}
  algo.lr.start: {distribution: log_uniform_values, min: 1e-5, max: 1e-2}
  policy.hidden: {values: [[32, 32], [64]]}
  env: {parameters: {n_envs: {value: 16}}}
"""


def agents_command(file: dict[str, Any], chosen: dict[str, Any]) -> list[str]:
    """What `wandb agent` starts for these values."""
    made = utils.create_sweep_command_args({"args": {key: {"value": value} for key, value in chosen.items()}})
    words: list[str] = []
    for word in file["command"]:
        words += made["args_no_hyphens"] if word == "${args_no_hyphens}" else [str(word)]
    return words


def trained_by(words: list[str]) -> Any:
    reference = words[words.index("train") + 1]
    settings = [word for word in words[words.index(reference) + 1 :] if "=" in word]
    return load_config(reference, settings).config


def test_what_the_agent_starts_has_the_values_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(FILE)
    chosen = {
        "algo.target_kl": None, "algo.normalize_reward": True, "algo.lr.start": 1e-05, "policy.hidden": [64],
        "env": {"n_envs": 16},
    }  # fmt: skip
    config = trained_by(agents_command(parse_yaml(FILE, "file"), chosen))
    assert (config.algo.target_kl, config.algo.normalize_reward) == (None, True)
    assert config.algo.lr.start == 1e-05
    assert list(config.policy.hidden) == [64]
    assert (config.env.id, config.env.n_envs) == ("CartPole-v1", 16)
    # The exported file has only keys that W&B knows, and the same values, the fixed ones in its command.
    plan, _ = make_plan(Wanted(str(path)), tmp_path)
    exported = parse_yaml(wandb_file(plan), "export")
    assert set(exported) == {"program", "command", "method", "metric", "run_cap", "parameters"}
    del chosen["env"]
    again = trained_by(agents_command(exported, chosen))
    assert (again.env, again.algo, again.policy) == (config.env, config.algo, config.policy)


def test_an_exported_sweep_has_the_same_rungs_and_target(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(f"{FILE}metric: {{name: eval/return/mean, goal: maximize, target: 400}}\n")
    plan, _ = make_plan(Wanted(str(path)), tmp_path)
    path.write_text(wandb_file(plan))
    assert make_plan(Wanted(str(path)), tmp_path)[0].objective == plan.objective
    for rest in ("{type: hyperband, min_iter: 2, eta: 2, s: 3}", "{type: hyperband, max_iter: 9, s: 2}"):
        path.write_text(f"{FILE}early_terminate: {rest}\n")
        plan, _ = make_plan(Wanted(str(path)), tmp_path)
        path.write_text(wandb_file(plan))
        again, _ = make_plan(Wanted(str(path)), tmp_path)
        assert len(plan.rungs) > 1
        assert (again.rungs, again.eta) == (plan.rungs, plan.eta)
