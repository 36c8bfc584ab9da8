"""Atari: ale-py's vectorised games and our single ones play by the same rules and show the same pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ale_py")

from gymnast.envs.build import build_envs, build_training_envs
from gymnast.envs.contract import Envs
from gymnast.envs.families.atari.resize import AreaResize
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError

BREAKOUT, PONG = "ALE/Breakout-v5", "ALE/Pong-v5"


def config(env_id: str = BREAKOUT, /, **given: Any) -> EnvConfig:
    """Settings of `env` by name, all others of `env.atari`."""
    own = {key: given.pop(key) for key in list(given) if key in EnvConfig.model_fields}
    return EnvConfig.model_validate({"id": env_id, "atari": given, **own})


def actions_of(envs: Envs, steps: int, seed: int = 0) -> np.ndarray:
    space: Any = envs.action_space
    return np.random.default_rng(seed).integers(0, int(space.n), (steps, envs.n_envs))


SAME_GAMES = [
    pytest.param(config(sticky=0, noop_max=0), True, 150, id="lives and clipping"),
    pytest.param(
        config(sticky=0, noop_max=0, grayscale=False, stack=2, size=(64, 50), actions=("RIGHT", "LEFT")),
        False,
        130,
        id="colours, evaluation, no FIRE",
    ),
    pytest.param(
        config("ALE/SpaceInvaders-v5", sticky=0, noop_max=0, frame_skip=3, max_episode_steps=60),
        True,
        70,
        id="cut off",
    ),
    pytest.param(
        config("ALE/Seaquest-v5", sticky=0, noop_max=0, max_pool=False, stack=1, size=(42, 40)),
        True,
        120,
        id="whole blocks of pixels",
    ),
    pytest.param(config(sticky=0, noop_max=0, episodic_point=True), True, 200, id="points and lives"),
    pytest.param(config(PONG, sticky=0, noop_max=0, frame_skip=1, size=(210, 160)), True, 60, id="raw"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "training", "steps"), SAME_GAMES)
def test_native_and_single_games_are_the_same_step_by_step(
    settings: EnvConfig, training: bool, steps: int
) -> None:
    build: dict[str, Any] = {"n_envs": 3, "seed": 3, "training": training}
    native, single = (build_envs(settings, backend=backend, **build) for backend in ("native", "sync"))
    assert native.observation_space == single.observation_space
    assert native.action_space == single.action_space
    assert native.reward_parts == single.reward_parts
    np.testing.assert_array_equal(native.reset(), single.reset())
    finished = 0
    for chosen in actions_of(native, steps):
        a, b = native.step(chosen), single.step(chosen)
        np.testing.assert_array_equal(a.obs, b.obs)
        for name in ("rewards", "terminated", "truncated"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        for name in native.reward_parts:
            np.testing.assert_array_equal(a.reward_parts[name], b.reward_parts[name])
        done = a.terminated | a.truncated
        assert (a.final_obs is None) == (b.final_obs is None) == (not done.any())
        if a.final_obs is not None and b.final_obs is not None:
            np.testing.assert_array_equal(a.final_obs[done], b.final_obs[done])
        assert (a.life_lost is None) == (b.life_lost is None)
        if a.life_lost is not None:
            np.testing.assert_array_equal(a.life_lost, b.life_lost)
        finished += int(done.sum())
    assert finished > 0 or settings.id == PONG or not training
    native.close()
    single.close()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "sync"])
def test_sticky_games_differ_from_env_to_env_and_repeat_by_seed(backend: str) -> None:
    settings = config(PONG, stack=1)
    runs = []
    for seed in (1, 1, 2):
        envs = build_envs(settings, n_envs=4, seed=seed, backend=backend)
        assert len(set(envs.seeds)) == 4
        seen = [envs.reset().copy()]
        seen += [envs.step(np.full(4, 2)).obs.copy() for _ in range(12)]
        runs.append(np.array(seen))
        envs.close()
    first, again, other = runs
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert all((first[:, i] != first[:, j]).any() for i in range(4) for j in range(i))


def test_sent_steps_of_two_groups_overlap_and_arrive() -> None:
    settings = config(PONG, stack=1, sticky=0)
    groups = [build_envs(settings, n_envs=3, seed=seed, backend="native") for seed in (1, 2)]
    plain = [build_envs(settings, n_envs=3, seed=seed, backend="native") for seed in (1, 2)]
    for group, alone in zip(groups, plain, strict=True):
        np.testing.assert_array_equal(group.reset(), alone.reset())
    for chosen in actions_of(groups[0], 8):
        for group in groups:
            group.send(chosen)
        for group, alone in zip(groups, plain, strict=True):
            np.testing.assert_array_equal(group.receive().obs, alone.step(chosen).obs)
    groups[0].send(chosen)
    with pytest.raises(RuntimeError, match="twice"):
        groups[0].send(chosen)
    groups[0].receive()
    with pytest.raises(RuntimeError, match="without send"):
        groups[0].receive()


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_training_counts_whole_games_and_rewards_as_they_are(backend: str) -> None:
    """A lost life ends the return's future and clipping is told as a share: the game's score can be had."""
    # 10 or more a hit, so that clipping has something to cut.
    settings = config("ALE/SpaceInvaders-v5", sticky=0, stack=1)
    training = build_envs(settings, n_envs=2, seed=4, backend=backend)
    scoring = build_envs(settings, n_envs=2, seed=4, backend=backend, training=False)
    assert scoring.reward_parts == ()
    training.reset()
    scoring.reset()
    true = learned = score = 0.0
    lives_lost = games = 0
    for chosen in actions_of(training, 700):
        t, s = training.step(chosen), scoring.step(chosen)
        true += float((t.rewards - t.reward_parts["clip"]).sum())
        learned += float(t.rewards.sum())
        score += float(s.rewards.sum())
        lost = 0 if t.life_lost is None else int(t.life_lost.sum())
        lives_lost += lost
        games += int(t.terminated.sum()) - lost
        ended = s.terminated if t.life_lost is None else s.terminated | t.life_lost
        np.testing.assert_array_equal(t.terminated, ended)
        np.testing.assert_array_equal(t.obs, s.obs)
        assert abs(t.rewards).max() <= 1
    assert true == score > learned > 0
    assert lives_lost >= 2 * games > 0
    training.close()
    scoring.close()


def test_a_lost_life_leaves_the_game_alone_and_serves_the_next_ball() -> None:
    env = make_env(config(sticky=0, noop_max=0, obs="ram", actions=("NOOP", "RIGHT")))
    env.reset(seed=0)
    balls = []  # whether there is one, five steps into each life
    for lives in (4, 3, 2):
        for age in range(200):
            ram, _, terminated, truncated, info = env.step(0)
            assert (terminated, truncated) == (False, False)
            if age == 5:
                balls.append(ram[101] != 0)
            if info.get("life_lost"):
                break
        assert info["life_lost"]
        assert info["lives"] == lives
    assert balls == [True] * 3
    assert env.reset()[1]["lives"] == 5


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_points_end_the_future_of_the_return_and_leave_the_game_alone(backend: str) -> None:
    build: dict[str, Any] = {"n_envs": 2, "seed": 4, "backend": backend}
    training = build_envs(config(PONG, sticky=0, stack=1, episodic_point=True), **build)
    scoring = build_envs(config(PONG, sticky=0, stack=1, episodic_point=True), **build, training=False)
    training.reset()
    scoring.reset()
    points = 0
    for chosen in actions_of(training, 200):
        t, s = training.step(chosen), scoring.step(chosen)
        np.testing.assert_array_equal(t.obs, s.obs)
        np.testing.assert_array_equal(t.terminated, t.rewards != 0)
        assert not s.terminated.any()
        if t.life_lost is not None:
            np.testing.assert_array_equal(t.life_lost, t.terminated)
            points += int(t.life_lost.sum())
    assert points >= 4
    training.close()
    scoring.close()


def test_the_limit_shows_the_true_last_screen() -> None:
    """ale-py would show a stale one."""
    limited = build_envs(config(PONG, sticky=0, max_frames=40), n_envs=4, seed=1, backend="native")
    free = build_envs(config(PONG, sticky=0), n_envs=4, seed=1, backend="native")
    np.testing.assert_array_equal(limited.reset(), free.reset())
    for step_number, chosen in enumerate(actions_of(limited, 10)):
        a, b = limited.step(chosen), free.step(chosen)
        assert a.truncated.all() == (step_number == 9)
    assert a.final_obs is not None
    np.testing.assert_array_equal(a.final_obs, b.obs)
    assert (a.obs != b.obs).any()
    assert not a.terminated.any()


def test_resumed_games_are_new_ones() -> None:
    envs = build_envs(config(PONG, stack=1), n_envs=2, seed=1, backend="native")
    first = envs.reset().copy()
    rows = [envs.step(np.zeros(2, np.int64)).obs.copy() for _ in range(10)]
    saved = envs.snapshot()
    again = build_envs(config(PONG, stack=1), n_envs=2, seed=1, backend="native")
    fresh = again.restore(saved)
    assert fresh is not None
    later = [again.step(np.zeros(2, np.int64)).obs.copy() for _ in range(10)]
    assert (np.array([first, *rows]) != np.array([fresh, *later])).any()


@pytest.mark.parametrize("obs", ["pixels", "ram", "objects"])
@pytest.mark.parametrize("backend", ["sync", "workers"])
def test_single_games_continue_exactly_after_a_resume(obs: str, backend: str) -> None:
    settings = config(obs=obs, workers=2)
    envs = build_envs(settings, n_envs=2, seed=1, backend=backend)
    assert envs.carries_state
    envs.reset()
    played = actions_of(envs, 45)
    for chosen in played[:30]:
        envs.step(chosen)
    saved = envs.snapshot()
    again = build_envs(settings, n_envs=2, seed=1, backend=backend)
    again.reset()
    assert again.restore(saved) is None
    for chosen in played[30:]:
        a, b = envs.step(chosen), again.step(chosen)
        np.testing.assert_array_equal(a.obs, b.obs)
        np.testing.assert_array_equal(a.rewards, b.rewards)
        np.testing.assert_array_equal(a.terminated, b.terminated)
    envs.close()
    again.close()


def test_auto_takes_native_where_it_can() -> None:
    chosen = build_envs(config(PONG), n_envs=4, seed=0)
    assert chosen.backend == "native"
    assert build_envs(config(PONG), n_envs=4, seed=0, render_mode="rgb_array").backend == "sync"
    for settings in (config(PONG, obs="ram"), config(PONG, difficulty=1)):
        with pytest.raises(GymnastError, match="native cannot step"):
            build_envs(settings, n_envs=4, seed=0, backend="native")


def test_rendering_shows_the_screen_of_the_game() -> None:
    env = make_env(config(PONG), training=False, render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(20):
        seen, *_ = env.step(2)
    picture: Any = env.render()
    assert picture.shape == (210, 160, 3)
    # What is seen is the brighter of two frames, so nowhere darker than this one (rounding aside).
    brightness = picture.astype(np.float64) @ [0.2989, 0.587, 0.114]
    small = AreaResize((210, 160), (84, 84))(brightness.astype(np.uint8))
    assert (seen[-1].astype(int) - small >= -2).all()
    env.close()


def test_labels_and_names_reach_the_spec() -> None:
    assert read_spec(config(PONG)).action_labels == (
        "NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE",
    )  # fmt: skip
    few = read_spec(config(PONG, actions=("left", "RIGHT+FIRE"), obs="objects"))
    assert few.action_labels == ("LEFT", "RIGHTFIRE")
    assert "ball x speed" in few.observation_names
    assert len(read_spec(config(PONG, full_actions=True)).action_labels) == 18


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_masks_of_the_full_set_leave_what_the_game_uses(backend: str) -> None:
    envs = build_envs(config(PONG, full_actions=True, action_masks=True), n_envs=2, seed=0, backend=backend)
    envs.reset()
    envs.step(np.array([2, 3]))
    assert envs.masks is not None
    assert envs.masks.shape == (2, 18)
    labels = read_spec(config(PONG, full_actions=True)).action_labels
    assert {labels[i] for i in np.flatnonzero(envs.masks[0])} == set(read_spec(config(PONG)).action_labels)


def test_few_actions_do_what_their_labels_mean() -> None:
    heights = {}
    for label in ("RIGHT", "LEFT"):
        env = make_env(config(PONG, obs="ram", sticky=0, noop_max=0, actions=(label,)))
        env.reset(seed=0)
        for _ in range(12):
            ram, *_ = env.step(0)
        heights[label] = int(ram[51])
    assert heights["RIGHT"] < heights["LEFT"]  # up is right, on a paddle


BAD = [
    (config(PONG, actions=("NOOP", "RIGTH")), "'RIGTH': there is no such action (did you mean 'RIGHT'"),
    (config(PONG, actions=("NOOP", "UP")), "ALE/Pong-v5 does not use it; env.atari.full_actions=true"),
    (config(PONG, actions=("NOOP", "noop")), "NOOP is there twice"),
    (config(PONG, actions=()), "at least one action"),
    (config("ALE/Pogn-v5"), "unknown environment 'ALE/Pogn-v5' (did you mean 'ALE/Pong-v5'"),
    (config("PongNoFrameskip-v4"), "the game is ALE/Pong-v5 here, and env.atari.sticky=0 plays it as v4"),
    (config(PONG, kwargs={"frameskip": 2}), "set under env.atari: write env.atari.frame_skip"),
    (config(PONG, size=(300, 84)), "[300, 84] is larger than the screen of ALE/Pong-v5, [210, 160]"),
    (config("ALE/Seaquest-v5", obs="objects"), "only for ALE/Boxing-v5, ALE/Breakout-v5"),
    (config(PONG, difficulty=9), "ALE/Pong-v5 has no difficulty 9; it has 0, 1"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
def test_bad_input_raises_a_clear_error(settings: EnvConfig, message: str) -> None:
    with pytest.raises(GymnastError) as single:
        make_env(settings)
    assert message in str(single.value)
    with pytest.raises(GymnastError) as several:
        build_envs(settings, n_envs=4, seed=0)
    assert message in str(several.value)


@pytest.mark.parametrize("counts", [(2, 2), (2, 1), (1, 2)], ids=str)
def test_resumed_groups_of_native_games_play_new_games(counts: tuple[int, int]) -> None:
    """As `ppo-gpu` steps them: their state cannot be saved."""
    played = []
    saved: dict[str, Any] | None = None
    for groups in counts:
        settings = config(PONG, stack=1, size=(42, 40), n_envs=4, groups=groups, backend="native")
        envs = build_training_envs(settings, seed=3)
        first = envs.reset() if saved is None else envs.restore(saved)
        assert first is not None
        # The same actions in all games; which of them stick differs by seed.
        shown = [envs.step(np.full(4, 2 + at % 2)).obs.copy() for at in range(40)]
        played.append(np.array([first.copy(), *shown]).swapaxes(0, 1))
        saved = envs.snapshot()
        envs.close()
    before, after = played
    assert not any((now == then).all() for now in after for then in before)
