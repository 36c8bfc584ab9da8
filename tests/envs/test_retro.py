"""Console games on the real emulator, with the one game that may be shipped: Airstriker."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.envs.build import build_envs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import episode_values, make_env, reward_parts
from gymnast.envs.spec import read_spec
from gymnast.envs.states import can_carry, env_state, set_env_state
from gymnast.errors import GymnastError

pytest.importorskip("stable_retro")

AIRSTRIKER = "Retro/Airstriker-Genesis"
Make = Callable[..., gym.Env[Any, Any]]


@pytest.fixture(autouse=True)
def roms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ROM folder of this test's own."""
    monkeypatch.setenv("GYMNAST_ROMS_DIR", str(tmp_path / "roms"))
    return tmp_path / "roms"


@pytest.fixture
def make() -> Iterator[Make]:
    """Builds games, one after the other: a process has one emulator."""
    made: list[gym.Env[Any, Any]] = []

    def build(training: bool = True, render_mode: str | None = None, **settings: Any) -> gym.Env[Any, Any]:
        for env in made:
            env.close()
        config = EnvConfig.model_validate({"id": AIRSTRIKER, **settings})
        made.append(make_env(config, training=training, render_mode=render_mode))
        return made[-1]

    yield build
    for env in made:
        env.close()


def play(env: gym.Env[Any, Any], actions: np.ndarray) -> tuple[list[np.ndarray], list[float], dict[str, Any]]:
    seen, paid = [], []
    info: dict[str, Any] = {}
    for action in actions.tolist():
        obs, reward, terminated, truncated, info = env.step(action)
        seen.append(obs)
        paid.append(float(reward))
        if terminated or truncated:
            break
    return seen, paid, info


def some_actions(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 6, count)


def test_the_screen_is_seen_in_grey_and_small_and_is_what_the_console_shows(make: Make) -> None:
    env = make(training=False, render_mode="rgb_array")
    obs, _ = env.reset(seed=3)
    assert (env.observation_space.shape, obs.dtype) == ((84, 84), np.uint8)
    screen = np.asarray(env.render())
    assert screen.shape == (224, 320, 3)
    assert env.metadata["render_fps"] == 15  # 60 frames a second, four of them a step
    brightness = screen @ np.array([0.299, 0.587, 0.114])
    assert abs(float(brightness.mean()) - float(obs.mean())) < 1
    assert obs.std() > 0


def test_crop_and_hide_keep_the_score_out_of_sight(make: Make) -> None:
    plain = {"grayscale": False, "size": None, "noop_max": 0}
    whole, _ = make(training=False, retro=plain).reset(seed=0)
    cropped, _ = make(training=False, retro={**plain, "crop": {"top": 30}}).reset(seed=0)
    hidden, _ = make(training=False, retro={**plain, "hide": [{"top": 10, "height": 20}]}).reset(seed=0)
    assert (cropped == whole[30:]).all()
    assert whole[10:30].any()  # the line with lives and score
    assert not hidden[10:30].any()
    assert (hidden[30:] == whole[30:]).all()


def test_memory_can_be_seen_instead_of_the_screen(make: Make) -> None:
    env = make(training=False, retro={"obs": "ram"})
    first, _ = env.reset(seed=0)
    assert first.shape == (65536,)
    later = play(env, some_actions(30))[0][-1]
    assert (first != later).any()


def test_actions_are_combinations_by_label(make: Make) -> None:
    labels = ("NOOP", "LEFT", "RIGHT", "B", "LEFT+B", "RIGHT+B")
    assert read_spec(EnvConfig(id=AIRSTRIKER)).action_labels == labels
    config = EnvConfig(id=AIRSTRIKER, actions=("b", "Right + B"))
    assert read_spec(config).action_labels == ("B", "RIGHT+B")
    env = make(training=False, actions=["LEFT", "RIGHT"], retro={"noop_max": 0, "size": None})
    means = []
    for action in (0, 1):  # the ship is at the bottom: where its brightness lies says where it went
        env.reset(seed=0)
        screen = play(env, np.full(12, action))[0][-1][180:].astype(float)
        means.append((screen * np.arange(320)).sum() / screen.sum())
    assert means[0] < means[1] - 20


def test_a_console_without_a_table_has_every_direction_with_every_button() -> None:
    from gymnast.envs.families.retro.buttons import default_labels
    from gymnast.envs.families.retro.library import button_groups

    nes = default_labels(button_groups("Nes"))
    assert (nes[0], len(nes)) == ("NOOP", 20)
    assert {"A+B", "RIGHT+A+B", "UP", "LEFT+B"} <= set(nes)
    assert "RIGHT+C" in default_labels(button_groups("Genesis"))
    assert not any("START" in label or "SELECT" in label for label in nes)


def test_every_table_names_what_its_game_has() -> None:
    from gymnast.envs.families.retro import library
    from gymnast.envs.families.retro.buttons import button_masks
    from gymnast.envs.families.retro.rewards import resolve_shares
    from gymnast.envs.families.retro.tables import LEVELS_DONE, TABLES

    for name, table in TABLES.items():
        folder = library.game_folder(name)
        own = library.variables(folder)
        assert set(table.level) <= set(own)
        assert {part for parts in table.variables.values() for part in parts} <= set(own)
        resolve_shares(table.rewards, table.rewards, [*own, *table.variables, LEVELS_DONE], name)
        button_masks(table.actions or (), library.buttons(library.system_of(folder)))


def test_every_preset_of_the_family_names_a_state_that_its_game_has() -> None:
    from gymnast.config.load import load_config
    from gymnast.envs.families.retro import library

    env = load_config("Retro/SuperMarioBros-Nes:ppo").config.env
    assert env.state in library.states(library.game_folder(env.id))


@pytest.mark.slow
def test_the_same_seed_and_actions_give_the_same_game_and_other_seeds_others(make: Make) -> None:
    def game(seed: int) -> tuple[np.ndarray, list[float]]:
        env = make()
        env.reset(seed=seed)
        seen, paid, _ = play(env, some_actions(60))
        return np.stack(seen), paid

    first, again, other = game(1), game(1), game(2)
    assert (first[0] == again[0]).all()
    assert first[1] == again[1]
    assert not np.array_equal(first[0], other[0])


@pytest.mark.slow
def test_chance_is_for_training(make: Make) -> None:
    settings = {"noop_max": 0, "sticky": 0.5, "random_frame_skip": [2, 6]}

    def screens(seed: int, training: bool) -> np.ndarray:
        env = make(training=training, retro=settings)
        env.reset(seed=seed)
        return np.stack(play(env, some_actions(40))[0])

    assert (screens(1, False) == screens(2, False)).all()
    assert not (screens(1, True) == screens(2, True)).all()


@pytest.mark.slow
def test_a_restored_game_continues_frame_by_frame(make: Make) -> None:
    settings = {"rewards": {"death": {}, "score": {}}, "no_progress_steps": 400, "random_frame_skip": [3, 5]}
    env = make(retro=settings)
    assert can_carry(env)
    env.reset(seed=5)
    play(env, some_actions(60))
    saved = env_state(env)
    seen, paid, info = play(env, some_actions(120, seed=1))
    assert any(paid)
    fresh = make(retro=settings)
    fresh.reset(seed=9)
    play(fresh, some_actions(20, seed=2))
    set_env_state(fresh, saved)
    again = play(fresh, some_actions(120, seed=1))
    assert np.array_equal(np.stack(seen), np.stack(again[0]))
    assert paid == again[1]
    assert info == again[2]


@pytest.mark.slow
def test_shares_are_reported_and_leave_the_games_own_reward(make: Make) -> None:
    settings = {"own_reward": 0.5, "rewards": {"death": -3, "hits": {"variable": "score", "weight": 2}}}
    env = make(retro={**settings, "sticky": 0})
    assert reward_parts(env) == ("own_reward", "death", "hits")
    env.reset(seed=0)
    own, lost, deaths = 0.0, 0, []
    _, info = env.reset(seed=0)
    lives = info["lives"]
    for action in some_actions(400).tolist():
        score = info["score"]
        _, reward, terminated, _, info = env.step(action)
        parts = info["reward_parts"]
        gained = info["score"] - score
        assert parts["hits"] == 2 * gained
        assert reward - sum(parts.values()) == pytest.approx(gained)  # the scenario pays the score
        own += gained
        deaths.append(parts["death"])
        lost += info["lives"] < lives
        lives = info["lives"]
        if terminated:
            break
    assert own > 0
    assert lost > 0
    assert deaths.count(-3.0) == lost
    assert deaths.count(0.0) == len(deaths) - lost
    assert reward_parts(make(training=False, retro=settings)) == ()


@pytest.mark.slow
def test_a_lost_life_ends_an_episode_in_training_alone(make: Make) -> None:
    lives = {}
    for training in (True, False):
        env = make(training=training, retro={"end_on_life": True})
        env.reset(seed=0)
        for _ in range(600):
            _, _, terminated, _, info = env.step(0)  # sitting still is hit soon
            if terminated:
                break
        assert terminated
        lives[training] = info["lives"]
    assert lives == {True: 2, False: 0}


@pytest.mark.slow
def test_a_new_level_ends_an_episode_and_is_reported(make: Make) -> None:
    # Airstriker's levels are not in its data: every hit counts as a new level here.
    env = make(training=False, retro={"level": ["score"], "end_on_level": True})
    assert episode_values(env) == ("level_complete",)
    env.reset(seed=0)
    *_, info = play(env, some_actions(400))
    assert (info["score"], info["level_complete"], info["levels_done"]) == (20, 1.0, 1)
    env = make(training=False, retro={"level": ["score"]})
    env.reset(seed=0)
    *_, info = play(env, np.zeros(600, np.int64))  # nothing is hit without shooting
    assert (info["score"], info["level_complete"]) == (0, 0.0)


def test_an_episode_without_a_gain_is_cut_off(make: Make) -> None:
    env = make(training=False, retro={"no_progress_steps": 25})
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(25)] == [(False, False)] * 24 + [(False, True)]


def test_max_episode_steps_counts_steps_and_not_frames(make: Make) -> None:
    env = make(training=False, max_episode_steps=10)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(10)] == [False] * 9 + [True]


@pytest.mark.slow
def test_own_states_and_own_games_are_found_in_the_users_folder(make: Make, roms: Path) -> None:
    import shutil

    from gymnast.envs.families.retro import library
    from gymnast.envs.families.retro.library import register_games

    env = make(training=False, retro={"noop_max": 0})
    env.reset(seed=0)
    _, _, info = play(env, some_actions(200))
    base: Any = env.unwrapped
    (roms / "Airstriker-Genesis-v0").mkdir(parents=True)
    with gzip.open(roms / "Airstriker-Genesis-v0" / "Later.state", "wb") as file:
        file.write(base._console.em.get_state())
    env = make(training=False, state="Later", retro={"noop_max": 0})
    assert env.reset(seed=0)[1]["score"] == info["score"] > 0

    shipped = library.rom_path("Airstriker-Genesis-v0")
    assert shipped is not None
    shutil.copytree(shipped.parent, roms / "MyShooter-Genesis")
    register_games()
    env = make(training=False, id="Retro/MyShooter-Genesis")
    assert env.reset(seed=0)[1]["lives"] == 3
    assert env.action_space == gym.spaces.Discrete(20)  # no table: what the console has


def test_a_state_can_be_made_by_the_game_itself(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnast.envs.families.retro.tables import TABLES, GameTable

    def nine_lives(console: Any, name: str) -> bytes:
        console.data.memory.assign(16712282, ">u2", 9)
        for _ in range(10):
            console.em.step()
        return bytes(console.em.get_state())

    table = GameTable(made_states=("Nine",), make_state=nine_lives)
    monkeypatch.setitem(TABLES, "Airstriker-Genesis", table)
    env = make(training=False, state="Nine")
    for _ in range(2):  # every game begins there
        _, info = env.reset(seed=0)
        assert info["lives"] == 9
    assert env.step(0)[4]["lives"] == 9
    with pytest.raises(GymnastError, match=r"'Ten'.*it has Level1, Nine"):
        make(state="Ten")


def test_gymnasium_itself_makes_a_game() -> None:
    from gymnast.envs.families.retro.library import register_games

    register_games()

    env = gym.make(AIRSTRIKER)
    try:
        assert env.reset(seed=0)[0].shape == (224, 320, 3)
    finally:
        env.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"id": "Retro/Airstrikr-Genesis"}, ["unknown environment", "Retro/Airstriker-Genesis"]),
        ({"id": "Retro/SuperMarioBros-Nes"}, ["ROM of SuperMarioBros-Nes", "gymnast roms import"]),
        ({"state": "Level2"}, ["env.state", "'Level2'", "Level1"]),
        ({"actions": ["LEFT", "RIGHT+Q"]}, ["env.actions", "'Q'", "MODE", "NOOP"]),
        ({"actions": ["LEFT+RIGHT"]}, ["LEFT+RIGHT", "both ways"]),
        ({"actions": ["B+LEFT", "LEFT+B"]}, ["same action"]),
        ({"actions": []}, ["at least one"]),
        ({"retro": {"scenario": "scenaro"}}, ["env.retro.scenario", "'scenario'"]),
        ({"retro": {"rewards": {"death": {"variable": "live"}}}}, ["rewards.death", "'lives'", "gameover"]),
        ({"retro": {"rewards": {"deth": 1}}}, ["rewards.deth", "'death'"]),
        ({"retro": {"rewards": {"x": {"variable": "score"}}}}, ["rewards.x", "weight"]),
        ({"retro": {"level": ["stage"]}}, ["env.retro.level", "'stage'", "score"]),
        ({"retro": {"lives": "lifes"}}, ["env.retro.lives", "'lives'"]),
        ({"retro": {"variables": {"progress": {"scor": 1}}}}, ["variables.progress", "'score'"]),
        ({"retro": {"crop": {"top": 300}}}, ["crop", "nothing would be left"]),
        ({"kwargs": {"stat": "Level1"}}, ["no argument 'stat'", "'state'"]),
    ],
)
def test_bad_input_raises_one_message_and_leaves_no_emulator(
    make: Make, settings: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(GymnastError) as caught:
        make(**settings)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    make().reset(seed=0)  # another emulator can be started


def test_a_second_emulator_in_one_process_is_refused_with_the_way_out(make: Make) -> None:
    make()
    with pytest.raises(GymnastError, match=r"one emulator in a process.*workers"):
        make_env(EnvConfig(id=AIRSTRIKER))


def test_settings_of_another_family_are_refused() -> None:
    from gymnast.config.load import load_config

    for override, key in (
        ("env.retro.sticky=0", "env.retro"),
        ("env.state=Level1", "env.state"),
        ("env.actions=[left]", "env.actions"),
    ):
        with pytest.raises(GymnastError, match=f"{key}: is for .*CartPole-v1 is not one"):
            load_config("CartPole-v1:ppo", [override])


def test_several_games_run_in_a_process_each_and_beside_those_of_evaluation() -> None:
    config = EnvConfig(id=AIRSTRIKER, n_envs=3)
    training = build_envs(config, seed=1)
    evaluation = build_envs(config, n_envs=2, seed=2, training=False)
    try:
        assert (training.backend, evaluation.backend) == ("workers", "workers")
        first = training.reset().copy()
        evaluation.reset()
        assert len({obs.tobytes() for obs in first}) > 1  # seeds differ, and so do the starts
        for _ in range(5):
            step = training.step(np.array([0, 3, 4]))
            evaluation.step(np.array([1, 2]))
        saved = training.snapshot()
        assert training.carries_state
        on = [training.step(np.array([3, 3, 4])).obs.copy() for _ in range(3)]
        assert training.restore(saved) is None
        again = [training.step(np.array([3, 3, 4])).obs.copy() for _ in range(3)]
        assert np.array_equal(on, again)
        assert step.obs.shape == (3, 84, 84)
    finally:
        training.close()
        evaluation.close()


def test_one_process_for_several_games_is_refused() -> None:
    with pytest.raises(GymnastError, match=r"env.backend sync.*one of them.*workers"):
        build_envs(EnvConfig(id=AIRSTRIKER, n_envs=2, backend="sync"), seed=0)
