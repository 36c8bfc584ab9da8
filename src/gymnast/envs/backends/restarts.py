"""How often, and after what pause, a lost env process is restarted."""

from __future__ import annotations

import logging
import time

from pydantic import Field

from gymnast.config.values import Count, Seconds, Section

LONGEST_PAUSE = 30.0  # seconds; each loss of the same envs doubles the pause up to this


class RestartConfig(Section):
    """What happens when a worker process dies or hangs; an env that raises or returns NaN stops the run."""

    budget: Count = Field(
        10, description="Lost processes that are restarted; the run stops at the first one beyond."
    )
    backoff: Seconds = Field(
        1.0, description="Pause before a restart; doubled each time the same envs are lost, up to 30 s."
    )
    timeout: Seconds = Field(
        60.0, description="Without an answer for so long a process counts as hung; 0: never."
    )


class Restarts:
    """Counts the losses of one set of envs against their budget."""

    def __init__(self, config: RestartConfig, how: str = "restarted in a new process") -> None:
        """`how` a lost share is replaced, in words."""
        self.config = config
        self._how = how
        self.count = 0
        self._of_share: dict[int, int] = {}  # restarts by the first env of a worker's share

    def of_share(self, first: int) -> int:
        """Restarts of the share that begins with this env."""
        return self._of_share.get(first, 0)

    @property
    def spent(self) -> bool:
        return self.count >= self.config.budget

    def describe_end(self) -> str:
        """Why there is no further restart, to follow the reason of the last loss."""
        budget = self.config.budget
        if not budget:
            return ""
        return f"; all {budget} restarts are spent (env.restarts.budget)"

    def begin(self, rows: tuple[int, int], reason: str) -> None:
        """Take one from the budget, log it, and wait."""
        first, stop = rows
        self.count += 1
        before = self._of_share.get(first, 0)
        self._of_share[first] = before + 1
        who = f"env {first} is" if stop == first + 1 else f"envs {first} to {stop - 1} are"
        logging.getLogger("gymnast").warning(
            "%s lost: %s; %s (%d of %d restarts)",
            who,
            reason,
            self._how,
            self.count,
            self.config.budget,
        )
        time.sleep(min(self.config.backoff * 2**before, LONGEST_PAUSE))
