"""What was measured on this machine, remembered in the user's cache folder.

A cache that is damaged or cannot be written is ignored: everything in it can be measured again.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from gymnast import __version__
from gymnast.envs.settings import EnvConfig

# Of the section, what does not affect how fast or how an env steps.
_IRRELEVANT = {"n_envs", "groups", "backend", "actors", "restarts", "spec"}


def cores_of_a_group(groups: int) -> int:
    """How many threads or processes one of several groups of envs may use: all groups step at once."""
    return max(1, -(-usable_cores() // groups))


def usable_cores() -> int:
    """Cores this process may run on; containers and `taskset` allow fewer than the machine has.

    GYMNAST_CORES is for a container that sees all cores of its machine and may not use them.
    """
    given = os.environ.get("GYMNAST_CORES", "")
    if given.isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def measured_key(config: EnvConfig, **more: Any) -> str:
    """All that a measurement depends on: the env as configured, the machine, the versions, and `more`."""
    # Imported here and below: CartPole starts without them, and they take a while.
    import hashlib
    import platform
    from importlib.metadata import version

    what = {
        "env": config.model_dump(mode="json", exclude=_IRRELEVANT),
        **more,
        "machine": [
            platform.node(),
            platform.machine(),
            platform.processor(),
            os.cpu_count(),
            usable_cores(),
        ],
        "versions": [
            platform.python_version(),
            __version__,
            *map(version, ("gymnasium", "numpy")),
        ],
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()


def cache_file(name: str = "backends") -> Path:
    """`<name>.json` below GYMNAST_CACHE_DIR, or the user's cache folder."""
    own = os.environ.get("GYMNAST_CACHE_DIR")
    if own:
        return Path(own) / f"{name}.json"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gymnast" / f"{name}.json"


def recall(name: str, key: str) -> Any:
    """What was remembered in a file of the cache; None if nothing was."""
    return _read(name).get(key)


def remember(name: str, key: str, value: Any) -> None:
    """Added by a whole new file in the old one's place: a reader never meets half of it."""
    import tempfile

    try:
        path = cache_file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False) as new:
            json.dump({**_read(name), key: value}, new)
        Path(new.name).replace(path)
    except (OSError, RuntimeError):
        pass


def _read(name: str) -> dict[str, Any]:
    try:
        cached = json.loads(cache_file(name).read_text())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no home
        return {}
    return cached if isinstance(cached, dict) else {}
