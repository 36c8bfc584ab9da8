"""The text that is shown while an answer arrives does not depend on how it is cut into pieces."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.review.live import LiveText
from gymnast.terminal.text import escaped
from llm_server import REVIEW

PLAIN = (
    "The run improves but its budget ends before it is solved.\n"
    "\nwarning: The budget is too small\n  The score still rises at the last evaluation.\n"
    "  · threshold 475 not reached\n  · a line that nobody wrote\n"
    "\ngood: Stable updates\n  KL stays low.\n"
)


def shown(text: str, cuts: list[int]) -> str:
    live = LiveText()
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return "".join(live.feed(text[a:b]) for a, b in pairwise(places))


@given(st.lists(st.integers(0, 5000)), st.sampled_from([None, 2]))
def test_any_pieces(cuts: list[int], indent: int | None) -> None:
    text = json.dumps(REVIEW, indent=indent)
    assert shown(text, cuts) == PLAIN
    assert shown(f"Sure!\n```json\n{text}\n```", cuts) == PLAIN


@given(st.text(), st.lists(st.integers(0, 5000)), st.booleans())
def test_any_text(summary: str, cuts: list[int], ascii_only: bool) -> None:
    text = shown(json.dumps({"summary": summary}, ensure_ascii=ascii_only), cuts)
    assert text.endswith("\n")
    assert escaped(text, lines=True) == text


@given(st.text(alphabet='{}[]",:\\u0aé \n'), st.lists(st.integers(0, 500)))
def test_any_nonsense(text: str, cuts: list[int]) -> None:
    shown(text, cuts)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_letters_beyond_ascii(ascii_only: bool) -> None:
    text = json.dumps({"summary": 'é 😀 \\ " /'}, ensure_ascii=ascii_only)
    assert shown(text, list(range(len(text)))) == 'é 😀 \\ " /\n'


def test_a_key_cut_into_pieces_is_hidden() -> None:
    text = json.dumps({"summary": "it is hf_abcdefgh12345678 indeed"})
    assert shown(text, list(range(0, len(text), 3))) == "it is *** indeed\n"
