"""VizDoom: what is seen, what can be pressed, when an episode ends, and what is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.envs.spec import read_spec
from gymnast.envs.wrappers.images import area_means
from gymnast.errors import GymnastError, MissingExtra

pytest.importorskip("vizdoom")

from gymnast.envs.families.doom.buttons import all_combinations, chosen_combinations, is_possible
from gymnast.envs.families.doom.env import DoomEnv
from gymnast.envs.families.doom.scenarios import SCENARIOS
from gymnast.envs.families.doom.screen import shrinking


@pytest.fixture
def make() -> Iterator[Any]:
    made: list[gym.Env[Any, Any]] = []

    def build(scenario: str, vizdoom: dict[str, Any] | None = None, **more: Any) -> DoomEnv:
        training = more.pop("training", True)
        render_mode = more.pop("render_mode", None)
        config = EnvConfig(id=f"VizDoom-{scenario}-v0", vizdoom=vizdoom or {}, **more)
        env = make_env(config, training=training, render_mode=render_mode)
        made.append(env)
        assert isinstance(env.unwrapped, DoomEnv)
        return env.unwrapped

    yield build
    for env in made:
        env.close()


def press(env: DoomEnv, label: str, times: int = 1) -> list[tuple[Any, float, bool, bool, dict[str, Any]]]:
    action = env.get_action_meanings().index(label)
    return [env.step(action) for _ in range(times)]


@pytest.mark.parametrize("env_id", SCENARIOS)
def test_every_scenario_has_a_spec_without_a_game_being_started(env_id: str) -> None:
    spec = read_spec(EnvConfig(id=env_id))
    assert spec.action_labels[0] == "NOOP"
    assert spec.family == "vizdoom"
    assert ("USE" in spec.action_labels) == (env_id == "VizDoom-E1M1-v0")
    assert spec.description


def test_a_seed_repeats_an_episode_frame_by_frame(make: Any) -> None:
    first, second = make("DefendTheCenter"), make("DefendTheCenter")
    actions = np.random.default_rng(0).integers(6, size=40).tolist()

    def play(env: DoomEnv, seed: int | None) -> list[bytes]:
        frames = [env.reset(seed=seed)[0].tobytes()]
        for action in actions:
            obs, reward, terminated, truncated, _ = env.step(action)
            frames.append(obs.tobytes() + np.float64(reward).tobytes())
            if terminated or truncated:
                break
        return frames

    frames = play(first, 5)
    later = play(first, None)
    assert later != frames
    assert play(second, 6) != frames
    # … whatever was played before, and in another process of the engine; the episode after it too.
    assert play(second, 5) == frames
    assert play(second, None) == later


def test_an_episode_continues_from_its_state(make: Any) -> None:
    settings = {"rewards": {"ammo": 0.5, "progress": 0.1}}
    env, other = make("DeadlyCorridor", settings), make("DeadlyCorridor", settings)
    env.reset(seed=1)
    press(env, "ATTACK", 3)
    press(env, "MOVE_FORWARD", 3)
    state = env.get_state()
    other.reset(seed=99)
    other.set_state(state)
    for label in ("MOVE_FORWARD", "ATTACK", "TURN_LEFT", "NOOP"):
        ours, theirs = press(env, label)[0], press(other, label)[0]
        assert (ours[0] == theirs[0]).all()
        assert ours[1:4] == theirs[1:4]
        assert ours[4] == theirs[4]


def test_the_timeout_truncates_and_shows_the_last_screen(make: Any) -> None:
    # Basic ends after 300 tics, each worth -1; 7 does not divide that.
    env = make("Basic", {"frame_skip": 7, "grayscale": False}, render_mode="rgb_array")
    env.reset(seed=0)
    steps = press(env, "MOVE_LEFT", 43)
    assert [step[2] for step in steps] == [False] * 43
    assert [step[3] for step in steps] == [False] * 42 + [True]
    assert sum(step[1] for step in steps) == -300
    assert not (steps[-1][0] == steps[0][0]).all()
    assert steps[-1][4].keys() >= {"kills", "health", "ammo", "items"}
    assert steps[-1][4]["ammo"] == 50
    env.reset()
    assert press(env, "NOOP")[0][3] is False


def test_a_kill_terminates(make: Any) -> None:
    env = make("Basic")
    for seed in range(30):  # until the monster happens to stand in front
        env.reset(seed=seed)
        last = next((step for step in (press(env, "ATTACK")[0] for _ in range(5)) if step[2]), None)
        if last is not None:
            break
    assert last is not None
    assert last[2]
    assert not last[3]
    assert last[1] > 90
    assert last[4]["kills"] == 1


def test_shares_of_the_reward_add_up_and_death_costs_the_health_that_there_was(make: Any) -> None:
    weights = {"health": 1.0, "ammo": 0.25, "kills": 3.0, "death": -7.0, "damage_taken": -0.5}
    env, plain = make("DefendTheCenter", {"rewards": weights}), make("DefendTheCenter")
    assert env.reward_parts == ("kills", "damage_taken", "health", "ammo", "death")
    assert plain.reward_parts == ()
    env.reset(seed=3)
    plain.reset(seed=3)
    totals = dict.fromkeys(env.reward_parts, 0.0)
    start = {"health": env.variable("HEALTH"), "ammo": env.variable("AMMO2")}
    terminated, steps = False, 0
    while not terminated:
        label = "ATTACK" if steps < 3 else "NOOP"
        ((_, reward, terminated, truncated, info),) = press(env, label)
        ((_, own, *_),) = press(plain, label)
        shares = info["reward_parts"]
        assert reward == pytest.approx(own + sum(shares.values()))
        if steps == 0:
            assert shares["health"] == shares["death"] == 0
        totals = {name: totals[name] + share for name, share in shares.items()}
        steps += 1
        assert not truncated
    assert totals["health"] == -start["health"]
    assert totals["ammo"] == 0.25 * (info["ammo"] - start["ammo"]) < 0
    assert totals["kills"] == 3 * info["kills"]
    assert totals["death"] == -7
    assert totals["damage_taken"] <= -0.5 * start["health"]
    env.reset()  # all that was lost is there again: that is no gain
    assert all(share == 0 for share in press(env, "NOOP")[0][4]["reward_parts"].values())


def test_ammunition_is_not_spent_by_changing_weapons(make: Any) -> None:
    env = make("Deathmatch", {"rewards": {"ammo": 1.0}})
    env.reset(seed=0)
    steps = press(env, "SELECT_NEXT_WEAPON", 6)
    assert [step[4]["reward_parts"]["ammo"] for step in steps] == [0.0] * 6
    fired = press(env, "ATTACK", 12)
    assert sum(step[4]["reward_parts"]["ammo"] for step in fired) <= 0


def test_progress_is_paid_once(make: Any) -> None:
    env = make("DeadlyCorridor", {"rewards": {"progress": 1.0, "exploration": 1.0}, "doom_skill": 1})
    env.reset(seed=0)
    x, y = env.variable("POSITION_X"), env.variable("POSITION_Y")
    there = press(env, "MOVE_FORWARD", 9)
    walked = np.hypot(env.variable("POSITION_X") - x, env.variable("POSITION_Y") - y)
    assert walked > 50
    assert sum(step[4]["reward_parts"]["progress"] for step in there) == pytest.approx(walked, abs=1e-3)
    assert sum(step[4]["reward_parts"]["exploration"] for step in there) >= 1
    back = press(env, "MOVE_BACKWARD", 10)[2:]  # after coasting to a stop
    assert all(step[4]["reward_parts"] == {"progress": 0.0, "exploration": 0.0} for step in back[:3])


def test_evaluation_is_paid_by_the_scenario_alone(make: Any) -> None:
    env = make("HealthGathering", {"rewards": {"health": 1.0}}, training=False)
    assert env.reward_parts == ()
    env.reset(seed=0)
    assert [(step[1], step[4]) for step in press(env, "NOOP", 12)] == [(4.0, {})] * 12


def test_screen_and_variables(make: Any) -> None:
    env = make("DefendTheCenter", {"variables": ["HEALTH", "ammo2"], "grayscale": False, "size": (48, 64)})
    obs, _ = env.reset(seed=0)
    assert obs in env.observation_space
    assert obs["screen"].shape == (48, 64, 3)
    assert obs["variables"].tolist() == [100.0, 26.0]
    while True:
        ((obs, _, terminated, _, _),) = press(env, "ATTACK")
        assert obs in env.observation_space
        if terminated:
            break
    assert obs["variables"][0] <= 0
    assert obs["variables"][1] < 26
    listed = make("DefendTheCenter", {"variables": "scenario", "size": None})
    obs, _ = listed.reset(seed=0)
    assert obs["screen"].shape == (120, 160)
    assert obs["variables"].tolist() == [26.0, 100.0]


@pytest.mark.parametrize("size", [(60, 80), (30, 40), (40, 80), (84, 84), (50, 161)])
@pytest.mark.parametrize("colours", [(), (3,)])
def test_a_smaller_screen_has_the_means_of_what_its_pixels_cover(
    size: tuple[int, int], colours: tuple[int, ...]
) -> None:
    screen = np.random.default_rng(0).integers(256, size=(240, 320, *colours), dtype=np.uint8)
    small = shrinking((240, 320), size, "area")(screen)
    assert small.dtype == np.uint8
    assert small.shape == (*size, *colours)
    down, across = area_means(240, size[0]), area_means(320, size[1])
    means = np.einsum("hH,HW...,wW->hw...", down, screen, across, optimize=True)
    assert np.abs(means - small).max() < 1
    nearest = shrinking((240, 320), size, "nearest")(screen)
    assert nearest.shape == small.shape
    assert (nearest[0, 0] == screen[240 // size[0] // 2, 320 // size[1] // 2]).all()


def test_rendering_shows_colours_and_leaves_the_observation_as_it_is(make: Any) -> None:
    env, rendered = make("MyWayHome"), make("MyWayHome", render_mode="rgb_array")
    obs, _ = env.reset(seed=2)
    seen, _ = rendered.reset(seed=2)
    picture = rendered.render()
    assert picture.shape == (120, 160, 3)
    assert picture.dtype == np.uint8
    assert (picture[..., 0] != picture[..., 2]).mean() > 0.2
    assert np.array_equal(obs, seen)
    assert env.render() is None


def test_a_door_opens_by_use_alone_and_lets_the_player_through(make: Any) -> None:
    """On E1M4 of Freedoom a door is 192 map units in front of the start, to the north."""
    door = -1568.0
    env = make("E1M1", state="E1M4")
    env.reset(seed=0)
    assert env.variable("POSITION_Y") == -1760
    press(env, "MOVE_FORWARD", 15)
    assert door - 40 < env.variable("POSITION_Y") < door
    press(env, "MOVE_FORWARD", 15)
    assert env.variable("POSITION_Y") < door
    press(env, "USE")
    press(env, "NOOP", 8)
    press(env, "MOVE_FORWARD", 12)
    assert env.variable("POSITION_Y") > door + 60


def test_the_exit_completes_a_map(make: Any) -> None:
    env = make("E1M1", state="E1M3")
    env.reset(seed=0)
    env._game.send_game_command("warp -2196 2224")  # a long way: in front of the switch that ends E1M3
    assert press(env, "NOOP")[0][1:4] == (0.0, False, False)
    ((_, reward, terminated, truncated, info),) = press(env, "USE")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["level_complete"] == 1.0
    assert "level_complete" in env.episode_values


def test_impossible_combinations_are_left_out_or_masked(make: Any) -> None:
    plain, masked = make("Basic"), make("Basic", action_masks=True)
    labels = ["NOOP", "MOVE_LEFT", "MOVE_RIGHT", "ATTACK", "MOVE_LEFT+ATTACK", "MOVE_RIGHT+ATTACK"]
    assert plain.get_action_meanings() == labels
    mask = masked.reset(seed=0)[1]["action_mask"]
    forbidden = [label for label, ok in zip(masked.get_action_meanings(), mask, strict=True) if not ok]
    assert forbidden == ["MOVE_LEFT+MOVE_RIGHT"]
    assert (press(masked, "NOOP")[0][4]["action_mask"] == mask).all()


def test_actions_by_label() -> None:
    config = EnvConfig(id="VizDoom-Basic-v0", actions=("attack", "ATTACK+MOVE_LEFT", "NOOP"))
    assert read_spec(config).action_labels == ("ATTACK", "MOVE_LEFT+ATTACK", "NOOP")
    with_speed = EnvConfig(id="VizDoom-E1M1-v0", vizdoom={"buttons": ["MOVE_FORWARD", "SPEED"]})
    assert read_spec(with_speed).action_labels == ("NOOP", "MOVE_FORWARD", "SPEED", "MOVE_FORWARD+SPEED")


def test_combinations() -> None:
    buttons = ["MOVE_LEFT", "MOVE_RIGHT", "ATTACK", "SELECT_WEAPON1", "SELECT_WEAPON2"]
    every = all_combinations(buttons, 5, impossible=True)
    assert len(every) == len(set(every)) == 2**5
    possible = all_combinations(buttons, 5, impossible=False)
    assert set(possible) == {c for c in every if is_possible(c)}
    assert len(possible) == 3 * 2 * 3  # a way to go or none, shoot or not, a weapon or none
    assert chosen_combinations(["+".join(c) or "NOOP" for c in every], buttons) == every


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"actions": ("ATACK",)}, r"no button 'ATACK' \(did you mean 'ATTACK'"),
        ({"actions": ("ATTACK", "attack")}, "twice"),
        ({"actions": ()}, "at least one"),
        ({"state": "MAP07"}, r"no map 'MAP07' in basic.wad \(did you mean 'MAP01'"),
        ({"vizdoom": {"variables": ["HELTH"]}}, r"'HELTH' \(did you mean 'HEALTH'"),
        ({"vizdoom": {"buttons": ["JUMPP"]}}, r"'JUMPP' \(did you mean 'JUMP'"),
        ({"vizdoom": {"size": (84, 200)}}, "84 × 200 is larger than the 120 × 160"),
        ({"vizdoom": {"wad": "/nowhere/doom.wad"}}, "no file /nowhere/doom.wad"),
        ({"vizdoom": {"wad": __file__}}, "is not a WAD file"),
        (
            {
                "id": "VizDoom-E1M1-v0",
                "vizdoom": {
                    "max_pressed": 12,
                    "buttons": [f"SELECT_WEAPON{i}" for i in range(10)]
                    + ["ATTACK", "USE", "JUMP", "CROUCH", "SPEED"],
                },
                "action_masks": True,
            },
            "more than 4096 actions",
        ),
    ],
)
def test_bad_settings_raise_a_clear_error(given: dict[str, Any], message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        make_env(EnvConfig(**{"id": "VizDoom-Basic-v0", **given}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resolution": "160x100"}, "cannot draw 160x100 .did you mean '160x120'"),
        ({"resolution": "small"}, "'small' is not a resolution"),
        ({"doom_skill": 6}, "less than or equal to 5"),
        ({"rewards": {"kill": 1}}, "kill"),
    ],
)
def test_settings_are_checked_before_a_game_is_made(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EnvConfig(id="VizDoom-Basic-v0", vizdoom=given)


@pytest.mark.parametrize("wrong", ["VizdoomBasic-v1", "VizDoom-Baisc-v0", "VizdoomBasic-v0", "VizDoomBasic"])
def test_other_spellings_are_pointed_to_ours(wrong: str) -> None:
    with pytest.raises(GymnastError, match="did you mean 'VizDoom-Basic-v0'"):
        make_env(EnvConfig(id=wrong))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(gym.registry, "VizDoom-Basic-v0", raising=False)
    monkeypatch.setattr("gymnast.envs.families.table.find_spec", lambda package: None)
    with pytest.raises(MissingExtra, match=r"needs the extra 'vizdoom': pip install 'gymnast\[vizdoom\]'"):
        make_env(EnvConfig(id="VizDoom-Basic-v0"))


def test_your_own_wad(make: Any, tmp_path: Any) -> None:
    import vizdoom

    own = tmp_path / "mine.wad"
    own.symlink_to(f"{vizdoom.root_path}/freedoom2.wad")
    env = make("E1M1", {"wad": str(own)}, state="map02")
    obs, _ = env.reset(seed=0)
    assert obs.std() > 5
    with pytest.raises(GymnastError, match=r"no map 'E1M1' in mine\.wad"):
        make("E1M1", {"wad": str(own)}, state="E1M1")
    # Without a map of that name the first one there is played.
    assert make("E1M1", {"wad": str(own)}).reset(seed=0)[0].std() > 5
