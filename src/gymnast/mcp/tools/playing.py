"""Tools that let a trained policy play: evaluation, video, a table of steps. Each works in a job of its
own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio.to_thread
from pydantic import Field

from gymnast import api
from gymnast.errors import GymnastError
from gymnast.mcp.serving import Serving
from gymnast.mcp.tool import WRITES, tool
from gymnast.mcp.tools.configs import Overrides
from gymnast.mcp.tools.finding import Offset
from gymnast.mcp.tools.watching import Wait, WatchedJob, shown_job, wait_for_job

Checkpoint = Annotated[str, Field(description="RUN, RUN/@best, RUN/@last or RUN/STEPS; of a run its best")]
Seed = Annotated[int | None, Field(ge=0)]


@dataclass
class Steps:
    checkpoint: str
    job: str  # not empty: still being played, see watch_job
    columns: list[str]
    rows: list[list[str]]
    total: int
    next_offset: int | None


class PlayingTools:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    @tool(WRITES)
    async def evaluate(
        self,
        run: Checkpoint,
        episodes: Annotated[int, Field(ge=1, le=1000)] = 100,
        stochastic: bool = False,
        seed: Seed = None,
        overrides: Overrides = None,
        wait_seconds: Wait = 1,
    ) -> WatchedJob:
        """Score a checkpoint over whole episodes that training never saw (mean ± std, solved or not), as a
        job. Returns the result if it is done within wait_seconds, else ask watch_job. `stochastic` samples
        actions instead of taking the most likely."""
        arguments = {"episodes": episodes, "stochastic": stochastic, "seed": seed}
        return await self._job("evaluate", run, arguments, overrides, wait_seconds)

    @tool(WRITES)
    async def record_video(
        self,
        run: Checkpoint,
        episodes: Annotated[int, Field(ge=1, le=20)] = 1,
        kind: Literal["checkpoint", "progress"] = "checkpoint",
        seed: Seed = None,
        wait_seconds: Wait = 1,
    ) -> WatchedJob:
        """Record an MP4 of a checkpoint, or (progress) of how a run learned, as a job; the result has its
        path."""
        if kind == "progress":
            name = run.partition("/")[0]
            return await self._job("progress_video", name, {"seed": seed}, None, wait_seconds, whole_run=True)
        return await self._job("video", run, {"episodes": episodes, "seed": seed}, None, wait_seconds)

    @tool(WRITES)
    async def get_rollout_table(
        self,
        run: Checkpoint,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
        offset: Offset = 0,
        wait_seconds: Wait = 20,
    ) -> Steps:
        """One evaluation episode of a checkpoint step by step: observations, action, reward, value,
        probabilities. If it was not played yet, it is now, as a job."""
        serving = self._serving
        checkpoint = await anyio.to_thread.run_sync(self._checkpoint, run)
        rows = await anyio.to_thread.run_sync(
            lambda: api.read_rollout_table(checkpoint, runs_dir=serving.runs_dir)
        )
        if rows is None:
            job = await self._job("steps", checkpoint, {}, None, wait_seconds)
            if job.state == "working":
                return Steps(checkpoint, job.job, [], [], 0, None)
            if job.state != "done":
                raise GymnastError(job.error or f"job {job.job} is {job.state}")
            rows = api.read_rollout_table(checkpoint, runs_dir=serving.runs_dir) or [[]]
        header, *steps = rows
        page: list[list[str]] = []
        for row in steps[offset : offset + limit]:
            if sum(len(cell) + 3 for shown in page for cell in shown) > 14_000:
                break
            page.append(row)
        following = offset + len(page)
        return Steps(checkpoint, "", header, page, len(steps), following if following < len(steps) else None)

    def _checkpoint(self, run: str) -> str:
        return api.outside_checkpoint(run, runs_dir=self._serving.runs_dir)

    async def _job(
        self,
        kind: str,
        run: str,
        arguments: dict[str, Any],
        overrides: Any,
        wait_seconds: float,
        *,
        whole_run: bool = False,
    ) -> WatchedJob:
        serving = self._serving

        def start() -> api.Job:
            named = serving.run(run).id if whole_run else self._checkpoint(run)
            given: dict[str, Any] = {"run" if whole_run else "reference": named, **arguments}
            given["trust"] = serving.trust
            if overrides:
                changes = api.check_settings(overrides, trust=serving.trust)
                api.check_changes(serving.run(named.partition("/")[0]), changes, trust=serving.trust)
                given["overrides"] = changes
            return api.start_job(kind, named.partition("/")[0], given, runs_dir=serving.runs_dir)

        job = await anyio.to_thread.run_sync(start)
        return shown_job(await wait_for_job(serving, job.id, wait_seconds))
