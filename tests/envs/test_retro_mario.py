"""What is made of a game's variables: told by scripted ones, since Mario's ROM cannot be shipped."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymnast.envs.families.retro.episodes import RetroEpisodes
from gymnast.envs.families.retro.mario_levels import STATES, area_of, level_state
from gymnast.envs.families.retro.rewards import RetroRewards, Share, resolve_shares
from gymnast.envs.families.retro.settings import RewardPart
from gymnast.envs.families.retro.tables import LEVELS_DONE, TABLES
from gymnast.errors import GymnastError

MARIO = TABLES["SuperMarioBros-Nes"]
VARIABLES = ["levelHi", "levelLo", "lives", "time", "xscrollHi", "xscrollLo"]


class Scripted(gym.Env[Any, Any]):
    """Hands out one line of variables after the other."""

    observation_space = gym.spaces.Box(0, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, lines: list[dict[str, int]]) -> None:
        self._lines = lines
        self._at = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = 0
        return np.zeros(1, np.float32), dict(self._lines[0])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, self._at = self._lines[self._at], self._at + 1
        now = self._lines[self._at]
        own = max(0, now["xscrollLo"] - before["xscrollLo"])  # as the library's scenario pays
        return np.zeros(1, np.float32), float(own), now["lives"] < 0, False, dict(now)


def line(x: int = 0, time: int = 400, lives: int = 2, level: tuple[int, int] = (0, 0)) -> dict[str, int]:
    return {
        "xscrollHi": x // 256,
        "xscrollLo": x % 256,
        "time": time,
        "lives": lives,
        "levelHi": level[0],
        "levelLo": level[1],
    }


def mario(lines: list[dict[str, int]], **endings: Any) -> RetroRewards:
    episodes = RetroEpisodes(
        Scripted(lines), variables=MARIO.variables, level=MARIO.level, lives="lives", **endings
    )
    asked = {name: RewardPart() for name in MARIO.rewards}
    shares = resolve_shares(asked, MARIO.rewards, [*VARIABLES, *MARIO.variables, LEVELS_DONE], "Mario")
    return RetroRewards(episodes, shares, own_weight=0.0)


def played(env: gym.Env[Any, Any], steps: int) -> list[tuple[float, bool, bool, dict[str, Any]]]:
    env.reset(seed=0)
    told = []
    for _ in range(steps):
        _, reward, terminated, truncated, info = env.step(0)
        told.append((float(reward), terminated, truncated, info))
        if terminated or truncated:
            break
    return told


def parts(told: tuple[float, bool, bool, dict[str, Any]]) -> dict[str, float]:
    return {name: value for name, value in told[3]["reward_parts"].items() if value}


def test_progress_goes_over_the_edge_of_a_page() -> None:
    told = played(mario([line(250), line(260), line(259), line(512)]), 2)
    assert parts(told[0])["progress"] == pytest.approx(1.0)  # 10 pixels, though the low byte fell by 246
    assert parts(told[1])["progress"] == pytest.approx(-0.1)


def test_the_games_own_reward_is_replaced_and_still_reported() -> None:
    reward, _, _, info = played(mario([line(0), line(8)]), 1)[0]
    assert reward == pytest.approx(0.8)
    assert reward - sum(info["reward_parts"].values()) == pytest.approx(8.0)


def test_the_clock_costs_while_it_ticks_and_nothing_when_it_is_counted_out() -> None:
    told = played(mario([line(time=400), line(time=399), line(time=395), line(time=400)]), 3)
    assert [parts(step).get("time", 0.0) for step in told] == [pytest.approx(-0.1), 0.0, 0.0]


def test_a_death_costs_once_and_ends_the_episode_if_asked() -> None:
    lines = [line(500), line(510), line(0, lives=1), line(5, lives=1)]
    told = played(mario(lines, end_on_life=True), 3)
    assert len(told) == 2
    assert told[-1][1]
    assert parts(told[-1])["death"] == -5.0
    assert "progress" not in parts(told[-1])  # being put back to the start is no way of 510 pixels
    assert told[-1][3]["level_complete"] == 0.0
    assert told[-1][3]["progress"] == 510  # how far it came
    goes_on = played(mario(lines), 3)
    assert [step[1] for step in goes_on] == [False, False, False]
    assert parts(goes_on[2]) == {"progress": pytest.approx(0.5), "own_reward": pytest.approx(-5.0)}


def test_the_next_level_is_a_success_and_ends_the_episode_if_asked() -> None:
    lines = [line(3000), line(3010), line(0, level=(0, 1)), line(8, level=(0, 1))]
    told = played(mario(lines, end_on_level=True), 3)
    assert len(told) == 2
    _, terminated, truncated, info = told[-1]
    assert (terminated, truncated, info["level_complete"]) == (True, False, 1.0)
    assert parts(told[-1])["level"] == 15.0
    castle = [line(3000, level=(0, 3)), line(0, level=(1, 0)), line(0, level=(1, 0), lives=-1)]
    told = played(mario(castle), 2)
    assert told[0][3][LEVELS_DONE] == 1
    assert told[1][3]["level_complete"] == 1.0  # it was finished, though the game is over since


def test_a_level_that_goes_with_a_life_is_no_success() -> None:
    told = played(mario([line(100, level=(0, 1)), line(0, level=(0, 0), lives=1)], end_on_level=True), 1)
    assert not told[0][1]
    assert told[0][3][LEVELS_DONE] == 0


def test_standing_still_is_cut_off_and_walking_is_not() -> None:
    still = played(mario([line(40)] * 20, no_progress_steps=5), 19)
    assert (len(still), still[-1][1:3]) == (5, (False, True))
    back_and_forth = [line(40 + step % 2) for step in range(20)]
    assert len(played(mario(back_and_forth, no_progress_steps=5), 19)) < 19
    walking = [line(40 + step // 4) for step in range(20)]
    assert len(played(mario(walking, no_progress_steps=5), 19)) == 19


def test_a_new_level_begins_a_new_count_of_progress() -> None:
    lines = [line(3000), *(line(step, level=(0, 1)) for step in range(12))]
    assert len(played(mario(lines, no_progress_steps=3), 12)) == 12


def test_counts_continue_from_a_state() -> None:
    lines = [line(10 * step) for step in range(8)]
    env = mario(lines, no_progress_steps=4)
    played(env, 4)
    episodes: Any = env.env
    saved, inner = env.get_state(), episodes.get_state()
    other = mario(lines, no_progress_steps=4)
    other.reset(seed=0)
    other.set_state(saved)
    other_episodes: Any = other.env
    other_episodes.set_state(inner)
    other.unwrapped._at = 4  # type: ignore[attr-defined]
    assert env.step(0)[1:] == other.step(0)[1:]


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=30),
    st.integers(-640, 640).map(lambda sixty_fourths: sixty_fourths / 64),  # so that nothing is rounded
    st.one_of(st.none(), st.integers(1, 500)),
)
def test_gains_and_losses_make_up_the_change(values: list[int], weight: float, limit: int | None) -> None:
    change, gain, loss = (Share("x", kind, weight, limit) for kind in ("change", "gain", "loss"))
    for before, now in pairwise(values):
        whole = change.of(before, now)
        assert whole == gain.of(before, now) - loss.of(before, now)
        if limit is not None and abs(now - before) > limit:
            assert whole == 0
    if limit is None:  # what is counted as change cannot be earned twice by going back and forth
        total = sum(change.of(before, now) for before, now in pairwise(values))
        assert total == weight * (values[-1] - values[0])


class ConsoleModel:
    """The part of the game that loads a level after a lost life, as its disassemblies have it."""

    def __init__(self, loads: bool = True) -> None:
        self.memory, self.data, self.em = self, self, self
        self.ram = {0x0E: 8, 0x75A: 2, 0x75C: 0, 0x75F: 0, 0x760: 0}
        self.loads = loads
        self.frames = 0
        self.loaded: tuple[int, int] | None = None  # world and area

    def assign(self, address: int, kind: str, value: int) -> None:
        self.ram[address] = value

    def extract(self, address: int, kind: str) -> int:
        return self.ram[address]

    def step(self) -> None:
        self.frames += 1
        if self.ram[0x0E] == 6:  # PlayerLoseLife, then ContinueGame
            self.ram[0x75A] -= 1
            self.ram[0x0E] = 0
            self.loaded = self.ram[0x75F], self.ram[0x760]
            self.frames = 0
        elif self.ram[0x0E] == 0 and self.frames > 150:
            self.ram[0x0E] = 7  # the picture of the world's name is over: Mario appears
        elif self.ram[0x0E] == 7 and self.frames > 180 and self.loads:
            self.ram[0x0E] = 8

    def update_ram(self) -> None:
        pass

    def get_state(self) -> bytes:
        return repr(sorted(self.ram.items())).encode()


@pytest.mark.parametrize(
    ("name", "loaded"),
    [("Level1-2", (0, 2)), ("Level1-4", (0, 4)), ("Level3-2", (2, 1)), ("Level8-3", (7, 2))],
)
def test_any_level_is_loaded_by_the_game_itself(name: str, loaded: tuple[int, int]) -> None:
    console = ConsoleModel()
    state = level_state(console, name)
    assert console.loaded == loaded
    assert state == console.get_state()
    assert (console.ram[0x0E], console.ram[0x75A]) == (8, 2)  # Mario is played, with as many lives as before
    assert (console.ram[0x75F] + 1, console.ram[0x75C] + 1) == (int(name[5]), int(name[7]))


def test_a_game_that_does_not_go_to_the_level_is_an_error() -> None:
    with pytest.raises(GymnastError, match="did not go to Level1-2"):
        level_state(ConsoleModel(loads=False), "Level1-2")


def test_worlds_have_four_stages_and_some_an_area_more() -> None:
    assert len(STATES) == 32
    assert [area_of(1, stage) for stage in range(1, 5)] == [0, 2, 3, 4]
    assert [area_of(3, stage) for stage in range(1, 5)] == [0, 1, 2, 3]
