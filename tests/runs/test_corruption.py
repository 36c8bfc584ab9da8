"""Any file of a run folder cut, changed, emptied, lost or replaced by a folder: the run still works, from an
earlier checkpoint if need be, or there is one clear error; no checkpoint file is ever deleted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.runs.files import sha256

UPDATE = 64
SMALL = {
    "env.n_envs": 4,
    "env.backend": "sync",
    "algo.n_steps": UPDATE // 4,
    "algo.batch_size": "all",
    "algo.n_epochs": 1,
    "policy.hidden": [4],
    "budget.env_steps": 3 * UPDATE,
    "eval.every": UPDATE,
    "eval.episodes": 1,
    "env.max_episode_steps": 20,
    "stop.eval_return": None,
    "checkpoint.every": UPDATE,
    "checkpoint.keep": 99,
}
RUN_FILES = ("config.yaml", "run.json", "status.json", "metrics.csv", "run.log")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    return api.train("CartPole-v1:ppo", overrides=SMALL, runs_dir=tmp_path_factory.mktemp("runs"))


def cut(path: Path, place: float) -> None:
    path.write_bytes(path.read_bytes()[: int(place * path.stat().st_size)])


def flip(path: Path, place: float) -> None:
    data = bytearray(path.read_bytes())
    at = int(place * (len(data) - 1))
    data[at] ^= 1 << int(place * 1e6) % 8
    path.write_bytes(data)


def empty(path: Path, _place: float) -> None:
    path.write_bytes(b"")


def folder(path: Path, _place: float) -> None:
    path.unlink()
    path.mkdir()


def lose(path: Path, _place: float) -> None:
    path.unlink()


DAMAGES: tuple[Callable[[Path, float], None], ...] = (cut, flip, empty, folder, lose)


def kept(run: Path) -> dict[str, str]:
    """Every file of the checkpoints by its content."""
    found = (path for path in (run / "checkpoints").iterdir() if path.is_file())
    return {sha256(path.read_bytes()): path.name for path in found}


def damaged_copy(
    trained: api.Run, runs: Path, data: st.DataObject, count: int
) -> tuple[Path, dict[str, str], str]:
    shutil.rmtree(runs, ignore_errors=True)
    run = runs / trained.id
    shutil.copytree(trained.path, run)
    files = sorted((run / "checkpoints").iterdir()) + [run / name for name in RUN_FILES]
    what = []
    for path in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=count, unique=True)):
        damage = data.draw(st.sampled_from(DAMAGES))
        damage(path, data.draw(st.floats(0, 1)))
        what.append(f"{damage.__name__} {path.name}")
    return run, kept(run), ", ".join(what)


def attempt(act: Callable[[], Any]) -> Any:
    """What it gives; None if it ends with the one kind of error that a user may see."""
    try:
        return act()
    except GymnastError as error:
        text = str(error)
        assert text
        assert "Traceback" not in text
        return None


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_run_works_or_gives_one_error_and_loses_nothing(
    trained: api.Run, tmp_path: Path, data: st.DataObject
) -> None:
    runs = tmp_path / "runs"
    run, before, what = damaged_copy(trained, runs, data, count=2)
    shown = attempt(lambda: api.show_run(trained.id, runs_dir=runs))
    attempt(lambda: api.list_runs(runs_dir=runs))
    for reference in ("@last", "@best"):
        score = attempt(lambda: api.evaluate(f"{trained.id}/{reference}", episodes=1, runs_dir=runs))  # noqa: B023
        assert score is None or score.env_steps % UPDATE == 0
    assert kept(run) == before, f"reading changes nothing ({what})"
    resumed = attempt(lambda: api.resume(trained.id, max_env_steps=4 * UPDATE, runs_dir=runs))
    lost = {name for digest, name in before.items() if digest not in kept(run)}
    assert not lost, f"{what}: {lost} is gone"
    if resumed is not None:
        assert resumed.outcome.env_steps == 4 * UPDATE
        assert api.evaluate(f"{trained.id}/@last", episodes=1, runs_dir=runs).env_steps == 4 * UPDATE
        updates = [row["time/updates"] for row in resumed.metrics()]
        assert updates == sorted(set(updates))
        assert updates[-1:] == [4]
        assert shown is None or shown.path == str(run)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_one_damaged_file_of_the_newest_checkpoint_never_stops_a_run(
    trained: api.Run, tmp_path: Path, data: st.DataObject
) -> None:
    run = tmp_path / "runs" / trained.id
    shutil.rmtree(run.parent, ignore_errors=True)
    shutil.copytree(trained.path, run)
    newest = f"{3 * UPDATE:012d}"
    path = data.draw(st.sampled_from(sorted(run.glob(f"checkpoints/{newest}*"))))
    data.draw(st.sampled_from(DAMAGES))(path, data.draw(st.floats(0, 0.99)))
    resumed = api.resume(trained.id, max_env_steps=4 * UPDATE, runs_dir=run.parent)
    assert [row["time/updates"] for row in resumed.metrics()] == [1, 2, 3, 4]
    passed_over = f"resumes from step {2 * UPDATE}" in resumed.folder.log_path.read_text()
    assert passed_over != path.name.endswith(".steps.csv")  # a table is no part of its checkpoint
