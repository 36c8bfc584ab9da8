"""Encoders: which inputs they take, what they give, and how they behave in updates and outside them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gymnast.errors import GymnastError
from gymnast.policies.build import build_policy
from gymnast.policies.describe import Node, describe_policy
from gymnast.policies.frame_stack import FrameHistory, frame_index
from gymnast.policies.inputs import image_form
from gymnast.policies.layout import build_layout
from gymnast.policies.policy import Policy
from gymnast.policies.settings import PolicyConfig
from gymnast.policies.torch.network import TorchNetwork
from gymnast.spaces.observation_form import ObservationForm

ACTIONS = gym.spaces.Discrete(3)
PIXELS = gym.spaces.Box(0, 255, (40, 40, 3), np.uint8)
STACKED = gym.spaces.Box(0, 255, (4, 40, 44), np.uint8)
NUMBERS = gym.spaces.Box(-1, 1, (2,), np.float32)
BOTH = gym.spaces.Dict({"camera": PIXELS, "pose": NUMBERS})


def policy(space: gym.Space[Any], engine: str = "auto", seed: int = 0, **config: Any) -> Policy:
    return build_policy(PolicyConfig(hidden=(16,), **config), engine, space, ACTIONS, seed)


def batch_of(space: gym.Space[Any], n: int, seed: int = 0) -> np.ndarray:
    space.seed(seed)
    form = ObservationForm(space)
    batch = np.zeros((n, *form.shape), form.dtype)
    rows = form.rows(batch)
    for index in range(n):
        rows[index] = space.sample()
    return batch


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "expected"),
    [
        ((84, 84, 3), np.uint8, "auto", ("hwc", 3, 84, 84)),
        ((4, 84, 84), np.uint8, "auto", ("chw", 4, 84, 84)),
        ((60, 80), np.uint8, "auto", ("hw", 1, 60, 80)),
        ((12, 12, 12), np.uint8, "auto", ("hwc", 12, 12, 12)),
        ((12, 20, 16), np.uint8, "hwc", ("hwc", 16, 12, 20)),
        ((12, 20, 16), np.uint8, "chw", ("chw", 12, 20, 16)),
        ((4, 30, 20, 3), np.uint8, "auto", ("hwc", 3, 30, 20)),
        ((16, 16, 2), np.float32, "auto", ("hwc", 2, 16, 16)),
        ((5, 5, 2), np.float32, "auto", None),
        ((3, 3), np.float32, "auto", None),
        ((128,), np.uint8, "auto", None),
    ],
)
def test_image_axes_are_found(shape: Any, dtype: Any, layout: str, expected: Any) -> None:
    form = image_form(gym.spaces.Box(0, 1 if dtype is np.float32 else 255, shape, dtype), layout)
    found = None if form is None else (form.order, form.channels, form.height, form.width)
    assert found == expected


@pytest.mark.parametrize("encoder", ["nature", "impala", "small"])
def test_the_layout_of_the_axes_makes_no_difference(encoder: str) -> None:
    """The same picture, channels first or last, gives the same outputs under the same weights."""
    last = policy(PIXELS, encoder=encoder)
    first = policy(gym.spaces.Box(0, 255, (3, 40, 40), np.uint8), encoder=encoder)
    images = batch_of(PIXELS, 4)
    ours = last.network.act(last.preprocess(images))[0]
    theirs = first.network.act(first.preprocess(np.ascontiguousarray(images.transpose(0, 3, 1, 2))))[0]
    assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    assert np.ptp(ours) > 0
    dark = last.network.act(last.preprocess(images // 2))[0]
    assert np.abs(dark - ours).max() > 1e-6  # it looks at the pixels


def test_pixels_are_bytes_up_to_the_network_and_from_0_to_1_inside() -> None:
    ours = policy(BOTH)
    encoded = ours.preprocess(batch_of(BOTH, 3))
    assert encoded["camera"].dtype == np.uint8
    moved = ours.network.to_engine(encoded)
    assert moved.parts["camera"].dtype == torch.uint8
    encoder = ours.network.encoder._encoders[0]
    prepared = encoder.prepare(moved)
    assert prepared["camera"].shape == (3, 3, 40, 40)
    assert prepared["camera"].dtype == torch.float32
    assert 0.9 < float(prepared["camera"].max()) <= 1.0


def test_every_part_reaches_the_outputs() -> None:
    ours = policy(gym.spaces.Dict({**BOTH.spaces, "mode": gym.spaces.Discrete(3)}), discrete_obs="embedding")
    space = ours.layout.observation_space
    batch = batch_of(space, 8)
    before = ours.network.act(ours.preprocess(batch))[0]
    for name in ("camera", "pose", "mode"):
        changed = batch.copy()
        changed[name] = changed[name][::-1].copy()
        assert np.abs(ours.network.act(ours.preprocess(changed))[0] - before).max() > 1e-7, name


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_parts_of_numbers_are_joined_on_either_engine(engine: str) -> None:
    space = gym.spaces.Dict(
        {"b": NUMBERS, "a": gym.spaces.Tuple([gym.spaces.Discrete(3, start=1), gym.spaces.MultiBinary(2)])}
    )
    ours = policy(space, engine)
    batch = ours.form.batch({"b": np.array([[0.5, -0.5]]), "a": (np.array([3]), np.array([[1, 0]]))})
    assert ours.preprocess(batch).tolist() == [[0, 0, 1, 1, 0, 0.5, -0.5]]  # a Dict's keys are in order
    flat = policy(gym.spaces.Box(-1, 1, (7,)), engine)
    assert_allclose(
        ours.network.act(ours.preprocess(batch))[0],
        flat.network.act(flat.preprocess(ours.preprocess(batch)))[0],
        rtol=1e-6,
    )


def test_several_choices_are_one_hot_each() -> None:
    space = gym.spaces.MultiDiscrete([2, 3], start=[1, -1])
    ours = policy(space)
    assert ours.preprocess(np.array([[2, -1], [1, 1]])).tolist() == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]


def test_running_statistics_are_of_numbers_alone_and_by_part() -> None:
    ours = policy(BOTH, normalize_obs="running")
    batch = batch_of(BOTH, 20)
    ours.preprocessor.observe(batch)
    assert {name for name in ours.arrays() if name.startswith("obs_norm")} == {
        f"obs_norm.pose.{what}" for what in ("mean", "var", "count")
    }
    encoded = ours.preprocess(batch)
    assert_allclose(encoded["pose"].mean(0), 0, atol=1e-6)
    assert (encoded["camera"] == batch["camera"]).all()


def test_separate_encoders_share_nothing_and_a_shared_one_is_there_once() -> None:
    shared, apart = policy(PIXELS), policy(PIXELS, shared_encoder=False)
    encoder = sum(int(np.prod(v.shape)) for k, v in shared.arrays().items() if k.startswith("encoder."))
    assert apart.layout.n_parameters == shared.layout.n_parameters + encoder
    before = apart.values(batch_of(PIXELS, 2))
    arrays = apart.arrays()
    for name in arrays:
        if name.startswith("actor_encoder."):
            arrays[name] = arrays[name] * 0
    apart.load_arrays(arrays)
    assert_allclose(apart.values(batch_of(PIXELS, 2)), before)


def test_the_first_policy_is_near_uniform() -> None:
    for encoder in ("nature", "impala", "small"):
        outputs = policy(PIXELS, encoder=encoder)
        logits = outputs.network.act(outputs.preprocess(batch_of(PIXELS, 16)))[0]
        p = np.exp(logits - logits.max(0))
        p /= p.sum(0)
        assert np.abs(p - 1 / 3).max() < 0.03, encoder


@pytest.mark.parametrize(
    "config", [{"batch_norm": True}, {"dropout": 0.5}, {"batch_norm": True, "dropout": 0.5}]
)
@pytest.mark.parametrize("space", [NUMBERS, BOTH])
def test_dropout_and_batch_norm_work_in_updates_alone(config: dict[str, Any], space: Any) -> None:
    ours = policy(space, **config)
    network, x = ours.network, ours.preprocess(batch_of(space, 32))
    at_first = network.infer(x)[0]
    assert_allclose(network.infer(x)[0], at_first)
    assert_allclose(network.act(x[:4])[0], at_first[:, :4], rtol=1e-4, atol=1e-6)  # whatever the batch is
    statistics = {name: network.arrays()[name] for name in ours.layout.buffers()}
    with network.updating(np.random.default_rng(0)):
        first = network.forward(network.to_engine(x))[0].numpy()
        second = network.forward(network.to_engine(x))[0].numpy()
    assert np.abs(first - at_first).max() > 1e-5  # so the first ratio of PPO is not 1
    assert (np.abs(first - second).max() > 1e-5) == ("dropout" in config)
    moved = [name for name, value in statistics.items() if (network.arrays()[name] != value).any()]
    assert bool(moved) == ("batch_norm" in config)
    with network.updating(np.random.default_rng(0)):
        if "batch_norm" not in config:  # the run's own randomness
            assert_allclose(network.forward(network.to_engine(x))[0].numpy(), first)


def test_statistics_of_batch_norm_travel_with_the_weights() -> None:
    ours, other = policy(BOTH, batch_norm=True), policy(BOTH, batch_norm=True, seed=5)
    x = ours.preprocess(batch_of(BOTH, 32))
    ours.network.forward(ours.network.to_engine(x))
    other.load_arrays(ours.arrays())
    assert_allclose(ours.network.infer(x)[0], other.network.infer(x)[0])
    assert any(name.endswith("running_var") for name in ours.arrays())


@pytest.mark.parametrize("space", [NUMBERS, PIXELS, BOTH])
def test_own_encoders_learn_and_are_stored(space: Any) -> None:
    ours = policy(space, encoder="own_encoders:OwnEncoder", encoder_kwargs={"width": 5})
    assert ours.layout.feature_size == 5
    same = policy(space, encoder="own_encoders:OwnEncoder", encoder_kwargs={"width": 5})
    other = policy(space, seed=1, encoder="own_encoders:OwnEncoder", encoder_kwargs={"width": 5})
    weight = "encoder.layers.0.weight"
    assert (ours.arrays()[weight] == same.arrays()[weight]).all()  # its own first weights, by the seed
    assert (ours.arrays()[weight] != other.arrays()[weight]).any()
    x = ours.network.to_engine(ours.preprocess(batch_of(space, 8)))
    outputs, _, values = ours.network.forward(x)
    ours.network.backward(torch.ones_like(outputs), None, torch.ones_like(values))
    assert float(ours.network.views[weight].grad.abs().sum()) > 0


@pytest.mark.parametrize(
    ("space", "config", "message"),
    [
        (PIXELS, {"encoder": "own_encoders:OwnEncodr"}, "did you mean 'OwnEncoder'"),
        (PIXELS, {"encoder": "own_encoders:gym"}, "not a Module class"),
        (gym.spaces.Box(-1, 1, (4,)), {"encoder": "impala"}, "impala reads images.*use auto"),
        (PIXELS, {"encoder": "no_such_module:X"}, "no module 'no_such_module'"),
        (PIXELS, {"encoder": "own_encoders:OwnEncoder", "encoder_kwargs": {"depth": 2}}, "unexpected.*depth"),
        (PIXELS, {"encoder": "own_encoders:WrongShape"}, r"must give a tensor \[B, F\]"),
        (
            PIXELS,
            {"encoder": "own_encoders:Raises"},
            r"forward raised RuntimeError.*Box\(0.0, 1.0, \(3, 40, 40\)",
        ),
        (
            gym.spaces.Box(0, 255, (20, 20, 3), np.uint8),
            {"encoder": "nature"},
            "at least 36 × 36.*small or impala",
        ),
    ],
)
def test_a_wrong_encoder_raises_an_error_that_names_the_right_one(
    space: Any, config: Any, message: str
) -> None:
    with pytest.raises(GymnastError, match=message):
        policy(space, **config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"encoder": "natur"}, "no encoder 'natur' .*'nature'"),
        ({"layer_norm": True, "batch_norm": True}, "exclude each other"),
        ({"shared": True, "shared_encoder": False}, "needs a shared encoder"),
        ({"encoder_kwargs": {"width": 2}}, "of your own"),
        ({"dropout": 1.0}, "less than 1"),
    ],
)
def test_settings_that_do_not_fit_together(config: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PolicyConfig(**config)


@pytest.mark.parametrize(
    ("space", "config", "reason"),
    [
        (PIXELS, {}, "an image"),
        (NUMBERS, {"dropout": 0.1}, "policy.dropout: 0.1"),
        (NUMBERS, {"batch_norm": True}, "policy.batch_norm"),
    ],
)
def test_networks_other_than_mlps_need_torch(space: Any, config: Any, reason: str) -> None:
    with pytest.raises(GymnastError, match=f"{reason}.* needs engine: torch"):
        policy(space, "numpy", **config)
    assert policy(space, **config).network.xp is torch


def test_the_tree_counts_every_parameter_and_shows_every_shape() -> None:
    layout = build_layout(PolicyConfig(encoder="nature", frame_stack=2), PIXELS, ACTIONS)
    tree = describe_policy(layout)
    assert tree.parameters == sum(part.parameters for part in tree.parts) == layout.n_parameters
    encoder = next(part for part in tree.parts if part.name == "encoder")
    shapes = [part.output for part in encoder.parts if part.kind.startswith("Conv2d")]
    assert shapes == [(32, 9, 9), (64, 3, 3), (64, 1, 1)]
    assert encoder.output == (512,)

    def leaves(node: Node) -> list[Node]:
        return [leaf for part in node.parts for leaf in leaves(part)] if node.parts else [node]

    assert sum(leaf.parameters for leaf in leaves(tree)) == layout.n_parameters


@given(
    k=st.integers(2, 5),
    n_steps=st.integers(1, 9),
    n_envs=st.integers(1, 3),
    seed=st.integers(0, 10_000),
)
def test_stacks_made_from_a_rollout_are_those_that_acting_saw(
    k: int, n_steps: int, n_envs: int, seed: int
) -> None:
    """Two rollouts in a row, episodes ending anywhere: the look-up gives what the history showed."""
    rng = np.random.default_rng(seed)
    form = ObservationForm(gym.spaces.Box(-np.inf, np.inf, (1,)))
    history = FrameHistory(form, k, n_envs)
    ages, obs = np.zeros(n_envs, np.int64), rng.random((n_envs, 1)).astype(np.float32)
    for _ in range(2):
        before, begun = history.frames[:, 1:].copy(), ages.copy()
        rows, seen, done, last, cut_off = [obs], [], [], [], []
        for step in range(n_steps):
            seen.append(history.push(obs).copy())
            ended = rng.random(n_envs) < 0.3
            ages = np.where(ended, 0, ages + 1)
            cut = np.flatnonzero(ended)
            if len(cut):
                final = rng.random((n_envs, 1)).astype(np.float32)
                last.append((final[cut], history.seen_with(final)[cut]))
                cut_off.append((step, cut))
            history.reset(cut)
            obs = rng.random((n_envs, 1)).astype(np.float32)
            rows.append(obs)
            done.append(ended)
        after = history.seen_with(obs)
        frames = np.concatenate([before.swapaxes(0, 1).reshape(-1, 1), *rows, *(final for final, _ in last)])
        stacks = frames[frame_index(k, begun, np.array(done), cut_off)]
        expected = np.concatenate([*seen, after, *(stack for _, stack in last)])
        assert (stacks == expected).all()


def test_a_policy_that_stacks_frames_asks_for_a_state() -> None:
    ours = policy(NUMBERS, frame_stack=2)
    with pytest.raises(GymnastError, match=r"policy\.start"):
        ours.predict(np.zeros((1, 2), np.float32))


def test_observations_of_another_form_are_refused() -> None:
    ours = policy(BOTH)
    with pytest.raises(GymnastError, match=r"no 'pose': got \['camera'\]"):
        ours.predict({"camera": np.zeros((1, 40, 40, 3), np.uint8)})
    with pytest.raises(GymnastError, match=r"'pose' have the shape \(1, 3\); \(N, 2\) is expected"):
        ours.predict({"camera": np.zeros((1, 40, 40, 3), np.uint8), "pose": np.zeros((1, 3))})


@pytest.mark.parametrize("space", [PIXELS, STACKED, BOTH], ids=["hwc", "stack of hw", "dict"])
def test_images_turned_once_for_a_rollout_give_the_same_features(space: gym.Space) -> None:
    ours = policy(space, encoder="small").network
    x = ours.to_engine(policy(space).preprocess(batch_of(space, 6)))
    with torch.no_grad():
        plain, turned = ours.encoder.actor(x), ours.encoder.actor(ours.arrange(x))
        some = ours.encoder.actor(ours.arrange(x).index_select(0, torch.tensor([4, 1])))
    assert_allclose(turned, plain, rtol=1e-5, atol=1e-6)
    assert_allclose(some, plain[[4, 1]], rtol=1e-4, atol=1e-5)


def test_pixels_count_from_0_to_1_although_the_first_layer_divides_them() -> None:
    ours = policy(PIXELS, encoder="small").network
    encoder = ours.encoder._encoders[0]
    x = ours.to_engine(policy(PIXELS).preprocess(batch_of(PIXELS, 3)))
    first = next(encoder.modules[""].children())
    with torch.no_grad():
        plain = torch.nn.functional.conv2d(encoder.prepare(x)[""], first.weight, first.bias, 1, 1)
        assert_allclose(first(encoder._images(encoder.inputs[0], x).float()), plain, rtol=1e-4, atol=1e-5)


def test_filters_lie_channels_last_and_are_stored_in_the_usual_order() -> None:
    ours = policy(PIXELS, encoder="small").network
    name = next(name for name, view in ours.views.items() if view.ndim == 4)
    assert ours.views[name].is_contiguous(memory_format=torch.channels_last)
    assert ours.views[name].grad.stride() == ours.views[name].stride()
    stored = ours.arrays()[name]
    assert stored.flags.c_contiguous
    assert_allclose(stored, ours.views[name].detach().numpy())


def test_bfloat16_is_near_float32_and_its_gradients_are_float32() -> None:
    exact = policy(PIXELS, encoder="nature")
    layout = exact.network.layout
    rough = TorchNetwork(layout, precision="bf16")
    rough.load_arrays(exact.network.arrays())
    x = exact.network.to_engine(exact.preprocess(batch_of(PIXELS, 8)))
    for network in (exact.network, rough):
        outputs, _, values = network.forward(network.arrange(x))
        assert outputs.dtype == values.dtype == torch.float32
        network.backward(torch.ones_like(outputs), None, torch.ones_like(values))
    one, other = exact.network.gradients, rough.gradients
    assert 0 < float((one - other).norm()) < 0.05 * float(one.norm())


def test_bfloat16_without_an_image_is_refused() -> None:
    with pytest.raises(GymnastError, match="precision: bf16 is for networks that read images"):
        build_policy(PolicyConfig(), "auto", NUMBERS, ACTIONS, 0, precision="bf16")


def test_a_missing_gpu_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(GymnastError, match=r"device: cuda cannot be used, .*; use device=auto or device=cpu"):
        build_policy(PolicyConfig(), "auto", NUMBERS, ACTIONS, 0, device="cuda")
    assert (
        build_policy(PolicyConfig(), "torch", NUMBERS, ACTIONS, 0, device="auto").network.device.type == "cpu"
    )
