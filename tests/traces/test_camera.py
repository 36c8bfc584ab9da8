"""The picture of every step: of envs that render, of those that do not, and of those that fail to."""

from __future__ import annotations

import logging
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymnast.envs.settings import EnvConfig
from gymnast.traces.camera import Camera, build_camera
from gymnast.traces.observation_picture import ObservationPicture, as_image


class Counting(gym.Env[Any, Any]):
    """Its picture is as bright as it has made steps, always in the same array."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}  # noqa: RUF012
    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None, picture: str = "rgb", fail: bool = False) -> None:
        self.render_mode, self.picture, self.fail = render_mode, picture, fail
        self.steps = 0
        self._shown = np.zeros((20, 30, 3), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(3, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return np.full(3, self.steps / 10, np.float32), 1.0, self.steps >= 5, False, {}

    def render(self) -> Any:
        if self.fail:
            raise RuntimeError("no display")
        self._shown[:] = 10 * self.steps
        if self.picture == "none":
            return None
        kinds = {
            "rgb": self._shown,
            "gray": self._shown[..., 0],
            "one channel": self._shown[..., :1],
            "alpha": np.dstack([self._shown, self._shown[..., :1]]),
            "floats": self._shown / 255.0,
            "list": [np.zeros_like(self._shown), self._shown],
        }
        return kinds[self.picture]


class Bare(Counting):
    """Cannot render, and its constructor does not even know of it."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()


def camera_on(**arguments: Any) -> Camera:
    return Camera(Counting(render_mode="rgb_array", **arguments), ObservationPicture("counting"))


def first_picture(camera: Camera) -> np.ndarray:
    assert camera.first is not None
    assert camera.first.picture is not None
    return camera.first.picture


def latest_picture(camera: Camera) -> np.ndarray:
    assert camera.latest is not None
    assert camera.latest.picture is not None
    return camera.latest.picture


def test_a_picture_of_every_step_and_of_the_first_observation() -> None:
    camera = camera_on()
    camera.reset(seed=1)
    assert first_picture(camera).max() == 0
    for step in range(1, 6):
        camera.step(0)
        assert (latest_picture(camera) == 10 * step).all()
    last = latest_picture(camera)
    camera.reset()
    assert (last == 50).all(), "the next episode is drawn elsewhere"


@pytest.mark.parametrize("kind", ["rgb", "gray", "one channel", "alpha", "floats", "list"])
def test_what_envs_call_a_picture(kind: str) -> None:
    camera = camera_on(picture=kind)
    camera.reset()
    camera.step(1)
    picture = latest_picture(camera)
    assert (picture.shape, picture.dtype) == ((20, 30, 3), np.uint8)
    assert (picture == 10).all()
    assert camera.action == 1


@pytest.mark.parametrize("broken", [{"fail": True}, {"picture": "none"}])
def test_an_env_that_fails_to_render_is_drawn(
    broken: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    camera = camera_on(**broken)
    with caplog.at_level(logging.WARNING, "gymnast"):
        camera.reset()
        camera.step(0)
    assert [record for record in caplog.records if "observations are drawn instead" in record.message]
    assert len(caplog.records) == 1, "reported once"
    assert latest_picture(camera).shape == first_picture(camera).shape
    assert (latest_picture(camera) != first_picture(camera)).any()


def test_an_env_that_cannot_render_is_drawn() -> None:
    camera = build_camera(EnvConfig(id=f"{__name__}:Bare"), training=False, names=("a", "b", "c"))
    assert not camera.renders
    camera.reset()
    camera.step(0)
    assert (latest_picture(camera) != first_picture(camera)).any()


def test_a_camera_without_pictures_never_renders() -> None:
    camera = Camera(Counting(render_mode="rgb_array", fail=True), None)
    camera.reset()
    camera.step(1)
    assert camera.latest is not None
    assert camera.latest.picture is None
    assert camera.latest.obs[""] == pytest.approx([0.1] * 3)


def test_frame_skip_counts_in_the_speed() -> None:
    plain = EnvConfig(id="CartPole-v1")
    assert build_camera(plain, training=False).fps == 50
    skipping = EnvConfig.model_validate(
        {"id": "CartPole-v1", "wrappers": [{"name": "frame-skip", "skip": 4}]}
    )
    assert build_camera(skipping, training=False).fps == 12.5


@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        ((84, 84), (84, 84)),
        ((84, 80, 3), (84, 80)),
        ((84, 80, 1), (84, 80)),
        ((4, 84, 80), (84, 80)),
        ((3, 84, 80), (84, 80)),
        ((7,), None),
        ((2, 3), None),
    ],
)
def test_pixels_are_shown_as_they_are(shape: tuple[int, ...], shown: tuple[int, int] | None) -> None:
    image = as_image(np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8))
    assert (None if image is None else image.shape) == (None if shown is None else (*shown, 3))


def test_numbers_are_not_pixels() -> None:
    assert as_image(np.zeros((84, 84), np.float32)) is None


@pytest.mark.parametrize(
    "observation",
    [
        np.float32([0.5, -1, np.nan, np.inf]),
        3,
        np.array([1, 2]),
        {"speed": np.ones(40, np.float32), "gear": 2},
        (np.ones(2, np.float32), {"on": np.array([0, 1], np.int8)}),
        np.zeros(300, np.uint8),
    ],
)
def test_any_observation_can_be_drawn(observation: Any) -> None:
    drawn = ObservationPicture("anything")
    picture = drawn.draw(observation)
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert picture.std() > 0
    assert drawn.draw(observation).shape == picture.shape


def test_an_image_among_the_parts_is_what_is_shown() -> None:
    screen = np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8)
    shown = ObservationPicture("doom").draw({"health": np.float32([100]), "screen": screen})
    assert (shown == screen).all()
