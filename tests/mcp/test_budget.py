"""Clients pay for every character: what the server says of itself, and what it answers by default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gymnast import api
from gymnast.mcp.serving import Serving
from mcp_clients import MOST_OF_AN_ANSWER, answer, call, in_memory

pytestmark = pytest.mark.timeout(300)  # a busy machine

MOST_OF_ALL_TOOLS = 24_000  # characters; about 6,000 tokens


def test_the_list_of_tools_is_short(trained: Any) -> None:
    async def session(client: Any) -> Any:
        return (await client.list_tools()).tools, client.instructions

    tools, instructions = in_memory(trained.serving, session)
    dumped = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(tools) < 25
    assert sum(len(json.dumps(one, separators=(",", ":"))) for one in dumped) < MOST_OF_ALL_TOOLS
    for tool in tools:
        assert tool.description
        assert tool.output_schema
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is not None
        assert tool.annotations.open_world_hint is (tool.name == "publish")
        assert f'"{tool.name}"' not in json.dumps(tool.output_schema)
    destructive = {tool.name for tool in tools if tool.annotations.destructive_hint}
    assert destructive == {"stop_training", "publish"}
    assert len(instructions) < 4_000
    for word in ("start_training", "watch_run", "evaluate", "suggest_changes", "compare_runs"):
        assert word in instructions


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Serving:
    """Many runs of many updates with many checkpoints."""
    folder: Path = tmp_path_factory.mktemp("crowded")
    for seed in range(6):
        overrides = {"seed": seed, "eval.every": 1024, "algo.lr": 0.1, "env.n_envs": 4, "algo.n_steps": 64}
        api.train("CartPole-v1:ppo", overrides=overrides, max_env_steps=20_000, runs_dir=folder)
    return Serving(folder)


def test_default_answers_are_short(crowded: Serving) -> None:
    ids = [entry.id for entry in api.list_runs(runs_dir=crowded.runs_dir)]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("find_environments", {}),
        ("find_environments", {"every": True, "limit": 100}),
        ("look_up", {"query": ""}),
        ("look_up", {"query": "e", "limit": 100}),
        ("get_config", {"reference": "CartPole-v1:ppo"}),
        ("validate_config", {"reference": "CartPole-v1:ppo"}),
        ("watch_run", {"run": ids[0]}),
        ("list_runs", {"limit": 100}),
        ("describe_run", {"run": ids[0]}),
        ("get_metrics", {"run": ids[0]}),
        ("get_metrics", {"run": ids[0], "metrics": ["*"], "points": 50}),
        ("compare_runs", {"env": "CartPole-v1"}),
        ("compare_runs", {"env": "CartPole-v1", "group_by": "auto"}),
        ("diagnose_run", {"run": ids[0]}),
        ("suggest_changes", {"run": ids[0]}),
        ("get_report", {"run": ids[0]}),
        ("read_log", {"run": ids[0]}),
        ("read_log", {"run": ids[0], "lines": 500}),
        ("evaluate", {"run": ids[0], "episodes": 200, "wait_seconds": 45}),
        ("get_rollout_table", {"run": ids[0], "limit": 200}),
    ]
    for tool, arguments in calls:

        async def session(client: Any, tool: str = tool, arguments: Any = arguments) -> Any:
            return await client.call_tool(tool, arguments)

        result = in_memory(crowded, session)
        answer(result)
        text = "".join(block.text for block in result.content)
        limit = MOST_OF_AN_ANSWER if len(arguments) < 2 or arguments.get("limit") != 100 else 40_000
        assert len(text) < limit, (tool, arguments, len(text))
        assert json.loads(text) == result.structured_content


def test_full_answers_are_bounded(crowded: Serving) -> None:
    run = api.list_runs(runs_dir=crowded.runs_dir)[0].id
    for tool in ("describe_run", "diagnose_run", "get_report"):
        assert len(json.dumps(call(crowded, tool, run=run, detail="full"))) < 45_000
    assert len(json.dumps(call(crowded, "get_config", reference="CartPole-v1:ppo", detail="full"))) < 45_000
