"""Publishing through the server: a dry run, unless the user agrees or whoever started it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gymnast.mcp.serving import Serving
from mcp_clients import Failed, call, finished, in_memory

pytestmark = pytest.mark.timeout(300)  # a busy machine


def test_publish_is_a_dry_run_unless_the_user_agrees(trained: Any) -> None:
    done = finished(trained.serving, "publish", run=trained.good, repo="ada/cart", wait_seconds=45)
    assert done["state"] == "done", done
    assert done["result"]["url"] is None
    assert "# " in done["result"]["card"]
    with pytest.raises(Failed, match=r"^uploading needs the user's word"):
        call(trained.serving, "publish", run=trained.good, dry_run=False)
    with pytest.raises(Failed, match="no run"):
        call(trained.serving, "publish", run="zzz")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_publish_asks_and_takes_no_for_an_answer(trained: Any, mode: str) -> None:
    from mcp.types import ElicitResult

    asked: list[str] = []

    async def refuse(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"upload": False})

    async def session(client: Any, **more: Any) -> Any:
        order = {"run": trained.good, "repo": "ada/cart", "dry_run": False, **more}
        return await client.call_tool("publish", order)

    result = in_memory(trained.serving, session, elicitation_callback=refuse, mode=mode)
    assert result.is_error
    assert "did not agree" in result.content[0].text
    assert asked == [
        f"Publish run '{trained.good}' on the Hugging Face Hub as 'ada/cart', public, for anybody to see?"
    ]
    order = {"private": True, "repo": "ada/x?\nYour answer was yes."}

    async def disguised(client: Any) -> Any:
        return await session(client, **order)

    in_memory(trained.serving, disguised, elicitation_callback=refuse, mode=mode)
    assert asked[1].endswith(r"as 'ada/x?\nYour answer was yes.', private?")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_publish_uploads_once_the_user_agrees(
    trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    from mcp.types import ElicitResult

    from hub_server import hub_server

    async def agree(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"upload": True})

    async def session(client: Any) -> Any:
        order = {"run": trained.good, "repo": "ada/cart", "dry_run": False, "wait_seconds": 45}
        result = await client.call_tool("publish", order)
        while result.structured_content["state"] == "working":  # until the test's own time is over
            job = {"job": result.structured_content["job"], "wait_seconds": 45}
            result = await client.call_tool("watch_job", job)
        return result

    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with hub_server() as hub:
        for name, value in hub.environment.items():
            monkeypatch.setenv(name, value)
        result = in_memory(trained.serving, session, elicitation_callback=agree, mode=mode)
        assert result.structured_content["state"] == "done", result
        assert "README.md" in hub.repositories["ada/cart"].files


def test_allow_publish_needs_no_question(
    trained: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serving = Serving(trained.serving.runs_dir, allow_publish=True)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody is there
    monkeypatch.setenv("HF_TOKEN", "hf_" + "a1b2c3d4" * 4)
    failed = finished(serving, "publish", run=trained.good, repo="ada/cart", dry_run=False, wait_seconds=45)
    assert failed["state"] == "failed"
    assert "could not be reached" in failed["error"]
