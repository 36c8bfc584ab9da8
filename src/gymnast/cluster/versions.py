"""Whether driver and actors run the same program: else data of another version is learned from in silence."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import gymnast
from gymnast.errors import GymnastError

_SHOWN = {
    "gymnast": "gymnast",
    "source": "gymnast's source",
    "python": "Python",
    "ray": "ray",
    "numpy": "numpy",
}


@cache
def own_versions() -> dict[str, str]:
    """What has to be the same on every machine. `source` tells two checkouts of one version apart."""
    major, minor, _ = platform.python_version_tuple()
    return {
        "gymnast": gymnast.__version__,
        "source": _source(),
        "python": f"{major}.{minor}",
        "numpy": _installed("numpy"),
        "ray": _installed("ray"),
    }


def check_versions(theirs: dict[str, str], where: str) -> None:
    """Raise GymnastError unless an actor runs what the driver does."""
    ours = own_versions()
    other = [name for name in ours if theirs.get(name) != ours[name]]
    if not other:
        return
    if "gymnast" in other and "source" in other:
        other.remove("source")
    different = ", ".join(
        f"{_SHOWN.get(name, name)} {theirs.get(name) or 'not known'} there and {ours[name]} here"
        for name in other
    )
    raise GymnastError(
        f"actors on {where} run another version: {different}; install the same on all machines of the cluster"
    )


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _source() -> str:
    """A digest of the package's own files."""
    root = Path(gymnast.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
