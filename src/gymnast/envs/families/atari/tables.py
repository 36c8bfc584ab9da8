"""What the RAM of a game holds, game by game. A further game is a further entry of `TABLES`.

The bytes are those of the published annotations (Anand et al., 2019: Unsupervised State Representation
Learning in Atari); offsets and ranges are in pixels of the screen, and tests hold them against it.
"""

from __future__ import annotations

from gymnast.envs.families.atari.objects import Axis, Bits, Crossing, Distance, Table, Thing
from gymnast.errors import GymnastError


def _breakout_bricks() -> tuple[tuple[int, int], ...]:
    """Of each brick, row by row from the top and from the left, a bit that is set while it is there.

    The picture of a row is spread over six bytes, in the order in which the console draws them: some from
    left to right, some from right to left. A brick is two bits wide, of which one is enough.
    """
    left_to_right, right_to_left = (0, 2, 4, 6), (7, 5, 3, 1)
    in_order = (
        (30, 6),
        *((24, bit) for bit in right_to_left),
        *((18, bit) for bit in left_to_right),
        *((12, bit) for bit in (4, 6)),
        *((6, bit) for bit in right_to_left),
        *((0, bit) for bit in (0, 2, 4)),
    )
    return tuple((byte + 5 - row, bit) for row in range(6) for byte, bit in in_order)


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
        ),
        distances=(Distance(("ball", "y"), ("player", "y"), middle=6, near=24),),
        crossings=(
            Crossing("ball", "x", "y", line=138, walls=(32, 191), to=("player", "y"), middle=6, near=24),
        ),
    ),
    "breakout": Table(
        things=(
            Thing("paddle", (Axis("x", 72, -47, 8, 144),)),
            Thing(
                "ball",
                (Axis("x", 99, -49, 8, 151, speed=2.0), Axis("y", 101, 9, 32, 210, speed=2.0)),
                hidden=(101, 0),
            ),
        ),
        distances=(Distance(("ball", "x"), ("paddle", "x"), middle=7, near=24),),
        bits=(Bits("brick", _breakout_bricks(), columns=18),),
    ),
    "freeway": Table(
        things=(
            Thing("chicken", (Axis("y", 14, 193, 16, 187, speed=1.0, upwards=True),)),
            # Each lane has a speed of its own, which never changes.
            *(
                Thing(f"car {lane + 1}", (Axis("x", 117 - lane, -3, 0, 160, speed=None),))
                for lane in range(10)
            ),
        )
    ),
    "boxing": Table(
        things=(
            Thing("player", (Axis("x", 32, 5, 35, 114, speed=1.0), Axis("y", 34, 38, 40, 127, speed=1.0))),
            Thing("enemy", (Axis("x", 33, 3, 33, 112, speed=1.0), Axis("y", 35, 37, 38, 126, speed=1.0))),
        )
    ),
}


def table_of(env_id: str, rom: str) -> Table:
    """The table of a game, or a GymnastError that lists the games with one."""
    if rom not in TABLES:
        known = [f"ALE/{name.title().replace('_', '')}-v5" for name in sorted(TABLES)]
        raise GymnastError(
            f"env.atari.obs objects: there is no table of what the RAM of {env_id} holds, only for"
            f" {', '.join(known)}; pixels and ram go with every game"
        )
    return TABLES[rom]
