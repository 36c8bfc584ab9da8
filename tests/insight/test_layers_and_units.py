"""Receptive fields, filters, activations, patches and dead units."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from gymnast.errors import GymnastError
from gymnast.insight.activations import activations, filters, unit_reports
from gymnast.insight.fields import Axis, Field
from gymnast.insight.layers import activations_of
from gymnast.insight.patches import patches
from gymnast.insight.pictures import observed_pictures, stacked_pictures
from observation_envs import Cue


class Functional(nn.Module):
    """An encoder of a user's own whose activations are functions, as many write them."""

    def __init__(self, space: gym.Space[Any]) -> None:
        super().__init__()
        shape = space.shape
        assert shape is not None
        self.first = nn.Conv2d(shape[0], 4, 3, 2)
        self.second = nn.Conv2d(4, 6, 3, padding=1)
        self.head = nn.LazyLinear(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.first(x))
        result: torch.Tensor = torch.relu(self.head(torch.relu(self.second(h)).flatten(1)))
        return result


def test_fields_of_the_nature_network(make_subject: Any, pictures: Any) -> None:
    _, subject = make_subject(pictures(length=3))
    layers = subject.layers
    assert [layer.name for layer in layers] == ["encoder.0", "encoder.2", "encoder.4"]
    assert [(layer.channels, layer.height, layer.width) for layer in layers] == [
        (32, 20, 20),
        (64, 9, 9),
        (64, 7, 7),
    ]
    fields = [layer.field.as_data() for layer in layers]
    assert [field["size"] for field in fields] == [[8, 8], [20, 20], [36, 36]]
    assert [field["jump"] for field in fields] == [[4, 4], [8, 8], [8, 8]]
    assert layers[2].field.box(6, 0, 84, 84) == (48, 0, 84, 36)


def test_an_axis() -> None:
    padded = Axis().through(3, 1, 1, 1).through(3, 2, 1, 1)  # the small encoder's first two layers
    assert padded == Axis(5, 2, -2)
    assert padded.span(0, 12) == (0, 3)  # cut off at the edge
    assert padded.span(5, 12) == (8, 12)
    assert padded.centre(1) == 2.5
    assert [padded.unit_at(pixel, 6) for pixel in (-3, 0, 2.6, 11, 50)] == [0, 0, 1, 5, 5]
    assert Field(padded, padded).box(5, 0, 12, 12) == (8, 0, 12, 3)


@pytest.mark.parametrize("encoder", ["nature", "small", "impala", "functional_encoder:Functional"])
def test_fields_are_what_units_see(
    make_subject: Any, pictures: Any, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The box of a unit has exactly the pixels that change it, with weights through which all shows."""

    def positive(arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            if name.startswith("encoder") and array.ndim == 4:
                array[...] = 0.01 + np.abs(array)

    monkeypatch.setitem(sys.modules, "functional_encoder", sys.modules[__name__])
    _, subject = make_subject(pictures((1, 40, 40), length=2), positive, encoder=encoder)
    assert subject.layers
    for layer in subject.layers:
        (x,) = (part.clone().requires_grad_() for part in subject.inputs.batch([0]))
        given: list[torch.Tensor] = []
        hook = layer.output.register_forward_hook(
            lambda _module, _seen, output, given=given: given.append(output)
        )
        subject.network.features((x,))
        hook.remove()
        y, at = layer.height // 2, layer.width // 2
        given[layer.calls][0, :, y, at].sum().backward()
        # Maxima hide pixels from one picture: what is seen is never beyond the box.
        changed = np.argwhere(x.grad[0, 0].numpy() != 0)
        top, left, bottom, right = layer.field.box(y, at, 40, 40)
        found = (*changed.min(0).tolist(), *(changed.max(0) + 1).tolist())
        if encoder == "impala":
            assert top <= found[0] <= found[2] <= bottom
            assert left <= found[1] <= found[3] <= right
            assert found[2] - found[0] >= (bottom - top) - 2 * layer.field.rows.jump
        else:
            assert found == (top, left, bottom, right), layer.name


def test_filters_are_the_weights(make_subject: Any, pictures: Any) -> None:
    policy, subject = make_subject(pictures(length=3))
    arrays = policy.arrays()
    np.testing.assert_array_equal(filters(subject), arrays["encoder.0.weight"])
    np.testing.assert_array_equal(filters(subject, "encoder.4"), arrays["encoder.4.weight"])
    with pytest.raises(GymnastError, match=r"no layer 'encoder.3'; did you mean|no layer 'encoder.3'"):
        filters(subject, "encoder.3")


def test_activations_of_a_row(make_subject: Any, pictures: Any) -> None:
    policy, subject = make_subject(pictures(length=3), critic_hidden=(5,))
    found = {layer.name: layer for layer in activations(subject, 2)}
    assert list(found) == [
        *("encoder.0", "encoder.2", "encoder.4", "encoder features"),
        *("actor.0", "actor.1", "critic.0"),
    ]
    assert found["critic.0"].values.shape == (5,)
    # By hand: the first convolution of the pixels.
    pixels = torch.from_numpy(subject.trace.columns["obs"][2][None].astype(np.float32)) / 255
    arrays = {name: torch.from_numpy(array) for name, array in policy.arrays().items()}
    wanted = torch.relu(
        nn.functional.conv2d(pixels, arrays["encoder.0.weight"], arrays["encoder.0.bias"], stride=4)
    )[0].numpy()
    values = found["encoder.0"].values
    np.testing.assert_allclose(values, wanted, atol=1e-4)
    winners = found["encoder.0"].winners
    assert winners is not None
    assert winners.shape == (20, 20)
    assert winners[3, 4] == wanted[:, 3, 4].argmax()
    assert found["actor.0"].winners is None


def test_where_no_filter_is_active_none_wins(make_subject: Any, pictures: Any) -> None:
    def silent(arrays: dict[str, np.ndarray]) -> None:
        arrays["encoder.0.bias"][...] = -1e6

    _, subject = make_subject(pictures(length=2), silent)
    winners = activations(subject, 1)[0].winners
    assert winners is not None
    assert (winners == -1).all()


@pytest.mark.parametrize("layer", ["encoder.0", "encoder.4"])
def test_patches_are_where_a_filter_is_strongest(make_subject: Any, pictures: Any, layer: str) -> None:
    _, subject = make_subject(pictures(length=30))
    rows = np.arange(31)
    chosen = next(known for known in subject.layers if known.name == layer)
    given = activations_of(subject.network, [chosen], subject.inputs.batch(rows))[layer].numpy()
    for channel in (0, 7):
        _, found = patches(subject, layer, channel, count=5, apart=3)
        own = given[:, channel]
        assert found[0].value == own.max()
        assert (found[0].row, found[0].y, found[0].x) == np.unravel_index(own.argmax(), own.shape)
        for one in found:
            assert one.value == own[one.row].max() == own[one.row, one.y, one.x]
            assert one.box == chosen.field.box(one.y, one.x, 84, 84)
        values = [one.value for one in found]
        assert values == sorted(values, reverse=True)
        gaps = np.diff(sorted(one.row for one in found))
        assert (gaps >= 3).all()
    with pytest.raises(GymnastError, match="no filter 64"):
        patches(subject, "encoder.4", 64)


def test_dead_and_saturated_units(make_subject: Any) -> None:
    def broken(arrays: dict[str, np.ndarray]) -> None:
        arrays["actor.0.bias"][3] = -100.0
        arrays["actor.0.bias"][5] = 100.0
        arrays["critic.0.bias"][0] = 100.0
        arrays["critic.0.weight"][1] = 0.0

    for activation in ("relu", "tanh"):
        _, subject = make_subject(Cue("vector", 20), broken, activation=activation)
        reports = {one.name: one for one in unit_reports(subject)}
        assert list(reports) == ["actor.0", "actor.1", "critic.0", "critic.1"]
        assert reports["actor.0"].units == 64
        if activation == "relu":
            assert 3 in reports["actor.0"].dead
            assert 5 not in reports["actor.0"].dead
            assert reports["actor.0"].saturated == ()
        else:
            assert {3, 5} <= set(reports["actor.0"].saturated)
            assert 0 in reports["critic.0"].saturated
            assert reports["critic.0"].dead == (1,)
            assert reports["critic.0"].dead_share == 1 / 64


def test_dead_filters_of_an_image_encoder(make_subject: Any) -> None:
    def broken(arrays: dict[str, np.ndarray]) -> None:
        arrays["encoder.0.bias"][4] = -1e6

    _, subject = make_subject(Cue("image", 20), broken, encoder="small", memory="gru")
    reports = {one.name: one for one in unit_reports(subject)}
    assert 4 in reports["encoder.0"].dead
    assert reports["actor_memory"].activation == "tanh"
    assert reports["encoder features"].activation == "relu"


def test_pictures_of_what_was_seen(make_subject: Any, pictures: Any) -> None:
    _, subject = make_subject(pictures((84, 84), length=6), frame_stack=3)
    obs = subject.trace.columns["obs"]
    stacked = stacked_pictures(subject, "", 1)
    assert stacked.shape == (3, 84, 84, 1)
    np.testing.assert_array_equal(stacked[..., 0], obs[[0, 0, 1]])  # the first stands for what is missing
    newest = observed_pictures(subject, "", np.array([4, 5]))
    np.testing.assert_array_equal(newest[..., 0], obs[4:6])
    _, subject = make_subject(Cue("image", 4), encoder="mlp")  # pixels that are read as numbers
    seen = stacked_pictures(subject, "", 2)[0]
    np.testing.assert_allclose(seen, subject.trace.columns["obs"][2], atol=1)
    _, subject = make_subject(pictures((4, 84, 84), length=4))  # four frames in one observation
    np.testing.assert_array_equal(stacked_pictures(subject, "", 2)[..., 0], subject.trace.columns["obs"][2])
    np.testing.assert_array_equal(
        observed_pictures(subject, "", np.array([3]))[0, ..., 0], subject.trace.columns["obs"][3, 3]
    )
