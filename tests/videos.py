"""What tests of videos share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# A run of a second, with a checkpoint every 128 steps.
SHORT: dict[str, Any] = {
    "env.n_envs": 4,
    "algo.n_steps": 32,
    "eval.every": 256,
    "eval.episodes": 2,
    "stop.eval_return": None,
    "checkpoint.every": 128,
    "checkpoint.keep": 50,
}
SHORT_PPO: dict[str, Any] = {**SHORT, "algo.batch_size": "all", "algo.n_epochs": 2}


def read_video(path: Path) -> list[np.ndarray]:
    """Every frame of a video, [height, width, 3]."""
    import av

    with av.open(str(path)) as file:
        return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
