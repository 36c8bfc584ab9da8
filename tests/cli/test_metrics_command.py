from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from gymnast.cli.metrics import metrics
from gymnast.errors import GymnastError
from gymnast.metrics.catalogue import all_metrics, markdown

CATALOGUE = [metric.key for metric in all_metrics()]


def invoke(*args: str) -> str:
    app = typer.Typer()
    app.command()(metrics)
    result = CliRunner().invoke(app, list(args))
    if isinstance(result.exception, GymnastError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_all_of_them() -> None:
    text = invoke()
    assert all(key in text for key in CATALOGUE)
    assert [metric["key"] for metric in json.loads(invoke("--json"))] == CATALOGUE
    assert invoke("--markdown") == markdown()


def test_some_of_them() -> None:
    found = json.loads(invoke("clip_range", "--json"))
    assert [metric["key"] for metric in found] == ["opt/clip_range", "opt/value_clip_range"]
    assert found[0]["low"] == 0
    assert "train/entropy" in invoke("entropy")


def test_none_of_them() -> None:
    with pytest.raises(GymnastError, match=r"no metric mentions 'train/klx' .did you mean 'train/kl'"):
        invoke("train/klx")
