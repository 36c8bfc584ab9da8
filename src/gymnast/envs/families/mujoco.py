"""MuJoCo's envs: built without messages, and resumed exactly; needs the extra `mujoco`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gymnasium as gym

if TYPE_CHECKING:
    from gymnast.envs.settings import EnvConfig

# Positions that some envs read before a step. MuJoCo works them out at the beginning of a step, so they lie
# one step behind the state and cannot be had from it.
_BEHIND = ("xpos", "xipos")


def build_mujoco(config: EnvConfig, *, training: bool, render_mode: str | None) -> gym.Env[Any, Any]:
    """One env by id, as Gymnasium makes it."""
    from gymnast.envs.single import make_registered

    if (
        render_mode is not None
        and sys.platform == "linux"
        and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    ):
        # Without a screen Gymnasium would try a window all the same, and crash; EGL draws without one.
        os.environ.setdefault("MUJOCO_GL", "egl")
    with _quiet():
        return make_registered(config, render_mode)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep MuJoCo 4 from complaining of Gymnasium's models, on screen and in a MUJOCO_LOG.TXT here."""
    import mujoco

    if not hasattr(mujoco, "MjLogConfig"):
        yield  # older versions do not complain
        return
    before, silent = mujoco.MjLogConfig.get(), mujoco.MjLogConfig.get()
    silent.logto_file = silent.logto_console = 0
    silent.set()
    try:
        yield
    finally:
        before.set()


class MujocoState:
    """The state of one of Gymnasium's envs; for `envs/states.py`."""

    def __init__(self, env: Any) -> None:
        self.model, self.data = env.model, env.data

    def get_state(self) -> dict[str, Any]:
        import mujoco
        import numpy as np

        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, state, kind)
        return {"state": state, **{name: getattr(self.data, name) for name in _BEHIND}}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""
        import mujoco

        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        mujoco.mj_setState(self.model, self.data, state["state"], kind)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, state["state"], kind)  # forward moved its warm start
        for name in _BEHIND:
            getattr(self.data, name)[:] = state[name]
