"""Resources and prompts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from gymnast.mcp.serving import Serving
from mcp_clients import in_memory


def read(trained: Any, uri: str) -> str:
    async def session(client: Any) -> Any:
        try:
            return (await client.read_resource(uri)).contents[0].text
        except MCPError as error:
            return error

    result = in_memory(trained.serving, session)
    if isinstance(result, MCPError):
        raise result
    return str(result)


def test_resources_of_a_run(trained: Any) -> None:
    run = trained.good
    assert "id: CartPole-v1" in read(trained, f"gymnast://runs/{run}/config")
    assert "CartPole-v1" in read(trained, f"gymnast://runs/{run}/report")
    assert "checkpoint" in read(trained, f"gymnast://runs/{run}/log")
    rows = read(trained, f"gymnast://runs/{run}/metrics.csv").splitlines()
    assert rows[0].startswith("time/env_steps,")
    assert len(rows) > 5
    few = read(trained, f"gymnast://runs/{run}/metrics.csv?rows=3").splitlines()
    assert few == [rows[0], rows[1], rows[1 + round((len(rows) - 2) / 2)], rows[-1]]


@pytest.mark.parametrize("page", ["guide", "settings", "metrics", "alerts", "kl.high"])
def test_pages(trained: Any, page: str) -> None:
    assert len(read(trained, f"gymnast://docs/{page}")) > 300


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("gymnast://runs/zzz/config", "no run 'zzz'"),
        ("gymnast://docs/kl.hihg", "did you mean 'kl.high'"),
        ("gymnast://runs/@last/metrics.csv?rows=1", "rows must be between"),
        ("gymnast://nothing", "[Uu]nknown"),
        ("gymnast://runs/..%2F..%2Fetc/config", "[Uu]nknown"),
        ("gymnast://docs/..%2F..%2Fpasswd", "[Uu]nknown"),
    ],
)
def test_what_is_not_there(trained: Any, uri: str, message: str) -> None:
    with pytest.raises(MCPError, match=message):
        read(trained, uri)


def test_lists(trained: Any) -> None:
    async def session(client: Any) -> Any:
        templates = (await client.list_resource_templates()).resource_templates
        resources = (await client.list_resources()).resources
        prompts = (await client.list_prompts()).prompts
        return (
            {one.uri_template for one in templates},
            {str(one.uri) for one in resources},
            {one.name for one in prompts},
        )

    templates, resources, prompts = in_memory(trained.serving, session)
    assert "gymnast://runs/{run}/report" in templates
    assert "gymnast://metrics" in resources
    assert prompts == {"diagnose", "improve", "reproduce"}


def prompt(trained: Any, name: str, **arguments: str) -> str:
    async def session(client: Any) -> Any:
        try:
            return (await client.get_prompt(name, arguments)).messages[0].content.text
        except MCPError as error:
            return error

    result = in_memory(trained.serving, session)
    if isinstance(result, MCPError):
        raise result
    return str(result)


def test_prompts_begin_with_what_is_known(trained: Any) -> None:
    for name in ("diagnose", "improve", "reproduce"):
        text = prompt(trained, name, run=trained.bad)
        assert trained.bad in text
        assert "data, not instructions" in text
        assert "alerts" in text
    assert "The goal: solve it in 20k steps" in prompt(trained, "improve", goal="solve it in 20k steps")
    assert "gymnast train CartPole-v1:ppo" in prompt(trained, "reproduce", run=trained.bad)
    with pytest.raises(MCPError, match="no run 'zzz'"):
        prompt(trained, "diagnose", run="zzz")


def test_arguments_are_completed(trained: Any) -> None:
    async def session(client: Any) -> Any:
        run = await client.complete(
            PromptReference(type="ref/prompt", name="diagnose"), {"name": "run", "value": trained.good[:3]}
        )
        template = ResourceTemplateReference(type="ref/resource", uri="gymnast://docs/{page}")
        page = await client.complete(template, {"name": "page", "value": "kl."})
        other = await client.complete(template, {"name": "run", "value": "../"})
        return run.completion.values, page.completion.values, other.completion.values

    runs, pages, nothing = in_memory(trained.serving, session)
    assert runs == [trained.good]
    assert "kl.high" in pages
    assert nothing == []


def test_prompt_to_reproduce_says_what_one_training_cannot(trained: Any, tmp_path: Path) -> None:
    assert "It was resumed" not in prompt(trained, "reproduce", run=trained.good)
    runs = shutil.copytree(trained.serving.runs_dir, tmp_path / "runs")
    info = runs / trained.good / "run.json"
    resume = {"env_steps": 4096, "command": ["gymnast", "train", "--resume", trained.good, "algo.lr=0.1"]}
    info.write_text(json.dumps(json.loads(info.read_text()) | {"resumes": [resume]}))
    resumed = SimpleNamespace(serving=Serving(runs_dir=runs))
    assert "It was resumed" in prompt(resumed, "reproduce", run=trained.good)
