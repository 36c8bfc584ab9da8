"""Reviews by a language model: the text for any chat, or an endpoint that is asked and its answer checked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.arguments import maybe_seconds, maybe_whole
from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError
from gymnast.review.bundle import Bundle as ReviewBundle
from gymnast.review.endpoint import Endpoint as ReviewEndpoint
from gymnast.review.endpoint import find_endpoint as review_endpoint
from gymnast.review.failures import ReviewFailed
from gymnast.review.proposals import Proposal as ReviewProposal
from gymnast.review.record import Review

if TYPE_CHECKING:
    from gymnast.review.patience import Patience
    from gymnast.runs.store import RunFolder

__all__ = [
    "Review",
    "ReviewBundle",
    "ReviewEndpoint",
    "ReviewFailed",
    "ReviewProposal",
    "ReviewStream",
    "review_bundle",
    "review_endpoint",
    "review_runs",
    "save_review_bundle",
    "stream_review",
]

Runs = str | Path | Run | Sequence[str | Path | Run]


class ReviewStream:
    """A review while it is being written: iterate for text to show, then read `review`."""

    def __init__(self, bundle: ReviewBundle, pieces: Generator[str, None, Review]) -> None:
        self.bundle = bundle
        self._pieces = pieces
        self._review: Review | None = None

    def __iter__(self) -> Iterator[str]:
        """Words and lines of the summary and the findings as they arrive, fit for a terminal or a page."""
        self._review = yield from self._pieces

    @property
    def review(self) -> Review:
        """The whole review; waits for it if nobody has iterated."""
        for _ in self if self._review is None else ():
            pass
        if self._review is None:
            raise GymnastError("this review was not finished: start another")
        return self._review

    def close(self) -> None:
        """Give up: the connection is closed, and nothing is written."""
        self._pieces.close()


def review_bundle(
    runs: Runs = "@last",
    *,
    last: int | None = None,
    short: bool = False,
    runs_dir: str | Path | None = None,
) -> ReviewBundle:
    """The text on these runs, and on the newest `last`; secrets are left out. Nothing is sent or written.

    `chat` of the result is for a person to paste into any chat; `system` and `user` are what is sent.
    """
    from gymnast.review.bundle import build_bundle

    return build_bundle(_folders(runs, last, runs_dir), short=short)


def save_review_bundle(bundle: ReviewBundle, file: str | Path) -> Path:
    """Write its text for a chat to a file."""
    from gymnast.runs.files import named_file, write_atomic

    path = Path(file).expanduser()
    if path.is_dir():
        raise GymnastError(f"{path} is a folder: name a file, such as {path / 'review-bundle.md'}")
    write_atomic(named_file(path), bundle.chat)
    return path


def stream_review(
    runs: Runs = "@last",
    *,
    endpoint: ReviewEndpoint | None = None,
    last: int | None = None,
    short: bool = False,
    timeout: float | str | None = None,
    patience: Patience | None = None,
    notify: Callable[[str], None] = lambda text: None,
    runs_dir: str | Path | None = None,
) -> ReviewStream:
    """Ask a model about these runs. The folder of the first keeps the review, as review.md and review.json.

    `endpoint` is what `review_endpoint(model=…, base_url=…, provider=…)` gives. `timeout` is how long it may
    be silent, in seconds; `patience` sets that and the retries in full. `notify` is given each wait. What
    goes wrong at the other end raises ReviewFailed, and nothing is written then.
    """
    from gymnast.review.bundle import build_bundle
    from gymnast.review.client import require_httpx
    from gymnast.review.patience import Patience

    require_httpx()
    folders = _folders(runs, last, runs_dir)
    chosen = review_endpoint() if endpoint is None else endpoint
    waits = patience or Patience()
    if timeout is not None:
        waits = replace(waits, silence=_positive(timeout))
    bundle = build_bundle(folders, short=short)
    return ReviewStream(bundle, _reviewed(folders, bundle, chosen, waits, notify))


def review_runs(
    runs: Runs = "@last",
    *,
    endpoint: ReviewEndpoint | None = None,
    last: int | None = None,
    short: bool = False,
    timeout: float | str | None = None,
    runs_dir: str | Path | None = None,
) -> Review:
    """As `stream_review`, without anything to show on the way."""
    return stream_review(
        runs, endpoint=endpoint, last=last, short=short, timeout=timeout, runs_dir=runs_dir
    ).review


def _reviewed(
    folders: Sequence[RunFolder],
    bundle: ReviewBundle,
    endpoint: ReviewEndpoint,
    patience: Patience,
    notify: Callable[[str], None],
) -> Generator[str, None, Review]:
    from gymnast.review.client import ask
    from gymnast.review.live import LiveText
    from gymnast.review.record import make_review
    from gymnast.review.write import write_review

    live, asked = LiveText(), ask(endpoint, bundle, patience, notify)
    try:
        while True:
            try:
                piece = next(asked)
            except StopIteration as end:
                reply = end.value
                break
            if text := live.feed(piece):
                yield text
    finally:
        asked.close()
    review = make_review(folders, bundle, endpoint, reply)
    try:
        return replace(review, path=write_review(folders[0], review))
    except GymnastError as error:  # it has been paid for: shown, though it cannot be kept
        logging.getLogger("gymnast").warning("the review is not kept: %s", error)
        return review


def _folders(runs: Runs, last: int | None, runs_dir: str | Path | None) -> list[RunFolder]:
    """Those that are named, then the newest `last`; each once."""
    from gymnast.runs import registry
    from gymnast.runs.store import RunFolder, runs_root

    named = [runs] if isinstance(runs, (str, Path, Run)) else list(runs)
    found = [folder_of(run, runs_dir) for run in named]
    if (count := maybe_whole("last", last, least=1)) is not None:
        root = runs_root(runs_dir)
        newest = registry.entries(root)[:count]
        if not newest:
            raise GymnastError(f"there are no runs in {root}; start one with: gymnast train CartPole-v1:ppo")
        found += [RunFolder(root / entry.id) for entry in newest]
    return list({run.path.resolve(): run for run in found}.values())


def _positive(seconds: float | str) -> float:
    value = maybe_seconds("timeout", seconds)
    if value is None or value <= 0:
        raise GymnastError(f"timeout must be more than 0 seconds, got {seconds!r}")
    return value
