"""Attribution on networks whose answer is known."""

from __future__ import annotations

import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from gymnast.insight.answer import answer
from gymnast.insight.attribution import grad_cam, integrated_gradients, occlusion
from gymnast.insight.subject import study
from observation_envs import Cue, Delayed

BLOCK = slice(36, 44)


def inside_and_outside(heat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    outside = np.ones(heat.shape[-2:], bool)
    outside[BLOCK, BLOCK] = False
    return heat[..., BLOCK, BLOCK], heat[..., outside]


@pytest.mark.parametrize("target", ["action", "value"])
def test_integrated_gradients_show_the_only_pixels_that_are_read(
    make_subject: Any, pictures: Any, block_reader: Any, target: str
) -> None:
    _, subject = make_subject(pictures(), block_reader)
    found = integrated_gradients(subject, 5, target)
    heat = found.parts[0].values
    assert heat.shape == (4, 84, 84)
    inside, outside = inside_and_outside(heat)
    assert np.abs(inside).max() > 0
    assert not outside.any()
    # completeness: the shares add up to the difference of the outputs
    assert found.score != found.baseline_score
    assert found.gap == pytest.approx(0.0, abs=0.02 * abs(found.score - found.baseline_score))
    assert found.parts[0].by_frame.sum() == pytest.approx(found.parts[0].total)


def test_more_steps_close_the_gap(make_subject: Any, pictures: Any) -> None:
    _, subject = make_subject(pictures((1, 36, 36), length=4))
    coarse = integrated_gradients(subject, 1, "value", "zero", steps=2).gap
    fine = integrated_gradients(subject, 1, "value", "zero", steps=300).gap
    assert coarse is not None
    assert fine is not None
    assert abs(fine) < 2e-3
    assert abs(fine) < abs(coarse)


@pytest.mark.parametrize("target", ["action", "value"])
def test_occlusion_finds_the_only_block_that_matters(
    make_subject: Any, pictures: Any, block_reader: Any, target: str
) -> None:
    _, subject = make_subject(pictures(), block_reader)
    found = occlusion(subject, 5, target, "zero", window=8)  # moves by 4: one window is the block itself
    heat = np.abs(found.parts[0].values[0])
    assert heat[BLOCK, BLOCK].min() > 0
    rounding = 1e-3 * heat[BLOCK, BLOCK].min()
    assert heat[:28].max() < rounding  # no window that reaches the block begins so far from it
    assert heat[52:].max() < rounding
    middle = heat[BLOCK, BLOCK].mean()
    assert middle > 2 * heat[28:36, 28:36].mean()
    assert found.gap is None


def test_grad_cam_shows_the_corner_that_is_seen(make_subject: Any, pictures: Any) -> None:
    def reads_one_corner(arrays: dict[str, np.ndarray]) -> None:
        head = arrays["encoder.7.weight"].reshape(-1, 64, 7, 7)
        kept = head[:, :, 6, 0].copy()
        head[...] = 0
        head[:, :, 6, 0] = kept

    corner = (slice(60, 84), slice(0, 20))
    _, subject = make_subject(pictures(bright=corner), reads_one_corner)
    found = grad_cam(subject, "value")
    assert found.maps.shape == (13, 7, 7)
    assert found.layer.field is not None
    strongest = np.abs(found.maps).reshape(13, -1).argmax(1)
    for row in range(13):
        _, left, bottom, _ = found.layer.field.box(*divmod(int(strongest[row]), 7), 84, 84)
        assert bottom > 60, "sees nothing of the corner"
        assert left < 20, "sees nothing of the corner"
    # Where a unit sees black alone there is nothing to show.
    assert not found.maps[:, :3, 3:].any()
    assert found.maps[:, 6, 0].any()


@pytest.mark.parametrize("settings", [{}, {"encoder": "impala"}, {"memory": "lstm"}], ids=str)
def test_grad_cam_of_many_rows_is_that_of_each(
    make_subject: Any, pictures: Any, settings: dict[str, Any]
) -> None:
    _, subject = make_subject(pictures((2, 40, 40), length=7), **settings)
    for target in ("action", "value"):
        together = grad_cam(subject, target)
        assert len(together.rows) == (7 if target == "action" else 8)
        for at, row in enumerate(together.rows):
            alone = grad_cam(subject, target, rows=np.array([row]))
            scale = np.abs(together.maps[at]).max()
            np.testing.assert_allclose(alone.maps[0], together.maps[at], rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_linear_policy_is_weight_times_distance_from_baseline(make_subject: Any, engine: str) -> None:
    policy, subject = make_subject(gym.make("CartPole-v1"), engine=engine, hidden=())
    assert (type(policy.network).__name__ == "NumpyNetwork") == (engine == "numpy")
    seen = subject.trace.columns["seen"]
    arrays = policy.arrays()
    for row in (0, 3, len(subject.trace) - 1):
        found = integrated_gradients(subject, row, "value", "zero")
        wanted = arrays["value_head.weight"][0] * seen[row]
        np.testing.assert_allclose(found.parts[0].values, wanted, rtol=1e-4, atol=1e-6)
        found = integrated_gradients(subject, row, "value", "mean")
        wanted = arrays["value_head.weight"][0] * (seen[row] - seen.mean(0, dtype=np.float64))
        np.testing.assert_allclose(found.parts[0].values, wanted, rtol=1e-3, atol=1e-5)
        assert found.gap == pytest.approx(0, abs=1e-5)
        # Replacing one number of a linear policy changes it by that number's share.
        ablated = occlusion(subject, row, "value", "mean")
        np.testing.assert_allclose(ablated.parts[0].values, wanted, rtol=1e-3, atol=1e-5)


def test_the_mean_of_a_real_number(make_subject: Any) -> None:
    policy, subject = make_subject(gym.make("Pendulum-v1"), hidden=())
    weight = policy.arrays()["action_head.weight"][0]
    found = integrated_gradients(subject, 4, "mean:0", "zero")
    np.testing.assert_allclose(found.parts[0].values, weight * subject.trace.columns["seen"][4], rtol=1e-4)


def test_a_stacked_frame_that_is_not_read_gets_nothing(make_subject: Any) -> None:
    def reads_the_oldest(arrays: dict[str, np.ndarray]) -> None:
        for name in ("actor.0.weight", "critic.0.weight"):
            arrays[name][:, 1:] = 0

    _, subject = make_subject(Delayed(5), reads_the_oldest, frame_stack=3)
    found = integrated_gradients(subject, 2, "value")
    part = found.parts[0].part
    assert part.components == ("obs[0] (2 before)", "obs[0] (1 before)", "obs[0]")
    by_frame = found.parts[0].by_frame
    assert by_frame[0] != 0
    assert by_frame[1:].tolist() == [0, 0]


def test_stacked_images_have_their_own_share(make_subject: Any, pictures: Any) -> None:
    def reads_the_newest(arrays: dict[str, np.ndarray]) -> None:
        arrays["encoder.0.weight"][:, :3] = 0

    _, subject = make_subject(pictures((84, 84)), reads_the_newest, frame_stack=4)
    found = integrated_gradients(subject, 6, "value").parts[0]
    assert found.part.frames == 4
    assert found.frames.shape == (4, 1, 84, 84)
    assert found.by_frame[:3].tolist() == [0, 0, 0]
    assert found.by_frame[3] != 0


@pytest.mark.parametrize("kind", ["image_dict", "numbers_dict"])
def test_parts_of_a_dict(make_subject: Any, kind: str) -> None:
    settings = {"encoder": "small"} if kind == "image_dict" else {}
    _, subject = make_subject(Cue(kind, 6), **settings)
    found = integrated_gradients(subject, 3, "value")
    total = sum(part.total for part in found.parts)
    assert total == pytest.approx(found.score - found.baseline_score, rel=0.05, abs=1e-3)
    if kind == "image_dict":
        assert [(own.part.name, own.part.kind) for own in found.parts] == [
            ("image", "image"),
            ("v", "vector"),
        ]
        assert found.parts[1].part.components == ("v[0]", "v[1]")
        cam = grad_cam(subject, "value")
        assert cam.layer.part == "image"
    else:
        assert found.parts[0].part.components == ("nested/d = 0", "nested/d = 1", "v[0]", "v[1]")


def test_memory_is_part_of_what_is_explained(make_subject: Any) -> None:
    """The same observation later in the episode is explained from what is remembered then."""
    _, subject = make_subject(Delayed(6), memory="lstm")
    steps = subject.trace.columns["seen"][:, 0]
    assert steps[2] == steps[4] == 0
    first, later = (integrated_gradients(subject, row, "value", "mean") for row in (2, 4))
    assert first.score == pytest.approx(subject.trace.columns["value"][2], rel=1e-4)
    assert later.score == pytest.approx(subject.trace.columns["value"][4], rel=1e-4)
    assert first.parts[0].values[0] != later.parts[0].values[0]


def test_nothing_changes_the_policy_or_a_random_number(make_subject: Any, pictures: Any) -> None:
    policy, subject = make_subject(
        pictures((2, 40, 40), length=5), memory="lstm", dropout=0.4, batch_norm=True, shared_encoder=False
    )
    before = policy.arrays()
    states = (
        random.getstate(),
        np.random.get_state()[1].tolist(),  # type: ignore[index]  # noqa: NPY002
        torch.random.get_rng_state().tolist(),
    )
    subject = study(policy, subject.trace)
    for question in (
        {"kind": "about"},
        {"kind": "grad_cam"},
        {"kind": "integrated_gradients", "step": 2},
        {"kind": "occlusion", "step": 2, "target": "value"},
        {"kind": "activations", "step": 1},
        {"kind": "filters"},
        {"kind": "patches", "filter": 1},
        {"kind": "memory"},
        {"kind": "units"},
    ):
        first, again = answer(subject, question), answer(subject, question)
        assert first == again, question
    after = policy.arrays()
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name], name)
    assert states == (
        random.getstate(),
        np.random.get_state()[1].tolist(),  # type: ignore[index]  # noqa: NPY002
        torch.random.get_rng_state().tolist(),
    )
