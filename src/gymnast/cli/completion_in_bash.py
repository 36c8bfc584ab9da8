"""Completion in bash, which splits words where we do not. Imported only while the Tab key is answered."""

from __future__ import annotations

import os
from typing import Any

from typer._click.shell_completion import add_completion_class
from typer._completion_classes import BashComplete

_BREAKS = ":=@"  # in COMP_WORDBREAKS, and in our words


class Bash(BashComplete):
    """bash splits `CartPole-v1:ppo`, `algo.lr=1` and `@last` into words: put them together again."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words = os.environ["COMP_WORDS"].split("\n")
        args: list[str] = []
        for word in words[1 : int(os.environ["COMP_CWORD"]) + 1]:
            glued = bool(args) and word != "" and (word[0] in ":=" or args[-1][-1:] in _BREAKS)
            args[-1:] = [args[-1] + word] if glued else [*args[-1:], word]
        self._whole = args.pop() if args else ""
        return args, self._whole

    def format_completion(self, item: Any) -> str:
        """Without what bash takes for words before this one."""
        before = max(self._whole.rfind(mark) for mark in _BREAKS) + 1
        return str(item.value[before:]) if item.value.startswith(self._whole[:before]) else str(item.value)


def prepare_completion() -> None:
    """Take the place of typer's class for bash."""
    add_completion_class(Bash, "bash")
