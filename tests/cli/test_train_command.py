"""`gymnast train` and `gymnast eval` as a user types them, with real runs of a second or less."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gymnast.cli.app import main
from gymnast.cli.train import split_words
from gymnast.errors import GymnastError

SHORT = ("train", "CartPole-v1:ppo", "--max-env-steps", "2k", "eval.every=0")
LONG = ("train", "CartPole-v1:ppo", "--max-env-steps", "50M", "eval.every=40M", "checkpoint.seconds=0")


def command(runs: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "gymnast", *words, "--runs-dir", str(runs)]


def gymnast(runs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(runs, *words), check=False, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A runs folder with one run, trained until solved, and what `--json` printed about it."""
    runs = tmp_path_factory.mktemp("solved")
    done = gymnast(runs, "train", "CartPole-v1:ppo", "--json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1, "one object and nothing else"
    result: dict[str, Any] = json.loads(done.stdout)
    return runs, result


def test_json_has_how_the_run_ended(solved: tuple[Path, dict[str, Any]]) -> None:
    runs, result = solved
    assert result["status"] == "solved"
    assert result["solved"] is True
    assert result["best_score"] >= 475
    assert result["env_steps"] > 0
    assert Path(result["path"]) == runs / result["id"]
    assert Path(result["path"]).is_dir()
    assert set(result) >= {"reason", "seconds", "last_score"}


def test_eval_scores_the_best_checkpoint(solved: tuple[Path, dict[str, Any]]) -> None:
    runs, result = solved
    done = gymnast(runs, "eval", "--episodes", "10", "--json")
    assert done.returncode == 0, done.stderr
    score = json.loads(done.stdout)
    assert score["run"] == result["id"]
    assert score["episodes"] == len(score["returns"]) == 10
    assert score["mean_return"] == pytest.approx(sum(score["returns"]) / 10)
    assert score["min_return"] <= score["mean_return"] <= score["max_return"]
    assert score["mean_return"] >= 475
    assert score["solved"] is True
    assert score["stochastic"] is False
    assert {"std_return", "checkpoint", "env_steps", "mean_length", "seed"} <= set(score)


def test_eval_prints_one_compact_block(solved: tuple[Path, dict[str, Any]]) -> None:
    runs, result = solved
    done = gymnast(runs, "eval", f"{result['id']}/@best", "--episodes", "5", "--seed", "7", "--stochastic")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{result['id']}/")
    assert [line.split()[0] for line in lines[1:]] == ["return", "range", "length", "episodes"]
    assert "sampled, seed 7" in lines[-1]


def test_plain_output_has_no_control_codes_and_ends_with_what_to_do(tmp_path: Path) -> None:
    done = gymnast(tmp_path, *SHORT)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout
    assert "finished (the step budget is spent)" in done.stdout
    assert "gymnast eval" in done.stdout
    assert "/@last" in done.stdout, "never evaluated, so there is no @best to point to"
    assert "gymnast train --resume" in done.stdout


def test_quiet_is_one_line(tmp_path: Path) -> None:
    done = gymnast(tmp_path, *SHORT, "-q")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert "2,048 env steps" in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_resume_alone_means_the_last_run_also_before_a_setting(tmp_path: Path) -> None:
    first = json.loads(gymnast(tmp_path, *SHORT, "--json").stdout)
    for words, steps in (
        (("--resume", "--max-env-steps", "4k"), 4096),
        (("--resume", "algo.lr=1e-4", "--max-env-steps", "6k", "--fresh-optimizer"), 6144),
        (("--resume", first["id"][:4], "--max-env-steps", "8k"), 8192),
    ):
        done = gymnast(tmp_path, "train", *words, "--json")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert (result["id"], result["env_steps"]) == (first["id"], steps)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train",), "gymnast train CartPole-v1:ppo"),
        (("train", "algo.lr=1e-3"), "nothing to train"),
        (("train", "CartPole-v1:ppo", "--resume", "@last"), "leave out 'CartPole-v1:ppo'"),
        (("train", "CartPole-v1:ppo", "--fresh-optimizer"), "--fresh-optimizer is for --resume"),
        (("train", "CartPole-v1:ppo", "--plain", "-q"), "--plain and --quiet both choose"),
        (("train", "--resume", "@last", "--init-from", "x"), "give one of them"),
        (("train", "CartPole-v1:ppo", "-q", "--json"), "give one of them"),
        (("train", "CartPole-v1:ppo", "Acrobot-v1:ppo"), "'Acrobot-v1:ppo' is not a setting"),
        (("train", "CartPole-v1:ppo", "--max-env-steps", "many"), "--max-env-steps: 'many' is not a count"),
        (("train", "CartPole-v1:ppo", "--max-env-steps", "0"), "more than 0"),
        (("train", "CartPole-v1:ppo", "--wall-time", "soon"), "--wall-time: 'soon' is not a duration"),
        (("train", "CartPole-v1:pppo"), "did you mean 'ppo'"),
        (("train", "CartPoel-v1"), "did you mean 'CartPole-v1'"),
        (("train", "CartPole-v1:ppo", "algo.lrr=1"), "did you mean 'lr'"),
        (("train", "--resume", "nosuchrun"), "no run"),
        (("train", "CartPole-v1:ppo", "--init-from", "nosuchrun"), "no run"),
        (("eval", "nosuchrun"), "no run"),
        (("train", ""), "is empty"),
        (("train", ":ppo"), "no environment before the ':'"),
        (("train", "CartPole-v1:"), "nothing after the ':'"),
        (("train", "@"), "gymnast train --resume @last"),
        (("train", "run/"), "ends in '/'"),
        (("train", "x" * 300), "has 300 characters"),
        (("train", "CartPole-v1:" + "x" * 300), "has 312 characters"),
        (
            ("train", "CartPole-v1:ppo", "algo.n_steps=.inf"),
            "algo.n_steps: must be a count, and inf",
        ),
        (("train", "CartPole-v1:ppo", "budget.env_steps=1e400"), "budget.env_steps: must be a count"),
        (("train", "CartPole-v1:ppo", "env.n_envs=.nan"), "env.n_envs: must be a count, and nan is not one"),
        (("train", "CartPole-v1:ppo", "--max-env-steps", "1e400"), "--max-env-steps: must be a count"),
        (("train", "CartPole-v1:ppo", "--wall-time", "1e400"), "--wall-time: must be a duration"),
        (("train", "CartPole-v1:ppo", "algo.batch_size=.inf"), "algo.batch_size: must be a finite number"),
        (("train", "CartPole-v1:ppo", "stop.eval_return=.nan"), "stop.eval_return: must be a finite number"),
        (("eval", "--episodes", "inf"), "--episodes"),
        (("eval", "--episodes", "0"), "--episodes"),
    ],
)
def test_bad_input_is_one_message_and_creates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(SystemExit) as end:
        main([*words, "--runs-dir", str(runs)])
    out, error = capsys.readouterr()
    assert end.value.code == 2
    assert message in error
    assert out == ""
    assert not runs.exists()


def test_a_network_beyond_memory_is_refused_before_it_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main([*SHORT, "policy.hidden=[1000000,1000000]", "--runs-dir", str(tmp_path / "runs")])
    assert end.value.code == 2
    assert "training a network of 2,000," in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("CartPole-v1:ppo", "--max-env-steps", "2k", "eval.every=0"),
        ("CartPole-v1:ppo", "--wall-time", "0.5s", "eval.every=0", "budget.env_steps=50M"),
        ("Bandit:two words",),
    ],
)
def test_the_commands_that_are_printed_work_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "Bandit.yaml").write_text(
        "base: {env: {id: gymnast/Bandit-v0}, budget: {env_steps: 512}}\n"
        "variants: {two words: {}, other: {}}\n"
    )
    done = gymnast(tmp_path / "my runs", "train", *words)
    assert done.returncode == 0, done.stderr
    printed = re.findall(r"^\w+ +\S+ -m (gymnast .*)$", done.stdout, re.MULTILINE)
    assert [line.split()[1] for line in printed] == ["eval", "runs", "train", "report"]
    for line in printed:
        again = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(again, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (line, done.stderr)


def test_several_variants_are_offered_as_commands_for_a_shell(tmp_path: Path) -> None:
    (tmp_path / "my own.yaml").write_text(
        "base: {env: {id: gymnast/Bandit-v0}, budget: {env_steps: 512}}\nvariants: {a: {}, two words: {}}\n"
    )
    done = gymnast(tmp_path / "runs", "train", str(tmp_path / "my own.yaml"))
    assert done.returncode == 2
    commands = re.findall(r"^  \S+ -m (gymnast .*)$", done.stderr, re.MULTILINE)
    assert len(commands) == 2
    for line in commands:
        done = gymnast(tmp_path / "runs", *shlex.split(line)[1:], "-q")
        assert done.returncode == 0, (line, done.stderr)


def test_a_preset_for_a_gpu_names_those_for_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "Bandit.yaml").write_text(
        "base: {env: {id: gymnast/Bandit-v0}, budget: {env_steps: 512}}\n"
        "variants: {ppo: {}, ppo-gpu: {}, ppo-gpu-big: {}, ppo-small: {}}\n"
    )
    done = gymnast(tmp_path / "runs", "train", "Bandit:ppo-gpu", "device=cpu")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == [
        "setting up Bandit:ppo-gpu …",
        "this preset is made for a GPU; on a CPU use Bandit:ppo or Bandit:ppo-small",
    ]
    done = gymnast(tmp_path / "runs", "train", "Bandit:ppo", "device=cpu")
    assert "GPU" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_and_the_run_can_be_resumed(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        command(tmp_path, *LONG), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while "run " not in process.stdout.readline():
        pass
    time.sleep(0.3)
    process.send_signal(number)
    out, error = process.communicate(timeout=20)
    assert process.returncode == 3, error
    assert error == ""
    assert "finishing this update, then saving" in out
    assert f"stopped by {number.name} and saved" in out
    assert "gymnast train --resume" in out
    runs = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert len(runs) == 1
    steps = int(re.search(r"after ([\d,]+) env steps", out)[1].replace(",", ""))  # type: ignore[index]
    done = gymnast(tmp_path, "train", "--resume", "--max-env-steps", str(steps + 1), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["env_steps"] > steps


class Terminal:
    """A pseudo-terminal with a training in it."""

    def __init__(self, argv: list[str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGHUP):  # which whoever runs the tests may ignore
                signal.signal(number, signal.SIG_DFL)
            os.execve(argv[0], argv, os.environ | {"TERM": "xterm", "PYTHONUTF8": "1", "COLUMNS": "80"})
        self.written = ""

    def expect(self, text: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while text not in self.written:
            assert self._read(end), f"{text!r} did not come: {self.written[-3000:]!r}"
        self.written = self.written.split(text, 1)[1]

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def leave(self) -> int:
        """Read to the end; its exit code."""
        while self._read(time.monotonic() + 60):
            pass
        return self.lose()

    def lose(self) -> int:
        """Close it, as a lost connection does; the training's exit code."""
        os.close(self.fd)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return code

    def kill(self) -> None:
        """What a failed test leaves behind."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def _read(self, end: float) -> bool:
        if not select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            chunk = os.read(self.fd, 65536).decode(errors="replace")
        except OSError:
            return False
        self.written += chunk
        return bool(chunk)


@pytest.fixture
def open_terminal() -> Iterator[Callable[[list[str]], Terminal]]:
    opened: list[Terminal] = []

    def open_one(argv: list[str]) -> Terminal:
        opened.append(Terminal(argv))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.kill()


def test_keys_in_a_real_training(tmp_path: Path, open_terminal: Callable[[list[str]], Terminal]) -> None:
    terminal = open_terminal(command(tmp_path, *LONG))
    terminal.expect("c checkpoint · e evaluate · p pause · q stop and save")
    terminal.press("p")
    terminal.expect("paused: press p to continue")
    terminal.press("p")
    terminal.expect("train return")
    terminal.press("e")
    terminal.expect("solved at")
    terminal.press("h")
    terminal.expect("save a checkpoint now")
    terminal.press("q")
    terminal.expect("stopped on request and saved")
    assert terminal.leave() == 3


def test_a_lost_terminal_saves_the_run(
    tmp_path: Path, open_terminal: Callable[[list[str]], Terminal]
) -> None:
    terminal = open_terminal(command(tmp_path, *LONG))
    terminal.expect("train return")
    time.sleep(0.5)
    assert terminal.lose() == 3
    (run,) = (path for path in tmp_path.iterdir() if path.is_dir())
    result = json.loads(gymnast(tmp_path, "runs", "show", run.name, "--json").stdout)
    assert "SIGHUP" in json.dumps(result)


def test_ctrl_c_twice_leaves_at_once(tmp_path: Path, open_terminal: Callable[[list[str]], Terminal]) -> None:
    terminal = open_terminal(command(tmp_path, *LONG, "algo.n_steps=16384", "algo.n_epochs=20"))
    terminal.expect("train return")
    terminal.press("\x03")
    time.sleep(0.2)
    terminal.press("\x03")
    assert terminal.leave() in (3, 130, -signal.SIGINT)  # which a shell shows as 130


def test_words_with_an_equals_sign_are_settings() -> None:
    assert split_words(["a=1", "CartPole-v1:ppo", "b.c=[1, 2]", "d="]) == (
        "CartPole-v1:ppo",
        ["a=1", "b.c=[1, 2]", "d="],
    )
    assert split_words([]) == (None, [])
    with pytest.raises(GymnastError, match="is not a setting"):
        split_words(["CartPole-v1:ppo", "algo.lr", "3"])
