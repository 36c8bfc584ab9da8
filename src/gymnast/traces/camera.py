"""Watching an env: the picture, observation and info after every reset and step, rendered or drawn."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.contract import close_env, pass_on_ctrl_c
from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.spaces.observation_form import ObservationForm
from gymnast.traces.observation_picture import ObservationPicture

logger = logging.getLogger("gymnast")

DEFAULT_FPS = 30.0
DRAWN_FPS = 10.0  # bars need time to be read
_OFF_SCREEN = {"SDL_VIDEODRIVER": "dummy", "MUJOCO_GL": "egl"}


@dataclass(frozen=True, slots=True)
class View:
    """What an env gave after a reset or a step."""

    picture: np.ndarray | None  # [height, width, 3] uint8; None where pictures are not wanted
    obs: dict[str, np.ndarray]  # the env's own, by leaf ("" where it has no parts); copies
    info: dict[str, Any]  # the env's own dict: read it before the next step


class Camera(gym.Wrapper[Any, Any, Any, Any]):
    """The outermost layer. It looks inside of `step`, before a finished env is reset."""

    def __init__(self, env: gym.Env[Any, Any], drawn: ObservationPicture | None) -> None:
        """`drawn` draws what the env does not render; None: no pictures are taken."""
        super().__init__(env)
        self.renders = drawn is not None and env.render_mode == "rgb_array"
        self.fps = steps_per_second(env)
        self.leaves = ObservationForm(env.observation_space).leaves
        self.first: View | None = None  # after the last reset
        self.latest: View | None = None  # after the last step
        self.action: Any = None  # what the env was last given, in its own form
        self._drawn = drawn

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**arguments)
        self.first = self._look(observation, info)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.action = action
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.latest = self._look(observation, info)
        return observation, reward, terminated, truncated, info

    def _look(self, observation: Any, info: dict[str, Any]) -> View:
        own = {}
        for leaf in self.leaves:
            value = observation
            for key in leaf.keys:
                value = value[key]
            own[leaf.name] = np.array(value, leaf.space.dtype)
        return View(self._picture(observation), own, info)

    def _picture(self, observation: Any) -> np.ndarray | None:
        if self._drawn is None:
            return None
        if self.renders:
            try:
                with _without_a_screen():
                    picture = _as_rgb(self.env.render())
            except BaseException as error:  # a missing display or graphics driver: the rest can be recorded
                pass_on_ctrl_c(error)
                picture, reason = None, f"{type(error).__name__}: {error}"
            else:
                reason = "render() returns no picture"
            if picture is not None:
                return picture.copy()  # an env may draw the next one into the same array
            self.renders = False
            logger.warning("%s cannot be rendered (%s); its observations are drawn instead", self.env, reason)
        return self._drawn.draw(observation)


@contextmanager
def _without_a_screen() -> Iterator[None]:
    """Where there is no screen, SDL and MuJoCo are set to draw off screen: they would fail otherwise.

    Only while they draw: processes started later must not inherit it.
    """
    if any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")) or sys.platform != "linux":
        yield
        return
    set_here = {name: value for name, value in _OFF_SCREEN.items() if name not in os.environ}
    os.environ.update(set_here)
    try:
        yield
    finally:
        for name in set_here:
            os.environ.pop(name, None)


def steps_per_second(env: gym.Env[Any, Any]) -> float:
    """The game's real speed, from the outermost layer: a wrapper that holds an action for several frames
    divides by their number."""
    for key in ("render_fps", "video.frames_per_second"):
        if fps := env.metadata.get(key):
            return float(fps)
    return DEFAULT_FPS if env.render_mode == "rgb_array" else DRAWN_FPS


def build_camera(
    config: EnvConfig, *, training: bool, names: tuple[str, ...] = (), pictures: bool = True
) -> Camera:
    """One env as evaluation has it, inside a camera."""
    env = make_env(config, training=training)
    if not pictures:
        return Camera(env, None)
    if "rgb_array" in (env.metadata.get("render_modes") or ()):
        close_env(env)
        env = make_env(config, training=training, render_mode="rgb_array")
    return Camera(env, ObservationPicture(config.id, names))


def _as_rgb(picture: Any) -> np.ndarray | None:
    """[height, width, 3] uint8 of what an env returns as an image; None if it is not one."""
    if isinstance(picture, list):  # of several frames, the newest
        picture = picture[-1] if picture else None
    if not isinstance(picture, np.ndarray) or picture.ndim not in (2, 3) or picture.size == 0:
        return None
    if np.issubdtype(picture.dtype, np.floating):
        picture = np.clip(picture * (255 if picture.max() <= 1 else 1), 0, 255)
    picture = picture.astype(np.uint8, copy=False)
    if picture.ndim == 2:
        picture = picture[..., None]
    if picture.shape[2] == 1:
        return np.repeat(picture, 3, axis=2)
    return picture[..., :3] if picture.shape[2] >= 3 else None
