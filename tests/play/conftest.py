"""A trained run, and the command itself in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gymnast
from gymnast import api


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: the last one balances a pole for a while."""
    folder = tmp_path_factory.mktemp("played") / "runs"
    api.train("CartPole-v1:ppo", max_env_steps=8000, runs_dir=folder)
    return folder


@dataclass(slots=True)
class Playing:
    """`gymnast play …` as it runs."""

    process: subprocess.Popen[str]
    url: str = ""

    def read_url(self) -> str:
        assert self.process.stdout is not None
        seen = ""
        for line in self.process.stdout:
            seen += line
            if (found := re.search(r"http://\S+", line)) is not None:
                self.url = found[0]
                return self.url
        raise AssertionError(f"no URL was printed: {seen}")

    def finish(self, stop: signal.Signals | None = None, seconds: float = 60) -> tuple[int, str]:
        """Its exit code and what it printed."""
        if stop is not None:
            self.process.send_signal(stop)
        printed, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, printed


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., Playing]]:
    started: list[Playing] = []

    def start(*words: Any, display: str | None = None, browser: bool = True) -> Playing:
        # The very package that is tested, also where it is not installed.
        source = str(Path(gymnast.__file__).resolve().parents[1])
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": source}
        environment.pop("SDL_VIDEODRIVER", None)
        environment.pop("DISPLAY", None)
        if display is not None:
            environment["DISPLAY"] = display
        extra = ["--no-browser", "--port", "0"] if browser else []
        process = subprocess.Popen(
            [sys.executable, "-m", "gymnast", "play", *map(str, words), *extra],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        playing = Playing(process)
        started.append(playing)
        if browser:
            playing.read_url()
        return playing

    yield start
    for playing in started:
        if playing.process.poll() is None:
            playing.process.kill()
            playing.process.communicate()
