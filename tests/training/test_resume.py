"""A run that was stopped and resumed ends as the one that never was, bit for bit."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.envs.build import make_env
from gymnast.envs.settings import EnvConfig
from gymnast.envs.states import can_carry
from gymnast.errors import GymnastError
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs.checkpoint import best_checkpoint, list_checkpoints
from gymnast.training.run.keys import TerminalKeys

UPDATES = 9
STEPS = 16
Stopper = Callable[[int], TerminalKeys]
Same = Callable[[api.Run, api.Run], None]

SCHEDULES: dict[str, Any] = {
    "algo.lr": {"kind": "linear", "start": 1e-3, "end": 0},
    "algo.clip_range": {"kind": "cosine", "start": 0.3, "end": 0.1},
    "algo.entropy_coef": [[0, 0.02], [0.5, 0.0]],
}
# Each: reference, settings beside the common ones. Short time limits, so that episodes end either way.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "cartpole-native": ("CartPole-v1:ppo", {"env.backend": "native", **SCHEDULES}),
    "cartpole-sync": ("CartPole-v1:ppo", {"env.backend": "sync", "algo.batch_size": 0.25}),
    "acrobot": ("Acrobot-v1:ppo", {"env.backend": "sync", "env.max_episode_steps": 30}),
    "mountaincar-shaped": (
        "MountainCar-v0:ppo",
        {
            "env.backend": "sync",
            "env.max_episode_steps": 25,
            "env.wrappers": ["mountaincar-shaping", {"name": "count-bonus", "weight": 0.5, "bins": 6}],
        },
    ),
    "pendulum": (
        "Pendulum-v1:ppo",
        {
            "env.backend": "sync",
            "env.max_episode_steps": 20,
            "policy.normalize_obs": "running",
            "policy.state_dependent_std": True,
            "algo.normalize_reward": True,
            "algo.batch_size": 0.5,
        },
    ),
    "frozenlake": ("FrozenLake-v1:ppo", {"env.backend": "sync"}),
    "taxi": ("Taxi-v4:ppo", {"env.backend": "sync", "env.max_episode_steps": 20}),
    "taxi-masked": ("Taxi-v4:ppo-masked", {"env.backend": "sync", "env.max_episode_steps": 20}),
    "parts-masked-workers": (
        "action_envs:RightAction",
        {
            "env.backend": "workers",
            "env.workers": 2,
            "env.kwargs": {"space": "dict", "masked": True},
            "env.action_masks": True,
            "algo.batch_size": 0.5,
        },
    ),
    "masked-memory": (
        "action_envs:RightAction",
        {
            "env.backend": "sync",
            "env.kwargs": {"space": "multi-discrete", "masked": True},
            "env.action_masks": True,
            "policy.memory": "gru",
            "policy.memory_size": 8,
        },
    ),
    "bandit": ("gymnast/Bandit-v0:ppo", {"env.backend": "sync", "env.kwargs": {"arms": 10, "horizon": 7}}),
    "acrobot-workers": (
        "Acrobot-v1:ppo",
        {"env.backend": "workers", "env.workers": 2, "env.max_episode_steps": 30, "eval.every": 0},
    ),
    "minigrid": ("MiniGrid-DoorKey-5x5-v0:ppo", {"env.backend": "native"}),
    "ahead": ("CartPole-v1:ppo", {"env.backend": "native", "algo.collect_ahead": True, **SCHEDULES}),
    "ahead-groups-workers": (
        "Acrobot-v1:ppo",
        {
            "env.backend": "workers",
            "env.workers": 2,
            "env.groups": 2,
            "env.max_episode_steps": 30,
            "policy.normalize_obs": "running",
            "algo.collect_ahead": True,
            "algo.target_kl": 1e-4,
            "algo.n_epochs": 4,
            "algo.batch_size": 0.25,
        },
    ),
    "ahead-frames-torch": (
        "Taxi-v4:ppo-masked",
        {
            "env.backend": "sync",
            "env.max_episode_steps": 20,
            "engine": "torch",
            "policy.frame_stack": 2,
            "algo.collect_ahead": True,
            "algo.target_kl": 0.01,
        },
    ),
    "cartpole-torch": ("CartPole-v1:ppo", {"engine": "torch", "policy.normalize_obs": "running"}),
}


def case(name: str, updates: int = UPDATES) -> dict[str, Any]:
    reference, changes = CASES[name]
    common = {
        "env.n_envs": 4,
        "algo.n_steps": STEPS,
        "algo.batch_size": "all",
        "algo.n_epochs": 2,
        "algo.gamma": 0.98,
        "budget.env_steps": updates * 4 * STEPS,
        "eval.every": 2 * 4 * STEPS,
        "eval.episodes": 3,
        "stop.eval_return": None,
    }
    return {"reference": reference, "overrides": common | changes}


def train_in_parts(start: dict[str, Any], stops: Iterable[int], stopper: Stopper, runs_dir: Path) -> api.Run:
    """Train, interrupted after each of the updates in `stops`."""
    run: api.Run | None = None
    done = 0
    for stop in (*stops, None):
        requests = None if stop is None else stopper(stop - done)
        if run is None:
            run = api.train(**start, runs_dir=runs_dir, requests=requests)
        else:
            run = api.resume(run.id, runs_dir=runs_dir, requests=requests)
        if stop is not None:
            assert run.outcome.status == "interrupted"
            assert run.outcome.env_steps == stop * 4 * STEPS
            done = stop
    assert run is not None
    assert run.outcome.status == "finished"
    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_resumed_run_equals_the_one_never_stopped(
    name: str, tmp_path: Path, stop_after: Stopper, assert_same_run: Same
) -> None:
    if name.endswith("torch"):
        pytest.importorskip("torch")
    if name == "minigrid":
        pytest.importorskip("minigrid")
    whole = api.train(**case(name), runs_dir=tmp_path)
    parts = train_in_parts(case(name), (1, 6), stop_after, tmp_path)
    assert_same_run(whole, parts)
    log = parts.folder.log_path.read_text()
    assert log.count("resumes from step") == 2
    assert "new episodes" not in log


@pytest.mark.parametrize(
    ("env_id", "row", "package", "exact"),
    [
        ("LunarLander-v3", "LunarLander", "Box2D", True),
        ("Blackjack-v1", "Blackjack", "gymnasium", True),
        ("MiniGrid-DoorKey-5x5-v0", "MiniGrid", "minigrid", True),
        ("BabyAI-GoToObj-v0", "BabyAI", "minigrid", True),
        ("HalfCheetah-v5", "MuJoCo", "mujoco", True),
        ("BipedalWalker-v3", "BipedalWalker", "Box2D", False),
        ("CarRacing-v3", "CarRacing", "Box2D", False),
    ],
)
def test_table_of_exact_resumes_holds(env_id: str, row: str, package: str, exact: bool) -> None:
    pytest.importorskip(package)
    env = make_env(EnvConfig(id=env_id))
    assert can_carry(env) == exact
    env.close()
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    lines = page.split("### States")[1].splitlines()
    line = next(line for line in lines if line.startswith("|") and row in line.split("|")[1])
    assert line.endswith("| exact |" if exact else "| new episodes |")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, api.Run]:
    root = tmp_path_factory.mktemp("whole")
    return {name: api.train(**case(name), runs_dir=root) for name in ("cartpole-native", "pendulum")}


@pytest.mark.slow
@settings(max_examples=6)
@given(
    stops=st.sets(st.integers(1, UPDATES - 1), min_size=1, max_size=4),
    name=st.sampled_from(("cartpole-native", "pendulum")),
)
def test_run_stopped_at_any_updates_equals_the_one_never_stopped(
    stops: set[int],
    name: str,
    whole: dict[str, api.Run],
    tmp_path_factory: pytest.TempPathFactory,
    stop_after: Stopper,
    assert_same_run: Same,
) -> None:
    parts = train_in_parts(case(name), sorted(stops), stop_after, tmp_path_factory.mktemp("parts"))
    assert_same_run(whole[name], parts)


def test_terminated_process_resumes_exactly(tmp_path: Path, assert_same_run: Same) -> None:
    typed = (
        "train CartPole-v1:ppo env.backend=sync checkpoint.seconds=0 eval.every=8000 eval.episodes=2"
        " stop.eval_return=null --max-env-steps 40000 -q"
    )
    words = [sys.executable, "-m", "gymnast", *typed.split()]
    stopped = subprocess.Popen([*words, "--runs-dir", str(tmp_path / "stopped")])
    metrics = _wait_for(lambda: next((tmp_path / "stopped").glob("*/metrics.csv"), None))
    _wait_for(lambda: len(metrics.read_bytes().splitlines()) > 5)
    stopped.send_signal(signal.SIGTERM)
    assert stopped.wait(30) == 3
    at = read_metrics(metrics)[-1]["time/env_steps"]
    assert 0 < at < 40_000
    resumed = api.resume(runs_dir=tmp_path / "stopped")
    # The same settings, in a process of its own too.
    done = subprocess.run(
        [*words, "--runs-dir", str(tmp_path / "whole")], timeout=60, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (folder,) = (path.parent for path in (tmp_path / "whole").glob("*/run.json"))
    assert_same_run(resumed, api.Run(type(resumed.folder)(folder), resumed.outcome))


def _wait_for(look: Callable[[], Any], seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_larger_budget_resumes_and_schedules_follow_the_new_total(tmp_path: Path) -> None:
    start = case("cartpole-native", updates=4)
    run = api.train(**start, runs_dir=tmp_path)
    total = 8 * 4 * STEPS
    run = api.resume(run.id, max_env_steps=total, runs_dir=tmp_path)
    assert (run.outcome.status, run.outcome.env_steps) == ("finished", total)
    rows = run.metrics()
    assert [row["time/updates"] for row in rows] == list(range(1, 9))
    # Before the resume the rate falls over 4 updates, after it as in a run of 8.
    shares = [i / 4 for i in range(4)] + [i / 8 for i in range(4, 8)]
    assert [row["opt/lr"] for row in rows] == pytest.approx([1e-3 * (1 - share) for share in shares])
    assert rows[3]["time/progress"] == 1.0
    assert rows[4]["time/progress"] == pytest.approx(5 / 8)
    (record,) = run.folder.info()["resumes"]
    assert record["env_steps"] == total // 2
    assert f"env_steps: {total // 2}" in record["config_before"]
    assert f"env_steps: {total}" in run.folder.config_text()


def test_resume_of_a_spent_run_names_the_option_and_changes_nothing(tmp_path: Path) -> None:
    run = api.train(**case("bandit", updates=2), runs_dir=tmp_path)
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    with pytest.raises(GymnastError, match=r"step budget is spent.*--max-env-steps 256") as caught:
        api.resume(run.id, runs_dir=tmp_path)
    assert caught.value.exit_code == 2
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_fresh_optimizer_keeps_weights_and_forgets_moments(
    tmp_path: Path, stop_after: Stopper, end_state: Callable[[api.Run], dict[str, Any]]
) -> None:
    start = case("cartpole-sync")
    run = api.train(**start, runs_dir=tmp_path, requests=stop_after(4))
    before = end_state(run)
    # lr 0: weights stay where they were, whatever the optimiser does.
    run = api.resume(
        run.id, overrides={"algo.lr": 0}, fresh_optimizer=True, runs_dir=tmp_path, requests=stop_after(1)
    )
    after = end_state(run)
    minibatches = 2 * 4  # epochs × quarters
    assert before["state"]["learner"]["optimizer"]["steps"] == 4 * minibatches
    assert after["state"]["learner"]["optimizer"]["steps"] == minibatches
    assert all((after["policy"][name] == value).all() for name, value in before["policy"].items())
    assert "the optimiser starts from scratch" in run.folder.log_path.read_text()


def test_changed_settings_take_effect_and_are_recorded(
    tmp_path: Path, stop_after: Stopper, end_state: Callable[[api.Run], dict[str, Any]]
) -> None:
    run = api.train(**case("cartpole-sync"), runs_dir=tmp_path, requests=stop_after(3))
    run = api.resume(
        run.id, overrides=["algo.gamma=0.5", "algo.n_epochs=3"], runs_dir=tmp_path, requests=stop_after(1)
    )
    rows = run.metrics()
    assert [row["opt/gamma"] for row in rows[2:]] == [0.98, 0.5]
    assert [row["train/epochs_done"] for row in rows[2:]] == [2, 3]
    assert end_state(run)["state"]["learner"]["optimizer"]["steps"] == (3 * 2 + 3) * 4
    # What was changed stays changed in the next resume.
    run = api.resume(run.id, runs_dir=tmp_path)
    assert run.metrics()[-1]["opt/gamma"] == 0.5


def test_higher_score_is_the_best_also_after_a_raised_threshold(tmp_path: Path) -> None:
    easy = {"seed": 1, "env.spec.solved_at": 60, "stop.eval_return": "solved", "eval.every": 2048}
    run = api.train("CartPole-v1:ppo", overrides=easy, runs_dir=tmp_path)
    assert run.outcome.status == "solved"
    reached = run.outcome.best_score
    assert reached is not None
    run = api.resume(
        run.id, overrides={"env.spec.solved_at": 499, "stop.eval_return": reached + 20}, runs_dir=tmp_path
    )
    later = run.outcome.best_score
    assert later is not None
    assert later >= reached + 20
    assert run.metrics()[-1]["eval/solved"] == (later >= 499)
    best = best_checkpoint(run.folder)
    assert best is not None
    assert best.sidecar().score == later


def test_another_number_of_envs_starts_new_episodes(tmp_path: Path, stop_after: Stopper) -> None:
    for backend in ("native", "sync"):
        start = case("cartpole-native")
        start["overrides"]["env.backend"] = backend
        run = api.train(**start, runs_dir=tmp_path, requests=stop_after(3))
        first_obs = run.metrics()[0]["env/obs/mean"]
        run = api.resume(
            run.id, overrides=["env.n_envs=4", "algo.n_steps=8"], runs_dir=tmp_path, requests=stop_after(1)
        )
        assert "new episodes" not in run.folder.log_path.read_text(), (
            "only the length of a rollout was changed"
        )
        run = api.resume(run.id, overrides=["env.n_envs=6"], runs_dir=tmp_path, requests=stop_after(1))
        assert "of another number of envs: new episodes start" in run.folder.log_path.read_text()
        row = run.metrics()[-1]
        assert row["time/env_steps"] == 3 * 64 + 32 + 48
        assert row["env/obs/mean"] != first_obs, "the run's first episodes are not played again"


def test_changed_network_is_refused_and_nothing_lost(tmp_path: Path, stop_after: Stopper) -> None:
    run = api.train(**case("cartpole-sync"), runs_dir=tmp_path, requests=stop_after(3))
    config, saved = run.folder.config_text(), list_checkpoints(run.folder)
    with pytest.raises(GymnastError, match="another policy section"):
        api.resume(run.id, overrides=["policy.hidden=[8]"], runs_dir=tmp_path)
    assert run.folder.config_text() == config
    assert list_checkpoints(run.folder) == saved
    assert api.resume(run.id, runs_dir=tmp_path).outcome.status == "finished"


def test_engine_may_change_and_change_back(
    tmp_path: Path, stop_after: Stopper, end_state: Callable[[api.Run], dict[str, Any]]
) -> None:
    pytest.importorskip("torch")
    whole = api.train(**case("pendulum"), runs_dir=tmp_path)
    run = api.train(**case("pendulum"), runs_dir=tmp_path, requests=stop_after(3))
    run = api.resume(run.id, overrides=["engine=torch"], runs_dir=tmp_path, requests=stop_after(3))
    run = api.resume(run.id, overrides=["engine=numpy"], runs_dir=tmp_path)
    assert run.outcome.status == "finished"
    ours, theirs = end_state(run), end_state(whole)
    assert ours["state"]["learner"]["optimizer"]["steps"] == theirs["state"]["learner"]["optimizer"]["steps"]
    # Rounding differs, learning does not: after so few updates the weights are still next to each other.
    for name, value in theirs["policy"].items():
        assert ours["policy"][name] == pytest.approx(value, rel=0.05, abs=0.02), name


def test_env_that_cannot_be_restored_is_reported_and_the_run_continues(
    tmp_path: Path, stop_after: Stopper
) -> None:
    settings = {
        "env.n_envs": 2,
        "env.backend": "sync",
        "algo.n_steps": 32,
        "algo.batch_size": "all",
        "algo.n_epochs": 1,
        "budget.env_steps": 256,
        "eval.every": 0,
    }
    run = api.train("BipedalWalker-v3:ppo", overrides=settings, runs_dir=tmp_path, requests=stop_after(2))
    run = api.resume(run.id, runs_dir=tmp_path)
    assert (run.outcome.status, run.outcome.env_steps) == ("finished", 256)
    log = run.folder.log_path.read_text()
    assert "the state of the envs cannot be restored: new episodes start" in log
    assert [row["time/updates"] for row in run.metrics()] == [1, 2, 3, 4]


def test_run_that_never_trained_starts_from_the_beginning(
    tmp_path: Path, whole: dict[str, api.Run], assert_same_run: Same, stop_after: Stopper
) -> None:
    run = api.train(**case("cartpole-native"), runs_dir=tmp_path, requests=stop_after(3))
    for path in (*run.folder.checkpoints.iterdir(), run.folder.metrics_path, run.folder.status_path):
        path.unlink()  # as if it had been killed before its first update ended
    run = api.resume(runs_dir=tmp_path)
    assert "starts from the beginning" in run.folder.log_path.read_text()
    assert_same_run(whole["cartpole-native"], run)


@pytest.mark.parametrize("left", ["metrics.csv", "status.json", "both"])
def test_trained_run_without_checkpoints_is_refused_and_nothing_lost(
    left: str, tmp_path: Path, stop_after: Stopper
) -> None:
    run = api.train(**case("cartpole-native"), runs_dir=tmp_path, requests=stop_after(3))
    for path in run.folder.checkpoints.iterdir():
        path.unlink()
    for name in {"metrics.csv", "status.json"} - {left} if left != "both" else ():
        (run.path / name).unlink()
    files = {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    with pytest.raises(
        GymnastError, match=f"has no checkpoint though it was trained to step {3 * 64}"
    ) as caught:
        api.resume(runs_dir=tmp_path)
    assert caught.value.exit_code == 2
    assert f"gymnast train {run.folder.config_path}" in str(caught.value)
    assert {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()} == files


def test_same_seed_same_run_other_seed_other_run(
    tmp_path: Path,
    whole: dict[str, api.Run],
    assert_same_run: Same,
    end_state: Callable[[api.Run], dict[str, Any]],
) -> None:
    assert_same_run(whole["cartpole-native"], api.train(**case("cartpole-native"), runs_dir=tmp_path))
    start = case("cartpole-native")
    start["overrides"]["seed"] = 1
    other = end_state(api.train(**start, runs_dir=tmp_path))
    mine = end_state(whole["cartpole-native"])
    assert any((mine["policy"][name] != value).any() for name, value in other["policy"].items())


def test_backends_of_single_envs_give_the_same_run(tmp_path: Path, assert_same_run: Same) -> None:
    """Where envs are stepped must not change what is learned."""
    start = case("acrobot-workers")
    workers = api.train(**start, runs_dir=tmp_path)
    start["overrides"]["env.backend"] = "sync"
    assert_same_run(workers, api.train(**start, runs_dir=tmp_path))
