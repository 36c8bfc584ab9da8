"""Draws the live table of README.md from a run of its own: `python benchmarks/terminal_picture.py`.

The last frame before LunarLander is solved in which it is evaluated, on a terminal of 96 columns.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gymnast import api
from gymnast.metrics.sinks.live import LiveConsole
from gymnast.terminal.painter import Painter
from gymnast.training.run.keys import KEYS_HELP

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "train.svg"
REFERENCE = "LunarLander-v3:ppo"
COLUMNS, LINES = 96, 36
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Camera(Painter):
    """Keeps a frame instead of painting it."""

    def __init__(self) -> None:
        super().__init__(io.StringIO(), size=(COLUMNS, LINES), color=True)
        self.frame: list[str] = []

    def show(self, lines: Sequence[str]) -> None:
        if any("at this slope" in line for line in lines) and any(
            line.startswith("evaluating ") for line in lines
        ):
            self.frame = list(lines)


def main() -> None:
    camera = Camera()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the frame shows where the run is: runs/ID
        api.train(REFERENCE, runs_dir="runs", console=LiveConsole(camera, KEYS_HELP))
    if not camera.frame:
        raise SystemExit("no evaluation was seen while it learned: the picture stays as it was")
    screen = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    screen.print(Text.from_ansi("\n".join(camera.frame)))
    picture = screen.export_svg(title=f"gymnast train {REFERENCE}")
    PICTURE.write_text(FONT.sub("", picture))  # nothing is fetched from elsewhere to show it


if __name__ == "__main__":
    main()
