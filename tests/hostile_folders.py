"""Run folders that somebody damaged or laid out as a trap, and what the commands do with them.

A case is one place in a run folder, one thing done to it, and one command. It may end well or with one
message; it may not show a traceback, hang, change or remove anything outside the folder, or lose what was
intact inside it. By hand, for as long as wanted:

    python tests/hostile_folders.py --count 1000 [--seed 0]
"""

from __future__ import annotations

import argparse
import gc
import io
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ID, OTHER = "hostile1", "healthy1"
SECONDS = 20.0  # a command takes a tenth of one; the machine may be busy
MORE_MEMORY = 4 << 30
_SMALL = {
    "env.n_envs": 2, "algo.n_steps": 32, "algo.batch_size": "all", "algo.n_epochs": 1,
    "budget.env_steps": 256, "eval.every": 64, "eval.episodes": 1, "checkpoint.keep": 2,
    "checkpoint.every": 64, "seed": 1,
}  # fmt: skip


# What is done to a place. Each takes the place and a folder outside, and may use both.


def _missing(place: Path, outside: Path) -> None:
    _clear(place)


def _cut(place: Path, outside: Path) -> None:
    content = _content(place)
    _put(place, content[: len(content) // 2])


def _flipped(place: Path, outside: Path) -> None:
    content = bytearray(_content(place) or b"x")
    for at in range(len(content) // 3, len(content), max(1, len(content) // 7)):
        content[at] ^= 0xA5
    _put(place, bytes(content))


def _empty(place: Path, outside: Path) -> None:
    _put(place, b"")


def _folder(place: Path, outside: Path) -> None:
    _clear(place)
    place.mkdir(parents=True)
    (place / "inside").write_text("x")


def _link(place: Path, outside: Path) -> None:
    """To what was there, moved out: a command that follows the link finds all it expects."""
    target = outside / f"target-{place.name}"
    if os.path.lexists(place):
        shutil.move(place, target)
    elif place.name in ("videos", "requests", "report"):
        target.mkdir()
        (target / "00.json").write_text("not yours\n")
    else:
        target.write_text("not yours\n")
        place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def _link_to_zeros(place: Path, outside: Path) -> None:
    _clear(place)
    place.symlink_to("/dev/zero")


def _dangling(place: Path, outside: Path) -> None:
    _clear(place)
    place.symlink_to(outside / "made-through-a-link")


def _loop(place: Path, outside: Path) -> None:
    _clear(place)
    place.symlink_to(place.name)


def _fifo(place: Path, outside: Path) -> None:
    _clear(place)
    os.mkfifo(place)


def _sparse(place: Path, outside: Path) -> None:
    """A terabyte that takes no room on the disk."""
    _put(place, b"{")
    os.truncate(place, 1 << 40)


def _nested(place: Path, outside: Path) -> None:
    _put(place, b'{"a":' + b"[" * 100_000)


def _bomb(place: Path, outside: Path) -> None:
    rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    rows += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in itertools.pairwise("abcdefghij")]
    _put(place, "\n".join(rows).encode())


def _odd_values(place: Path, outside: Path) -> None:
    """The right shape with values that no program wrote; of a file that is not JSON, other bytes."""
    try:
        document = json.loads(_content(place))
    except ValueError:
        _put(place, _content(place).replace(b"1", b"\xff"))
        return
    odd: list[Any] = [None, -1, "x", [], {}, 1e308, True, [[1]]]
    document = {key: odd[index % len(odd)] for index, key in enumerate(document)}
    _put(place, json.dumps(document).encode())


DAMAGES: dict[str, Callable[[Path, Path], None]] = {
    "missing": _missing,
    "cut": _cut,
    "flipped": _flipped,
    "empty": _empty,
    "folder": _folder,
    "link": _link,
    "link to /dev/zero": _link_to_zeros,
    "dangling link": _dangling,
    "link loop": _loop,
    "fifo": _fifo,
    "sparse": _sparse,
    "nested": _nested,
    "bomb": _bomb,
    "odd values": _odd_values,
}
# Places that a run folder need not have, and where a command may write.
ABSENT = (
    "process.json", "console.log", "requests", "videos", ".run.json.tmp", ".status.json.tmp",
    ".metrics.csv.tmp", ".process.json.tmp", "checkpoints/.000000000320.json.tmp",
    "videos/.progress.mp4.part", "videos/progress.mp4", "report", "report/score.png", ".report.md.tmp",
    "../registry.json", "../.registry.lock", "../.registry.json.tmp", ".",
)  # fmt: skip
COMMANDS: dict[str, list[str]] = {
    "runs": ["runs", "--json"],
    "show": ["runs", "show", ID],
    "best": ["runs", "best"],
    "eval": ["eval", ID, "--episodes", "1"],
    "resume": ["train", "--resume", ID, "budget.env_steps=384"],
    "rm": ["runs", "rm", ID, "--yes"],
    "report": ["report", ID],
    "progress": ["video", "progress", ID, "--seconds", "0.5", "--checkpoints", "1"],
}
READING = ("runs", "show", "best", "eval", "progress", "report")


@dataclass(frozen=True)
class Case:
    """One thing to try."""

    place: str
    damage: str
    command: str

    def __str__(self) -> str:
        return f"{self.place}: {self.damage}: {self.command}"


@dataclass
class Result:
    """What came of it. `kind`: survived, refused, traceback, hang, escape or lost."""

    kind: str
    detail: str = ""


@dataclass
class Counts:
    """What came of many."""

    kinds: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)

    def add(self, case: Case, result: Result) -> None:
        self.kinds[result.kind] += 1
        if result.kind not in ("survived", "refused"):
            self.bad.append(f"{case}: {result.kind}: {result.detail}")

    def __str__(self) -> str:
        kinds = ("survived", "refused", "lost", "traceback", "hang", "escape")
        return f"tried {self.kinds.total()}, " + ", ".join(f"{kind} {self.kinds[kind]}" for kind in kinds)


class Hung(BaseException):
    """A command took too long; not an Exception, so that nothing takes it for one."""


def make_template(folder: Path) -> Path:
    """A runs folder with two copies of one real, tiny run."""
    from gymnast import api

    run = api.train("CartPole-v1:ppo", overrides=_SMALL, runs_dir=folder / "made")
    root = folder / "template"
    for name in (ID, OTHER):
        shutil.copytree(run.path, root / name)
        info = json.loads((root / name / "run.json").read_text())
        (root / name / "run.json").write_text(json.dumps({**info, "id": name}))
        (root / name / ".lock").touch()
    return root


def places(template: Path) -> list[str]:
    """Every file and folder of the run, and the places that it need not have."""
    run = template / ID
    return [str(path.relative_to(run)) for path in sorted(run.rglob("*"))] + list(ABSENT)


def all_cases(template: Path) -> list[Case]:
    return [Case(*parts) for parts in itertools.product(places(template), DAMAGES, COMMANDS)]


def try_case(template: Path, case: Case, folder: Path) -> Result:
    """Lay out the trap in `folder`, run the command, look at what is left."""
    root, outside = folder / "runs", folder / "outside"
    shutil.copytree(template, root)
    outside.mkdir()
    (outside / "sentinel").write_text("not yours\n")
    (outside / "folder").mkdir()
    place = root / ID / case.place
    place = Path(os.path.normpath(place))
    try:
        DAMAGES[case.damage](place, outside)
    except (OSError, IsADirectoryError):  # a folder cannot be cut
        return Result("survived", "not possible")
    before, inside, other = _tree(outside), _tree(root / ID), _tree(root / OTHER)
    seconds = 3 * SECONDS if case.command == "progress" else SECONDS  # it encodes a video
    code, output = call([*COMMANDS[case.command], "--runs-dir", str(root)], seconds)
    if code == "hang":
        return Result("hang", output)
    if isinstance(code, str):
        return Result("traceback", output)
    if _tree(outside) != before:
        return Result("escape", f"{sorted(before)} became {sorted(_tree(outside))}")
    if _tree(root / OTHER) != other:
        return Result("escape", "another run was changed")
    if case.command == "runs" and place != root and OTHER not in output:
        return Result("lost", f"the other run is not listed: {output[-300:]}")
    if code not in (0, 1, 2):
        return Result("traceback", f"exit code {code}: {output[-300:]}")
    intact = {name for name in inside if name != case.place and not name.startswith(case.place + "/")}
    if case.command in READING:
        intact -= {"videos", "videos/progress.mp4", "videos/.progress.mp4.part", "report.md"}
    elif case.command == "resume" and code != 0:
        intact = {name for name in intact if name.startswith("checkpoints/") and "tmp" not in name}
    else:
        intact = set()
    after = _tree(root / ID)
    if gone := sorted(name for name in intact if after.get(name) != inside[name]):
        return Result("lost", f"{', '.join(gone)} changed; {output[-300:]}")
    return Result("survived" if code == 0 else "refused", output[-300:])


def call(args: list[str], seconds: float = SECONDS) -> tuple[int | str, str]:
    """(exit code, output) of a command, run here; 'hang' or 'traceback' in place of a code."""
    from typer.main import get_command

    from gymnast.cli.app import root
    from gymnast.errors import GymnastError

    output = io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(output), _guarded(seconds):
            get_command(root)(args=args, prog_name="gymnast")
    except GymnastError as error:
        return error.exit_code, output.getvalue() + str(error)
    except SystemExit as end:
        return (end.code or 0), output.getvalue()
    except Hung:
        return "hang", "".join(traceback.format_exc()[-1500:])
    except BaseException:
        return "traceback", "".join(traceback.format_exc()[-1500:])
    finally:
        gc.unfreeze()
    return 0, output.getvalue()


@contextmanager
def _guarded(seconds: float) -> Iterator[None]:
    """No longer than this, and no more memory: to read /dev/zero would else take the machine down."""

    def stop(number: int, frame: Any) -> None:
        raise Hung

    old_handler = signal.signal(signal.SIGALRM, stop)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again: what cleans up may hang too
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY, limits[1]))
    started = time.monotonic()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler)
        if left:  # pytest's own limit
            signal.setitimer(signal.ITIMER_REAL, max(0.01, left - (time.monotonic() - started)))


def _tree(folder: Path) -> dict[str, str]:
    """Everything below a folder, links not followed: name → what it is and holds."""
    found: dict[str, str] = {}
    if folder.is_symlink() or not folder.is_dir():
        return {"": str(folder.readlink())} if folder.is_symlink() else {}
    for at, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(at) / name
            if path.is_symlink():
                what = f"link to {path.readlink()}"
            elif path.is_dir():
                what = "folder"
            elif path.is_file() and path.stat().st_size < 1 << 30:
                what = path.read_bytes().hex()
            else:
                what = "special"
            found[str(path.relative_to(folder))] = what
    found.pop(".lock", None)
    return found


def _content(place: Path) -> bytes:
    return place.read_bytes() if place.is_file() else b"1,2\n3,4\n"


def _put(place: Path, content: bytes) -> None:
    if place.is_dir():
        raise IsADirectoryError(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def _clear(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Try damaged and hostile run folders.")
    parser.add_argument("--count", type=int, default=1000, help="how many, drawn at random; 0: every one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    counts, started = Counts(), time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        with redirect_stdout(io.StringIO()):
            template = make_template(folder)
        cases = [case for case in all_cases(template) if options.only in str(case)]
        if options.count:
            cases = random.Random(options.seed).choices(cases, k=options.count)
        for number, case in enumerate(cases):
            place = folder / str(number)
            place.mkdir()
            result = try_case(template, case, place)
            counts.add(case, result)
            shutil.rmtree(place, ignore_errors=True)
            if result.kind not in ("survived", "refused"):
                print(f"{case}: {result.kind}\n{result.detail}\n", flush=True)
    print(f"{counts}; {time.monotonic() - started:.0f} s")
    sys.exit(bool(counts.bad))


if __name__ == "__main__":
    main()
