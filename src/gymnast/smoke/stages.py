"""One preset through every stage. Runs in a process of its own and reports what happened in
messages: `{"stage": …, "ok": …, "reason": …, "seconds": …}`, or `{"skip": reason}`."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gymnast import api
from gymnast.config.load import load_config
from gymnast.errors import GymnastError, MissingExtra, MissingGame
from gymnast.processes.messages import send
from gymnast.smoke.tiny import EPISODE_STEPS, tiny_overrides
from gymnast.video.mp4 import video_possible


class Smoke:
    """The stages, in their order; each uses what those before it left."""

    def __init__(self, reference: str, runs_dir: str, config_dirs: Sequence[str] = ()) -> None:
        self.reference, self.runs_dir = reference, runs_dir
        self.config_dirs = [Path(folder) for folder in config_dirs]
        config = load_config(reference, config_dirs=self.config_dirs).config
        self.overrides, self.rollout = tiny_overrides(config)
        self.run: api.Run | None = None

    def train(self) -> None:
        self.run = api.train(
            self.reference,
            overrides=self.overrides,
            runs_dir=self.runs_dir,
            config_dirs=self.config_dirs,
        )
        _expect(self.run.outcome.env_steps == 2 * self.rollout, f"trained {self.run.outcome.env_steps} steps")

    def eval(self) -> None:
        score = api.evaluate(self._run(), episodes=1, n_envs=1)
        _expect(score.mean_length <= EPISODE_STEPS, f"an episode of {score.mean_length:g} steps")

    def video(self) -> None:
        video = api.record_video(self._run(), max_steps=2 * EPISODE_STEPS)
        _expect(video.path.stat().st_size > 0 and video.frames > 1, "the video is empty")

    def resume(self) -> None:
        run = api.resume(self._run(), max_env_steps=3 * self.rollout)
        _expect(run.outcome.env_steps == 3 * self.rollout, f"resumed to step {run.outcome.env_steps}")

    def _run(self) -> api.Run:
        assert self.run is not None
        return self.run


def run_stages(
    reference: str,
    runs_dir: str,
    report: Callable[[dict[str, Any]], None],
    config_dirs: Sequence[str] = (),
) -> None:
    """Try every stage; without a trained run there is nothing to try further."""
    try:
        smoke = Smoke(reference, runs_dir, config_dirs)
    except (MissingExtra, MissingGame) as error:
        report({"skip": str(error)})
        return
    except Exception as error:
        report({"stage": "train", "ok": False, "reason": _reason(error), "seconds": 0.0})
        return
    stages = {"train": smoke.train, "eval": smoke.eval, "video": smoke.video, "resume": smoke.resume}
    if not video_possible():
        del stages["video"]
    for name, stage in stages.items():
        began = time.perf_counter()
        try:
            stage()
        except (MissingExtra, MissingGame) as error:
            if name == "train":
                report({"skip": str(error)})
                return
            result = {"ok": False, "reason": str(error)}
        except Exception as error:
            result = {"ok": False, "reason": _reason(error)}
        else:
            result = {"ok": True}
        report({"stage": name, **result, "seconds": round(time.perf_counter() - began, 2)})
        if smoke.run is None:
            return


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _reason(error: Exception) -> str:
    if isinstance(error, GymnastError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"


def main(reference: str, runs_dir: str, *config_dirs: str) -> None:
    """Report on what was standard output; whatever libraries print goes to stderr."""
    own = os.dup(1)
    os.dup2(2, 1)
    run_stages(reference, runs_dir, lambda message: send(own, message), config_dirs)
