from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gymnast import api
from gymnast.cli.diagnose import diagnose
from gymnast.errors import GymnastError

DATA = Path(__file__).parents[1] / "data"
STUCK = str(DATA / "sb3_issue_2240_progress.csv")
DOCS = Path(__file__).parents[2] / "docs"


def invoke(*args: str) -> str:
    app = typer.Typer()
    app.command()(diagnose)
    result = CliRunner().invoke(app, list(args))
    if isinstance(result.exception, GymnastError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_the_text_fits_sixty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = invoke(STUCK)
    first, second, *rest = text.splitlines()
    assert first.startswith("3 warnings, 2 info in ")
    assert second == "Stable-Baselines3, 50 updates, 102,400 env steps"
    assert max(map(len, rest)) <= 60
    assert "warning  ev.low  train/explained_variance" in rest
    assert any(line.startswith("    → learning_rate is 0.0003: try ") for line in rest)


def test_severities_are_coloured_so_that_black_and_white_backgrounds_show_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    diagnose(STUCK)
    text = capsys.readouterr().out
    assert "\x1b[35mwarning\x1b[0m" in text
    assert set(re.findall(r"\x1b\[(\d+)m", text)) <= {"0", "1", "31", "35"}
    monkeypatch.setenv("NO_COLOR", "1")
    diagnose(STUCK)
    assert "\x1b" not in capsys.readouterr().out


def test_json_has_the_fields_of_every_alert() -> None:
    found = json.loads(invoke(STUCK, "--json"))
    assert found["source"] == STUCK
    for alert in found["alerts"]:
        assert set(alert) == {
            *("id", "severity", "metric", "count"),
            *("first_step", "last_step", "message", "advice"),
        }
        assert alert["first_step"] <= alert["last_step"]
    assert [alert["id"] for alert in found["alerts"]] == sorted(alert["id"] for alert in found["alerts"])


def test_nothing_found_is_said(tmp_path: Path) -> None:
    healthy = tmp_path / "progress.csv"
    healthy.write_text("train/approx_kl,train/entropy_loss\n0.01,-0.69\n")
    assert invoke(str(healthy)).splitlines()[0] == f"no alerts in {healthy}"


def test_what_a_terminal_would_obey_is_escaped(tmp_path: Path) -> None:
    hostile = tmp_path / "progress\x1b[2J.csv"
    hostile.write_text("train/approx_kl,train/entropy_loss\n0.01,-0.69\n")
    assert "\x1b" not in invoke(str(hostile))
    with pytest.raises(GymnastError, match="none of its 1 columns is known"):
        invoke(str(_with(tmp_path, "a\x1b[2Jb\n1\n")))


def _with(folder: Path, text: str) -> Path:
    file = folder / "file.csv"
    file.write_text(text)
    return file


def test_rules_are_listed_and_explained() -> None:
    ids = [rule.id for rule in api.list_rules()]
    assert [rule["id"] for rule in json.loads(invoke("--rules", "--json"))] == ids
    assert all(id_ in invoke("--rules") for id_ in ids)
    page = invoke("--explain", "kl.spike")
    assert page.startswith("# kl.spike\n")
    assert "## What to change" in page
    with pytest.raises(GymnastError, match=r"no alert 'kl.spyke' \(did you mean 'kl.spike'"):
        invoke("--explain", "kl.spyke")


def test_docs_are_generated_from_the_rules(tmp_path: Path) -> None:
    (tmp_path / "alerts").mkdir()
    (tmp_path / "alerts" / "gone.md").write_text("of a rule that is no more")
    invoke("--markdown", str(tmp_path))
    written = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.md")}
    kept = [DOCS / "alerts.md", *(DOCS / "alerts").glob("*.md")]
    assert written == {path.relative_to(DOCS): path.read_text() for path in kept}, "run: make docs"


@pytest.mark.parametrize("rule", api.list_rules(), ids=lambda rule: rule.id)
def test_every_rule_says_what_it_means_and_how_bad_it_is(rule: api.AlertRule) -> None:
    page = api.alert_page(rule.id)
    assert "Severity: ." not in page
    assert len(rule.means) > 60
    assert rule.metric in rule.reads
