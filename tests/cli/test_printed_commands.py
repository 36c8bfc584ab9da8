"""The commands that are printed work as they are printed, however the program was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHORT = (
    "env.n_envs=4 algo.n_steps=32 algo.batch_size=all eval.every=128 eval.episodes=1 stop.eval_return=null"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the command in its own environment, as `make train` leaves it: not on the PATH."""
    folder = tmp_path / "a checkout/.venv/bin"
    folder.mkdir(parents=True)
    (folder / "gymnast").write_text(f"#!{sys.executable}\nfrom gymnast.cli.app import main\n\nmain()\n")
    (folder / "gymnast").chmod(0o755)
    return tmp_path / "a checkout"


def shell(command: str, cwd: Path, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        command,
        shell=True,
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        timeout=120,
    )


def printed_after(text: str) -> list[str]:
    """The commands below what a training prints: `evaluate   gymnast eval …`."""
    return [line.split(maxsplit=1)[1] for line in text.rsplit("\n\n", maxsplit=1)[-1].strip().splitlines()]


@pytest.mark.parametrize(
    "how", [".venv/bin/gymnast", "'{}/.venv/bin/gymnast'", f"{sys.executable} -m gymnast"]
)
def test_next_commands_after_a_training_work(checkout: Path, how: str) -> None:
    how = how.format(checkout)
    done = shell(f"{how} train CartPole-v1:ppo --max-env-steps 256 --runs-dir 'my runs' {SHORT}", checkout)
    assert done.returncode == 0, done.stderr
    commands = printed_after(done.stdout)
    assert len(commands) == 4
    for command in commands:
        assert command.startswith(how)
        again = shell(command, checkout)
        assert again.returncode == 0, (command, again.stderr)


def test_short_name_is_printed_where_a_shell_finds_it(checkout: Path) -> None:
    path = f"{checkout}/.venv/bin:/usr/bin:/bin"
    command = f"gymnast train CartPole-v1:ppo --max-env-steps 256 {SHORT}"
    done = shell(command, checkout, path)
    assert all(command.startswith("gymnast ") for command in printed_after(done.stdout))


def test_commands_in_errors_work_too(checkout: Path) -> None:
    done = shell(".venv/bin/gymnast train CartPole-v1", checkout)
    assert done.returncode == 2
    assert "\n  .venv/bin/gymnast train CartPole-v1:ppo\n" in done.stderr


@pytest.mark.slow
def test_commands_of_a_detached_run_work(checkout: Path) -> None:
    begin = (
        f".venv/bin/gymnast train CartPole-v1:ppo --detach --max-env-steps 100k --runs-dir 'my runs' {SHORT}"
    )
    done = shell(begin, checkout)
    assert done.returncode == 0, done.stderr
    commands = dict(line.split(maxsplit=1) for line in done.stdout.split("\n\n")[-1].strip().splitlines())
    assert shell(commands["stop"], checkout).returncode in (0, 2)  # it may have ended by itself
    assert shell(commands["watch"], checkout).returncode in (0, 3)
