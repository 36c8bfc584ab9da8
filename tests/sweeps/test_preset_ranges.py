"""A config's own `sweep` section narrows what is searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymnast.config.load import load_config
from gymnast.config.search import Choice, OneMinusLog
from gymnast.errors import GymnastError
from gymnast.sweeps.planning import Wanted, make_plan

CONFIG = """
extends: CartPole-v1:ppo
sweep:
  algo.gamma: {{min: 0.97, max: 0.99}}
  algo.clip_range: null
  policy.hidden: {{values: [[16], [32, 32]]}}
  {more}
"""


def config(tmp_path: Path, more: str = "") -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIG.format(more=more))
    return str(path)


def test_ranges_are_narrowed_left_out_and_added(tmp_path: Path) -> None:
    space = make_plan(Wanted(config(tmp_path), method="random"), tmp_path)[0].space
    assert space.dimensions["algo.gamma"] == OneMinusLog(0.97, 0.99)  # of the declared shape
    assert space.dimensions["policy.hidden"] == Choice(([16], [32, 32]))
    assert "algo.clip_range" not in space.dimensions
    assert "algo.n_epochs" in space.dimensions


def test_it_changes_nothing_of_a_training(tmp_path: Path) -> None:
    mine, preset = load_config(config(tmp_path)).config, load_config("CartPole-v1:ppo").config
    assert mine.model_copy(update={"sweep": {}}) == preset


def test_a_wrong_range_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(GymnastError, match=r"algo\.lr\.start: min \(2\) must be less than max \(1\)"):
        make_plan(Wanted(config(tmp_path, "algo.lr.start: {min: 2, max: 1}")), tmp_path)
