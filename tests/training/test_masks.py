"""Masks and a run: what is told when they are wrong, and switching them on and off on resume."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gymnast import api
from gymnast.errors import GymnastError, RunFailed

Train = Callable[..., api.Run]


@pytest.mark.parametrize(
    ("how", "message"), [("missing", "gave no info"), ("nothing", "forbids every action")]
)
def test_a_mask_wrong_from_the_start_leaves_no_run(
    how: str, message: str, train: Train, tmp_path: Path
) -> None:
    changes = {"env__kwargs": {"how": how, "after": 0}, "env__action_masks": True}
    with pytest.raises(GymnastError, match=rf"action_envs:BadMasks: env 0 .*{message}"):
        train("action_envs:BadMasks", tmp_path, **changes)
    assert not list(tmp_path.iterdir())


def test_a_mask_that_goes_wrong_later_names_env_and_step(train: Train, tmp_path: Path) -> None:
    changes = {"env__kwargs": {"how": "nothing", "after": 40}, "env__action_masks": True, "eval__every": 0}
    with pytest.raises(
        RunFailed,
        match=r"action_envs:BadMasks: env \d .*forbids every action in step \d+; everything .* is saved",
    ):
        train("action_envs:BadMasks", tmp_path, **changes)


def test_masks_may_be_switched_on_and_off_on_resume(train: Train, tmp_path: Path) -> None:
    run = train("Taxi-v4:ppo", tmp_path, updates=2)
    masked = api.resume(run, overrides={"env.action_masks": True}, max_env_steps=4 * 64, runs_dir=tmp_path)
    log = run.folder.log_path.read_text()
    assert "new episodes start" in log
    entropies = [row["train/entropy"] for row in masked.metrics()]
    assert max(entropies[2:]) < min(entropies[:2]) - 0.2  # fewer choices are left
    plain = api.resume(run, overrides={"env.action_masks": False}, max_env_steps=6 * 64, runs_dir=tmp_path)
    assert len(plain.metrics()) == 6
