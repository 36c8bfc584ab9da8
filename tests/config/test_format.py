"""`format_text`: canonical order, comments kept over their keys, stable, and never a change of meaning."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.config.format import format_text
from gymnast.config.reading import PACKAGED, parse_yaml
from gymnast.config.schema import Config
from gymnast.errors import GymnastError

SOURCE = """\
# what this file is for

# about the variants
variants:

    # the fast one
    fast:
        algo:   # at the end of a line
            lr: {end: 0,start: 1e-3, kind: linear}
            # over n_steps
            n_steps: 32
            name: ppo
            # closes algo
        extends: slow
    slow: {}
# about base
base:
      env:
            wrappers:
            - name: x
              b: 1
            - y
            id: "CartPole-v1"   # quoted
            spec:
              description: |
                # no comment

                two
              solved_at: 475
      seed: 3

# the end
"""

FORMATTED = """\
# what this file is for

# about base
base:
  seed: 3
  env:
    id: "CartPole-v1"   # quoted
    wrappers:
      - name: x
        b: 1
      - y
    spec:
      solved_at: 475
      description: |
        # no comment

        two

# about the variants
variants:
  # the fast one
  fast:
    extends: slow
    algo:   # at the end of a line
      name: ppo
      # over n_steps
      n_steps: 32
      lr: {kind: linear, start: 1e-3, end: 0}
      # closes algo
  slow: {}

# the end
"""


def test_canonical_form() -> None:
    assert format_text(SOURCE) == FORMATTED
    assert format_text(FORMATTED) == FORMATTED


def test_a_plain_config_takes_the_order_of_the_schema() -> None:
    text = "extends: _box2d\nalgo: {gamma: 0.9, name: ppo}\nenv: {n_envs: 2, id: X}\n"
    assert format_text(text) == "extends: _box2d\nenv: {id: X, n_envs: 2}\nalgo: {name: ppo, gamma: 0.9}\n"


def test_unknown_keys_and_free_maps_keep_their_order_at_the_end() -> None:
    text = "zeta: 1\nenv:\n  kwargs: {b: 1, a: 2}\n  id: X\nalpha: 2\n"
    assert format_text(text) == "env:\n  id: X\n  kwargs: {b: 1, a: 2}\nzeta: 1\nalpha: 2\n"


def test_nothing_is_written_as_null() -> None:
    assert format_text("seed:\nstop:\n  eval_return: ~  # to the end\n") == (
        "seed: null\nstop:\n  eval_return: null # to the end\n"
    )


def test_the_comment_that_opens_the_file_stays_there() -> None:
    assert (
        format_text("# about the file\nalgo: {}\nenv: {id: X}\n")
        == "# about the file\nenv: {id: X}\nalgo: {}\n"
    )


@pytest.mark.parametrize("name", ["1", "0x10", "'2.5'", '"true"'])
def test_a_variant_may_be_called_by_a_number(name: str) -> None:
    text = f"variants:\n  {name}:\n    algo: {{lr: 1e-3, name: ppo}}\n    seed: 3\n"
    formatted = format_text(text)
    assert formatted.startswith(f"variants:\n  {name}:\n")
    assert parse_yaml(formatted, "x") == parse_yaml(text, "x")


@pytest.mark.parametrize("name", ["2.5", "2.50", "2024-01-01", "true", "null"])
def test_a_variant_that_yaml_does_not_read_as_text_is_one_message(name: str) -> None:
    with pytest.raises(GymnastError, match="a key must be text"):
        format_text(f"variants:\n  {name}:\n    seed: 3\n")


def test_anchors_keep_their_order() -> None:
    text = "policy: &p\n  hidden: [3]\nenv:\n  kwargs: *p\n"
    assert parse_yaml(format_text(text), "x") == parse_yaml(text, "x")


def test_what_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(GymnastError, match=r"my\.yaml:2: not valid YAML"):
        format_text("a: [1,\nb: }", "my.yaml")
    with pytest.raises(GymnastError, match="must hold a map"):
        format_text("- 1\n")


@pytest.mark.parametrize("path", sorted(PACKAGED.glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_presets_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text) == text, "run `gymnast config format` on it"


SECTIONS = {name: list(field.annotation.model_fields) for name, field in Config.model_fields.items()
            if hasattr(field.annotation, "model_fields")}  # fmt: skip
scalars = st.sampled_from(
    ["1", "2.5e-4", "true", "null", "300k", "'quoted'", '"# no comment"', "[1, 2]", "{b: 1, a: 2}"]
)


@st.composite
def config_texts(draw: st.DrawFn) -> str:
    """A file with shuffled keys, any indentation, and comments wherever one is allowed."""
    rng = random.Random(draw(st.integers(0, 10**6)))
    count = 0

    def comment() -> str:
        nonlocal count
        count += 1
        return f"# note {count}"

    def section(column: int, keys: dict[str, Any]) -> list[str]:
        lines: list[str] = []
        for key, value in keys.items():
            if rng.random() < 0.15:
                lines += [""] * rng.randint(1, 2)
            lines += [" " * column + comment() for _ in range(rng.randint(0, 2) if rng.random() < 0.4 else 0)]
            tail = "  " + comment() if rng.random() < 0.2 else ""
            if isinstance(value, dict) and value:
                step = rng.choice([1, 2, 3, 4])
                lines += [f"{' ' * column}{key}:{tail}", *section(column + step, value)]
                if rng.random() < 0.2:
                    lines.append(" " * (column + step) + comment())
            elif isinstance(value, dict):
                lines.append(f"{' ' * column}{key}: {{}}{tail}")
            else:
                lines.append(f"{' ' * column}{key}:{' ' * rng.randint(1, 3)}{value}{tail}")
        return lines

    def settings() -> dict[str, Any]:
        chosen = draw(st.lists(st.sampled_from(sorted(SECTIONS)), unique=True, max_size=4))
        return {
            name: {key: draw(scalars) for key in draw(st.permutations(SECTIONS[name]))[: rng.randint(0, 4)]}
            for name in chosen
        } | ({"seed": "3"} if rng.random() < 0.5 else {})

    shape: dict[str, Any] = settings()
    if draw(st.booleans()):
        shape = {"variants": {f"v{i}": settings() for i in range(rng.randint(0, 3))}, "base": settings()}
    shape = shape or {"seed": "1"}
    return "\n".join([*([comment(), ""] if rng.random() < 0.5 else []), *section(0, shape)]) + "\n"


def comments_of(text: str) -> Counter[str]:
    return Counter(
        word
        for line in text.splitlines()
        if "# note" in line
        for word in ["# note" + line.split("# note")[1]]
    )


@given(config_texts())
def test_formatting_is_stable_and_keeps_meaning_and_comments(text: str) -> None:
    formatted = format_text(text)
    assert format_text(formatted) == formatted
    assert parse_yaml(formatted, "x") == parse_yaml(text, "x")
    assert comments_of(formatted) == comments_of(text)
