"""A review as it is kept: what was found, what can be started, and what was asked of whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gymnast.review.answer import Finding, parse_answer
from gymnast.review.bundle import Bundle
from gymnast.review.endpoint import Endpoint
from gymnast.review.proposals import Proposal, check_proposal
from gymnast.review.reply import Reply
from gymnast.runs.store import RunFolder, now

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Review:
    """What a language model said about some runs."""

    runs: tuple[str, ...]  # the first keeps the review
    summary: str
    findings: tuple[Finding, ...]
    proposals: tuple[Proposal, ...]
    provider: str
    host: str
    model: str  # that was asked for
    answered_by: str  # as the endpoint names it
    created: str
    prompt_hash: str
    prompt_bytes: int
    estimated_tokens: int
    input_tokens: int | None  # as the endpoint counts them
    output_tokens: int | None
    structured: bool
    path: Path | None = None  # of review.md

    def to_json(self) -> dict[str, Any]:
        """What review.json has, and `gymnast review --json` prints."""
        document = asdict(self)
        del document["path"]
        document["proposals"] = [
            {
                "run": one.run,
                "title": one.title,
                "why": one.why,
                "overrides": list(one.overrides),
                "ready": one.is_ready,
                "problem": one.problem,
                "command": one.command,
                "reference": None if one.start is None else one.start.reference,
            }
            for one in self.proposals
        ]
        return {"format": FORMAT, **document}


def make_review(runs: Sequence[RunFolder], bundle: Bundle, endpoint: Endpoint, reply: Reply) -> Review:
    """From a whole reply; ReviewFailed if it cannot be read."""
    answer = parse_answer(reply.text, bundle.data)
    by_id = {run.id: run for run in runs}
    return Review(
        runs=bundle.runs,
        summary=answer.summary,
        findings=answer.findings,
        proposals=tuple(check_proposal(one, by_id) for one in answer.suggestions),
        provider=endpoint.provider,
        host=endpoint.host,
        model=endpoint.model,
        answered_by=reply.model,
        created=now(),
        prompt_hash=bundle.prompt_hash,
        prompt_bytes=bundle.size,
        estimated_tokens=bundle.tokens,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        structured=reply.structured,
    )
