"""Tools that show a run to people: the inspector in a browser, a page on the Hugging Face Hub."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import anyio.to_thread
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

from gymnast import api
from gymnast.errors import GymnastError, cut
from gymnast.mcp.serving import Serving
from gymnast.mcp.tool import UPLOADS, WRITES, tool
from gymnast.mcp.tools.playing import Checkpoint
from gymnast.mcp.tools.training import RunName
from gymnast.mcp.tools.watching import Wait, WatchedJob, error_of, shown_job, wait_for_job

_STARTS_WITHIN = 40.0  # seconds, of the inspector; clients wait for a minute
_LONGEST_CARD = 6_000

Repo = Annotated[str, Field(description="OWNER/NAME; empty: ALGO-ENV of the account")]
DryRun = Annotated[bool, Field(description="write the folder and show the card, upload nothing")]


@dataclass
class Inspector:
    url: str
    job: str  # stop_training ends it


class Answer(BaseModel):
    upload: bool = Field(description="Upload it now, for others to see")


async def ask_user(
    run: str, repo: str, dry_run: bool, private: bool, ctx: Context
) -> Elicit[Answer] | Answer:
    """The user's word before anything is uploaded. The names are the model's: they are quoted."""
    if dry_run:
        return Answer(upload=False)
    known = ctx.client_capabilities
    if known is None or known.elicitation is None:
        raise ToolError(
            f"uploading needs the user's word, and this client cannot ask: have them run `gymnast publish"
            f" {run}` themselves, or start the server with --allow-publish"
        )
    place = repr(cut(repo)) if repo else "ALGO-ENV of your account"
    seen = "private" if private else "public, for anybody to see"
    return Elicit(f"Publish run {cut(run)!r} on the Hugging Face Hub as {place}, {seen}?", Answer)


class SharingTools:
    """Uploads only once the user has agreed."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    @tool(WRITES)
    async def open_inspector(
        self, run: RunName = "@last", port: Annotated[int, Field(ge=0, le=65535)] = 0
    ) -> Inspector:
        """Serve the inspector of a run on this machine, for the user to open in a browser: give them the
        URL."""
        serving = self._serving
        folder = await anyio.to_thread.run_sync(serving.run, run)
        order = {"run": folder.id, "port": port}
        job = api.start_job("inspect", folder.id, order, runs_dir=serving.runs_dir)
        until = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < until:
            if url := api.job_address(job.id, runs_dir=serving.runs_dir):
                return Inspector(url, job.id)
            now = api.read_job(job.id, runs_dir=serving.runs_dir)
            if now.state != "working":
                raise GymnastError(f"the inspector cannot be opened: {_said(now)}")
            await anyio.sleep(0.2)
        api.stop_job(job.id, runs_dir=serving.runs_dir)
        raise GymnastError(f"the inspector did not start within {_STARTS_WITHIN:g} s")

    @tool(UPLOADS)
    async def publish(
        self,
        run: Checkpoint,
        answer: Annotated[ElicitationResult[Answer], Resolve(ask_user)],
        repo: Repo = "",
        dry_run: DryRun = True,
        private: bool = False,
        wait_seconds: Wait = 20,
    ) -> WatchedJob:
        """Publish a checkpoint on the Hugging Face Hub with a card, a fresh score and a video, as a job. By
        default a dry run; the user is asked before anything is uploaded."""
        agreed = isinstance(answer, AcceptedElicitation) and answer.data.upload
        if not dry_run and not agreed:
            raise GymnastError("the user did not agree: nothing was uploaded")
        return await publish(self._serving, run, repo, dry_run, private, wait_seconds)


class TrustedSharingTools(SharingTools):
    """Uploads without asking: whoever started the server has agreed."""

    open_inspector = SharingTools.open_inspector

    @tool(UPLOADS)
    async def publish(  # type: ignore[override]
        self,
        run: Checkpoint,
        repo: Repo = "",
        dry_run: DryRun = True,
        private: bool = False,
        wait_seconds: Wait = 20,
    ) -> WatchedJob:
        """Publish a checkpoint on the Hugging Face Hub with a card, a fresh score and a video, as a job. By
        default a dry run."""
        return await publish(self._serving, run, repo, dry_run, private, wait_seconds)


async def publish(
    serving: Serving, run: str, repo: str, dry_run: bool, private: bool, wait_seconds: float
) -> WatchedJob:
    def start() -> api.Job:
        checkpoint = api.outside_checkpoint(run, runs_dir=serving.runs_dir)
        order: dict[str, Any] = {"reference": checkpoint, "repo": repo or None, "dry_run": dry_run}
        order |= {"private": private, "trust": serving.trust}
        return api.start_job("publish", checkpoint.partition("/")[0], order, runs_dir=serving.runs_dir)

    job = await anyio.to_thread.run_sync(start)
    done = shown_job(await wait_for_job(serving, job.id, wait_seconds))
    if done.result and "card" in done.result:
        done.result["card"] = cut(done.result["card"], _LONGEST_CARD)
    return done


def _said(job: api.Job) -> str:
    """What a command printed before it ended."""
    if job.crashed:
        return error_of(job)
    lines = [line.removeprefix("error: ") for line in job.output.strip().splitlines()]
    return cut(" ".join(lines), 600) or job.error or f"it {job.state}"
