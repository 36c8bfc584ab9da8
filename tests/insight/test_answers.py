"""What the page asks and is answered, what cannot be shown, and wrong questions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.envs.families.bandit import BanditEnv
from gymnast.errors import GymnastError
from gymnast.insight.about import describe_subject
from gymnast.insight.answer import KINDS, answer
from gymnast.insight.attribution import grad_cam, integrated_gradients, occlusion
from gymnast.insight.subject import Subject, study
from gymnast.web.wire import unpack
from observation_envs import Cue, Delayed


def reasons(subject: Subject) -> dict[str, str | None]:
    return {view["name"]: view["reason"] for view in describe_subject(subject)["views"]}


def test_an_image_policy_shows_all_but_memory(make_subject: Any, pictures: Any) -> None:
    _, subject = make_subject(pictures(length=6))
    why = reasons(subject)
    assert [name for name, reason in why.items() if reason is not None] == ["memory"]
    about = describe_subject(subject)
    assert "hint, not an explanation" in about["hint"]
    assert about["parts"] == [{"name": "", "kind": "image", "frames": 4, "components": 0, "pictured": True}]
    assert [target["name"] for target in about["targets"][:2]] == ["action", "value"]
    assert [target["label"] for target in about["targets"][2:]] == [
        f"log-probability of {name}" for name in subject.trace.meta.choices
    ]


def test_a_bandit_has_nothing_to_explain(make_subject: Any) -> None:
    _, subject = make_subject(BanditEnv(4, horizon=6))
    why = reasons(subject)
    for method in ("grad_cam", "integrated_gradients", "occlusion"):
        assert "the same at every row" in (why[method] or "")
    assert "never changes" in (why["units"] or "")
    with pytest.raises(GymnastError, match="the observation is the same at every row"):
        integrated_gradients(subject, 1)


def test_numbers_have_no_maps(make_subject: Any) -> None:
    _, subject = make_subject(Cue("vector", 5))
    why = reasons(subject)
    assert why["grad_cam"] == "the network reads no image; use integrated gradients"
    assert why["filters"] == why["patches"] == why["fields"] == "the network reads no image"
    assert why["integrated_gradients"] is None
    with pytest.raises(GymnastError, match="no convolutions"):
        grad_cam(subject)
    _, subject = make_subject(Cue("image", 5), encoder="mlp")
    assert reasons(subject)["filters"] == "the network reads its pixels without convolutions"


def test_an_encoder_without_convolutions_says_so(make_subject: Any) -> None:
    _, subject = make_subject(Cue("image", 5), encoder="own_encoders:OwnEncoder")
    why = reasons(subject)
    assert why["filters"] == "the network reads its pixels without convolutions"
    assert why["integrated_gradients"] is None
    found = integrated_gradients(subject, 2, "value")
    assert np.abs(found.parts[0].values).max() > 0


def test_a_choice_that_an_own_encoder_reads(make_subject: Any) -> None:
    _, subject = make_subject(
        Cue("tuple", 8), encoder="own_encoders:OwnEncoder", discrete_obs="embedding", activation="relu"
    )
    assert [note[:3] for note in describe_subject(subject)["notes"]] == ["'1'"]
    found = integrated_gradients(subject, 3, "value")
    assert [own.part.kind for own in found.parts] == ["vector", "index"]
    assert not found.parts[1].values.any()
    rows = [row for row in range(8) if subject.inputs.batch([row])[1][0, 0, 1]]  # the second choice
    assert occlusion(subject, rows[0], "value").parts[1].values.any()


def test_without_a_critic_there_is_no_value_to_explain(make_subject: Any) -> None:
    _, subject = make_subject(Cue("vector", 5), critic=False)
    target = next(known for known in describe_subject(subject)["targets"] if known["name"] == "value")
    assert "without a critic" in target["reason"]
    with pytest.raises(GymnastError, match=r"target value: .*without a critic"):
        integrated_gradients(subject, 1, "value")


def test_a_greedy_real_number_is_explained_by_its_mean(make_subject: Any) -> None:
    _, subject = make_subject(gym.make("Pendulum-v1"), sampled=False)
    targets = describe_subject(subject)["targets"]
    assert targets[0]["name"] == "mean:0"
    assert "has no gradient" in next(known["reason"] for known in targets if known["name"] == "action")
    with pytest.raises(GymnastError, match="target action: a greedy action of real numbers"):
        integrated_gradients(subject, 1, "action")


def test_the_last_row_has_no_action(make_subject: Any, pictures: Any) -> None:
    _, subject = make_subject(pictures((1, 36, 36), length=3))
    for method in (integrated_gradients, occlusion):
        with pytest.raises(GymnastError, match="the episode ended at row 3: no action was taken"):
            method(subject, 3)
        assert method(subject, 3, "value").row == 3
    with pytest.raises(GymnastError, match="no row 4: the recording has rows 0 to 3"):
        occlusion(subject, 4)
    assert grad_cam(subject).rows.tolist() == [0, 1, 2]


def test_a_trace_of_another_policy_is_refused(make_subject: Any) -> None:
    policy, _ = make_subject(Cue("vector", 5))
    _, stacked = make_subject(Delayed(3), frame_stack=2)
    with pytest.raises(GymnastError, match=r"4 choices .* the trace has 2"):
        study(policy, stacked.trace)
    other, _ = make_subject(Delayed(3))
    with pytest.raises(GymnastError, match=r"sees 1 observations at once, .* recorded for 2"):
        study(other, stacked.trace)
    wider, _ = make_subject(Cue("tuple", 5))
    _, narrow = make_subject(Cue("vector", 5))
    with pytest.raises(GymnastError, match=r"of shape \(4,\), the trace has \(2,\)"):
        study(wider, narrow.trace)


def test_separate_encoders_have_their_own_layers(make_subject: Any, pictures: Any) -> None:
    _, subject = make_subject(pictures((1, 36, 36), length=3), shared_encoder=False)
    assert grad_cam(subject, "action").layer.encoder == "actor_encoder"
    assert grad_cam(subject, "value").layer.encoder == "critic_encoder"
    with pytest.raises(GymnastError, match="value does not depend on it"):
        grad_cam(subject, "value", "actor_encoder.4")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"kind": "gradcam"}, "no kind 'gradcam', did you mean 'grad_cam'|no kind 'gradcam'"),
        ({"kind": 3}, "no kind 3"),
        ({"kind": "occlusion"}, "step must be a whole number, got None"),
        ({"kind": "occlusion", "step": True}, "step must be a whole number, got True"),
        ({"kind": "occlusion", "step": -1}, "no row -1"),
        ({"kind": "occlusion", "step": 1, "window": 0}, "window must be from 1 to 36"),
        ({"kind": "occlusion", "step": 1, "stepp": 2}, "no field 'stepp'"),
        (
            {"kind": "integrated_gradients", "step": 1, "baseline": "black"},
            "baseline must be auto, zero or mean",
        ),
        ({"kind": "integrated_gradients", "step": 1, "steps": 10**9}, "steps must be from 2 to 1000"),
        ({"kind": "integrated_gradients", "step": 1, "target": "choice:3"}, "no target 'choice:3'"),
        ({"kind": "grad_cam", "layer": "encoder.1"}, "no layer 'encoder.1'"),
        ({"kind": "grad_cam", "target": ["value"]}, "target must be a text"),
        ({"kind": "patches"}, "filter must be a whole number"),
        ({"kind": "patches", "filter": 2, "count": 1000}, "count must be from 1 to 100"),
        ({"kind": "memory"}, "has no memory"),
    ],
    ids=str,
)
def test_wrong_questions(make_subject: Any, pictures: Any, question: dict[str, Any], message: str) -> None:
    _, subject = make_subject(pictures((1, 36, 36), length=3))
    with pytest.raises(GymnastError, match=message):
        answer(subject, question)


def test_answers_as_the_page_reads_them(make_subject: Any, pictures: Any) -> None:
    _, subject = make_subject(pictures(length=10), memory="gru")
    asked: dict[str, dict[str, Any]] = {
        "input": {"step": 3},
        "grad_cam": {},
        "integrated_gradients": {"step": 3},
        "occlusion": {"step": 3},
        "activations": {"step": 3},
        "filters": {"layer": "encoder.2"},
        "patches": {"filter": 5, "count": 3},
        "memory": {},
    }
    found = {}
    for kind, fields in asked.items():
        data = answer(subject, {"kind": kind, **fields})
        assert isinstance(data, bytes)
        found[kind] = unpack(data)
    assert {kind for kind in KINDS if kind not in found} == {"about", "units"}
    pixels = subject.trace.columns["obs"]
    np.testing.assert_array_equal(found["input"][1]["image/"][..., 0], pixels[3])
    header, arrays = found["grad_cam"]
    assert arrays["maps"].shape == (10, 7, 7)
    np.testing.assert_array_equal(arrays["images"][..., 0], pixels[:, 3])  # the newest of four frames
    assert header["meta"]["layer"]["field"]["size"] == [36, 36]
    header, arrays = found["integrated_gradients"]
    assert arrays["heat/"].shape == (4, 84, 84)
    total = arrays["heat/"].sum(dtype=np.float64)
    assert total == pytest.approx(sum(header["meta"]["parts"][0]["by_frame"]), rel=1e-3)
    assert found["occlusion"][1]["heat/"].shape == (1, 84, 84)
    assert found["occlusion"][0]["meta"]["gap"] is None
    assert found["activations"][1]["winners/encoder.4"].shape == (7, 7)
    assert found["filters"][1]["filters"].shape == (64, 32, 4, 4)
    header, arrays = found["patches"]
    rows, boxes, crops = arrays["rows"], arrays["boxes"], arrays["pixels"]
    for row, (top, left, bottom, right), crop in zip(rows, boxes, crops, strict=True):
        assert crop.shape == (4, 36, 36, 1)
        np.testing.assert_array_equal(crop[..., 0], pixels[row][:, top:bottom, left:right])
    assert found["memory"][0]["texts"]["names"] == ["actor_memory hidden", "critic_memory hidden"]


def test_patches_at_the_edge_are_filled_with_black(make_subject: Any) -> None:
    _, subject = make_subject(Cue("image", 12), encoder="small")
    for channel in range(16):
        data = answer(subject, {"kind": "patches", "layer": "encoder.0", "filter": channel})
        assert isinstance(data, bytes)
        _, arrays = unpack(data)
        for row, (y, x), crop in zip(arrays["rows"], arrays["places"], arrays["pixels"], strict=True):
            around = np.pad(subject.trace.columns["obs"][row], ((1, 1), (1, 1), (0, 0)))
            np.testing.assert_array_equal(crop[0], around[y : y + 3, x : x + 3])


def test_components_of_a_dict_are_named_and_summed(make_subject: Any) -> None:
    _, subject = make_subject(Cue("numbers_dict", 6))
    data = answer(subject, {"kind": "integrated_gradients", "step": 2, "target": "value"})
    assert isinstance(data, bytes)
    header, arrays = unpack(data)
    assert header["texts"]["components/"] == ["nested/d = 0", "nested/d = 1", "v[0]", "v[1]"]
    totals = {part["name"]: part["total"] for part in header["meta"]["observation_parts"]}
    assert totals["nested/d"] == pytest.approx(arrays["values/"][:2].sum(), abs=1e-6)
    assert totals["v"] == pytest.approx(arrays["values/"][2:].sum(), abs=1e-6)


def test_pixels_beside_numbers_are_drawn_as_pixels(make_subject: Any) -> None:
    _, subject = make_subject(Cue("image_dict", 6), encoder="mlp", frame_stack=2)
    data = answer(subject, {"kind": "integrated_gradients", "step": 3, "target": "value"})
    assert isinstance(data, bytes)
    header, arrays = unpack(data)
    assert arrays["image/"].shape == (2, 12, 12, 3)
    screen = subject.trace.columns["obs/image"]
    np.testing.assert_array_equal(arrays["image/"], screen[2:4])
    (part,) = header["meta"]["parts"]
    assert part["pixels"] == {"from": 0, "to": 432, "of": 434}
    shares = arrays["values/"].reshape(2, 434)
    np.testing.assert_allclose(arrays["heat/"], shares[:, :432].reshape(2, 12, 12, 3).sum(-1), atol=1e-6)
    assert header["texts"]["components/"][432:434] == ["v[0] (1 before)", "v[1] (1 before)"]


def test_pixels_that_are_read_as_numbers_are_drawn_as_pixels(make_subject: Any) -> None:
    _, subject = make_subject(Cue("image", 6), encoder="mlp", frame_stack=2)
    data = answer(subject, {"kind": "integrated_gradients", "step": 3, "target": "value"})
    assert isinstance(data, bytes)
    header, arrays = unpack(data)
    assert arrays["image/"].shape == (2, 12, 12, 3)
    assert arrays["heat/"].shape == (2, 12, 12)
    names = header["texts"]["components/"]  # row, column, colour
    assert (names[0], names[-1]) == ("obs[0, 0, 0] (1 before)", "obs[11, 11, 2]")
    shares = arrays["values/"].reshape(2, 12, 12, 3)
    np.testing.assert_allclose(arrays["heat/"], shares.sum(-1), atol=1e-6)


@pytest.mark.parametrize(("shape", "frames"), [((7, 7, 21), 1), ((21, 7, 7), 21)])
def test_a_grid_with_many_layers_is_drawn_as_the_square_that_it_is(
    make_subject: Any, pictures: Any, shape: tuple[int, ...], frames: int
) -> None:
    """Layers in front are frames that were stacked."""
    _, subject = make_subject(pictures(shape), encoder="mlp")
    data = answer(subject, {"kind": "integrated_gradients", "step": 3, "target": "value"})
    assert isinstance(data, bytes)
    _, arrays = unpack(data)
    assert arrays["image/"].shape[:3] == (frames, 7, 7)
    shares = arrays["values/"].reshape(shape)
    by_place = shares.sum(-1, keepdims=True).transpose(2, 0, 1) if frames == 1 else shares
    np.testing.assert_allclose(arrays["heat/"], by_place, atol=1e-6)
