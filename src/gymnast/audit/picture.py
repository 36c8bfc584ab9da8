"""An audit as one picture: rewards, returns of chance beside those of the policy, shares of the reward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gymnast.audit.audit import RewardAudit
from gymnast.audit.play import Played
from gymnast.charts.picture import bar_chart, count_chart, grid, histogram


def audit_picture(audit: RewardAudit) -> np.ndarray:
    """[height, width, 3] uint8."""
    main = audit.played[min(1, len(audit.played) - 1)]
    pictures = [
        histogram(
            main.rewards,
            title=f"{audit.env}: reward of a step ({main.policy})",
            x_label="reward",
            y_label="steps",
        ),
    ]
    if len(audit.plays) > 1:
        pictures.append(
            bar_chart(
                [play.policy for play in audit.plays],
                [play.return_mean for play in audit.plays],
                title="mean return of an episode",
            )
        )
    pictures += _returns(audit.played[:2])
    if audit.main.parts:
        pictures.append(
            bar_chart(
                list(audit.main.parts),
                list(audit.main.parts.values()),
                title=f"shares of the reward ({audit.main.policy})",
                x_label="Σ|part| / Σ|r|",
            )
        )
    return grid(pictures, 2)


def _returns(plays: Sequence[Played]) -> list[np.ndarray]:
    """Histograms over the same range, so that one can be seen beside the other."""
    low, high = (float(pick([pick(play.returns) for play in plays])) for pick in (np.min, np.max))
    edges = np.linspace(low, high if high > low else low + 1.0, 21)
    return [
        count_chart(
            np.histogram(play.returns, edges)[0],
            edges,
            title=f"returns ({play.policy})",
            x_label="return",
            y_label="episodes",
        )
        for play in plays
    ]
