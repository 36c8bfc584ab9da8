"""Config files and overrides that would crash, hang or fill the memory: one message, at once."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gymnast.config.load import load_config
from gymnast.config.reading import parse_yaml
from gymnast.config.yaml_limits import MOST_VALUES
from gymnast.errors import GymnastError
from gymnast.runs.files import MOST_DEPTH

SECONDS = 10.0  # none takes more than one; the machine may be busy
NINE = ("*{0}, " * 9).strip(", ")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def message(text: str | bytes) -> str:
    Path("my.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    started = time.monotonic()
    with pytest.raises(GymnastError) as caught:
        load_config("my.yaml")
    assert time.monotonic() - started < SECONDS
    return str(caught.value)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{NINE.format(old)}]\n" for old, new in pairwise("abcdefghij")
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{new}: &{new} {{<<: [{NINE.format(old)}]}}\n" for old, new in pairwise("abcdefghij")
)
CHAIN = "a: &a0 [x]\n" + "".join(f"b{i}: &a{i + 1} [*a{i}]\n" for i in range(2000))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("env: &a {id: CartPole-v1, kwargs: *a}", "my.yaml: the anchor &a contains itself"),
        ("env: &a [[[*a]]]", "my.yaml: the anchor &a contains itself"),
        (BOMB, "my.yaml: more than 10,000 values"),
        (MERGES, "my.yaml: more than 10,000 values"),
        ("".join(f"k{i}: {i}\n" for i in range(50_000)), "my.yaml: more than 10,000 values"),
        (CHAIN, "my.yaml: nested more than 64 deep"),
        ("env: " + "[" * 3000 + "]" * 3000, "my.yaml: nested more than 64 deep"),
        ("env: " + "{a: " * 3000, "my.yaml: nested more than 64 deep"),
        ('{"a":' + "[" * 100_000, "my.yaml: nested more than 64 deep"),
        ("- " * 5000 + "x", "my.yaml: nested more than 64 deep"),
        ("? " * 5000 + "x", "my.yaml: nested more than 64 deep"),
        ("\n".join(" " * i + "a:" for i in range(1000)), "my.yaml: nested more than 64 deep"),
        ("x" * 2_000_000, "my.yaml has 2,000,000 bytes, more than the 1,048,576 that are read"),
        ("seed: " + "9" * 5000, "my.yaml: not valid YAML: a whole number with more than 300 digits"),
        ("seed: 0x" + "f" * 5000, "my.yaml: a whole number with more than 300 digits"),
        (".nan: 1", "my.yaml: a key must be text, got nan"),
        ("null: 1", "my.yaml: a key must be text, got None"),
        ("? [a, b]\n: c", "my.yaml: a key must be text, got ('a', 'b')"),
        ("seed: 1\nseed: 2", "my.yaml:2: not valid YAML: found duplicate key"),
        ("env:\n\tid: x", "my.yaml:2: not valid YAML: found character"),
        ("seed: é".encode("latin-1"), "my.yaml: not a text file in UTF-8"),
        ("seed: !!bool x", "my.yaml: not valid YAML: a value does not fit its tag"),
        ("env: {id: !!binary b3M6c3lzdGVt}", "my.yaml: !!binary is not a value of a setting; write text"),
        ("env: {kwargs: {a: !!set {x, y}}}", "my.yaml: !!set is not a value of a setting; write a list"),
        ("extends: " + "a" * 5000 + ".yaml", "my.yaml:1: extends: there is no variant, family or file 'aaa"),
        ("extends: " + "a" * 5000, "my.yaml:1: extends: there is no variant, family or file 'aaa"),
    ],
)
def test_a_file_beyond_a_limit_is_one_message(text: str | bytes, problem: str) -> None:
    assert message(text).startswith(problem)
    assert len(message(text)) < 400


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    Path("my.yaml").write_text("\ufeffenv: {id: CartPole-v1}\nseed: 3")
    assert load_config("my.yaml").config.seed == 3


@pytest.mark.skipif(os.name == "nt", reason="makes a FIFO and links")
def test_only_regular_files_are_read() -> None:
    os.mkfifo("fifo.yaml")
    with pytest.raises(GymnastError, match=r"fifo.yaml is a FIFO instead of a file"):
        load_config("fifo.yaml")
    Path("zero.yaml").symlink_to("/dev/zero")
    with pytest.raises(GymnastError, match=r"zero.yaml is not a regular file"):
        load_config("zero.yaml")


@pytest.mark.skipif(os.name == "nt", reason="makes links")
def test_a_link_is_the_users_choice_but_not_in_a_run_folder() -> None:
    Path("real.yaml").write_text("env: {id: CartPole-v1}")
    Path("link.yaml").symlink_to("real.yaml")
    assert load_config("link.yaml").config.env.id == "CartPole-v1"
    Path("run.json").write_text("{}")
    with pytest.raises(GymnastError, match=r"link.yaml is a link, and links inside a run folder"):
        load_config("link.yaml")


def test_hundreds_of_unknown_keys_are_counted_not_all_explained() -> None:
    found = message("env:\n  id: CartPole-v1\n" + "".join(f"  key{i}: {i}\n" for i in range(500)))
    lines = found.splitlines()
    assert lines[0] == "my: 500 problems"
    assert lines[1].startswith("  my.yaml:3: env.key0: unknown key")
    assert lines[-1] == "  and 480 more"
    assert len(lines) == 22


def test_long_keys_and_values_are_cut() -> None:
    found = message("env: {id: CartPole-v1}\nseed: " + "x" * 10_000 + "\n? " + "y" * 10_000 + "\n: 1\n")
    assert max(len(line) for line in found.splitlines()) < 500


@pytest.mark.parametrize("value", ["&a [*a]", "[" * 3000, "9" * 5000, "{.nan: 1}", "0x" + "f" * 5000])
def test_overrides_have_the_same_limits(value: str) -> None:
    with pytest.raises(GymnastError, match=r"^command line: env.kwargs.x: ") as caught:
        load_config("CartPole-v1:ppo", [f"env.kwargs.x={value}"])
    assert len(str(caught.value)) < 300


def test_aliases_that_stay_small_are_allowed() -> None:
    data = parse_yaml("a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: 3}\nd: &a 5\ne: *a", "x")
    assert data == {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}, "c": {"x": [1, 2], "y": 3}, "d": 5, "e": 5}


@given(st.integers(0, 2 * MOST_DEPTH))
@example(MOST_DEPTH - 1)
@example(MOST_DEPTH)
def test_yaml_nests_up_to_the_limit(depth: int) -> None:
    text = "[" * depth + "x" + "]" * depth
    if depth < MOST_DEPTH:
        parse_yaml(text, "x")
    else:
        with pytest.raises(GymnastError, match="deep"):
            parse_yaml(text, "x")


@given(st.integers(1, 8), st.integers(1, 40), st.integers(1, 40))
def test_aliases_count_at_their_full_size(levels: int, first: int, width: int) -> None:
    """The size is known before anything is expanded."""
    size, text = first + 1, f"a0: &a0 [{', '.join('x' * first)}]\n"
    total = 1 + 1 + size
    for level in range(1, levels):
        size = 1 + width * size
        total += 1 + size
        text += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]\n"
    if total <= MOST_VALUES:
        parse_yaml(text, "x")
    else:
        with pytest.raises(GymnastError, match="more than 10,000 values"):
            parse_yaml(text, "x")


@given(st.text(max_size=60))
def test_any_text_parses_or_is_one_message(text: str) -> None:
    with suppress(GymnastError):
        parse_yaml(text, "x")
