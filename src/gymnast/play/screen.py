"""Whether there is a screen for a window."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from gymnast.errors import GymnastError, MissingExtra


def check_screen() -> None:
    """Raise GymnastError unless a window can be opened here."""
    if find_spec("pygame") is None:
        raise MissingExtra("--window", "play")
    shown = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if sys.platform == "linux" and not shown:
        raise GymnastError(
            "--window: there is no display here (DISPLAY is not set); leave it out to play in the browser,"
            " which works over ssh"
        )
