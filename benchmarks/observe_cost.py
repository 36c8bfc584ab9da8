"""What observing a run costs: training with everything on against `-q` with all of it off, in one run.

`python benchmarks/observe_cost.py [--only CASE] [--tracker wandb=offline]`: both ways in turn, each
in a process of its own, the console in a terminal of 100 × 40. Prints steps per second and their ratio.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import statistics
import struct
import subprocess
import tempfile
import termios
import threading
from pathlib import Path

from processes import gymnast

# What is trained, for how many env steps; no evaluation: its episodes are not what is measured.
CASES = {
    "cartpole": ("CartPole-v1:ppo-zoo", 100_000),
    "cartpole-a2c": ("CartPole-v1:a2c-zoo", 400_000),
    "pong": ("ALE/Pong-v5:ppo", 12_288),
}
OFF = ("observe.alerts=false", "observe.distributions=false", "observe.network=false")


def train(ref: str, steps: int, words: tuple[str, ...], *, console: bool) -> tuple[float, float]:
    """Env steps per second of training, and seconds of the whole process."""
    with tempfile.TemporaryDirectory(prefix="gymnast-cost-") as runs:
        command = [
            *gymnast("train", ref, "eval.every=0", "stop.eval_return=null", "--max-env-steps", steps),
            *words,
            *(() if console else ("-q",)),
            *("--runs-dir", runs),
        ]
        environment = os.environ | {"TERM": "xterm-256color", "WANDB_MODE": "offline"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        main, child_side = pty.openpty()
        fcntl.ioctl(child_side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        out = child_side if console else subprocess.DEVNULL
        began = os.times().elapsed
        child = subprocess.Popen(
            [str(word) for word in command], stdin=child_side, stdout=out, stderr=out, env=environment
        )
        os.close(child_side)
        threading.Thread(target=_drain, args=(main,), daemon=True).start()
        if child.wait() != 0:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {child.returncode}")
        whole = os.times().elapsed - began
        (run,) = [path for path in Path(runs).iterdir() if (path / "status.json").exists()]
        status = json.loads((run / "status.json").read_text())
        return status["env_steps"] / status["seconds"], whole


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # the other side is closed
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(CASES))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--tracker", action="append", default=[], help="also with `--track` this")
    options = parser.parse_args()
    for name in options.only or CASES:
        ref, steps = CASES[name]
        ways: dict[str, tuple[tuple[str, ...], bool]] = {
            "all off": (OFF, False),
            "all on": ((), True),
            **{f"all on, {tracker}": (("--track", tracker), True) for tracker in options.tracker},
        }
        speeds: dict[str, list[float]] = {way: [] for way in ways}
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(options.repeats):
            for way, (words, console) in ways.items():
                speed, whole = train(ref, steps, words, console=console)
                speeds[way].append(speed)
                seconds[way].append(whole)
        base = statistics.median(speeds["all off"])
        print(f"{name}: {ref}, {steps:,} steps, {options.repeats} runs each in turn, medians")
        for way in ways:
            pairs = [one / other for one, other in zip(speeds[way], speeds["all off"], strict=True)]
            print(
                f"  {way:<24} {statistics.median(speeds[way]):10,.0f} steps/s  "
                f"ratio {statistics.median(speeds[way]) / base:.3f} (pairs {statistics.median(pairs):.3f})  "
                f"process {statistics.median(seconds[way]):.2f} s"
            )


if __name__ == "__main__":
    main()
