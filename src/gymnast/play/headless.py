"""Playing for the numbers alone, as fast as it goes."""

from __future__ import annotations

from gymnast.play.sitting import Sitting
from gymnast.training.run.signals import catch_signals


def play_headless(sitting: Sitting) -> bool:
    """Whole episodes; the last one is cut by a limit of steps, or by Ctrl-C, which ends it in good order.

    Whether it was interrupted.
    """
    limits, taken = sitting.limits, 0
    with sitting.game.threads(), catch_signals() as request:
        try:
            session = sitting.start()
            while request.requested is None and (limits.max_steps is None or taken < limits.max_steps):
                session.act()
                taken += 1
                if session.over:
                    if limits.episodes is not None and len(session.episodes) >= limits.episodes:
                        break
                    session.next_episode()
        finally:
            sitting.end()
        return request.requested is not None
