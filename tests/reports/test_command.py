"""`gymnast report` on a real run."""

from __future__ import annotations

import json

from gymnast.runs.store import RunFolder
from hostile_folders import call


def report(run: RunFolder, *options: str) -> tuple[int | str, str]:
    return call(["report", run.id, *options, "--runs-dir", str(run.root)])


def test_text_for_a_language_model(trained: RunFolder) -> None:
    code, text = report(trained, "--llm")
    assert code == 0
    assert text.startswith("CartPole-v1:ppo finished after 3,072 env steps")
    assert len(text.encode()) <= 8000
    assert len(report(trained, "--llm", "--full")[1].encode()) <= 32000


def test_json(trained: RunFolder) -> None:
    code, text = report(trained, "--json")
    assert code == 0
    assert json.loads(text)["run"]["id"] == trained.id


def test_markdown_on_standard_output_changes_nothing(trained: RunFolder) -> None:
    before = trained.report_path.stat().st_mtime_ns
    code, text = report(trained, "--output", "-")
    assert code == 0
    assert text.startswith("# CartPole-v1:ppo")
    assert trained.report_path.stat().st_mtime_ns == before


def test_summary_and_file(copied: RunFolder) -> None:
    code, text = report(copied, "--no-tables")
    assert code == 0
    assert text.startswith("CartPole-v1:ppo finished")
    assert text.endswith(f"report   {copied.report_path}\n")
    assert (copied.pictures / "score.png").is_file()


def test_text_goes_to_a_file(copied: RunFolder) -> None:
    path = copied.root.parent / "run.txt"
    code, _ = report(copied, "--llm", "--output", str(path))
    assert code == 0
    assert path.read_text() == report(copied, "--llm")[1]


def test_wrong_options(trained: RunFolder) -> None:
    assert report(trained, "--full") == (2, "--full is the longer form of --llm: give both")
    assert report(trained, "--llm", "--json") == (2, "give one of --llm and --json")
    code, text = call(["report", "nosuchru", "--runs-dir", str(trained.root)])
    assert code == 2
    assert "no run 'nosuchru'" in text
    nowhere = trained.root / "nowhere" / "mine.md"
    for words in ((), ("--llm",)):
        assert report(trained, *words, "--output", str(nowhere)) == (
            2,
            f"{nowhere}: there is no folder {nowhere.parent}",
        )
    assert not nowhere.parent.exists()
