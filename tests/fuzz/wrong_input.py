"""Command lines that a person, a script or a language model might get wrong, and how a command ends."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import string
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from hypothesis import strategies as st

from gymnast import api
from gymnast.cli.app import main

REFERENCES = (
    "CartPole-v1:ppo",
    "CartPole-v1:ppo-zoo",
    "LunarLander-v3:a2c",
    "Pendulum-v1:ppo",
    "MiniGrid-DoorKey-8x8-v0:ppo-count",
    "ALE/Pong-v5:ppo-objects",
    "gymnast/TMaze-v0:ppo-lstm",
    "MinAtar/Mix:ppo",
    "VizDoom-Basic-v0:ppo",
)
OF_A_RUN = (("runs", "show"), ("eval",), ("video",), ("train", "--resume"))
# What YAML, numbers, paths, terminals, templates and import paths each trip over.
_WITHOUT_SPACES = """
null ~ true no nan .nan inf -.inf 1e400 -1e400 -1 0 1.5 1e-400 0x10 0o7 1_000 1k 1M 12:30:00 2001-01-01
1e3 +5 ١٢ [] {} [1, {1:2} [[[[1]]]] *a [/x] [bold] [reward-clip] ${HOME} ${MISSING} ${ $ ~root
../../etc/passwd /dev/zero os:system os.path:join a:b:c @ @last @best @last/@best / : :ppo CartPole-v1:
CartPole-v1 --help - = == a= 🤸 %s {0}
"""
NASTY = (
    *_WITHOUT_SPACES.split(),
    *("", " ", "9" * 40, "9" * 5000, "x" * 300, "x" * 20_000, "[" * 60, "[" * 3000, "{a: " * 500),
    *("{a: }", "{a: 1, a: 2}", "{null: 1}", "{[1]: 2}", "- 1", "a: b: c", "&a [*a]", "&a {b: *a}"),
    *("!!python/object:os.system x", "!!binary x", "\x1b[31mred", "a\rb", "a\nb", "\x07", "\u202e", "\ufeff"),
    *("{start: 1}", "{end: 0}", "{points: []}", "{kind: linear, start: 1}", "{name: count}", "{name: x}"),
)


def _keys() -> list[str]:
    return [key.name for key in api.config_keys()]


@st.composite
def misspelled(draw: st.DrawFn, words: st.SearchStrategy[str]) -> str:
    """A word with a letter more, less or changed."""
    word = draw(words)
    at = draw(st.integers(0, len(word)))
    letter = draw(st.sampled_from(string.ascii_lowercase + ".:/-@ ="))
    match draw(st.integers(0, 2)):
        case 0:
            return word[:at] + letter + word[at:]
        case 1:
            return word[:at] + word[at + 1 :]
        case _:
            return word[:at] + letter + word[at + 1 :]


def text() -> st.SearchStrategy[str]:
    """Anything that a shell can pass on: no NUL, no lone surrogates."""
    return st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


def values() -> st.SearchStrategy[str]:
    numbers = st.one_of(st.integers(), st.floats()).map(str)
    return st.one_of(st.sampled_from(NASTY), numbers, text())


def references() -> st.SearchStrategy[str]:
    known = st.sampled_from(REFERENCES)
    return st.one_of(known, misspelled(known), st.sampled_from(NASTY), text())


def overrides() -> st.SearchStrategy[str]:
    known = st.sampled_from(_keys())
    keys = st.one_of(
        known,
        misspelled(known),
        known.map(lambda key: key + ".x"),
        known.map(lambda key: key.rpartition(".")[0]),
        text(),
    )
    return st.tuples(keys, values()).map("=".join)


@st.composite
def config_files(draw: st.DrawFn) -> str:
    """The text of a config: settings in their sections, right and wrong, or anything at all."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.one_of(values(), st.lists(overrides()).map("\n".join)))
    config: dict[str, Any] = {"base": {"env": {"id": "CartPole-v1"}}}
    for setting in draw(st.lists(overrides(), min_size=1, max_size=4)):
        key, _, value = setting.partition("=")
        *sections, last = key.split(".")
        place = config[draw(st.sampled_from(["base", "variants", "extends"]))] = {}
        for section in sections:
            place[section] = place = {}
        place[last] = draw(st.sampled_from([value, [value], {value: value}, None, 1.5, -1, True]))
    return json.dumps(config, ensure_ascii=draw(st.booleans()))


def command_lines() -> st.SearchStrategy[list[str]]:
    """Commands that only read: what they say of a wrong word is what the others say of it too."""
    settings = st.lists(overrides(), max_size=3)
    return st.one_of(
        st.tuples(references(), settings).map(lambda given: ["config", "show", given[0], *given[1]]),
        st.tuples(references(), settings).map(
            lambda given: ["config", "show", "--json", given[0], *given[1]]
        ),
        references().map(lambda given: ["config", "validate", given]),
        st.tuples(st.sampled_from(OF_A_RUN), values()).map(lambda given: [*given[0], given[1]]),
        values().map(lambda given: ["runs", "--status", given]),
        values().map(lambda given: ["envs", given]),
        misspelled(st.sampled_from(["train", "runs", "config", "eval", "envs"])).map(lambda given: [given]),
    )


@dataclass(frozen=True, slots=True)
class Ending:
    """How one command ended."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    hung: bool = False
    crash: str | None = None  # an exception that left main()

    def fault(self) -> str | None:
        """What is wrong with it; None if it ended as a command should."""
        if self.hung:
            return "it did not end"
        if self.crash is not None:
            return f"{self.crash} left main()"
        if "Traceback" in self.stdout + self.stderr or "traceback" in self.stderr:
            return "a traceback"
        if self.code not in (0, 2):
            return f"exit code {self.code}"
        if self.code == 2 and not (self.stdout + self.stderr).strip():
            return "exit code 2 without a message"
        shown = self.stdout + self.stderr
        if any(bad in shown for bad in ("\x1b[31mred", "\x07", "\u202e")):
            return "a terminal escape reached the terminal"
        if len(self.stderr) > 20_000:
            return f"a message of {len(self.stderr):,} characters"
        return None


class _Hung(BaseException):
    """No command may catch it."""


@contextlib.contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise _Hung

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_command(words: list[str], limit: int = 60) -> Ending:
    """`gymnast WORDS` in this process."""
    out, err = io.StringIO(), io.StringIO()
    began = time.perf_counter()
    code: int | None = None
    hung, crash = False, None
    try:
        with _alarm(limit), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except _Hung:
        hung = True
    except Exception as error:
        crash = f"{type(error).__name__}: {str(error)[:200]}"
    return Ending(code, out.getvalue(), err.getvalue(), time.perf_counter() - began, hung, crash)
