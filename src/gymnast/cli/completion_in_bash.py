"""Completion in bash, which splits words where we do not. Imported only while the Tab key is answered."""

from __future__ import annotations

import os
from typing import Any

from typer._click.shell_completion import add_completion_class
from typer._completion_classes import BashComplete

_BREAKS = (":", "=", "@")  # in COMP_WORDBREAKS, and in our words


class Bash(BashComplete):
    """bash splits `CartPole-v1:ppo`, `algo.lr=1` and `@last` into words: put them together again."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        args: list[str] = []
        for word in words[1:]:
            if args and word and _belongs_to(word, args[-1]):
                args[-1] += word
            else:
                args.append(word)
        whole = args.pop() if args else ""
        # Of the marks, only @ is part of the word that bash puts the answer in place of.
        before, mark, _ = max((whole.rpartition(mark) for mark in _BREAKS), key=lambda parts: len(parts[0]))
        self._before = len(before) + (mark in (":", "="))
        return args, whole

    def format_completion(self, item: Any) -> str:
        """Without what bash takes for words before this one."""
        return str(item.value)[self._before :]


def _belongs_to(word: str, before: str) -> bool:
    return word[0] in ":=" or before[-1:] in _BREAKS or (word[0] == "@" and before[-1:] == "/")


def prepare_completion() -> None:
    """Take the place of typer's class for bash."""
    add_completion_class(Bash, "bash")
