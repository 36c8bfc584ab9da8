"""The text for language models: always within its limit, and what matters most is in it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast import api
from gymnast.metrics.alerts.alert import SEVERITIES, Alert
from gymnast.reports.changed_settings import ChangedSetting
from gymnast.reports.facts import RunFacts
from gymnast.reports.history import History, _Column
from gymnast.reports.llm import FULL_BYTES, SHORT_BYTES, llm_text
from gymnast.runs.store import RunFolder

TEXTS = st.text(max_size=400) | st.sampled_from(["ü" * 400, "界" * 400, "\ud800", "\x00", "a" * 400])


def with_metrics(facts: RunFacts, names: list[str]) -> RunFacts:
    history = History(rows=50, steps=np.arange(50.0))
    for place, name in enumerate(names):
        values = np.sin(np.arange(50.0) + place) * 10.0 ** min(place, 300)
        history.curves[name] = values
        history.columns[name] = _Column()
        history.columns[name].add(history.steps, values)
    return dataclasses.replace(facts, history=history)


@settings(max_examples=25)
@given(data=st.data(), full=st.booleans())
def test_the_limit_holds_for_any_run(trained: RunFolder, data: st.DataObject, full: bool) -> None:
    facts = _facts(trained)
    names = data.draw(st.lists(TEXTS, max_size=30, unique=True))
    names += [f"env/episode/{number}" for number in range(data.draw(st.sampled_from([0, 10, 300])))]
    many = data.draw(st.sampled_from([1, 40]))
    text = data.draw(TEXTS)
    severity = data.draw(st.sampled_from(SEVERITIES))
    facts = dataclasses.replace(
        with_metrics(facts, names),
        run=dataclasses.replace(facts.run, name=text, reason=text, env=text, algo=text),
        alerts=tuple(Alert(f"a.{number}", severity, text, text, text) for number in range(many)),
        settings=tuple(ChangedSetting(f"algo.x{number}", text, text, text, False) for number in range(many)),
        problems=(text,) * many,
        videos=(f"videos/{text}",) * many,
        versions={text: text},
        machine=text,
    )
    made = llm_text(facts, full=full)
    assert len(made.encode()) <= (FULL_BYTES if full else SHORT_BYTES)
    assert made.endswith("\n")


def test_what_matters_is_there(trained: RunFolder) -> None:
    found = api.read_report(trained.path)
    text = found.llm()
    lines = text.splitlines()
    assert lines[0] == found.outcome
    assert any(line.startswith("- algo.lr = 0.3 (default 0.0003, preset {kind: linear") for line in lines)
    assert any(line.startswith("time: ") and "learn" in line for line in lines)
    score = next(line for line in lines if line.startswith("eval/return/mean "))
    assert score.count(" ") >= 10
    assert all(f" {alert.id} " in text for alert in found.facts.alerts)
    assert len(found.llm(full=True)) >= len(text)


def test_metrics_of_low_priority_go_first_and_are_counted(trained: RunFolder) -> None:
    facts = _facts(trained)
    names = [f"env/episode/{number}" for number in range(300)]
    text = llm_text(with_metrics(facts, ["eval/return/mean", "train/kl", *names]))
    shown = [line for line in text.splitlines() if " → " in line and "@" in line]
    assert "eval/return/mean" in text
    assert "train/kl" in text
    assert (
        text.splitlines()[-1]
        == f"{302 - len(shown) + _header_lines(shown)} metrics of low priority left out; --full shows more"
    )
    assert "left out" not in llm_text(with_metrics(facts, ["train/kl"]))


def _header_lines(shown: list[str]) -> int:
    return sum(line.startswith("metrics:") for line in shown)


def _facts(run: RunFolder) -> RunFacts:
    known: Any = _KNOWN.get(run.path)
    if known is None:
        known = _KNOWN[run.path] = api.read_report(run.path).facts
    return known


_KNOWN: dict[Any, RunFacts] = {}
