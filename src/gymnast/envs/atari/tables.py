"""What the RAM of a game holds, game by game. A further game is a further entry of `TABLES`.

The bytes are those of the published annotations (Anand et al., 2019: Unsupervised State Representation
Learning in Atari); offsets and ranges are in pixels of the screen, and tests hold them against it.
"""

from __future__ import annotations

from gymnast.envs.atari.objects import Axis, Table, Thing
from gymnast.errors import GymnastError, did_you_mean

TABLES: dict[str, Table] = {  # by the name of the ROM
    "pong": Table(
        things=(
            # The enemy's paddle is away while it waits for the first ball.
            Thing("enemy", (Axis("y", 50, -15, 22, 191, speed=2.0),), hidden=(50, 0)),
            Thing("player", (Axis("y", 51, -13, 25, 190),)),
            Thing(
                "ball",
                (Axis("x", 49, -49, 0, 160, speed=2.0), Axis("y", 54, -14, 30, 194, speed=2.0)),
                hidden=(54, 0),
            ),
        )
    ),
}


def table_of(env_id: str, rom: str) -> Table:
    """The table of a game, or a GymnastError that says for which games there is one."""
    if rom not in TABLES:
        known = [f"ALE/{name.title().replace('_', '')}-v5" for name in sorted(TABLES)]
        raise GymnastError(
            f"env.atari.obs objects: there is no table of what the RAM of {env_id} holds"
            f"{did_you_mean(env_id, known)}; there are tables for {', '.join(known)}."
            " ram and pixels go with every game"
        )
    return TABLES[rom]
