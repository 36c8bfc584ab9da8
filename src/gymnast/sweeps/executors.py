"""Where trials are trained. Each is an `Executor` (trials/trial.py) that a function of one line opens."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from gymnast.errors import GymnastError
from gymnast.trials.trial import Executor

# name → what is called with (workers, runs folder)
_OPENED_BY = {
    "local": "gymnast.trials.pool:LocalPool",
    "ray": "gymnast.trials.ray_executor:RayExecutor",
    "modal": "gymnast.remote.trials:ModalExecutor",
}


def check_executor(name: str) -> None:
    """Raise GymnastError for one that this version does not have."""
    module = _OPENED_BY[name].partition(":")[0]
    try:
        known = find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        known = False
    if not known:
        raise GymnastError(f"--on {name}: sweeps cannot run there in this version; use --on local")


def open_executor(name: str, workers: int, root: Path) -> Executor:
    check_executor(name)
    module, _, attribute = _OPENED_BY[name].partition(":")
    opened: Callable[[int, Path], Executor] = getattr(import_module(module), attribute)
    return opened(workers, root)
