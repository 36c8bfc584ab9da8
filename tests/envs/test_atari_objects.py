"""Objects read from RAM are where the rendered frame shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ale_py")

from hypothesis import given, settings
from hypothesis import strategies as st

from gymnast.envs.families.atari.objects import (
    JUMP,
    Axis,
    Bits,
    Crossing,
    Distance,
    Number,
    Objects,
    Table,
    Thing,
)
from gymnast.envs.families.atari.tables import TABLES
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env

Box = tuple[int, int, int, int]  # left, top, right, bottom


def find(frame: np.ndarray, colour: tuple[int, int, int], rows: slice, columns: slice) -> Box | None:
    """The box around all pixels of a colour in a part of the screen."""
    ys, xs = np.nonzero((frame[rows, columns] == colour).all(-1))
    if not len(ys):
        return None
    return xs.min() + columns.start, ys.min() + rows.start, xs.max() + columns.start, ys.max() + rows.start


def played(game: str, steps: int, act: Any, **atari: Any) -> Any:
    """(observation by name, frame) of each step; `act` chooses by the last observation and the step."""
    env: Any = make_env(
        EnvConfig(id=f"ALE/{game}-v5", atari={"obs": "objects", "sticky": 0.25, **atari}),
        training=False,
        render_mode="rgb_array",
    )
    seen, _ = env.reset(seed=1)
    names = env.unwrapped.observation_names
    for number in range(steps):
        seen, _, terminated, truncated, _ = env.step(
            act(dict(zip(names, seen, strict=True)), number) % env.action_space.n
        )
        if terminated or truncated:
            seen, _ = env.reset()
            continue
        yield dict(zip(names, seen.tolist(), strict=True)), env.render()
    env.close()


def pixels(game: str, values: dict[str, float]) -> dict[str, float]:
    """Positions in pixels again, of a rom's table."""
    axes = {f"{thing.name} {axis.name}": axis for thing in TABLES[game].things for axis in thing.axes}
    return {name: axis.low + (values[name] + 1) / 2 * (axis.high - axis.low) for name, axis in axes.items()}


def test_pong_ball_and_paddles_are_where_the_frame_shows_them() -> None:
    field = slice(34, 194)
    found = {"ball": 0, "player": 0, "enemy": 0, "away": 0, "apart": 0}

    def follow(seen: dict[str, float], number: int) -> int:
        if number % 150 < 75:
            return number % 3 + 1
        return 2 if seen["ball y"] < seen["player y"] else 3  # RIGHT is up

    for values, frame in played("Pong", 700, follow):
        at = pixels("pong", values)
        ball = find(frame, (236, 236, 236), field, slice(0, 160))
        if ball is None:
            found["away"] += not values["ball is there"]
        elif field.start < ball[1] and ball[3] < field.stop - 1:  # not cut by a wall
            assert values["ball is there"]
            assert abs(at["ball x"] - ball[0]) <= 1
            assert abs(at["ball y"] - ball[1]) <= 2
            found["ball"] += 1
        for name, colour, columns in (
            ("player", (92, 186, 92), slice(138, 146)),
            ("enemy", (213, 130, 74), slice(14, 22)),
        ):
            paddle = find(frame, colour, field, columns)
            if paddle is not None and field.start < paddle[1] and paddle[3] < field.stop - 1:
                assert abs(at[f"{name} y"] - paddle[1]) <= 2
                found[name] += 1
                if name == "player" and ball is not None and ball[3] - ball[1] == 3:
                    apart = (ball[1] + ball[3]) / 2 - (paddle[1] + paddle[3]) / 2  # of their middles
                    assert abs(values["ball from player y"] - np.clip(apart / 24, -1, 1)) <= 4 / 24
                    found["apart"] += abs(apart) < 24
    assert found["ball"] > 200
    assert found["player"] > 200
    assert found["enemy"] > 200
    assert found["away"] > 20
    assert found["apart"] > 50


def test_pong_ball_arrives_where_it_was_foreseen() -> None:
    foreseen: list[float] = []  # since the ball turned towards the player
    off = []
    for values, _ in played("Pong", 1500, lambda seen, number: number // 3 % 3 + 1):
        at = pixels("pong", values)
        if not values["ball is there"] or values["ball x speed"] <= 0:
            assert values["ball arrives y"] == values["ball arrives from player y"] == 0.0
            foreseen = []
            continue
        if at["ball x"] > 137:  # at the line, give or take a step
            off += [abs(value - at["ball y"]) for value in foreseen[1:]]  # the first may be of a bounce
            foreseen = []
        else:
            foreseen.append(112 + 82 * values["ball arrives y"])
            apart = foreseen[-1] - (107.5 + 82.5 * values["player y"]) - 6
            assert values["ball arrives from player y"] == pytest.approx(np.clip(apart / 24, -1, 1), abs=1e-4)
    assert len(off) > 300
    assert np.mean(np.array(off) <= 8) > 0.9  # a steep ball falls eight pixels a step


def test_breakout_paddle_ball_and_bricks_are_where_the_frame_shows_them() -> None:
    red = (200, 72, 72)
    bricks_gone, balls, paddles = 0, 0, 0

    def follow(seen: dict[str, float], number: int) -> int:
        off = seen["ball x"] - seen["paddle x"] + 0.1 * np.sin(number)
        return 1 if number % 50 == 0 else 2 if off > 0.05 else 3 if off < -0.05 else 0

    for values, frame in played("Breakout", 1500, follow, episodic_life=False):
        at = pixels("breakout", values)
        paddle = find(frame, red, slice(189, 193), slice(8, 152))
        ball = find(frame, red, slice(93, 188), slice(8, 152))
        if paddle is not None and paddle[2] - paddle[0] == 15 and not 170 < at["ball y"] < 200:
            assert abs(at["paddle x"] - paddle[0]) <= 1
            paddles += 1
        if ball is not None and ball[3] < 187 and ball[3] - ball[1] == 3:
            assert values["ball is there"]
            assert abs(at["ball x"] - ball[0]) <= 2
            assert abs(at["ball y"] - ball[1]) <= 3
            balls += 1
        for row in range(6):
            for column in range(18):
                shown = bool(frame[59 + 6 * row, 12 + 8 * column].any())
                x, y = 12 + 8 * column, 59 + 6 * row
                if abs(at["ball x"] - x) < 10 and abs(at["ball y"] - y) < 10:
                    continue  # the ball may be in front of it, or have just hit it
                assert shown == bool(values[f"brick {row + 1}.{column + 1}"])
        bricks_gone = max(bricks_gone, 108 - sum(v for n, v in values.items() if n.startswith("brick")))
    assert bricks_gone > 15
    assert balls > 100
    assert paddles > 300


def test_freeway_and_boxing_players_are_where_the_frame_shows_them() -> None:
    close = []
    for values, frame in played("Freeway", 150, lambda seen, number: 1 if number % 9 else 2):
        chicken = find(frame, (252, 252, 84), slice(20, 190), slice(40, 56))
        if chicken is not None and chicken[3] - chicken[1] < 10:
            close.append(abs(pixels("freeway", values)["chicken y"] - chicken[1]) <= 2)
    assert np.mean(close) > 0.9
    close = []
    for values, frame in played("Boxing", 200, lambda seen, number: (number // 3) % 18):
        white = find(frame, (214, 214, 214), slice(38, 175), slice(30, 130))
        if white is not None:
            at = pixels("boxing", values)
            close.append(abs(at["player x"] - white[0]) <= 2 and abs(at["player y"] - white[1]) <= 4)
    assert np.mean(close) > 0.9


@pytest.mark.parametrize("game", sorted(TABLES))
def test_features_are_named_distinct_and_bounded(game: str) -> None:
    name = game.title().replace("_", "")
    rows = [list(values.values()) for values, _ in played(name, 300, lambda seen, number: number // 4)]
    objects = Objects(TABLES[game], 4)
    assert len(set(objects.names)) == len(objects.names)
    seen = np.array(rows)
    assert np.abs(seen).max() <= JUMP
    moving = [i for i, feature in enumerate(objects.names) if not feature.startswith("brick")]
    columns = [tuple(seen[:, i]) for i in moving]
    assert len(set(columns)) == len(columns)  # none is another's double
    assert all(np.ptp(column) > 0 for column in columns)  # none is always the same


TWO = Table(
    things=(
        Thing("hero", (Axis("x", 3, 10, 10, 265, speed=2.0),)),
        Thing("ghost", (Axis("y", 4, 255, 0, 255, speed=4.0, upwards=True),), hidden=(5, 0)),
    ),
    distances=(Distance(("hero", "x"), ("ghost", "y"), middle=5, near=40),),
    numbers=(Number("lives", 6, 0, 5),),
    bits=(Bits("wall", ((7, 0), (7, 7)), columns=2),),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 255)] * 5), min_size=2, max_size=6))
def test_a_table_gives_what_it_lists(memory: list[tuple[int, ...]]) -> None:
    objects = Objects(TWO, frame_skip=4)
    assert objects.names == (
        "hero x", "ghost y", "hero x speed", "ghost y speed", "hero from ghost x", "ghost is there",
        "lives", "wall 1.1", "wall 1.2",
    )  # fmt: skip
    last: tuple[int, ...] | None = None
    for values in memory:
        ram = np.zeros(128, np.uint8)
        ram[3:8] = values
        hero, ghost, there, lives, wall = values
        seen = dict(
            zip(objects.names, objects.begin(ram) if last is None else objects.next(ram), strict=True)
        )
        assert seen["hero x"] == pytest.approx(hero / 127.5 - 1, abs=1e-5)
        assert seen["ghost is there"] == (there != 0)
        assert seen["ghost y"] == pytest.approx(1 - ghost / 127.5 if there else 0.0, abs=1e-5)
        apart = np.clip(((hero + 10) - (255 - ghost) - 5) / 40, -1, 1) if there else 0.0
        assert seen["hero from ghost x"] == pytest.approx(apart, abs=1e-4)
        assert seen["lives"] == pytest.approx(lives / 2.5 - 1, abs=1e-4)
        assert (seen["wall 1.1"], seen["wall 1.2"]) == (wall & 1, wall >> 7)
        hero_speed = 0.0 if last is None else (hero - last[0]) / (4 * 2.0)
        ghost_speed = 0.0 if last is None or not (there and last[2]) else -(ghost - last[1]) / (4 * 4.0)
        for name, speed in (("hero x", hero_speed), ("ghost y", ghost_speed)):
            if abs(abs(speed) - JUMP) > 1e-3:  # just at the limit, rounding decides
                expected = 0.0 if abs(speed) > JUMP else speed
                assert seen[f"{name} speed"] == pytest.approx(expected, abs=1e-3)
        last = values


COURT = Table(
    things=(
        Thing("ball", (Axis("x", 0, 0, 0, 200), Axis("y", 1, 0, 0, 100))),
        Thing("hero", (Axis("y", 2, 0, 0, 100),)),
    ),
    crossings=(Crossing("ball", "x", "y", line=180, walls=(10, 90), to=("hero", "y"), middle=2, near=20),),
)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(-12, 12), st.integers(22, 78), st.integers(0, 100))
def test_a_crossing_is_where_the_bounces_lead(nearer: int, falls: int, start: int, hero: int) -> None:
    objects = Objects(COURT, frame_skip=4)
    x, y, direction, ram = 180 - 25 * nearer, start, 1, np.zeros(128, np.uint8)

    def seen_at(x: int, y: int, *, first: bool = False) -> tuple[float, float]:
        ram[:3] = x, y, hero
        values = dict(zip(objects.names, objects.begin(ram) if first else objects.next(ram), strict=True))
        return values["ball arrives y"], values["ball arrives from hero y"]

    assert seen_at(x, y, first=True) == (0.0, 0.0)  # nothing moved yet
    foreseen = seen_at(x + nearer, y + falls)
    y += falls
    for _ in range(24):  # pixel by pixel, as a ball would go
        for _ in range(abs(falls)):
            if not 10 <= y + direction * np.sign(falls) <= 90:
                direction = -direction
            y += direction * int(np.sign(falls))
    assert foreseen[0] == pytest.approx(y / 50 - 1, abs=1e-4)
    assert foreseen[1] == pytest.approx(np.clip((y - hero - 2) / 20, -1, 1), abs=1e-4)
    assert seen_at(x, y) == (0.0, 0.0)  # it goes away
