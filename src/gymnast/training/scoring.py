"""One evaluation step of the loop: what has been scored, and what is begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gymnast.training.evaluator import Progress, Result
from gymnast.training.session import Session


@dataclass(frozen=True, slots=True)
class Scored:
    """What an update learned from evaluation."""

    result: Result | None = None
    best: bool = False  # whether no score before was higher
    begun: bool = False  # whether the weights of this moment are being scored in the background


def evaluate_if_due(s: Session, due: bool, note_best: Callable[[Result], None], progress: Progress) -> Scored:
    """A score that has arrived, or a new one if that is due. With nothing else left to do, wait for it.

    Where both come at once, the earlier one goes to `note_best` if it is the best so far, and the
    later one is handed back.
    """
    over = s.over() is not None
    result = s.evaluator.wait() if over else s.evaluator.poll()
    best = result is not None and _take_score(s, result)
    if not due or s.evaluator.busy:
        return Scored(result, best)
    if result is not None and best:
        note_best(result)
    new = s.evaluator.start(s.policy, s.state.env_steps, progress)
    if new is None and over:
        new = s.evaluator.wait()
    if new is not None:
        return Scored(new, _take_score(s, new))
    return Scored(result, best, begun=True)


def _take_score(s: Session, result: Result) -> bool:
    """Note the score; whether it is the best so far."""
    score = result.score
    return s.state.take_score(score.mean, s.solves(score), is_mix=bool(score.tasks))
