"""The app on Modal: one image, one volume, one function that keeps a run training.

Modal imports this module in its containers as well as here, so what it builds is the same in both.
Only functions import it: `modal` is an extra.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import modal

from gymnast.remote.keeper import Keeper
from gymnast.remote.spec import TrainSpec, read_spec

APP = "gymnast"
VOLUME = "gymnast-runs"
FUNCTION = "train"
MOUNT = "/runs"
RUNS = "GYMNAST_REMOTE_RUNS"  # another place for the volume than where it is mounted
_DAY = 24 * 3600
_RETRIES = 10
# Beyond what Gymnast itself needs: what a preset may ask for, where it is installed here too.
_GAMES = (
    "torch",
    "ale-py",
    "vizdoom",
    "stable-retro",
    "minatar",
    "minigrid",
    "mujoco",
    "av",
    "wandb",
    "tensorboardX",
)


def packages() -> list[str]:
    """What the image has: the versions that are installed here, so that a run trains as it would here."""
    core = [text.partition(";")[0] for text in requires("gymnast") or () if "extra ==" not in text]
    names = [_name(text) for text in core]
    found = []
    for name in [*names, *_GAMES]:
        try:
            found.append(f"{name}=={version(name).partition('+')[0]}")  # 2.12.0+cpu is found nowhere else
        except PackageNotFoundError:
            continue
    return [*found, "gymnasium[classic-control,toy-text,box2d]"]


def _name(requirement: str) -> str:
    end = next((at for at, char in enumerate(requirement) if not (char.isalnum() or char in "-_.")), None)
    return requirement[:end]


def _image() -> modal.Image:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    image = modal.Image.debian_slim(python_version=python)
    if modal.is_local():
        image = image.uv_pip_install(*packages())
    return image.add_local_python_source("gymnast", ignore=["**/__pycache__/**"])  # presets are not Python


app = modal.App(APP)
volume = modal.Volume.from_name(VOLUME, create_if_missing=True, version=2)


@app.function(
    image=_image(),
    volumes={MOUNT: volume},
    timeout=_DAY,
    retries=modal.Retries(max_retries=_RETRIES, initial_delay=1.0, backoff_coefficient=1.0),
    single_use_containers=True,
    include_source=False,
    name=FUNCTION,
)
def train(order: str) -> None:
    """Keep the run of an order training. What comes of it is on the volume: nothing is returned."""
    spec = read_spec(order)
    os.environ["GYMNAST_CORES"] = str(max(1, int(spec.cores)))  # a container sees all cores of its machine
    volume.reload()
    root = Path(os.environ.get(RUNS, MOUNT))
    Keeper(spec, root, modal.current_function_call_id() or "", volume.commit, lambda: spawn(spec)).keep()


def spawn(spec: TrainSpec) -> str:
    """Start the order on a machine of its size; the id of the call."""
    values: dict[str, str | None] = {name: os.environ[name] for name in spec.variables if name in os.environ}
    sized = modal.Function.from_name(APP, FUNCTION).with_options(
        cpu=(spec.cores, spec.cores),
        memory=spec.memory,
        gpu=spec.gpu,
        secrets=[modal.Secret.from_dict(values)] if values else None,
    )
    return str(sized.spawn(spec.to_text()).object_id)
