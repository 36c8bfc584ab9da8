"""Filming an env: the picture after every reset and every step, whether or not it can render."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np

from gymnast.envs.settings import EnvConfig
from gymnast.envs.single import make_env
from gymnast.video.observation_picture import ObservationPicture

logger = logging.getLogger("gymnast")

DEFAULT_FPS = 30.0
DRAWN_FPS = 10.0  # bars want to be read
_OFF_SCREEN = {"SDL_VIDEODRIVER": "dummy", "MUJOCO_GL": "egl"}


class Camera(gym.Wrapper[Any, Any, Any, Any]):
    """The outermost layer. It takes its picture inside of `step`, before a finished env is reset."""

    def __init__(self, env: gym.Env[Any, Any], drawn: ObservationPicture) -> None:
        super().__init__(env)
        self.renders = env.render_mode == "rgb_array"
        self.fps = steps_per_second(env)
        self.first: np.ndarray | None = None  # the picture after the last reset
        self.latest: np.ndarray | None = None  # the picture after the last step
        self.action: Any = None  # what the env was last told to do, in its own form
        self._drawn = drawn

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**arguments)
        self.first = self._shoot(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.action = action
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.latest = self._shoot(observation)
        return observation, reward, terminated, truncated, info

    def _shoot(self, observation: Any) -> np.ndarray:
        if self.renders:
            try:
                with _without_a_screen():
                    picture = _as_rgb(self.env.render())
            except Exception as error:  # a missing display or graphics driver: there still is a film to make
                picture, reason = None, f"{type(error).__name__}: {error}"
            else:
                reason = "it gives no picture"
            if picture is not None:
                return picture.copy()  # an env may draw the next one into the same array
            self.renders = False
            logger.warning("%s cannot be rendered (%s); its observations are drawn", self.env, reason)
        return self._drawn.draw(observation)


@contextmanager
def _without_a_screen() -> Iterator[None]:
    """Where there is no screen, what draws is told so: SDL and MuJoCo would look for one, or fail.

    Only while they draw: what is started later must not inherit it.
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
    """As fast as the game really is: what the outermost layer says, since whoever holds an action for
    several frames divides by their number."""
    for key in ("render_fps", "video.frames_per_second"):
        if fps := env.metadata.get(key):
            return float(fps)
    return DEFAULT_FPS if env.render_mode == "rgb_array" else DRAWN_FPS


def build_camera(config: EnvConfig, *, training: bool, names: tuple[str, ...] = ()) -> Camera:
    """One env as evaluation has it, before a camera."""
    env = make_env(config, training=training)
    if "rgb_array" in (env.metadata.get("render_modes") or ()):
        env.close()
        env = make_env(config, training=training, render_mode="rgb_array")
    return Camera(env, ObservationPicture(config.id, names))


def _as_rgb(picture: Any) -> np.ndarray | None:
    """[height, width, 3] uint8 of what an env calls an image; None if it is none."""
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
