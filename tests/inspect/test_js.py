"""The page's own modules, tested under Node where they need no browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = sorted((Path(__file__).parents[1] / "js").glob("*.test.mjs"))


def test_the_modules_of_the_page_pass_their_tests() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    assert len(TESTS) >= 8
    done = subprocess.run(
        [node, "--test", *map(str, TESTS)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
