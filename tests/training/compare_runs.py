"""What is left of two runs, compared bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymnast import api
from gymnast.runs.checkpoint import list_checkpoints, load_checkpoint

# What depends on the clock; all else must repeat to the last bit.
CLOCK = ("time/seconds", "time/fps", "time/collect_seconds", "time/update_seconds", "time/eval_seconds")
OF_THE_MACHINE = (*CLOCK, "env/restarts")  # independent of learning; only `workers` has the last


def is_of_the_machine(key: str) -> bool:
    return key in OF_THE_MACHINE or key.startswith("time/actor")


def rows_of(run: api.Run) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if not is_of_the_machine(key)} for row in run.metrics()]


def end_of(run: api.Run) -> dict[str, Any]:
    """All that a run's last checkpoint holds, without what depends on the machine."""
    checkpoint = list_checkpoints(run.folder)[-1]
    policy, state, sidecar = load_checkpoint(checkpoint)
    del state["counters"]["seconds"]
    metrics = {key: value for key, value in sidecar.metrics.items() if not is_of_the_machine(key)}
    return {"policy": policy, "state": state, "score": sidecar.score, "metrics": metrics}


def difference(a: Any, b: Any, path: str = "") -> str | None:
    """Where two nested structures first differ in any bit, or None."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return None if same else f"{path}: {a!r} is not {b!r}"
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return f"{path}: keys {sorted(a)} are not {sorted(b)}"
        return next((found for key in a if (found := difference(a[key], b[key], f"{path}/{key}"))), None)
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} items are not {len(b)}"
        pairs = enumerate(zip(a, b, strict=True))
        return next((found for i, (x, y) in pairs if (found := difference(x, y, f"{path}/{i}"))), None)
    return None if type(a) is type(b) and a == b else f"{path}: {a!r} is not {b!r}"
