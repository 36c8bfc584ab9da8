"""What stands beside the picture in a window is all there, and stays where it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pygame")

from gymnast.api.run import find_checkpoint
from gymnast.config.load import load_config
from gymnast.play.controls import Controls
from gymnast.play.game import build_game
from gymnast.play.loop import GameLoop
from gymnast.play.session import Session
from gymnast.play.shown import moment_of
from gymnast.play.window_panel import Panel
from gymnast.runs.trust import load_run_config

MORE = 200  # pixels


@pytest.mark.parametrize(
    "reference",
    ["CartPole-v1:ppo", "gymnast/Bandit-v0:ppo", "MountainCar-v0:ppo", "LunarLanderContinuous-v3:ppo"],
)
def test_nothing_is_cut_off_below(reference: str) -> None:
    game = build_game(load_config(reference).config, None, seed=3)
    try:
        loop = GameLoop(Session(game, "random"), Controls(None), fps=1000)
        loop.tick()
        panel = Panel(loop)
        assert panel.height <= 720
        drawn = panel.draw(moment_of(loop), panel.height + MORE, None)
    finally:
        game.close()
    assert (drawn[panel.height - 8 :] == drawn[-1, -1]).all()
    keys = drawn[panel.height - 110 : panel.height]  # those of the player come last
    assert (keys != drawn[-1, -1]).any()


def test_keys_stay_where_they_are_when_nothing_is_decided(runs: Path) -> None:
    checkpoint = find_checkpoint("@last", runs)
    game = build_game(load_run_config(checkpoint.run, file=checkpoint.config_path()), checkpoint, seed=3)
    try:
        loop = GameLoop(Session(game, "policy"), Controls(None), fps=1000)
        panel = Panel(loop)
        now = moment_of(loop)
        assert now["probabilities"]
        ended = {**now, "probabilities": [], "would": None}
        first, last = (panel.draw(moment, panel.height, None) for moment in (now, ended))
    finally:
        game.close()
    assert not np.array_equal(first, last)
    keys = panel.height - 19 * 6
    assert np.array_equal(first[keys:], last[keys:])
