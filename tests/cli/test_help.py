"""`--help` of every command: plain words, no riddles of types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup

from gymnast.cli.app import COMMANDS, load_command, main

RIDDLES = (r"<[a-z]", r"list\[", r"\[\[", r"\{", "x>=", r"\(dynamic\)", "INTEGER", r"\bTEXT\b", "range>")


def commands() -> Iterator[tuple[str, ...]]:
    def below(command: Any, name: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield name
        if isinstance(command, TyperGroup):
            for part, inner in command.commands.items():
                yield from below(inner, (*name, part))

    for name in COMMANDS:
        yield from below(load_command(name), (name,))


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_has_no_riddles(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    text = capsys.readouterr().out
    assert f"Usage: gymnast {' '.join(words)} " in text
    for riddle in RIDDLES:
        assert not re.search(riddle, text), riddle


def test_ranges_and_metavars_are_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["eval", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Usage: gymnast eval [OPTIONS] [RUN[/CKPT]]" in text
    assert "--episodes N" in text
    assert "[default: 100; at least 1]" in text


def test_config_dir_is_taken_wherever_a_config_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ("train",),
        ("envs",),
        ("tune-envs",),
        ("smoke",),
        ("doctor",),
        ("audit",),
        ("config", "show"),
        ("config", "validate"),
    ):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        assert "--config-dir DIR" in capsys.readouterr().out, words
