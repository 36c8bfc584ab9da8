"""Actions of several parts, and masks, through the env contract of every backend that has them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import action_envs
from gymnast.envs.build import build_envs, make_env
from gymnast.envs.contract import EnvFailure, Envs
from gymnast.envs.settings import EnvConfig
from gymnast.envs.spec import read_spec
from gymnast.errors import GymnastError
from gymnast.spaces.action_form import ActionForm
from gymnast.spaces.plain import action_array_type, plain_action_space, random_actions

NAMES = list(action_envs.SPACES)
DISCRETE = [name for name in NAMES if ActionForm(action_envs.SPACES[name]).n_logits]


def config(space: str, masked: bool = False, **more: Any) -> EnvConfig:
    return EnvConfig(
        id="action_envs:RightAction", kwargs={"space": space, "masked": masked}, action_masks=masked, **more
    )


def play(envs: Envs, steps: int, seed: int = 0) -> list[Any]:
    """Everything that random play meets."""
    random = np.random.default_rng(seed)
    seen: list[Any] = [envs.reset().copy(), None if envs.masks is None else envs.masks.copy()]
    for _ in range(steps):
        step = envs.step(random_actions(envs.action_space, envs.n_envs, random, envs.masks))
        masks = None if envs.masks is None else envs.masks.copy()
        seen += [step.obs.copy(), step.rewards.copy(), step.truncated.copy(), masks]
    return seen


@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
@pytest.mark.parametrize("name", ["multi-discrete", "box-matrix", "dict"])
def test_the_env_gets_its_own_actions_on_every_backend(name: str, backend: str) -> None:
    envs = build_envs(config(name), n_envs=3, seed=1, backend=backend)
    shape, dtype = action_array_type(envs.action_space)
    try:
        assert envs.masks is None
        played = play(envs, 25)  # the env raises on anything that is no element of its space
    finally:
        envs.close()
    assert (shape, dtype) == (
        (ActionForm(envs.action_space).n_columns,),
        ActionForm(envs.action_space).env_dtype,
    )
    other = build_envs(config(name), n_envs=3, seed=1, backend="sync")
    for a, b in zip(played, play(other, 25), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_the_right_actions_reach_the_env(name: str) -> None:
    """Putting the right numbers into the flat form pays 1 at every step."""
    envs = build_envs(config(name), n_envs=2, seed=1, backend="sync")
    env: Any = make_env(config(name)).unwrapped
    best = [[r[0] if n else r for n, r in zip(env.form.sizes, row, strict=True)] for row in env.right]
    obs = envs.reset()
    for _ in range(12):
        actions = np.array([best[context] for context in obs])
        step = envs.step(actions[:, 0] if name == "discrete" else actions)
        assert step.rewards == pytest.approx(1.0, abs=1e-6)
        obs = step.obs


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        *((name, "sync") for name in DISCRETE),
        ("discrete", "workers"),
        ("dict", "workers"),
        ("dict", "remote"),
    ],
)
def test_masks_belong_to_the_observations_and_random_play_obeys_them(name: str, backend: str) -> None:
    envs = build_envs(config(name, masked=True), n_envs=3, seed=2, backend=backend)
    try:
        played = play(envs, 40)  # the env raises on what it forbids
        masks = np.stack([mask for mask in played[1::4] if mask is not None])
    finally:
        envs.close()
    assert masks.dtype == np.bool_
    assert masks.shape[1:] == (3, ActionForm(envs.action_space).n_logits)
    assert not masks.all(1).all()
    assert len(np.unique(masks.reshape(-1, masks.shape[2]), axis=0)) > 2  # they vary


def test_flat_masks_do_as_well() -> None:
    nested = build_envs(config("dict", masked=True), n_envs=2, seed=3, backend="sync")
    kwargs = {"space": "dict", "masked": True, "masks": "flat"}
    flat = build_envs(
        EnvConfig(id="action_envs:RightAction", kwargs=kwargs, action_masks=True),
        n_envs=2,
        seed=3,
        backend="sync",
    )
    for a, b in zip(play(nested, 10), play(flat, 10), strict=True):
        assert np.array_equal(a, b)


def test_masks_of_taxi() -> None:
    envs = build_envs(EnvConfig(id="Taxi-v4", action_masks=True), n_envs=3, seed=0)
    envs.reset()
    assert envs.masks is not None
    assert envs.masks.shape == (3, 6)
    assert not envs.masks.all()
    single = make_env(EnvConfig(id="Taxi-v4"))
    _, info = single.reset(seed=envs.seeds[0])
    assert envs.masks[0].astype(int).tolist() == info["action_mask"].tolist()
    envs.close()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "gave no info"),
        ("shape", r"has shape \(3,\) where \(5,\) is wanted"),
        ("nothing", "forbids every action"),
    ],
)
@pytest.mark.parametrize("backend", ["sync", "workers", "remote"])
def test_a_bad_mask_names_the_env(how: str, message: str, backend: str) -> None:
    bad = EnvConfig(id="action_envs:BadMasks", kwargs={"how": how}, action_masks=True)
    envs = build_envs(bad, n_envs=2, seed=0, backend=backend)
    try:
        with pytest.raises(EnvFailure, match=rf"env \d \(seed {envs.seeds[0]}\) .*{message}"):
            play(envs, 9)
    finally:
        envs.close()


def test_a_mask_that_an_env_does_not_give_is_missed_at_once() -> None:
    envs = build_envs(EnvConfig(id="CartPole-v1", action_masks=True), n_envs=8, seed=0)
    assert envs.backend == "sync"  # `auto` leaves out the vectorised one, which has no masks
    with pytest.raises(EnvFailure, match="gave no info"):
        envs.reset()


def test_masks_where_there_are_none_raise_a_clear_error() -> None:
    with pytest.raises(GymnastError, match=r"native cannot step.*action_masks needs single envs"):
        build_envs(EnvConfig(id="CartPole-v1", action_masks=True, backend="native"), n_envs=4, seed=0)
    for backend in ("sync", "workers"):
        with pytest.raises(GymnastError, match="have no choices that could be masked"):
            build_envs(EnvConfig(id="Pendulum-v1", action_masks=True, backend=backend), n_envs=4, seed=0)


@pytest.mark.parametrize("name", ["multi-discrete", "dict"])
def test_a_vectorised_env_gets_one_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    from gymnast.envs.backends.native import NativeEnvs

    vector = SyncVectorEnv(
        [lambda: action_envs.RightAction(name)] * 3, autoreset_mode=AutoresetMode.SAME_STEP
    )
    envs = NativeEnvs(vector, seed=0)
    played = play(envs, 12)
    assert sum(rewards.sum() for rewards in played[3::4]) > 0


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), name=st.sampled_from(NAMES))
def test_random_actions_are_allowed_and_spread(seed: int, name: str) -> None:
    space, n = plain_action_space(action_envs.SPACES[name]), 200
    form = ActionForm(space)
    random = np.random.default_rng(seed)
    masks = random.random((1, form.n_logits)) < 0.5
    row = 0
    for size in form.sizes:
        if size:
            masks[0, row + random.integers(size)] = True
            row += size
    actions = random_actions(space, n, random, masks.repeat(n, 0)).reshape(n, form.n_columns)
    row = 0
    for column, size in enumerate(form.sizes):
        if size:
            assert set(actions[:, column]) == set(np.flatnonzero(masks[0, row : row + size]))
            row += size
        else:
            assert np.abs(actions[:, column]).max() <= 1


def test_labels_of_the_parts() -> None:
    assert read_spec(config("dict")).action_labels == ("aim[0]", "aim[1]", "do.0", "do.1[0]", "do.1[1]")
    assert read_spec(config("discrete")).action_labels == tuple(f"action {i}" for i in range(5))
    own = EnvConfig(
        id="action_envs:RightAction",
        kwargs={"space": "multi-binary"},
        spec={"action_labels": ["up", "down", "left", "right"]},
    )
    assert read_spec(own).action_labels == ("up", "down", "left", "right")
    with pytest.raises(GymnastError, match=r"action_labels: 2 are given, but .* has 4"):
        read_spec(own.model_copy(update={"spec": own.spec.model_copy(update={"action_labels": ("a", "b")})}))


def forbidding(env: str, **arguments: Any) -> EnvConfig:
    wrapper = {"name": "forbidden-combinations", "combinations": [["left", "right"]], **arguments}
    return EnvConfig(id=f"action_envs:{env}", wrappers=[wrapper], action_masks=True)


def test_forbidden_combinations_of_buttons() -> None:
    wanted = forbidding("Buttons")
    labels = ("none", "left", "right", "jump", "left+right", "left+jump", "right+jump", "left+right+jump")
    assert read_spec(wanted).action_labels == labels
    envs = build_envs(wanted, n_envs=2, seed=0, backend="sync")
    assert envs.action_space == gym.spaces.Discrete(8)
    assert max(rewards.max() for rewards in play(envs, 200)[3::4]) == 0.6  # 1 is left and right
    assert envs.masks is not None
    assert [labels[i] for i in np.flatnonzero(~envs.masks[0])] == ["left+right", "left+right+jump"]
    few = forbidding("Buttons", actions=[["left"], [2], ["left", "right"], []])
    assert read_spec(few).action_labels == ("left", "jump", "left+right", "none")
    by_index = forbidding("Buttons", combinations=[[0, 1]])
    other = build_envs(by_index, n_envs=2, seed=0, backend="sync")
    other.reset()
    assert np.array_equal(other.masks, envs.masks)


def test_forbidden_combinations_of_a_list() -> None:
    envs = build_envs(forbidding("Combined"), n_envs=1, seed=0, backend="sync")
    envs.reset()
    assert envs.masks is not None
    assert envs.masks.tolist() == [[True, True, False, True]]
    labelled = forbidding("Combined", combinations=[["a", "b"]], action_labels=["a", "b", "a + b", "c"])
    other = build_envs(labelled, n_envs=1, seed=0, backend="sync")
    other.reset()
    assert other.masks is not None
    assert other.masks.tolist() == [[True, True, False, True]]
    by_spec = EnvConfig.model_validate(
        forbidding("Combined", combinations=[["x", "y"]]).model_dump()
        | {"spec": {"action_labels": ["x+y", "x", "y", "z"]}}
    )
    assert read_spec(by_spec).action_labels == ("x+y", "x", "y", "z")


class OwnMask(gym.Wrapper[Any, Any, Any, Any]):
    """The env itself forbids jumping."""

    def reset(self, **kwargs: Any) -> Any:
        obs, info = self.env.reset(**kwargs)
        return obs, {**info, "action_mask": np.array([2, 2, 0], np.int8)}


def test_the_envs_own_mask_holds_too() -> None:
    from gymnast.envs.wrappers.combinations import ForbiddenCombinations

    env = ForbiddenCombinations(OwnMask(action_envs.Buttons()), [["left", "right"]])
    _, info = env.reset(seed=0)
    assert [env.action_labels[i] for i in np.flatnonzero(info["action_mask"])] == ["none", "left", "right"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (forbidding("Buttons", combinations=[["left", "rigt"]]), "no button 'rigt'.*'right'"),
        (forbidding("Buttons", combinations=["left"]), "list of lists"),
        (forbidding("Buttons", combinations=[]), "list of lists"),
        (forbidding("Combined", combinations=[["left", "none"]]), "no action .* has left.none together"),
        (forbidding("Combined", actions=[["left"]]), "actions is for MultiBinary"),
        (forbidding("Buttons", combinations=[["left"]], actions=[["left"]]), "leave no action"),
        (forbidding("Buttons", action_labels=["a"]), "1 labels are given, but there are 3 buttons"),
        (forbidding("RightAction", combinations=[[0, 9]]), "no button 9"),
    ],
)
def test_bad_arguments_of_forbidden_combinations(wanted: EnvConfig, message: str) -> None:
    with pytest.raises(GymnastError, match=message):
        build_envs(wanted, n_envs=1, seed=0, backend="sync")


def test_forbidding_needs_masks_switched_on() -> None:
    off = forbidding("Buttons").model_copy(update={"action_masks": False})
    with pytest.raises(GymnastError, match=r"set env.action_masks=true"):
        build_envs(off, n_envs=1, seed=0, backend="sync")


def test_too_many_buttons_want_a_list() -> None:
    from gymnast.envs.wrappers.combinations import ForbiddenCombinations

    env = action_envs.Buttons()
    env.action_space, env.buttons = gym.spaces.MultiBinary(20), tuple(f"b{i}" for i in range(20))
    with pytest.raises(GymnastError, match="1,048,576 combinations; list those"):
        ForbiddenCombinations(env, [["b0", "b1"]])


@pytest.mark.parametrize("name", ["discrete", "multi-discrete", "multi-binary", "dict"])
def test_action_noise_obeys_masks(name: str) -> None:
    noise = {"name": "action-noise", "probability": 0.5}
    wanted = config(name, masked=True, wrappers=[noise])
    noisy = build_envs(wanted, n_envs=2, seed=4, backend="sync")
    seen = play(noisy, 30)  # the env raises on what it forbids
    plain = play(build_envs(config(name, masked=True), n_envs=2, seed=4, backend="sync"), 30)
    assert any((a != b).any() for a, b in zip(seen[3::4], plain[3::4], strict=True))
    state = noisy.snapshot()
    assert noisy.restore(state) is None
    random = np.random.default_rng(0)
    allowed = np.stack([env["layers"][0]["state"]["allowed"][0] for env in state["envs"]])
    for _ in range(3):
        noisy.step(random_actions(noisy.action_space, 2, random, allowed))
        assert noisy.masks is not None
        allowed = noisy.masks.copy()
