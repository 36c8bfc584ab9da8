"""VizDoom's engines are processes of their own: none is left behind, nor anything that they made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig

pytest.importorskip("vizdoom")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

CONFIG = EnvConfig(id="VizDoom-Basic-v0", workers=2)

PLAYS_FOR_EVER = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # who started the tests may ignore it
from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
envs = build_envs(EnvConfig(id="VizDoom-Basic-v0", workers=2), n_envs=2, seed=0, backend=sys.argv[1])
envs.reset()
print("playing", flush=True)
while True:
    envs.step([1, 3])
"""


def engines_in(folder: Path) -> dict[int, str]:
    """Process ids of running engines whose files are below `folder`, with their instance."""
    found = {}
    for process in Path("/proc").iterdir():
        try:
            if not process.name.isdigit() or folder not in (process / "cwd").readlink().parents:
                continue
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has just ended
            continue
        if "+viz_instance_id" in words:
            found[int(process.name)] = words[words.index("+viz_instance_id") + 1]
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sync", "workers"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_player_that_is_killed(
    tmp_path: Path, backend: str, ending: signal.Signals
) -> None:
    program = tmp_path / "player.py"
    program.write_text(PLAYS_FOR_EVER)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    player = subprocess.Popen(
        [sys.executable, str(program), backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(temporary)},
        cwd=tmp_path,
    )
    try:
        assert player.stdout is not None
        assert player.stdout.readline() == b"playing\n"
        engines = engines_in(temporary)
        assert len(engines) == 2
        shared = [f for f in Path("/dev/shm").iterdir() if f.name.endswith(tuple(engines.values()))]
        assert len(shared) == 6
        player.send_signal(ending)
        player.wait(timeout=20)
    finally:
        player.kill()
        player.wait()
    assert wait_for(lambda: not engines_in(temporary))
    assert wait_for(lambda: not any(file.exists() for file in shared))
    assert wait_for(lambda: not list(temporary.iterdir()))
    assert {path.name for path in tmp_path.iterdir()} == {"player.py", "tmp"}


def test_workers_play_as_one_process_does() -> None:
    sync = build_envs(CONFIG, n_envs=3, seed=0, backend="sync")
    workers = build_envs(CONFIG, n_envs=3, seed=0, backend="workers")
    try:
        frames = sync.reset()
        assert (workers.reset() == frames).all()
        assert len({frame.tobytes() for frame in frames}) == 3  # no two play the same episode
        random = np.random.default_rng(0)
        finished = 0
        for _ in range(90):
            actions = random.integers(6, size=3)
            ours, theirs = sync.step(actions), workers.step(actions)
            assert (ours.obs == theirs.obs).all()
            assert (ours.rewards == theirs.rewards).all()
            assert (ours.truncated == theirs.truncated).all()
            finished += int((ours.truncated | ours.terminated).sum())
            if ours.final_obs is not None and theirs.final_obs is not None:
                ended = ours.truncated | ours.terminated
                assert (ours.final_obs[ended] == theirs.final_obs[ended]).all()
        assert finished >= 3
    finally:
        sync.close()
        workers.close()


def own_engines() -> list[int]:
    """Process ids of the engines that this process has started."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    children = [int(child) for file in listed for child in file.read_text().split()]
    return [child for child in children if b"viz_instance_id" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_a_terminal_interrupts_the_player_and_not_its_engines() -> None:
    envs = build_envs(CONFIG, n_envs=1, seed=0, backend="sync")
    try:
        envs.reset()
        engines = own_engines()
        assert engines
        for engine in engines:
            os.kill(engine, signal.SIGINT)
            os.kill(engine, signal.SIGTERM)
        for _ in range(20):
            assert not envs.step(np.array([1])).truncated.any()
    finally:
        envs.close()


def test_an_engine_that_is_gone_costs_an_episode_and_not_the_run(caplog: pytest.LogCaptureFixture) -> None:
    config = EnvConfig(
        id="VizDoom-Basic-v0", vizdoom={"variables": ["AMMO2"], "rewards": {"ammo": 1}}, action_masks=True
    )
    envs = build_envs(config, n_envs=2, seed=0, backend="sync")
    try:
        envs.reset()
        before = own_engines()
        os.kill(before[0], signal.SIGKILL)
        step = envs.step(np.array([1, 1]))
        assert sorted(step.truncated.tolist()) == [False, True]
        assert not step.terminated.any()
        assert step.lost is not None
        np.testing.assert_array_equal(step.lost, step.truncated)  # not an episode that anyone finished
        assert "an engine of Doom is gone" in caplog.text
        assert len(set(own_engines()) - set(before)) == 1
        step = envs.step(np.array([1, 1]))
        assert not step.truncated.any()
        assert step.lost is None
        for engine in own_engines():
            os.kill(engine, signal.SIGKILL)
        assert envs.reset() is not None
        assert not envs.step(np.array([1, 1])).truncated.any()
    finally:
        envs.close()


def test_episode_of_an_engine_that_is_gone_is_not_counted() -> None:
    config = EnvConfig(id="VizDoom-Basic-v0", vizdoom={"variables": ["AMMO2"], "size": (24, 32)}, workers=1)
    envs = build_envs(config, n_envs=1, seed=0, backend="workers")
    try:
        envs.reset()
        envs.step(np.array([1]))
        worker = envs.process_ids[0]  # type: ignore[attr-defined]
        children = Path(f"/proc/{worker}/task").glob("*/children")
        engines = [int(child) for file in children for child in file.read_text().split()]
        for engine in engines:
            if b"viz_instance_id" in Path(f"/proc/{engine}/cmdline").read_bytes():
                os.kill(engine, signal.SIGKILL)
        step = envs.step(np.array([1]))
        assert step.truncated.all()
        assert step.lost is not None
        assert step.lost.all()
        assert envs.restarts == 0  # the worker lives
    finally:
        envs.close()
