"""The process behind a review: it waits for a model, which may be silent for minutes, and builds envs to
check proposals, which may crash or print. To end it is to cancel the question.

It gets one order, {"do": "ask", "run": …, "runs_dir": …, …}, and answers with messages until it ends: `text`
and `notice` on the way, then `review`, `start` or `error`. The key is in its environment, in no message.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gymnast.errors import GymnastError, described
from gymnast.processes.messages import receive, send

Tell = Callable[[dict[str, Any]], None]


def main(orders: int, answers: int) -> None:
    """One order, and its answer."""
    order = receive(orders)
    work = {"ask": _ask, "kept": _kept, "check": _check}[order["do"]]
    with suppress(OSError):  # the server is gone
        try:
            work(order, lambda message: send(answers, message))
        except GymnastError as error:
            send(answers, {"error": str(error)})
        except OSError:
            raise
        except Exception as error:  # an env may raise anything
            send(answers, {"error": f"the review failed: {described(error)}"})


def _ask(order: dict[str, Any], tell: Tell) -> None:
    from gymnast import api

    stream = api.stream_review(
        order["run"],
        endpoint=api.review_endpoint(model=order["model"]),
        runs_dir=order["runs_dir"],
        notify=lambda text: tell({"notice": text}),
    )
    for piece in stream:
        tell({"text": piece})
    tell({"review": stream.review.to_json(), "kept": stream.review.path is not None})


def _kept(order: dict[str, Any], tell: Tell) -> None:
    from gymnast.review.kept import read_review
    from gymnast.runs.store import open_run

    found = read_review(open_run(Path(order["runs_dir"]), order["run"]))
    tell({"review": None if found is None else found.to_json()})


def _check(order: dict[str, Any], tell: Tell) -> None:
    from gymnast.review.answer import Suggestion
    from gymnast.review.proposals import check_proposal
    from gymnast.runs.store import open_run

    run = open_run(Path(order["runs_dir"]), order["run"])
    pairs = tuple((key, value) for key, _, value in (word.partition("=") for word in order["overrides"]))
    checked = check_proposal(Suggestion(run.id, "", "", pairs), {run.id: run})
    if checked.start is None:
        raise GymnastError(checked.problem)
    tell({"start": {"reference": checked.start.reference, "overrides": list(checked.start.overrides)}})
