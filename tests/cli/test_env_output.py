"""What an env prints, from Python and from C, is in the run's log and nowhere else."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHATTY = """
print("said at import")
import ctypes, os, sys, warnings
import gymnasium as gym
import numpy as np

C = ctypes.CDLL(None)

class Chatty(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        print("said at construction")
        print("said to stderr", file=sys.stderr)
        os.write(1, b"said to descriptor 1\\n")
        C.puts(b"said by C")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        print("said at reset")
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        print("said at step", end="")
        print()
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), 1.0, self.steps > 4, False, {}

    def render(self):
        return np.zeros((32, 32, 3), np.uint8)

    def close(self):
        print("said at close")
"""
SAID = ("import", "construction", "stderr", "descriptor 1", "C", "reset", "step", "close")
TRAIN = ("train", "chatty:Chatty", "--max-env-steps", "64", "env.n_envs=2", "algo.n_steps=16")
SETTINGS = ("algo.batch_size=all", "eval.episodes=2", "eval.every=32")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "chatty.py").write_text(CHATTY)
    monkeypatch.setenv("GYMNAST_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path


def gymnast(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gymnast", *words],
        cwd=here,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def the_log(here: Path) -> Path:
    (log,) = here.glob("runs/*/run.log")
    return log


@pytest.mark.parametrize("backend", ["sync", "workers"])
def test_everything_said_is_in_the_log_and_json_parses(here: Path, backend: str) -> None:
    done = gymnast(here, *TRAIN, *SETTINGS, "--json", f"env.backend={backend}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "finished"
    assert "said" not in done.stderr
    text = the_log(here).read_text()
    missing = [where for where in SAID if f"env: said {'by' if where == 'C' else 'at'} {where}" not in text]
    assert [where for where in missing if f"env: said to {where}" not in text] == []


def test_eval_and_videos_print_their_result_alone(here: Path) -> None:
    assert gymnast(here, *TRAIN, *SETTINGS, "-q").returncode == 0
    for words in (("eval", "--episodes", "2"), ("video", "record"), ("video", "progress")):
        if words[0] == "video":
            pytest.importorskip("av")
        the_log(here).write_text("")
        done = gymnast(here, *words, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)
        assert "said" not in done.stderr
        assert "env: said at step" in the_log(here).read_text()


def test_commands_without_a_run_leave_it_to_stderr(here: Path) -> None:
    done = gymnast(here, "config", "show", "chatty:Chatty", "--json")
    assert json.loads(done.stdout)
    assert "said at construction" in done.stderr
    done = gymnast(here, "tune-envs", "chatty:Chatty", "--envs", "1", "--seconds", "0.1", "--json")
    assert json.loads(done.stdout)["choice"]
    assert "said at construction" in done.stderr


def test_what_was_said_before_a_failure_is_shown_with_it(here: Path) -> None:
    (here / "chatty.py").write_text(CHATTY.replace("C.puts(b", "raise OSError("))
    done = gymnast(here, *TRAIN)
    assert done.returncode == 2
    assert done.stdout == f"setting up {TRAIN[1]} …\n"
    assert done.stderr.index("said at construction") < done.stderr.index("error: environment 'chatty:Chatty'")


def test_much_that_is_said_is_cut_off_in_the_log(here: Path) -> None:
    (here / "chatty.py").write_text(CHATTY.replace('"said at step"', '"x" * 100_000'))
    done = gymnast(here, *TRAIN, *SETTINGS, "--json", "--max-env-steps", "640", "eval.every=0")
    assert done.returncode == 0, done.stderr
    text = the_log(here).read_text()
    assert "what the env prints from here on is left out" in text
    assert "x" * 100_000 in text
    assert len(text) < 20_000_000


def test_the_live_view_stays_whole(here: Path) -> None:
    process, screen = os.forkpty()
    if process == 0:
        os.chdir(here)
        settings = {**os.environ, "TERM": "xterm-256color"}
        os.execve(sys.executable, [sys.executable, "-m", "gymnast", *TRAIN, *SETTINGS], settings)
    shown, began, first = b"", time.monotonic(), None
    while time.monotonic() < began + 60:
        if not select.select([screen], [], [], 1.0)[0]:
            continue
        try:
            received = os.read(screen, 65536)
        except OSError:  # the other side is closed
            break
        if not received:
            break
        first = first or shown + received
        shown += received
    os.close(screen)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert b"said" not in shown
    assert b"finished" in shown
    assert first is not None
    assert "setting up chatty:Chatty …" in first.decode()
    assert "env: said at step" in the_log(here).read_text()
