"""Whatever is typed, a command ends with a result or with one message: no traceback, no hang."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from fuzz.wrong_input import command_lines, config_files, run_command


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(words=command_lines())
def test_every_command_line_ends_with_a_result_or_one_message(words: list[str], tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    ending = run_command(words)
    assert ending.fault() is None, (words, ending)
    assert set(tmp_path.rglob("*")) == before


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=config_files())
def test_every_config_file_is_valid_or_one_message(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    ending = run_command(["config", "validate", str(file)])
    assert ending.fault() is None, (text, ending)
    assert file.read_text(encoding="utf-8") == text.replace("\r\n", "\n").replace("\r", "\n")
