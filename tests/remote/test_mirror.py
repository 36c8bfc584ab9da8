"""A run that is kept in two places, by one machine after the other."""

from __future__ import annotations

from pathlib import Path

from gymnast import api
from gymnast.remote.mirror import Mirror, fetch
from gymnast.runs.checkpoint import list_checkpoints, prune
from gymnast.runs.store import RunFolder

SETTINGS = {
    "env.n_envs": 8,
    "algo.n_steps": 32,
    "checkpoint.every": 500,
    "checkpoint.keep": 4,
    "eval.every": 0,
}


def steps(run: RunFolder) -> list[int]:
    return [point.env_steps for point in list_checkpoints(run)]


def names(run: RunFolder) -> set[str]:
    return {str(path.relative_to(run.path)) for path in (run.path / "checkpoints").iterdir()}


def test_what_an_earlier_machine_left_is_pruned_whole(tmp_path: Path) -> None:
    """Also where a checkpoint goes away while it is copied, before the next machine knew of it."""
    trained = api.train("CartPole-v1:ppo", overrides=SETTINGS, max_env_steps=4000, runs_dir=tmp_path / "one")
    first = RunFolder(trained.path)
    (tmp_path / "two").mkdir()
    (tmp_path / "volume").mkdir()
    kept = RunFolder(tmp_path / "volume" / first.id)
    Mirror(first, kept.path).update()
    assert steps(kept) == steps(first)
    assert len(steps(kept)) >= 3

    second = RunFolder(tmp_path / "two" / first.id)
    fetch(kept, second.path)
    assert names(second) == names(kept)
    mirror = Mirror(second, kept.path)
    prune(second, 2)  # before the first update
    mirror.update()
    assert steps(kept) == steps(second)
    assert names(kept) == names(second)
    assert len(steps(kept)) < len(steps(first))
