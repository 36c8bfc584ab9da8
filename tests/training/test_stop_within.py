"""A stop and the wall time are honoured within a rollout and an evaluation; nothing trained is lost."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.metrics.csv_file import read_metrics
from gymnast.runs import registry
from gymnast.runs.checkpoint import list_checkpoints, load_checkpoint
from gymnast.runs.store import RunFolder, run_folders
from gymnast.training.requests import AnyOf, Request
from gymnast.training.run.keys import TerminalKeys

pytestmark = pytest.mark.usefixtures("envs_importable")
ENDLESS = "endless_envs:Endless"
STEPS = 64
Train = Callable[..., api.Run]
Same = Callable[[api.Run, api.Run], None]


class Process:
    """`gymnast train` of an endless env, in a terminal of its own if asked for."""

    def __init__(self, runs: Path, typed: str, terminal: bool = False) -> None:
        words = f"train {ENDLESS} env.n_envs=2 env.backend=sync algo.batch_size=all {typed}"
        self.runs = runs
        self.screen, theirs = pty.openpty() if terminal else (None, None)
        kinds: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs} if terminal else {}
        own = "fcntl.ioctl(0, termios.TIOCSCTTY, 0);" if terminal else ""
        code = f"import fcntl, termios;{own} from gymnast.cli.app import main; main()"
        argv = [sys.executable, "-c", code, *words.split(), "--runs-dir", str(runs)]
        self.process = subprocess.Popen(argv, start_new_session=True, **kinds)

    def wait_for(self, text: str, seconds: float = 60) -> RunFolder:
        """Until the run's log has the text."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, "it ended too early"
            for folder in run_folders(self.runs):
                if folder.log_path.exists() and text in folder.log_path.read_text():
                    return folder
            time.sleep(0.02)
        raise AssertionError(f"the log never had {text!r}")

    def ended(self, within: float) -> int:
        """The exit code; the test fails if it takes longer."""
        return self.process.wait(within)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def begin(typed: str, **more: Any) -> Process:
        started.append(Process(tmp_path, typed, **more))
        return started[-1]

    yield begin
    for process in started:
        if process.process.poll() is None:
            process.process.kill()
            process.process.wait()


# Evaluations of 10,000 steps of 10 ms each.
IN_EVALUATION = "env.kwargs.sleep=0.01 algo.n_steps=8 eval.every=16 eval.episodes=1"
# An update of quick steps, then a rollout of 1,000 × 20 ms.
IN_ROLLOUT = (
    "env.kwargs.sleep=0.02 env.kwargs.slow_after=1000 algo.n_steps=1000 eval.every=0 checkpoint.every=1"
)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_an_evaluation(start: Callable[..., Process], number: signal.Signals) -> None:
    process = start(f"{IN_EVALUATION} -q")
    run = process.wait_for("(before evaluation)")
    process.process.send_signal(number)
    assert process.ended(within=15) == 3
    assert "the evaluation after step 16 was dropped" in run.log_path.read_text()
    (entry,) = registry.entries(process.runs)
    assert (entry.status, entry.reason) == ("interrupted", f"stopped by {number.name}")
    (row,) = read_metrics(run.metrics_path)
    assert "eval/return/mean" not in row
    (checkpoint,) = list_checkpoints(run)
    sidecar = checkpoint.sidecar()
    assert (sidecar.env_steps, sidecar.score, sidecar.reason) == (16, None, "interrupted")
    resumed = api.resume(
        entry.id,
        overrides={"env.kwargs": {}, "eval.every": 0},
        max_env_steps=48,
        runs_dir=process.runs,
    )
    assert [row["time/updates"] for row in resumed.metrics()] == [1, 2, 3]
    assert "new episodes" not in run.log_path.read_text()


def test_runs_stop_ends_a_rollout(start: Callable[..., Process]) -> None:
    process = start(f"{IN_ROLLOUT} -q")
    run = process.wait_for("checkpoint 2000 ")
    time.sleep(0.5)
    done = subprocess.run(
        [sys.executable, "-m", "gymnast", "runs", "stop", run.id, "--runs-dir", str(process.runs), "--json"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert process.ended(within=15) == 3
    assert done.returncode == 0, done.stderr
    (entry,) = registry.entries(process.runs)
    assert (entry.status, entry.reason) == ("interrupted", "stopped on request")
    assert "the rollout after step 2,000 was dropped" in run.log_path.read_text()
    assert [c.env_steps for c in list_checkpoints(run)] == [2000]


def test_q_ends_a_rollout(start: Callable[..., Process]) -> None:
    process = start(IN_ROLLOUT, terminal=True)
    run = process.wait_for("checkpoint 2000 ")
    assert process.screen is not None
    os.write(process.screen, b"q")
    assert _code_while_reading(process) == 3
    assert "interrupted: stopped on request" in run.log_path.read_text()


def _code_while_reading(process: Process) -> int:
    """A terminal that nobody reads fills up."""
    import select

    end = time.monotonic() + 15
    while process.process.poll() is None and time.monotonic() < end:
        assert process.screen is not None
        if select.select([process.screen], [], [], 0.05)[0]:
            os.read(process.screen, 65536)
    return process.ended(within=0.1)


def test_keys_pressed_in_a_rollout_are_returned_by_the_next_poll() -> None:
    ours, theirs = pty.openpty()
    script = (
        "import fcntl, os, sys, termios, time\n"
        "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "from gymnast.training.run.keys import TerminalKeys\n"
        "with TerminalKeys() as keys:\n"
        "    keys.stop_asked(); print('listening', flush=True, file=sys.stderr)\n"
        "    while not keys.stop_asked(): time.sleep(0.01)\n"
        "    assert keys.stop_asked(), 'asking takes nothing away'\n"
        "    print(*sorted(r.name for r in keys.poll()), keys.poll(), file=sys.stderr)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert child.stderr is not None
    assert child.stderr.readline() == "listening\n"
    for key in b"cpeq":
        os.write(ours, bytes([key]))
        time.sleep(0.1)
    assert child.stderr.readline() == "CHECKPOINT EVALUATE PAUSE STOP set()\n"
    assert child.wait(10) == 0


SOURCES: dict[str, dict[str, Any]] = {
    "sync": {},
    "workers": {"env__backend": "workers", "env__workers": 2},
    "groups": {"env__groups": 2},
    "ahead": {"algo__collect_ahead": True},
    "ahead-saving": {"algo__collect_ahead": True, "checkpoint__every": 1},
    "ahead-workers": {"algo__collect_ahead": True, "env__backend": "workers", "env__workers": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_wall_time_is_kept_within_a_rollout(name: str, train: Train, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    slow = {"sleep": 0.05, "slow_after": 48, "starts": str(starts)}
    began = time.monotonic()
    run = train(
        ENDLESS,
        tmp_path / "runs",
        updates=1000,
        algo__n_steps=40,  # with all copies in one process 8 s
        budget__wall_time="1s",
        eval__every=0,
        checkpoint__rollout_table=False,  # it would play an episode too
        env__kwargs=slow,
        **SOURCES[name],
    )
    assert time.monotonic() - began < 20
    assert (run.outcome.status, run.outcome.reason) == ("finished", "the wall time is spent")
    assert run.outcome.seconds < 6  # 1 s, 2 s in which the rollout may end by itself, and a step
    steps = run.outcome.env_steps
    assert steps % 160 == 0
    assert [row["time/env_steps"] for row in run.metrics()] == list(range(160, steps + 1, 160))
    assert f"the rollout after step {steps} was dropped" in run.folder.log_path.read_text()
    (checkpoint,) = list_checkpoints(run.folder)
    assert checkpoint.env_steps == steps
    seen = starts.read_text().split()
    resumed = api.resume(
        run,
        overrides={"budget.wall_time": None, "env.kwargs": {"starts": str(starts)}},
        max_env_steps=steps + 320,
        runs_dir=tmp_path / "runs",
    )
    assert resumed.outcome.env_steps == steps + 320
    if name.startswith("ahead"):  # the same rollout is collected again
        assert "new episodes start" not in resumed.folder.log_path.read_text()
        return
    assert "new episodes start" in resumed.folder.log_path.read_text()
    new = starts.read_text().split()[-4:]
    assert not set(new) & set(seen), "episodes that were played before"


@pytest.mark.parametrize("background", [False, True], ids=["inline", "background"])
def test_wall_time_is_kept_within_an_evaluation(train: Train, tmp_path: Path, background: bool) -> None:
    run = train(
        ENDLESS,
        tmp_path,
        updates=1,
        budget__wall_time="1s",
        env__kwargs={"sleep": 0.01},  # an evaluation of 10,000 steps takes 100 s
        eval__every=STEPS,
        eval__episodes=1,
        eval__background=background,
    )
    assert run.outcome.seconds < 6
    assert (run.outcome.status, run.outcome.env_steps) == ("finished", STEPS)
    assert run.outcome.last_score is None
    assert "the evaluation after step 64 was dropped" in run.folder.log_path.read_text()
    assert [c.sidecar().reason for c in list_checkpoints(run.folder)] == ["finished"]


def test_rollout_that_ends_soon_is_learned_from_and_resumes_exactly(
    train: Train, tmp_path: Path, assert_same_run: Same
) -> None:
    """Asked to stop in the middle of a rollout of about half a second."""

    class StopsInRollout(AnyOf):
        """Asks for a stop from its third look on, and for a checkpoint meanwhile."""

        looks = 0

        def stop_asked(self) -> bool:
            self.looks += 1
            return self.looks > 3

        def poll(self) -> set[Request]:
            return {Request.STOP, Request.CHECKPOINT} if self.looks > 3 else set()

    changes: dict[str, Any] = {"updates": 4, "env__kwargs": {"sleep": 0.01}, "eval__every": 0}
    whole = train(ENDLESS, tmp_path, **changes)
    requests: Any = StopsInRollout()
    run = train(ENDLESS, tmp_path, requests=requests, **changes)
    assert (run.outcome.status, run.outcome.reason) == ("interrupted", "stopped on request")
    assert 0 < run.outcome.env_steps < 4 * STEPS
    assert_same_run(whole, api.resume(run, runs_dir=tmp_path))


def test_stop_in_the_first_rollout_leaves_a_run_that_starts_again(
    start: Callable[..., Process],
) -> None:
    process = start("env.kwargs.sleep=0.02 algo.n_steps=1000 eval.every=0 -q")
    run = process.wait_for("started")
    time.sleep(1.0)
    process.process.send_signal(signal.SIGTERM)
    assert process.ended(within=15) == 3
    assert list_checkpoints(run) == []
    resumed = api.resume(
        run.id,
        overrides={"env.kwargs": {}, "algo.n_steps": 8},
        max_env_steps=16,
        runs_dir=process.runs,
    )
    assert resumed.outcome.status == "finished"


def test_run_killed_in_its_first_evaluation_resumes_exactly(
    start: Callable[..., Process], tmp_path: Path, assert_same_run: Same
) -> None:
    rule = {"metric": "eval/return/mean", "patience": 1, "setting": "lr", "multiply": 0.5}
    settings = {
        "algo.n_steps": 32,
        "budget.env_steps": 384,
        "checkpoint.seconds": 0,
        "eval.every": 128,
        "eval.episodes": 1,
        "eval.max_episode_steps": 10_000,
        "interventions": json.dumps([rule], separators=(",", ":")),
    }
    overrides = [f"{key}={value}" for key, value in settings.items()]
    process = start(" ".join([*overrides, "-q"]))
    run = process.wait_for("checkpoint 128 (before evaluation)")
    process.process.kill()
    process.process.wait()
    (checkpoint,) = list_checkpoints(run)
    assert load_checkpoint(checkpoint)[1]["counters"]["updates"] == 2
    resumed = api.resume(run.id, runs_dir=tmp_path)
    rows = resumed.metrics()
    assert [row["time/updates"] for row in rows] == list(range(1, 7))
    assert ["eval/return/mean" in row for row in rows] == [False, True] * 3
    straight = api.train(
        ENDLESS,
        overrides=[*overrides, "env.n_envs=2", "env.backend=sync", "algo.batch_size=all"],
        runs_dir=tmp_path / "whole",
    )
    assert_same_run(straight, resumed)


def test_last_weights_of_a_spent_budget_have_a_score(train: Train, tmp_path: Path) -> None:
    run = train("CartPole-v1:ppo", tmp_path, updates=3)
    assert ["eval/return/mean" in row for row in run.metrics()] == [False, True, True]
    assert run.metrics()[-1]["eval/env_steps"] == run.outcome.env_steps
    last = list_checkpoints(run.folder)[-1]
    assert last.sidecar().metrics["eval/return/mean"] == run.outcome.last_score
    behind = train("CartPole-v1:ppo", tmp_path, updates=3, eval__background=True)
    assert behind.outcome.last_score == run.outcome.last_score
    off = train("CartPole-v1:ppo", tmp_path, updates=3, eval__every=0)
    assert off.outcome.last_score is None


def test_score_at_the_end_of_a_budget_changes_nothing_that_is_learned_later(
    train: Train, tmp_path: Path, end_state: Any, first_difference: Any
) -> None:
    """Also where a rule changes the learning rate by scores."""
    rule = {"metric": "eval/return/mean", "patience": 1, "unit": "updates", "setting": "lr", "multiply": 0.5}
    changes: dict[str, Any] = {"interventions": [rule | {"max_times": 10, "min_delta": 1e9}]}
    changes |= {"algo__lr": 1e-3, "algo__clip_range": 0.2, "algo__entropy_coef": 0.0}  # no schedules
    whole = train("CartPole-v1:ppo", tmp_path, updates=6, **changes)
    part = train("CartPole-v1:ppo", tmp_path, updates=3, **changes)
    assert part.metrics()[-1]["eval/env_steps"] == 3 * STEPS
    longer = api.resume(part, max_env_steps=6 * STEPS, runs_dir=tmp_path)
    a, b = end_state(whole), end_state(longer)
    assert first_difference(a["policy"], b["policy"]) is None
    for part_of in ("learner", "rng", "source", "hooks", "adjustments"):
        assert first_difference(a["state"][part_of], b["state"][part_of]) is None, part_of
    for one, other in zip(whole.metrics(), longer.metrics(), strict=True):
        learned = [key for key in one if key.startswith(("train/", "opt/", "env/"))]
        assert [one[key] for key in learned] == [other[key] for key in learned]


def test_stop_request_object_of_a_user_needs_no_further_method(train: Train, tmp_path: Path) -> None:
    class Plain:
        """As before there was `stop_asked`."""

        def poll(self) -> set[Request]:
            return {Request.STOP}

        def wait(self, seconds: float) -> set[Request]:
            return set()

        def __enter__(self) -> Plain:
            return self

        def __exit__(self, *error: object) -> None:
            pass

    requests: Any = Plain()
    run = train("CartPole-v1:ppo", tmp_path, requests=requests)
    assert run.outcome.env_steps == STEPS
    assert isinstance(TerminalKeys(fd=None).stop_asked(), bool)
