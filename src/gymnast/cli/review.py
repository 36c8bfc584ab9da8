"""`gymnast review`: what a language model sees in runs, and what it would change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from gymnast import api
from gymnast.cli.completion import complete_run
from gymnast.cli.options import RunsDir
from gymnast.cli.program import option_for, program
from gymnast.errors import GymnastError
from gymnast.terminal.flowing import Flowing
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import Review, ReviewBundle, ReviewEndpoint, ReviewProposal

_STDOUT = "-"
_TEXT_FILES = (".md", ".txt")


class ReviewCommand(TyperCommand):
    """`--bundle` without a file prints. The word after it is a file if it looks like one, else a run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        filled: list[str] = []
        for position, word in enumerate(args):
            filled.append(word)
            following = args[position + 1] if position + 1 < len(args) else ""
            if word == "--":
                filled += args[position + 1 :]
                break
            if word == "--bundle" and following != _STDOUT and not following.endswith(_TEXT_FILES):
                filled.append(_STDOUT)
        return super().parse_args(ctx, filled)


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("review", cls=ReviewCommand)
def review(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Ids, beginnings of ids, @last, @best or paths; the last run if none is named.",
            autocompletion=complete_run,
            show_default=False,
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option("--last", metavar="N", help="The newest N runs, beside those that are named."),
    ] = None,
    bundle: Annotated[
        str | None,
        typer.Option(
            "--bundle",
            metavar="[FILE]",
            help="Only write the text, for any chat: to FILE (.md, .txt), or print it. Needs no key.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="The model to ask; else GYMNAST_LLM_MODEL.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="Its address, as http://127.0.0.1:8080/v1; else GYMNAST_LLM_BASE_URL, else the provider's.",
        ),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            "--provider",
            metavar="API",
            help="openai (which most servers speak) or anthropic; else by address, model and key.",
        ),
    ] = None,
    short: Annotated[
        bool,
        typer.Option("--short", help="Send 8 kB of report instead of 32, for models with a small context."),
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="TIME", help="How long the model may be silent: 60, 20m; else 5m."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent and to whom, and send nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send it without asking.")] = False,
    runs_dir: RunsDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Let a language model review runs: findings with evidence, and changes to try.

    Any OpenAI-compatible or Anthropic endpoint is asked. What is sent is text: the report, settings, alerts
    and the end of the log, without passwords and tokens. Evidence is looked up in it; each proposed change
    is checked like one that you type, and printed as the command that starts it. The review stays in the
    folder of the first run, as review.md and review.json.

    The key comes from the environment: GYMNAST_LLM_API_KEY for any address, OPENAI_API_KEY and
    ANTHROPIC_API_KEY for their own services alone. A model on this machine needs none.

    \b
    Examples:
      gymnast review --bundle                      the text on the last run, for any chat
      gymnast review k3v --bundle k3v.md
      gymnast review --model gpt-5-mini            with OPENAI_API_KEY set
      gymnast review k3v --model claude-sonnet-4-5
      gymnast review --last 3 --base-url http://127.0.0.1:8080/v1 --model local
      gymnast review --dry-run --model local       what would be sent

    \b
    Exit code: 0 reviewed, 1 the endpoint failed or refused, 2 bad input.
    """
    _check(bundle, dry_run, as_json, model, base_url, provider)
    chosen = runs or ([] if last is not None else ["@last"])
    if bundle is not None:
        text = api.review_bundle(chosen, last=last, short=short, runs_dir=runs_dir)
        _write_bundle(text, bundle, as_json)
        return
    endpoint = api.review_endpoint(model=model, base_url=base_url, provider=provider, need_key=not dry_run)
    if dry_run:
        text = api.review_bundle(chosen, last=last, short=short, runs_dir=runs_dir)
        _show_dry_run(text, endpoint, as_json)
        return
    stream = api.stream_review(
        chosen, endpoint=endpoint, last=last, short=short, timeout=timeout, runs_dir=runs_dir,
        notify=lambda notice: echo(notice, err=True, wrap=True),
    )  # fmt: skip
    _agree(stream.bundle, endpoint, yes, as_json)  # before it is asked for a first piece, nothing is sent
    if as_json:
        with api.captured_output():  # of envs, which are built to check proposals
            found = stream.review
        echo_json({**found.to_json(), "path": None if found.path is None else str(found.path)})
        return
    with Flowing() as flowing, api.captured_output():
        for piece in stream:
            flowing.write(piece)
    _show(stream.review, runs_dir)


def _check(
    bundle: str | None,
    dry_run: bool,
    as_json: bool,
    model: str | None,
    base_url: str | None,
    provider: str | None,
) -> None:
    if bundle is None:
        return
    if dry_run:
        raise GymnastError("--bundle sends nothing anyway: leave out --dry-run")
    asked = {"--model": model, "--base-url": base_url, "--provider": provider}
    for option, value in asked.items():
        if value is not None:
            raise GymnastError(f"--bundle asks no model: leave out {option}, or --bundle")
    if as_json and bundle == _STDOUT:
        raise GymnastError("--bundle prints text: give it a file, or leave out --json")


def _write_bundle(text: ReviewBundle, place: str, as_json: bool) -> None:
    if place == _STDOUT:
        echo(text.chat.rstrip("\n"))
        return
    path = api.save_review_bundle(text, place)
    if as_json:
        echo_json({"path": str(path), **_size(text)})
    else:
        echo(f"text     {path} ({_size_text(text)})")


def _size(text: ReviewBundle) -> dict[str, Any]:
    return {"runs": list(text.runs), "bytes": text.size, "estimated_tokens": text.tokens}


def _size_text(text: ReviewBundle) -> str:
    return f"{text.size / 1000:.1f} kB, about {text.tokens:,} tokens"


def _whom(endpoint: ReviewEndpoint) -> str:
    return f"{endpoint.model or 'a model'} at {endpoint.host}"


def _show_dry_run(text: ReviewBundle, endpoint: ReviewEndpoint, as_json: bool) -> None:
    if as_json:
        whom = {"provider": endpoint.provider, "url": endpoint.url, "model": endpoint.model}
        echo_json({**whom, **_size(text), "system": text.system, "user": text.user})
        return
    echo(text.system)
    echo(text.user)
    echo(f"would be sent: {_size_text(text)}, to {_whom(endpoint)}; nothing was", style="bold", wrap=True)


def _agree(text: ReviewBundle, endpoint: ReviewEndpoint, yes: bool, as_json: bool) -> None:
    """Say what is sent to whom; where it leaves this machine, ask."""
    agreed = yes or endpoint.is_local
    names = f"{'sending' if agreed else 'to be sent:'} {', '.join(text.runs)}"
    echo(f"{names}: {_size_text(text)}, to {_whom(endpoint)}", err=True, wrap=True)
    if agreed:
        return
    if as_json or not sys.stdin.isatty():
        raise GymnastError(
            f"this would send the run to {endpoint.host}: add --yes (--dry-run shows the text)"
        )
    if not typer.confirm("send it?", err=True):
        raise GymnastError("nothing was sent")


def _show(found: Review, runs_dir: Path | None) -> None:
    """What came after the findings: evidence that is not there, the proposals, and where it is kept."""
    doubtful = [item.text for finding in found.findings for item in finding.evidence if not item.found]
    if doubtful:
        echo("\nquoted as evidence, and not in what was sent:", style="magenta", wrap=True)
        for text in doubtful:
            echo(f"  · {text}", wrap=True)
    for number, proposal in enumerate(found.proposals, 1):
        echo()
        _show_proposal(number, proposal, runs_dir)
    if not found.proposals:
        echo("\nno changes proposed")
    counts = (("read", found.input_tokens), ("written", found.output_tokens))
    tokens = ", ".join(f"{count:,} tokens {what}" for what, count in counts if count is not None)
    echo()
    if found.path is not None:
        echo(f"review   {found.path}")
    if tokens:
        echo(f"model    {found.answered_by}, {tokens}", wrap=True)


def _show_proposal(number: int, proposal: ReviewProposal, runs_dir: Path | None) -> None:
    echo(f"proposal {number}: {proposal.title}", style="bold", wrap=True)
    if proposal.why:
        echo(f"  {proposal.why}", wrap=True)
    if proposal.start is not None:
        echo(
            f"  {program()} train {proposal.start.command}{option_for(runs_dir)}"
        )  # in one line, to be copied
        return
    if proposal.overrides:
        echo(f"  {' '.join(proposal.overrides)}", wrap=True)
    echo(f"  rejected: {proposal.problem}", style="red", wrap=True)
