"""Errors of someone else's code, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gymnast.errors import described


def raised(text: str, folder: Path) -> Exception:
    """What a call of `run` in a file with this text raises."""
    file = folder / "their_code.py"
    file.write_text(text)
    names: dict[str, object] = {"np": np}
    try:
        exec(compile(text, str(file), "exec"), names)
        names["run"]()  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def run():\n    raise ValueError('too far')\n", "ValueError: too far (their_code.py:2)"),
        ("def run():\n    help()\ndef help():\n    assert False\n", "AssertionError (their_code.py:4)"),
        # Where they called a library, not where it raised.
        ("def run():\n    np.linalg.inv(np.zeros((2, 3)))\n", "(their_code.py:2)"),
        ("import json\ndef run():\n    json.loads('{')\n", "(their_code.py:3)"),
        ("def run(:\n", "SyntaxError: invalid syntax (their_code.py:1)"),
    ],
)
def test_an_error_names_the_line_of_their_code(tmp_path: Path, text: str, words: str) -> None:
    assert described(raised(text, tmp_path)).endswith(words)


def test_an_env_of_gymnasium_is_their_code() -> None:
    import gymnasium as gym

    env = gym.make("CartPole-v1").unwrapped
    env.reset()
    with pytest.raises(AssertionError) as told:
        env.step(7)
    assert "(cartpole.py:" in described(told.value)
