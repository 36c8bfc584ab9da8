"""A language model's proposals, asked for over real HTTP from a local server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.runs.store import now
from gymnast.tune.ask_model import proposals_by_model
from gymnast.tune.evidence import Symptom
from gymnast.tune.folder import create_tune
from gymnast.tune.legs import Legs
from gymnast.tune.planning import make_plan
from gymnast.tune.state import TuneState
from llm_server import llm_server, whole

SMALL = {"budget.env_steps": 2048, "eval.every": 1024, "eval.episodes": 2}


def _override(key: str, value: str) -> dict[str, Any]:
    return {"run": "", "title": key, "why": f"because of {key}", "overrides": [{"key": key, "value": value}]}


def test_what_a_model_proposes_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = api.train("CartPole-v1:ppo", overrides=SMALL, runs_dir=tmp_path)
    plan = make_plan("CartPole-v1:ppo", SMALL, workers=1)
    folder = create_tune(tmp_path)
    state = TuneState(folder.id, now(), plan, incumbent={"0": run.id})
    said: list[str] = []
    legs = Legs(folder, state, None, said.append)  # type: ignore[arg-type]
    wanted = [
        _override("algo.gamma", "0.97"), _override("seed", "3"), _override("algo.lrr", "1"),
        _override("env.id", "os:system"),
    ]  # fmt: skip
    answer = {"summary": "ok", "findings": [], "proposals": wanted}
    symptoms = [Symptom("plateau", "warning", 100, "no better score")]
    with llm_server(whole(answer)) as server:
        monkeypatch.setenv("GYMNAST_LLM_BASE_URL", server.url)
        monkeypatch.setenv("GYMNAST_LLM_MODEL", "small-1")
        ask = proposals_by_model(legs, symptoms)
        assert ask is not None
        assert list(ask(1)) == [({"algo.gamma": 0.97}, "because of algo.gamma")]
        assert "symptom plateau" in str(server.questions[0].body)
    assert any("algo.lrr" in line for line in said)
    # Nobody answers any more: the tune goes without.
    assert list(ask(1)) == []
    assert "made no proposals" in said[-1]


def test_without_an_endpoint_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GYMNAST_LLM_BASE_URL", "GYMNAST_LLM_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert proposals_by_model(None, []) is None  # type: ignore[arg-type]
