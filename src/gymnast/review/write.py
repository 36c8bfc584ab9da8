"""review.md and review.json in a run's folder; the last review replaces the one before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.reports.text import code, moment, plain
from gymnast.review.record import Review
from gymnast.runs.files import refuse_irregular, write_atomic, write_failed
from gymnast.runs.store import RunFolder

_LOCK_SECONDS = 10.0


def write_review(run: RunFolder, review: Review) -> Path:
    """The path of review.md. A run may be reviewed while it trains, so its own lock is not needed."""
    run.refuse_link()
    with _alone(run):
        for path in (run.review_json_path, run.review_path):  # before the first is written
            refuse_irregular(path)
        write_atomic(run.review_json_path, json.dumps(review.to_json(), indent=2) + "\n")
        write_atomic(run.review_path, markdown(review))
    return run.review_path


def markdown(review: Review) -> str:
    """As people read it. All texts are the model's: no link, no HTML, and no command that was not checked."""
    return "\n".join(_lines(review)) + "\n"


def _lines(review: Review) -> Iterator[str]:
    names = ", ".join(code(run) for run in review.runs)
    yield f"# Review of {names}"
    yield ""
    yield plain(review.summary, 4000)
    yield ""
    if review.findings:
        yield "## Findings"
        yield ""
    for finding in review.findings:
        yield f"- **{plain(finding.severity)}**: {plain(finding.title)}"
        if finding.detail:
            yield f"  {plain(finding.detail, 4000)}"
        for evidence in finding.evidence:
            doubt = "" if evidence.found else " (not found in what was sent)"
            yield f"  - {code(evidence.text)}{doubt}"
    if review.findings:
        yield ""
    if review.proposals:
        yield "## Proposals"
        yield ""
    for number, proposal in enumerate(review.proposals, 1):
        yield f"### {number}. {plain(proposal.title)}"
        yield ""
        if proposal.why:
            yield plain(proposal.why, 4000)
            yield ""
        if proposal.is_ready:
            yield from ("```sh", proposal.command, "```")
        else:
            changes = ", ".join(code(change) for change in proposal.overrides)
            yield f"Rejected{f' ({changes})' if changes else ''}: {plain(proposal.problem, 400)}"
        yield ""
    yield _about(review)


def _about(review: Review) -> str:
    counted = [
        f"{count:,} {what}"
        for count, what in ((review.input_tokens, "tokens read"), (review.output_tokens, "written"))
        if count is not None
    ]
    tokens = f", {' and '.join(counted)}" if counted else ""
    return (
        f"Written by {code(review.answered_by)} at {code(review.host)} on {moment(review.created)}"
        f"{tokens}; prompt {code(review.prompt_hash[:16])}."
        " A language model can be wrong: evidence was looked up in the data and settings were checked;"
        " conclusions were not."
    )


@contextmanager
def _alone(run: RunFolder) -> Iterator[None]:
    """One review at a time."""
    from filelock import FileLock, Timeout

    refuse_irregular(run.review_lock_path)
    lock = FileLock(run.review_lock_path)
    try:
        lock.acquire(timeout=_LOCK_SECONDS)
    except Timeout:
        raise GymnastError(f"another review of run {run.id} is being written") from None
    except OSError as error:
        raise write_failed(run.review_lock_path, error) from error
    try:
        yield
    finally:
        lock.release()
